// OUT bench of a program that trains.
#ifndef TESSERA_RUNTIME_APP_BENCHTRAINING_H
#define TESSERA_RUNTIME_APP_BENCHTRAINING_H

#include "Options.h"
#include "tessera/runtime/device/Rank.h"

namespace tessera::runtime {

// Throws Error on flags of programs that generate text.
void checkBenchTraining(const Options &options);

// Times training steps on made-up tokens (median of 5 after 2). Rank 0 prints.
void benchTrainingOnRank(Rank &rank, bool json);

} // namespace tessera::runtime
#endif
