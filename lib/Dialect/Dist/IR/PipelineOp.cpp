//===- PipelineOp.cpp - The table of stages -------------------------------===//
#include "tessera/Dialect/Dist/IR/Dist.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

LogicalResult PipelineOp::verify() {
  if (getStages().empty())
    return emitOpError() << "has no stage";
  int64_t layer = 0, coordinates = 0;
  for (auto [i, stage] : llvm::enumerate(getStages().getAsRange<StageAttr>())) {
    if (stage.getLayers() < 0 || stage.getAt() < 0)
      return emitOpError() << "stage " << i << " has " << stage.getLayers() << " layers at coordinate "
                           << stage.getAt() << ": neither can be negative";
    if (stage.getFirst() != layer)
      return emitOpError() << "stage " << i << " begins at layer " << stage.getFirst()
                           << ", where the one before ends at layer " << layer;
    layer += stage.getLayers();
    coordinates = std::max(coordinates, stage.getAt() + 1);
  }
  if (coordinates > int64_t(getStages().size()))
    return emitOpError() << "has a stage at coordinate " << coordinates - 1 << " of an axis that "
                         << getStages().size() << " stages cannot fill";
  llvm::SmallBitVector used{unsigned(coordinates)};
  for (auto stage : getStages().getAsRange<StageAttr>())
    used.set(unsigned(stage.getAt()));
  if (int missing = used.find_first_unset(); missing >= 0)
    return emitOpError() << "has no stage at coordinate " << missing << " of \"" << getAxis() << '"';
  return success();
}

LogicalResult PipelineOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (auto [i, stage] : llvm::enumerate(getStages().getAsRange<StageAttr>()))
    if (!symbols.lookupNearestSymbolFrom<ModuleOp>(*this, stage.getProgram()))
      return emitOpError() << "stage " << i << " runs " << stage.getProgram()
                           << ", but no module is called so";
  return success();
}
