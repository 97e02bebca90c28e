// Which rows a step takes, and what of them a rank holds.
#ifndef TESSERA_RUNTIME_DATA_TRAININGDATA_H
#define TESSERA_RUNTIME_DATA_TRAININGDATA_H

#include "tessera/runtime/core/Mesh.h"
#include "tessera/runtime/data/TokenRows.h"

#include <optional>
#include <vector>

namespace tessera::data {

struct DataOptions {
  int64_t stepRows = 1;     // rows of a step, over all ranks and micro-batches (--batch)
  int64_t microBatches = 1; // a step's rows are divided among them, in order
  int64_t epochs = 1;       // passes over the data (--epochs)
  std::optional<uint64_t> shuffle = std::nullopt; // a permutation of the rows for each pass (--shuffle)
  bool documents = false; // attention and positions start over after an end token (--documents)
  std::vector<int32_t> endTokens = {};
};

// The piece of one micro-batch [rows, sequence] that a rank holds: it has the sizes localRows, localColumns
// and begins with these rows and columns of the whole. What is beyond them is padding.
struct BatchPiece {
  runtime::ShardRange rows, columns;
  int64_t localRows = 0, localColumns = 0;
};

// What a step's program takes, each int32 [localRows, localColumns], row-major.
struct MicroBatch {
  std::vector<int32_t> tokens;    // ids; 0 where there is none
  std::vector<int32_t> positions; // in the row, or in the document; -1: inert, no attention
  std::vector<int32_t> targets;   // the id to predict; -1: no loss
};

// Everything is a function of the step, the micro-batch and the row in it, never of the mesh or of what came
// before: that is all of the place in the data that a checkpoint has to keep. Steps count from 0. Step s
// takes the rows s * stepRows .. (s + 1) * stepRows - 1 of the passes put one after another, so a step may
// end one pass and begin the next; micro-batch m of k takes the m-th ceil(stepRows / k) of them, the last
// ones fewer or none. Immutable; any number of threads may read.
class TrainingData {
public:
  // Fails if there are more micro-batches than rows of a step, or no row has a token to predict.
  static Result<std::unique_ptr<TrainingData>> make(std::unique_ptr<TokenRows> rows, DataOptions options);

  // Steps for which all rows are there; and those that end with the last row, the last one perhaps with fewer
  // (for evaluation).
  int64_t wholeSteps() const { return allRows_ / options_.stepRows; }
  int64_t stepsToTheEnd() const { return (allRows_ + options_.stepRows - 1) / options_.stepRows; }
  // Fails if `steps` from the first on take more rows than the passes have.
  Status checkSteps(int64_t steps) const;

  int64_t sequence() const { return rows_->sequence(); }
  int64_t passRows() const { return rows_->rows(); } // of one pass over the data
  // Of at most 64 rows from the first to the last, in whatever order they are taken: other data have another
  // one, all but surely. Never 0. Fails where such a row cannot be read.
  Result<uint64_t> fingerprint() const;
  int64_t microRows() const { return microRows_; } // of a whole micro-batch
  // The row of the data that is row `row` of a micro-batch; -1: there is none.
  int64_t rowOf(int64_t step, int64_t microBatch, int64_t row) const;

  // Tokens with a loss in a step, over all ranks and micro-batches: what its sum of losses is divided by.
  // 0: such a step has nothing to learn. Looks at the lengths of the step's rows, not at the rows.
  int64_t countedTokens(int64_t step) const;

  // Reads the rows of the piece and no others.
  Status read(int64_t step, int64_t microBatch, const BatchPiece &piece, MicroBatch &out) const;

private:
  TrainingData() = default;
  bool endsDocument(int32_t id) const;

  std::unique_ptr<TokenRows> rows_;
  DataOptions options_;
  int64_t microRows_ = 1, allRows_ = 0;
};

} // namespace tessera::data
#endif
