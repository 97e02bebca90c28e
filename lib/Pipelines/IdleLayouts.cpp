//===- IdleLayouts.cpp - Values over axes that no weight lies over --------===//
#include "tessera/Pipelines/IdleLayouts.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;

namespace tessera {

SmallVector<std::pair<func::FuncOp, BlockArgument>> heldArguments(ModuleOp module) {
  SmallVector<std::pair<func::FuncOp, BlockArgument>> held;
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (graph::argumentKind(argument) == graph::Kind::Parameter)
        held.push_back({function, argument});
  return held;
}

std::set<std::string> axesOfWeights(ModuleOp module) {
  std::set<std::string> axes;
  const Mesh mesh = dist::getMesh(module) ? dist::getMesh(module).getMesh().toMesh() : Mesh();
  for (auto [function, weight] : heldArguments(module))
    if (auto sharding = dist::getShardingAttr(weight.getType()))
      for (const AxisRef &used : sharding.toSharding(mesh).usedAxes())
        axes.insert(mesh.axes[size_t(used.axis)].name);
  return axes;
}

CompileOptions withShardItem(CompileOptions options, const std::string &item) {
  options.shard += (options.shard.empty() ? "" : ",") + item;
  return options;
}

bool saysLayout(const CompileOptions &options, StringRef valueClass, StringRef prefix) {
  return llvm::any_of(llvm::split(options.shard, ','), [&](StringRef item) {
    StringRef value = item.split('=').first.contains(':') ? item.split(':').first.trim() : StringRef();
    return value == valueClass || (!prefix.empty() && value.starts_with(prefix));
  });
}

std::string axesOfLayout(const CompileOptions &options, ArrayRef<std::string> idle) {
  std::string error, axes;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  for (const MeshAxis &axis : mesh->axes) {
    const dist::StandardAxis *standard = dist::findStandardAxis(axis.name);
    if (axis.size > 1 &&
        ((standard && standard->largestFreeWeightDim) || llvm::is_contained(idle, axis.name)))
      axes += (axes.empty() ? "" : "+") + axis.name;
  }
  return axes;
}

std::vector<IdleLayout> idleLayouts(const CompileOptions &options, ArrayRef<std::string> idle,
                                    bool addsUpGradients) {
  std::vector<IdleLayout> list;
  const std::string axes = axesOfLayout(options, idle);
  if (idle.empty() || axes.empty()) // a program may bring a mesh of its own
    return list;
  CompileOptions layout = options;
  auto add = [&](StringRef valueClass, StringRef prefix) {
    if (saysLayout(options, valueClass, prefix))
      return false;
    layout = withShardItem(layout, (valueClass + ":" + dist::kLargest + "=" + axes).str());
    list.push_back({layout, valueClass});
    return true;
  };
  if (options.task == Task::Train && add(dist::kStates, "") && addsUpGradients)
    add(dist::kGradients, "grad.");
  add(dist::kWeights, "");
  return list;
}

} // namespace tessera
