// The entries that train, on one rank. What they are and what fills their inputs says the manifest ("train").
#ifndef TESSERA_RUNTIME_APP_TRAINER_H
#define TESSERA_RUNTIME_APP_TRAINER_H

#include "tessera/runtime/data/TrainingData.h"
#include "tessera/runtime/device/Rank.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace tessera::runtime {

// Numbers of one update; the program takes those that its optimizer needs.
struct Hyperparameters {
  double learningRate = 1e-3, weightDecay = 0.1, beta1 = 0.9, beta2 = 0.95, momentum = 0.9, epsilon = 1e-8;
  double clip = 1, lossScale = 1;
  double dropout = 0; // the share of elements that are dropped; above 0 only where the program can
  uint64_t dropoutKey = 0;
};

// What the dropout of a step (from 0) draws from: the same on any mesh, and in a run that was resumed.
uint64_t dropoutKeyOf(uint64_t seed, int64_t step);

// Throws Error if the program does not train.
const TrainSpec &trainOf(const Manifest &manifest);

// The rows of one step, as data::TrainingData has them.
struct StepRows {
  std::function<int64_t()> countedTokens; // at least 1
  std::function<Status(int64_t microBatch, const data::BatchPiece &piece, data::MicroBatch &out)> read;
};
StepRows rowsOf(const data::TrainingData &data, int64_t step); // from 0. Valid as long as the data

// Every rank makes the same calls with the same arguments.
class Trainer {
public:
  explicit Trainer(Rank &rank); // throws Error if the program does not train

  struct Loss {
    double loss = 0;     // mean over the targets that count
    double gradNorm = 0; // before clipping; 0 of what is only evaluated
    int64_t targets = 0; // that count, over all ranks
  };
  // The number of the entry that trains with these numbers.
  int64_t entryOf(const Hyperparameters &numbers) const {
    return numbers.dropout > 0 ? spec_.trainDropout : spec_.train;
  }
  // A step, as update number `update` (from 0).
  Loss train(const StepRows &rows, int64_t update, const Hyperparameters &numbers);
  // The loss of the same rows; updates nothing. Only where there is such an entry (TrainSpec::evaluate).
  Loss evaluate(const StepRows &rows);
  // The mean over all rows of the data, those of a last step that is not whole included.
  double evaluate(const data::TrainingData &data);

private:
  // The arrays of all micro-batches, cut as one input is.
  struct Cut {
    std::vector<std::pair<int64_t, int64_t>> key;
    std::vector<int32_t> tokens, positions, targets;
  };
  const Cut &cut(const StepRows &rows, const InputSpec &input);
  Loss run(int64_t entry, const StepRows &rows, int64_t update, const Hyperparameters &numbers);
  double output(const EntrySpec &entry, Gives gives);

  Rank &rank_;
  const TrainSpec &spec_;
  std::vector<Cut> cuts_; // of the step at hand
};

} // namespace tessera::runtime
#endif
