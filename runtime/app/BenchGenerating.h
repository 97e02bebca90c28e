// OUT bench of a program that generates text.
#ifndef TESSERA_RUNTIME_APP_BENCHGENERATING_H
#define TESSERA_RUNTIME_APP_BENCHGENERATING_H

#include "Options.h"
#include "TextSession.h"
#include "tessera/runtime/device/Rank.h"

#include <vector>

namespace tessera::runtime {

struct BenchPlan {
  int64_t promptLength, decodeSteps;
  int64_t prompts; // at once, over all ranks
};
// Throws Error if the lengths do not fit the program's longest context.
BenchPlan checkBenchGenerating(const Manifest &manifest, const Options &options);

// Times prefill of a full batch of prompts (median of 3 after a warm-up) and decode after it. Rank 0 prints.
// `groups`: of rows, each on its way by itself.
void benchOnRank(Rank &rank, const std::vector<TextSession *> &groups, const BenchPlan &plan, bool json);

} // namespace tessera::runtime
#endif
