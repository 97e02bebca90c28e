#include "TrainStep.h"
#include "tessera/runtime/core/CountedRandom.h"
#include "tessera/runtime/core/Error.h"

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

double TrainStep::evaluate(const data::TrainingData &data) {
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
