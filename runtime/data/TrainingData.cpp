#include "tessera/runtime/data/TrainingData.h"

#include "tessera/runtime/data/RowPermutation.h"
#include "tessera/runtime/io/Checksum.h"

#include <algorithm>
#include <limits>

namespace tessera::data {

static std::string counted(int64_t count, const std::string &one, const std::string &several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

Result<std::unique_ptr<TrainingData>> TrainingData::make(std::unique_ptr<TokenRows> rows,
                                                         DataOptions options) {
  if (options.microBatches > options.stepRows)
    return Failure{"cannot divide a step", counted(options.microBatches, "micro-batch", "micro-batches"),
                   "a step has " + counted(options.stepRows, "row", "rows"),
                   "use a larger --batch or fewer --micro-batches"};
  int64_t row = 0;
  while (row < rows->rows() && rows->targets(row) == 0)
    ++row;
  if (row == rows->rows())
    return Failure{"cannot use data", rows->path(), "none of its rows has a token to predict",
                   "give it rows of at least two tokens"};
  std::unique_ptr<TrainingData> data(new TrainingData);
  data->microRows_ = (options.stepRows + options.microBatches - 1) / options.microBatches;
  if (__builtin_mul_overflow(rows->rows(), options.epochs, &data->allRows_))
    data->allRows_ = std::numeric_limits<int64_t>::max() / 2;
  data->rows_ = std::move(rows);
  data->options_ = std::move(options);
  return data;
}

Status TrainingData::checkSteps(int64_t steps) const {
  if (steps <= wholeSteps())
    return {};
  // Rounded up without a product that overflows.
  long double rows = (long double)steps * (long double)options_.stepRows,
              passes = (rows + (long double)rows_->rows() - 1) / (long double)rows_->rows();
  std::string fewer = wholeSteps() > 0 ? ", or --steps=" + std::to_string(wholeSteps()) : "";
  return Failure{"cannot train " + counted(steps, "step", "steps"), rows_->path(),
                 "a step takes " + counted(options_.stepRows, "row", "rows") + ", and " +
                     counted(options_.epochs, "pass", "passes") + " over the data " +
                     (options_.epochs == 1 ? "has " : "have ") + std::to_string(allRows_),
                 "use --epochs=" + (passes < 9e18L ? std::to_string(int64_t(passes)) : "N") + fewer};
}

Result<uint64_t> TrainingData::fingerprint() const {
  const int64_t rows = rows_->rows(), samples = std::min<int64_t>(rows, 64);
  const auto width = size_t(sequence()) + 1;
  std::vector<int32_t> ids(size_t(samples) * width);
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t row = samples == 1 ? 0 : i * ((rows - 1) / (samples - 1));
    if (Status status = rows_->read(i == samples - 1 ? rows - 1 : row, ids.data() + size_t(i) * width);
        !status)
      return status.failure();
  }
  return std::max<uint64_t>(1, io::checksum(ids.data(), ids.size() * sizeof(int32_t)));
}

int64_t TrainingData::rowOf(int64_t step, int64_t microBatch, int64_t row) const {
  int64_t inStep = microBatch * microRows_ + row;
  if (row >= microRows_ || inStep >= options_.stepRows)
    return -1;
  int64_t inPasses = step * options_.stepRows + inStep;
  if (inPasses >= allRows_)
    return -1;
  int64_t pass = inPasses / rows_->rows(), place = inPasses % rows_->rows();
  return options_.shuffle ? RowPermutation(rows_->rows(), *options_.shuffle, pass).at(place) : place;
}

int64_t TrainingData::countedTokens(int64_t step) const {
  int64_t count = 0;
  for (int64_t m = 0; m < options_.microBatches; ++m)
    for (int64_t r = 0; r < microRows_; ++r)
      if (int64_t row = rowOf(step, m, r); row >= 0)
        count += rows_->targets(row);
  return count;
}

bool TrainingData::endsDocument(int32_t id) const {
  return options_.documents &&
         std::find(options_.endTokens.begin(), options_.endTokens.end(), id) != options_.endTokens.end();
}

Status TrainingData::read(int64_t step, int64_t microBatch, const BatchPiece &piece, MicroBatch &out) const {
  const size_t size = size_t(piece.localRows * piece.localColumns);
  out.tokens.assign(size, 0);
  for (std::vector<int32_t> *values : {&out.positions, &out.targets})
    values->assign(size, -1);
  std::vector<int32_t> ids(size_t(sequence()) + 1);
  for (int64_t r = piece.rows.begin; r < piece.rows.end; ++r) {
    int64_t row = rowOf(step, microBatch, r);
    if (row < 0)
      continue;
    if (Status status = rows_->read(row, ids.data()); !status)
      return status;
    // Positions and targets are those of the whole row, whatever columns are kept.
    int32_t position = 0;
    for (int64_t c = 0; c < piece.columns.end && ids[size_t(c)] >= 0; ++c, ++position) {
      if (c > 0 && endsDocument(ids[size_t(c) - 1]))
        position = 0;
      if (c < piece.columns.begin)
        continue;
      size_t at = size_t((r - piece.rows.begin) * piece.localColumns + c - piece.columns.begin);
      out.tokens[at] = ids[size_t(c)];
      out.positions[at] = position;
      out.targets[at] = ids[size_t(c) + 1];
    }
  }
  return {};
}

} // namespace tessera::data
