//===- PipelineData.cpp ---------------------------------------------------===//
#include "PipelineData.h"

#include "tessera/Planner/PipelineTimes.h"

#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"

using namespace mlir;

namespace tessera::report {

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
  const StageTimes times = readTimes(op);
  for (auto [i, stage] : llvm::enumerate(op.getStages().getAsRange<dist::StageAttr>())) {
    Pipeline::Stage one{stage.getAt(), stage.getFirst(), stage.getLayers(), {}};
    for (const char *name :
         {"forward", "input_gradient", "weight_gradient", "once", "shared", "chunk", "token"})
      if (auto found = times.find(name); found != times.end())
        one.seconds.push_back({name, found->second[i]});
    pipeline.stages.push_back(std::move(one));
  }
  pipeline.channels = explainChannels(module, options);
  if (std::optional<schedule::Schedule> lists = readLists(op)) {
    pipeline.lists = std::move(*lists);
    pipeline.step = predictStep(op, pipeline.lists);
  }
  return pipeline;
}

} // namespace tessera::report
