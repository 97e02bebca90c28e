// A step of training on one rank, as a run asks for it, whatever the program is made of.
#ifndef TESSERA_RUNTIME_APP_TRAINSTEP_H
#define TESSERA_RUNTIME_APP_TRAINSTEP_H

#include "StepObserver.h"
#include "TraceEvents.h"
#include "tessera/runtime/data/TrainingData.h"

#include <cstdint>
#include <functional>

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

// The role of the step that trains with these numbers.
inline Role roleOf(const Hyperparameters &numbers) {
  return numbers.dropout > 0 ? Role::TrainDropout : Role::Train;
}

// Throws Error if the program does not train.
const TrainSpec &trainOf(const Manifest &manifest);

// The rows of one step, as data::TrainingData has them.
struct StepRows {
  std::function<int64_t()> countedTokens; // at least 1
  std::function<Status(int64_t microBatch, const data::BatchPiece &piece, data::MicroBatch &out)> read;
};
StepRows rowsOf(const data::TrainingData &data, int64_t step); // from 0. Valid as long as the data

// Every rank makes the same calls with the same arguments.
class TrainStep {
public:
  struct Loss {
    double loss = 0;     // mean over the targets that count
    double gradNorm = 0; // before clipping; 0 of what is only evaluated
    int64_t targets = 0; // that count, over all ranks
  };
  virtual ~TrainStep() = default;
  // Sizes of the whole program.
  virtual const TrainSpec &spec() const = 0;
  virtual const Mesh &mesh() const = 0;
  // The programs of the rank: at least one.
  virtual Rank &program(size_t number) = 0;
  // The one that has the parameters of number `part` of all that are trained together (SavedParam::part);
  // null if another rank has it.
  virtual Rank *holder(size_t part) = 0;
  // Draws what is predicted of a step, as further processes from number `first` on.
  virtual void drawPrediction(int64_t first, TraceEvents &events) const {}
  // Null: nobody is told of what a step does.
  virtual void observe(StepObserver *observer) = 0;

  // A step, as update number `update` (from 0).
  virtual Loss train(const StepRows &rows, int64_t update, const Hyperparameters &numbers) = 0;
  // The loss of the same rows; updates nothing. Only where the program has the role for it.
  virtual Loss evaluate(const StepRows &rows) = 0;
  // The mean over all rows of the data, those of a last step that is not whole included.
  double evaluate(const data::TrainingData &data);

  RankDevice &rank() { return program(0).shared(); }
};

} // namespace tessera::runtime
#endif
