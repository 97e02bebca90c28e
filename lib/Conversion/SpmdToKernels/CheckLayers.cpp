//===- CheckLayers.cpp - every rank runs all layers -------------------------===//
//
// Rung spmd may shard the dimension `layer`. Below it a loop takes layer i of a stack by its number, so a
// rank that holds some of the layers would read the wrong ones: such a program has no form on rung kernels.
// Stages of a pipeline are programs of their own. What no loop takes apart may be split by layers like any
// value: an axis that nothing else uses may split the squares of a gradient's norm.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "tessera/Analysis/DimNames/DimNames.h"

namespace tessera::kernels {

namespace {

class LayerChecker {
public:
  LayerChecker(ModuleOp module, const Mesh &mesh) : module(module), mesh(mesh), names(module) {}

  LogicalResult run() {
    for (auto func : module.getOps<func::FuncOp>())
      for (BlockArgument arg : func.isExternal() ? MutableArrayRef<BlockArgument>() : func.getArguments())
        if (failed(checkArgument(func, arg)))
          return failure();
    WalkResult walked = module.walk([&](Operation *op) {
      if (auto flow = dyn_cast<DataFlowOpInterface>(op))
        for (const StackEdge &edge : flow.getStackEdges())
          if (failed(checkDim(op, edge.stack, 0, edge.collected ? "a returned stack" : "a stack")))
            return WalkResult::interrupt();
      return WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

private:
  LogicalResult checkArgument(func::FuncOp func, BlockArgument arg) {
    auto nameAttr = func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr);
    StringRef name = nameAttr ? nameAttr.getValue() : StringRef();
    std::optional<graph::Kind> kind = graph::argumentKind(arg);
    std::string what = (kind ? graph::stringifyKind(*kind) : "argument").str() + " '" +
                       (name.empty() ? Twine(arg.getArgNumber()).str() : name.str()) + "'";
    auto parameter = kind == graph::Kind::Parameter
                         ? dyn_cast_or_null<graph::ParameterOp>(SymbolTable::lookupSymbolIn(module, name))
                         : nullptr;
    if (parameter && parameter.getStacked())
      if (failed(checkDim(func, arg, 0, what)))
        return failure();
    return checkNamed(func, arg, what);
  }

  LogicalResult checkNamed(Operation *op, Value value, const Twine &what) {
    for (auto [dim, name] : llvm::enumerate(names.names(value)))
      if (name == "layer" && failed(checkDim(op, value, int64_t(dim), what)))
        return failure();
    return success();
  }

  LogicalResult checkDim(Operation *op, Value value, int64_t dim, const Twine &what) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    dist::ShardingAttr sharding = type ? dist::getShardingAttr(type) : nullptr;
    if (!sharding || dim >= type.getRank())
      return success();
    AxisList axes = sharding.toSharding(mesh).dims[dim].axes;
    if (axesSize(axes) == 1)
      return success();
    std::string list =
        llvm::join(llvm::map_range(axes, [&](const AxisRef &axis) { return toString(axis, mesh); }), "+");
    return op->emitOpError()
           << "has " << what << " whose dimension 'layer' is sharded over " << list
           << ": every rank of a program runs all its layers; call the axis pp, along which "
              "layers are cut into stages, or shard another dimension over it (--shard=batch="
           << list << ")";
  }

  ModuleOp module;
  const Mesh &mesh;
  DimNames names;
};

} // namespace

LogicalResult checkLayersWhole(Lowering &lowering) {
  return lowering.mesh ? LayerChecker(lowering.module, *lowering.mesh).run() : success();
}

} // namespace tessera::kernels
