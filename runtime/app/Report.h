// OUT info and OUT bench.
#ifndef TESSERA_RUNTIME_APP_REPORT_H
#define TESSERA_RUNTIME_APP_REPORT_H

#include "Options.h"
#include "tessera/runtime/device/Rank.h"

#include <string>

namespace tessera::runtime {

// What the program is and needs: one line of JSON, or a page for people. Starts nothing.
std::string describeProgram(const ts_program &program, const Manifest &manifest, bool json);

struct BenchPlan {
  int64_t promptLength, decodeSteps;
};
// Throws Error if the lengths do not fit the program's longest context.
BenchPlan checkBench(const Manifest &manifest, const Options &options);

// Times prefill of a full batch of prompts (median of 3 after a warm-up) and decode after it. Rank 0 prints.
void benchOnRank(Rank &rank, const BenchPlan &plan, bool json);

} // namespace tessera::runtime
#endif
