#include "Trainer.h"
#include "Outside.h"
#include "tessera/runtime/core/CountedRandom.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cmath>

namespace tessera::runtime {

const TrainSpec &trainOf(const Manifest &manifest) {
  if (!manifest.train)
    throw Error("cannot train", manifest.model,
                manifest.task.empty() ? "this program does not train"
                                      : "this program was compiled with --task=" + manifest.task,
                "compile the model with --task=train");
  return *manifest.train;
}

uint64_t dropoutKeyOf(uint64_t seed, int64_t step) {
  constexpr uint64_t streamOfDropout = 0x64726f70; // apart from the orders of rows, and from weights made up
  return randomBits(seed, streamOfDropout, uint64_t(step));
}

StepRows rowsOf(const data::TrainingData &data, int64_t step) {
  return {[&data, step] { return data.countedTokens(step); },
          [&data, step](int64_t microBatch, const data::BatchPiece &piece, data::MicroBatch &out) {
            return data.read(step, microBatch, piece, out);
          }};
}

Trainer::Trainer(Rank &rank) : rank_(rank), spec_(trainOf(rank.manifest())) {}

// Inputs are cut alike as a rule, and then rows are read once.
const Trainer::Cut &Trainer::cut(const StepRows &rows, const InputSpec &input) {
  const Mesh &mesh = rank_.manifest().mesh;
  std::vector<std::pair<int64_t, int64_t>> key;
  ShardRange ranges[3];
  for (size_t d = 0; d < 3; ++d) {
    ranges[d] = shardRange(input.shape[d], input.local[d], mesh.index(rank_.id(), input.sharding[d]));
    key.emplace_back(ranges[d].begin, input.local[d]);
  }
  auto found = std::find_if(cuts_.begin(), cuts_.end(), [&](const Cut &one) { return one.key == key; });
  if (found != cuts_.end())
    return *found;
  const size_t all = size_t(elementCount(input.local)), one = size_t(input.local[1] * input.local[2]);
  // What is beyond the last micro-batch is padding: no place, no loss.
  Cut made{std::move(key), std::vector<int32_t>(all, 0), std::vector<int32_t>(all, -1),
           std::vector<int32_t>(all, -1)};
  data::MicroBatch batch;
  for (int64_t m = ranges[0].begin; m < ranges[0].end; ++m) {
    check(rows.read(m, {ranges[1], ranges[2], input.local[1], input.local[2]}, batch));
    const size_t at = size_t(m - ranges[0].begin) * one;
    std::copy(batch.tokens.begin(), batch.tokens.end(), made.tokens.begin() + at);
    std::copy(batch.positions.begin(), batch.positions.end(), made.positions.begin() + at);
    std::copy(batch.targets.begin(), batch.targets.end(), made.targets.begin() + at);
  }
  cuts_.push_back(std::move(made));
  return cuts_.back();
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

double Trainer::output(const EntrySpec &entry, Gives gives) {
  float value = 0;
  rank_.read(&value, rank_.arena() + entry.output(gives)->offset, sizeof value);
  return double(value);
}

Trainer::Loss Trainer::run(int64_t number, const StepRows &rows, int64_t update,
                           const Hyperparameters &numbers) {
  const EntrySpec &entry = rank_.manifest().entries[size_t(number)];
  Loss loss;
  auto give = [&](const InputSpec &to, const std::vector<int32_t> &values) {
    rank_.write(rank_.arena() + to.offset, values.data(), values.size() * sizeof(int32_t));
  };
  {
    Outside files(rank_.entry());
    loss.targets = rows.countedTokens();
    cuts_.clear();
    for (const InputSpec &input : entry.inputs)
      if (input.fill == Fill::TokenIds || input.fill == Fill::Positions || input.fill == Fill::Targets)
        cut(rows, input);
  }
  for (const InputSpec &input : entry.inputs) {
    if (input.fill == Fill::TokenIds) {
      give(input, cut(rows, input).tokens);
    } else if (input.fill == Fill::Positions) {
      give(input, cut(rows, input).positions);
    } else if (input.fill == Fill::Targets) {
      give(input, cut(rows, input).targets);
    } else if (input.fill == Fill::DropoutKey) {
      rank_.write(rank_.arena() + input.offset, &numbers.dropoutKey, sizeof numbers.dropoutKey);
    } else {
      auto value = float(input.fill == Fill::TokenWeight ? 1 / double(loss.targets)
                                                         : numberOf(input.fill, numbers, update));
      rank_.write(rank_.arena() + input.offset, &value, sizeof value);
    }
  }
  rank_.call(number);
  loss.loss = output(entry, Gives::Loss);
  if (entry.output(Gives::GradNorm))
    loss.gradNorm = output(entry, Gives::GradNorm);
  return loss;
}

Trainer::Loss Trainer::train(const StepRows &rows, int64_t update, const Hyperparameters &numbers) {
  return run(entryOf(numbers), rows, update, numbers);
}

Trainer::Loss Trainer::evaluate(const StepRows &rows) { return run(spec_.evaluate, rows, 0, {}); }

double Trainer::evaluate(const data::TrainingData &data) {
  double sum = 0, targets = 0;
  for (int64_t step = 0; step < data.stepsToTheEnd(); ++step) {
    const StepRows rows = rowsOf(data, step);
    if (rows.countedTokens() == 0)
      continue;
    Loss loss = evaluate(rows);
    sum += loss.loss * double(loss.targets);
    targets += double(loss.targets);
  }
  return sum / targets;
}

} // namespace tessera::runtime
