#include "Gradients.h"
#include "Outside.h"
#include "tessera/runtime/checkpoint/TensorFile.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/train/LossScale.h"

#include <algorithm>
#include <cmath>

namespace tessera::runtime {

const SavedFile &gradientsFile(const TrainJob &job, const TrainSpec &spec) {
  const std::string &state = spec.gradientState;
  auto file = std::find_if(job.files.begin(), job.files.end(),
                           [&](const SavedFile &one) { return !state.empty() && one.state == state; });
  if (file == job.files.end())
    throw Error("cannot write tensors", "--grads=" + job.options.grads,
                "this program does not say what gradients are read from",
                "leave it out, or compile it again with this version of llm-compile");
  return *file;
}

// The optimizer's states as they begin.
static void clearStatesOfOptimizer(Rank &rank) {
  const Manifest &manifest = rank.manifest();
  for (size_t p = 0; p < manifest.params.size(); ++p) {
    const ParamSpec &spec = manifest.params[p];
    if (!spec.isState())
      continue;
    const WeightPlan::Param &held = rank.plan().param(int64_t(p));
    for (int64_t layer = 0; layer < held.layers; ++layer)
      rank.compute().fill(rank.plainWeights(int64_t(p), layer), 0,
                          size_t(io::bytesOf(spec.dtype, elementCount(spec.local))));
    rank.pack(int64_t(p), -1, rank.compute());
  }
}

void writeGradients(TrainStep &step, const TrainJob &job, double lossScale) {
  Hyperparameters still; // no weight moves, whatever a gradient is
  still.learningRate = still.weightDecay = still.beta1 = still.beta2 = still.momentum = still.clip = 0;
  still.epsilon = 1; // never 0 / 0
  still.dropout = job.numbers.dropout;
  still.dropoutKey = dropoutKeyOf(job.options.seed.value_or(0), 0);
  train::LossScale scale{lossScale, 0};
  TrainStep::Loss loss;
  do { // as steps would that overflow: a smaller scale each time
    still.lossScale = scale.scale;
    loss = step.train(rowsOf(*job.data, 0), 0, still);
  } while (lossScale > 0 && !std::isfinite(loss.gradNorm) && std::isfinite(loss.loss) && scale.next(true));
  const SavedFile &file = gradientsFile(job, step.spec());
  if (std::isfinite(loss.loss) && std::isfinite(loss.gradNorm)) {
    Outside files(step.rank().entry());
    PieceReader reader(step, job.origin, file);
    check(checkpoint::writeTensorFile(
        job.options.grads,
        {file.state, &file.params, [&](int64_t param, int64_t layer) { return reader.piece(param, layer); },
         "gradients"},
        step.mesh(), step.rank().plane()));
  }
  for (size_t program = 0; program < step.rank().programs(); ++program)
    clearStatesOfOptimizer(step.program(program));
}

} // namespace tessera::runtime
