// What fills the inputs of entries that train: rows of the data, numbers of the update.
#ifndef TESSERA_RUNTIME_APP_STEPINPUTS_H
#define TESSERA_RUNTIME_APP_STEPINPUTS_H

#include "TrainStep.h"

#include <vector>

namespace tessera::runtime {

class StepInputs {
public:
  // `microBatches`: of a step.
  StepInputs(RankDevice &rank, const Mesh &mesh, int64_t microBatches)
      : rank_(rank), mesh_(mesh), microBatches_(microBatches) {}

  // Those of the next step from now on.
  void begin(const StepRows &rows, int64_t update, const Hyperparameters &numbers);
  // Reads the rows that the entry takes, all that this rank has of them.
  void read(const StepRows &rows, const EntrySpec &entry);
  // Writes `input` into the arena of `program`: of all micro-batches or, where it is one's alone, of
  // `microBatch`. False: it is filled by something else.
  bool write(Rank &program, const InputSpec &input, int64_t microBatch = 0) const;
  int64_t targets() const { return targets_; } // that count in the step, over all ranks

private:
  // The arrays of all micro-batches, or of those that a rank has, cut as one input is.
  struct Piece {
    ShardRange range;
    int64_t local;
  };
  struct Cut {
    std::vector<Piece> pieces; // of micro-batches, rows, columns
    std::vector<int32_t> tokens, positions, targets;
  };
  std::vector<Piece> piecesOf(const InputSpec &input) const;
  const Cut *find(const InputSpec &input) const;
  void cut(const StepRows &rows, const InputSpec &input);

  RankDevice &rank_;
  const Mesh &mesh_;
  int64_t microBatches_;
  // Of the step at hand.
  std::vector<Cut> cuts_;
  int64_t targets_ = 0, update_ = 0;
  Hyperparameters numbers_;
};

} // namespace tessera::runtime
#endif
