// OUT bench of a program that trains.
#ifndef TESSERA_RUNTIME_APP_BENCHTRAINING_H
#define TESSERA_RUNTIME_APP_BENCHTRAINING_H

#include "Options.h"
#include "TrainStep.h"

namespace tessera::runtime {

// Throws Error on flags of programs that generate text, and on one that this program has no use for.
void checkBenchTraining(const Manifest &manifest, const Options &options);

// Times training steps on made-up tokens (median of 5 after 2). Rank 0 prints.
void benchTrainingOnRank(TrainStep &step, std::optional<double> peakFlops, bool json);

} // namespace tessera::runtime
#endif
