// OUT train.
#ifndef TESSERA_RUNTIME_APP_TRAIN_H
#define TESSERA_RUNTIME_APP_TRAIN_H

#include "Models.h"
#include "SavedState.h"
#include "TrainStep.h"
#include "TrainedProgram.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::runtime {

// Everything a run needs besides the ranks; made and checked before any rank starts.
struct TrainJob {
  TrainOptions options;
  std::optional<double> peakFlops; // of all ranks; none: to be measured
  Hyperparameters numbers;         // but for the learning rate, which is the step's
  std::unique_ptr<data::TrainingData> data, evaluation;
  uint64_t fingerprint = 0, evaluationFingerprint = 0; // of both
  std::unique_ptr<checkpoint::Checkpoint> resumed;     // null: from the start
  checkpoint::TrainingPlace place;                     // where the run begins
  WeightOrigin origin;
  std::vector<SavedFile> files;
  std::vector<std::pair<std::string, std::string>> texts; // that each save takes along
  std::atomic<bool> interrupted{false};                   // set by the run
};

// Opens data and save. Throws Error on all that is wrong with them before a step runs: data that are too
// short, of another width or beyond the vocabulary, a save of another model, flags that the program has no
// use for, a --grads, --trace, --log or --save that cannot be written there. `saves`: whether this process is
// to write them.
std::unique_ptr<TrainJob> prepareTrain(const TrainedProgram &program, const Options &options, Models &models,
                                       bool saves);

// What of the files that this process has opened decides the numbers, on which all processes must agree: they
// may lie at other places on other machines.
std::string whatIsRead(const TrainJob &job);

// Checks the bytes of the save that the run goes on from, each rank its share; before it is loaded.
void checkResumed(RankDevice &rank, const TrainJob &job);

// The part of one rank. Lines go out at rank 0 only.
void trainOnRank(TrainStep &step, TrainJob &job);

} // namespace tessera::runtime
#endif
