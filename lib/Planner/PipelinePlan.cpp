//===- PipelinePlan.cpp ---------------------------------------------------===//
#include "tessera/Planner/PipelinePlan.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/IR/PipelineAttrs.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;

namespace tessera {

Failure badFlag(const std::string &flag, const std::string &why, const std::string &hint) {
  return {"cannot compile", flag, why, hint};
}

/// Size of the mesh's axis for stages; none: there is no such axis.
static std::optional<int64_t> sizeOfAxis(const CompileOptions &options) {
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  std::optional<int> axis = mesh ? mesh->find(kPipelineAxis.str()) : std::nullopt;
  return axis ? std::optional<int64_t>(mesh->axes[size_t(*axis)].size) : std::nullopt;
}

static int64_t ranksOfPipeline(const CompileOptions &options) { return sizeOfAxis(options).value_or(1); }

std::string describeGiven(const CompileOptions &options) {
  std::string given;
  auto add = [&](bool is, const char *flag) {
    if (is)
      given += (given.empty() ? "; as given: " : ", ") + std::string(flag);
  };
  add(!options.pipeline.empty() && options.pipeline != "auto", "--pipeline");
  add(options.microBatches != 0, "--micro-batches");
  add(!options.stages.empty(), "--stages");
  return given;
}

Result<Link> readLink(const CompileOptions &options) {
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  if (!mesh)
    return badFlag("--mesh=" + options.mesh, error);
  std::optional<int> axis = mesh->find(kPipelineAxis);
  if (options.machine.empty() || !axis)
    return Machine().link;
  std::optional<Machine> machine = dist::loadMachine(options.machine, *mesh, error);
  if (!machine)
    return badFlag("--machine=" + options.machine, error);
  return machine->linkOf(*mesh, wholeAxis(*mesh, *axis));
}

bool hasPipeline(const CompileOptions &options) { return ranksOfPipeline(options) > 1; }

Status checkPipeline(const CompileOptions &options) {
  const bool isPlanned = !options.pipeline.empty() || !options.stages.empty();
  const std::string flag =
      options.pipeline.empty() ? "--stages=" + options.stages : "--pipeline=" + options.pipeline;
  const int64_t ranks = ranksOfPipeline(options);
  if (ranks == 1)
    return isPlanned
               ? Status(badFlag(flag,
                                sizeOfAxis(options) ? "the axis pp of the mesh has one rank"
                                                    : "the mesh has no axis pp that stages could lie along",
                                "give --mesh=pp=2, for example"))
               : Status();
  std::string error;
  if (std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error))
    if (auto items = dist::parseShardSpec(options.shard, *mesh, error))
      for (const dist::ShardItem &item : *items)
        for (const AxisRef &axis : item.axes)
          if (mesh->axes[size_t(axis.axis)].name == kPipelineAxis)
            return badFlag("--shard=" + item.text,
                           "pp cuts layers into stages, and nothing else lies along it",
                           "leave pp out of it");
  if (options.task != Task::Train && !options.pipeline.empty())
    return badFlag(flag, "stages that generate text take groups of rows in turn",
                   "leave it out, or give --task=train as well");
  if (options.check)
    return badFlag("--check", "it is not implemented for pipelines", "leave it out");
  return {};
}

Status planPipeline(ModuleOp graph, CompileOptions &options) {
  if (!hasPipeline(options))
    return {};
  std::optional<LayerLoop> loop = findLayerLoop(graph);
  if (!loop)
    return badFlag("--mesh=" + options.mesh, "the model has no run of equal layers that could be cut",
                   "use another axis than pp");
  if (loop->loops > 1)
    return badFlag("--mesh=" + options.mesh,
                   "the model's layers are " + std::to_string(loop->loops) +
                       " runs of different kinds, and stages are cut from one",
                   "use another axis than pp");
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  for (const MeshAxis &one : mesh->axes)
    options.stageMesh += (options.stageMesh.empty() ? "" : ",") + one.name + "=" +
                         std::to_string(one.name == kPipelineAxis ? 1 : one.size);
  auto ranks = int32_t(ranksOfPipeline(options));
  return options.task == Task::Generate ? planGeneration(graph, *loop, ranks, options)
                                        : planTraining(graph, *loop, ranks, options);
}

void writeSchedule(ModuleOp module, const CompileOptions &options) {
  for (auto pipeline : module.getOps<dist::PipelineOp>()) {
    Builder b(module.getContext());
    SmallVector<StringRef> lists(options.actionLists.begin(), options.actionLists.end());
    pipeline.setScheduleAttr(b.getStringAttr(options.scheduleName));
    pipeline.setListsAttr(b.getStrArrayAttr(lists));
    if (options.sendBuffers) // of lists it follows from the times of programs
      pipeline.setSendBuffersAttr(b.getI64IntegerAttr(options.sendBuffers));
    if (options.task == Task::Generate)
      pipeline->setDiscardableAttr(dist::kGroupsAttr, b.getI64IntegerAttr(options.microBatches));
  }
  if (options.task != Task::Generate)
    return;
  // Of the whole: its stages take the rows of a group, and go back as far as all of them can.
  int64_t rewind = -1;
  for (auto stage : module.getOps<ModuleOp>())
    if (auto of = stage->getAttrOfType<graph::GenerateAttr>(graph::kGenerateAttr)) {
      if (int64_t own = of.getRewind(); own >= 0)
        rewind = rewind < 0 ? own : std::min(own, rewind);
      module->setAttr(graph::kGenerateAttr,
                      graph::GenerateAttr::get(module.getContext(), options.batch, of.getChunk(),
                                               of.getMaxSeqLen(), of.getVocab(), rewind));
    }
}

} // namespace tessera
