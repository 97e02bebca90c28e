//===- PipelineData.cpp ---------------------------------------------------===//
#include "PipelineData.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/runtime/schedule/Text.h"

using namespace mlir;

namespace tessera::report {

static std::vector<double> secondsOf(DictionaryAttr times, StringRef name) {
  auto seconds = times ? times.getAs<DenseF64ArrayAttr>(name) : DenseF64ArrayAttr();
  return seconds ? seconds.asArrayRef().vec() : std::vector<double>();
}

/// The lists that the table has; none where they do not read.
static schedule::Schedule listsOf(dist::PipelineOp pipeline) {
  std::string text;
  if (!pipeline.getLists() || pipeline.getLists()->empty())
    return {};
  for (auto [at, list] : llvm::enumerate(pipeline.getLists()->getAsRange<StringAttr>()))
    text += "r" + std::to_string(at) + " " + list.str() + "\n";
  auto read = schedule::parseSchedule(text, "lists");
  return read ? schedule::scheduleOf(read->ranks) : schedule::Schedule();
}

std::optional<Pipeline> describePipeline(ModuleOp module, const CompileOptions &options) {
  auto pipelines = llvm::to_vector(module.getOps<dist::PipelineOp>());
  if (pipelines.empty())
    return std::nullopt;
  dist::PipelineOp op = pipelines.front();
  Pipeline pipeline;
  pipeline.axis = op.getAxis().str();
  pipeline.mesh = options.mesh;
  std::string error;
  if (std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error))
    pipeline.ranks = mesh->numDevices();
  pipeline.schedule = op.getSchedule().value_or("").str();
  DictionaryAttr times = op.getTimesAttr();
  for (auto [i, stage] : llvm::enumerate(op.getStages().getAsRange<dist::StageAttr>())) {
    Pipeline::Stage one{stage.getAt(), stage.getFirst(), stage.getLayers(), {}};
    for (StringRef name : {"forward", "input_gradient", "weight_gradient", "once", "chunk", "token"})
      if (std::vector<double> seconds = secondsOf(times, name); i < seconds.size())
        one.seconds.push_back({name.str(), seconds[i]});
    pipeline.stages.push_back(std::move(one));
  }
  pipeline.channels = explainChannels(module, options);
  pipeline.lists = listsOf(op);
  if (pipeline.lists.numRanks() == 0)
    return pipeline;
  schedule::Costs costs;
  costs.forward = secondsOf(times, "forward");
  costs.backwardInput = secondsOf(times, "input_gradient");
  costs.backwardWeight = secondsOf(times, "weight_gradient");
  costs.link = secondsOf(times, "link");
  schedule::Transport transport;
  transport.sendBuffers = int32_t(op.getSendBuffers().value_or(1));
  pipeline.simulation = schedule::simulate(pipeline.lists, costs, transport);
  return pipeline;
}

} // namespace tessera::report
