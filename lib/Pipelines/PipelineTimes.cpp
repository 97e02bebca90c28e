//===- PipelineTimes.cpp --------------------------------------------------===//
//
// `info` and traces tell what was predicted of the very program that runs, not of the probes it was planned
// by.
//
//===----------------------------------------------------------------------===//
#include "PipelineTimes.h"

#include "PipelineModels.h"
#include "PipelineProbe.h"

#include "tessera/Dialect/Dist/IR/Dist.h"

using namespace mlir;

namespace tessera {

void writePipelineTimes(ModuleOp module, const CompileOptions &options) {
  std::vector<StageFigures> stages = readStages(module);
  if (stages.empty())
    return;
  Builder b(module.getContext());
  NamedAttrList times;
  auto add = [&](StringRef name, Figure figure) {
    SmallVector<double> seconds;
    for (const StageFigures &stage : stages)
      seconds.push_back(stage.of(figure));
    times.append(name, b.getDenseF64ArrayAttr(seconds));
  };
  if (options.task == Task::Train) {
    add("forward", Figure::Forward);
    add("input_gradient", Figure::InputGradient);
    add("weight_gradient", Figure::WeightGradient);
    add("once", Figure::Once);
  } else {
    add("chunk", Figure::Chunk);
    add("token", Figure::Token);
  }
  SmallVector<double> links;
  for (size_t s = 0; s + 1 < stages.size(); ++s)
    links.push_back(secondsOfMessage(options, double(std::max(stages[s].sent, stages[s + 1].sentBack))));
  times.append("link", b.getDenseF64ArrayAttr(links));
  for (auto pipeline : module.getOps<dist::PipelineOp>())
    pipeline.setTimesAttr(times.getDictionary(module.getContext()));
}

} // namespace tessera
