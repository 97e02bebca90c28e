//===- CheckAttributes.cpp - Written shardings are sound --------------------===//
#include "Reshard/CheckAttributes.h"

#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

LogicalResult tessera::dist::checkAttributes(ModuleOp module, const Mesh &mesh) {
  auto check = [&](Operation *op, Attribute attr, Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !attr)
      return success();
    auto sharding = dyn_cast<ShardingAttr>(attr);
    if (!sharding)
      return op->emitOpError() << "expected a #dist.sharding for " << type << ", not " << attr;
    if (!lookupMesh(op, sharding.getMesh()))
      return failure();
    if (std::string error = checkSharding(sharding, mesh, tensor.getRank()); !error.empty())
      return op->emitOpError() << "annotation " << attr << ": " << error;
    // Results of a manual computation are verified to be partial over its own axes alone.
    if (sharding.isLocal() ||
        (sharding.getPartialKind() != PartialKindEnum::none && !isa<ManualComputationOp>(op)))
      return op->emitOpError() << "annotation " << attr
                               << ": neither partial axes nor global sizes can be asked for";
    return success();
  };
  auto checkList = [&](Operation *op, Attribute attr, TypeRange types) -> LogicalResult {
    auto list = dyn_cast<ArrayAttr>(attr);
    if (!list || list.size() != types.size())
      return op->emitOpError() << "expected a list of " << types.size() << " shardings, not " << attr;
    for (auto [entry, type] : llvm::zip(list, types))
      if (failed(check(op, entry, type)))
        return failure();
    return success();
  };
  auto checkOp = [&](Operation *op) -> LogicalResult {
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
        if (failed(check(op, function.getArgAttr(i, kShardingAttr), type)))
          return failure();
      for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
        if (failed(check(op, function.getResultAttr(i, kShardingAttr), type)))
          return failure();
      return success();
    }
    if (Attribute attr = op->getAttr(kShardingsAttr))
      if (failed(checkList(op, attr, op->getResultTypes())))
        return failure();
    Attribute attr = op->getAttr(kBlockShardingsAttr);
    if (!attr)
      return success();
    auto regions = dyn_cast<ArrayAttr>(attr);
    if (!regions || regions.size() != op->getNumRegions())
      return op->emitOpError() << "expected a list of shardings for each of " << op->getNumRegions()
                               << " regions, not " << attr;
    for (auto [entry, region] : llvm::zip(regions, op->getRegions()))
      if (failed(checkList(op, entry, TypeRange(region.getArgumentTypes()))))
        return failure();
    return success();
  };
  WalkResult walked = module.walk(
      [&](Operation *op) { return failed(checkOp(op)) ? WalkResult::interrupt() : WalkResult::advance(); });
  return failure(walked.wasInterrupted());
}
