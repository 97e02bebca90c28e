#include "StepInputs.h"
#include "Outside.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cmath>

namespace tessera::runtime {

static bool takesRows(const InputSpec &input) {
  return input.fill == Fill::TokenIds || input.fill == Fill::Positions || input.fill == Fill::Targets;
}

void StepInputs::begin(const StepRows &rows, int64_t update, const Hyperparameters &numbers) {
  Outside files(rank_.entry());
  targets_ = rows.countedTokens();
  update_ = update;
  numbers_ = numbers;
  cuts_.clear();
}

void StepInputs::read(const StepRows &rows, const EntrySpec &entry) {
  Outside files(rank_.entry());
  for (const InputSpec &input : entry.inputs)
    if (takesRows(input) && !find(input)) // inputs are cut alike as a rule, and then rows are read once
      cut(rows, input);
}

// An input of one micro-batch has no dimension of them: all of them are read for it.
std::vector<StepInputs::Piece> StepInputs::piecesOf(const InputSpec &input) const {
  std::vector<Piece> pieces;
  if (input.shape.size() == 2)
    pieces.push_back({{0, microBatches_}, microBatches_});
  for (size_t d = 0; d < input.shape.size(); ++d)
    pieces.push_back({shardRange(input.shape[d], input.local[d], mesh_.index(rank_.id(), input.sharding[d])),
                      input.local[d]});
  return pieces;
}

const StepInputs::Cut *StepInputs::find(const InputSpec &input) const {
  const std::vector<Piece> pieces = piecesOf(input);
  auto same = [](const Piece &a, const Piece &b) {
    return a.range.begin == b.range.begin && a.local == b.local;
  };
  for (const Cut &one : cuts_)
    if (std::equal(pieces.begin(), pieces.end(), one.pieces.begin(), same))
      return &one;
  return nullptr;
}

void StepInputs::cut(const StepRows &rows, const InputSpec &input) {
  const std::vector<Piece> pieces = piecesOf(input);
  const size_t one = size_t(pieces[1].local * pieces[2].local), all = size_t(pieces[0].local) * one;
  // What is beyond the last micro-batch is padding: no place, no loss.
  Cut made{pieces, std::vector<int32_t>(all, 0), std::vector<int32_t>(all, -1),
           std::vector<int32_t>(all, -1)};
  data::MicroBatch batch;
  for (int64_t m = pieces[0].range.begin; m < pieces[0].range.end; ++m) {
    check(rows.read(m, {pieces[1].range, pieces[2].range, pieces[1].local, pieces[2].local}, batch));
    const size_t at = size_t(m - pieces[0].range.begin) * one;
    std::copy(batch.tokens.begin(), batch.tokens.end(), made.tokens.begin() + at);
    std::copy(batch.positions.begin(), batch.positions.end(), made.positions.begin() + at);
    std::copy(batch.targets.begin(), batch.targets.end(), made.targets.begin() + at);
  }
  cuts_.push_back(std::move(made));
}

namespace {
// The numbers of an update as the inputs take them.
double numberOf(Fill fill, const Hyperparameters &h, int64_t update) {
  // Of beta as the program has it: 1 - 0.999 in float32 is off by 1.3e-5, which this takes back.
  auto correction = [&](double beta) { return 1 / (1 - std::pow(double(float(beta)), double(update + 1))); };
  switch (fill) {
  case Fill::LearningRate:
    return h.learningRate;
  case Fill::WeightDecay:
    return h.weightDecay;
  case Fill::Beta1:
    return h.beta1;
  case Fill::Beta2:
    return h.beta2;
  case Fill::Epsilon:
    return h.epsilon;
  case Fill::Momentum:
    return h.momentum;
  case Fill::Clip:
    return h.clip;
  case Fill::FirstCorrection:
    return correction(h.beta1);
  case Fill::SecondCorrection:
    return correction(h.beta2);
  case Fill::LossScale:
    return h.lossScale;
  case Fill::Dropout:
    return h.dropout;
  default: // Manifest::parse lets no entry that trains have another one
    return 0;
  }
}
} // namespace

bool StepInputs::write(Rank &program, const InputSpec &input, int64_t microBatch) const {
  char *to = program.arena() + input.offset;
  if (takesRows(input)) {
    const Cut &from = *find(input);
    const std::vector<int32_t> &values = input.fill == Fill::TokenIds    ? from.tokens
                                         : input.fill == Fill::Positions ? from.positions
                                                                         : from.targets;
    const auto count = size_t(elementCount(input.local));
    const size_t first = input.shape.size() == 2 ? size_t(microBatch) * count : 0;
    program.write(to, values.data() + first, count * sizeof(int32_t));
  } else if (input.fill == Fill::DropoutKey) {
    program.write(to, &numbers_.dropoutKey, sizeof numbers_.dropoutKey);
  } else if (fillsTraining(input.fill)) {
    auto value = float(input.fill == Fill::TokenWeight ? 1 / double(targets_)
                                                       : numberOf(input.fill, numbers_, update_));
    program.write(to, &value, sizeof value);
  } else {
    return false;
  }
  return true;
}

} // namespace tessera::runtime
