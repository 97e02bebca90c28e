//===- PipelineOp.cpp - The table of stages -------------------------------===//
#include "tessera/Dialect/Dist/IR/Dist.h"

#include "tessera/runtime/schedule/Text.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

/// Gives how many coordinates the stages have.
static FailureOr<int64_t> verifyStages(PipelineOp op) {
  if (op.getStages().empty())
    return op.emitOpError() << "has no stage";
  int64_t layer = 0, coordinates = 0;
  for (auto [i, stage] : llvm::enumerate(op.getStages().getAsRange<StageAttr>())) {
    if (stage.getLayers() < 0 || stage.getAt() < 0)
      return op.emitOpError() << "stage " << i << " has " << stage.getLayers() << " layers at coordinate "
                              << stage.getAt() << ": neither can be negative";
    if (stage.getFirst() != layer)
      return op.emitOpError() << "stage " << i << " begins at layer " << stage.getFirst()
                              << ", where the one before ends at layer " << layer;
    layer += stage.getLayers();
    coordinates = std::max(coordinates, stage.getAt() + 1);
  }
  if (coordinates > int64_t(op.getStages().size()))
    return op.emitOpError() << "has a stage at coordinate " << coordinates - 1 << " of an axis that "
                            << op.getStages().size() << " stages cannot fill";
  llvm::SmallBitVector used{unsigned(coordinates)};
  for (auto stage : op.getStages().getAsRange<StageAttr>())
    used.set(unsigned(stage.getAt()));
  if (int missing = used.find_first_unset(); missing >= 0)
    return op.emitOpError() << "has no stage at coordinate " << missing << " of \"" << op.getAxis() << '"';
  return coordinates;
}

/// A list for each coordinate, of actions of the stages there. Whether they can run is not looked at: that
/// takes a schedule's whole check, and who makes lists has done it.
static LogicalResult verifyLists(PipelineOp op, int64_t coordinates) {
  if (op.getSendBuffers() && *op.getSendBuffers() < 1)
    return op.emitOpError() << "has " << *op.getSendBuffers()
                            << " buffers for what is sent: at least one is needed";
  // Stages that generate have no lists.
  if (!op.getLists() || op.getLists()->empty())
    return success();
  if (int64_t(op.getLists()->size()) != coordinates)
    return op.emitOpError() << "has " << op.getLists()->size() << " lists for " << coordinates
                            << " coordinates of \"" << op.getAxis() << '"';
  auto stages = llvm::to_vector(op.getStages().getAsRange<StageAttr>());
  for (auto [at, text] : llvm::enumerate(op.getLists()->getAsRange<StringAttr>())) {
    StringRef actions = text.getValue();
    Result<schedule::ActionList> list = schedule::parseActions({actions.data(), actions.size()});
    if (!list)
      return op.emitOpError() << "list " << at << ": " << list.failure().message();
    for (const schedule::Action &action : *list)
      for (const schedule::Action &part : schedule::partsOf(action))
        if (size_t(part.stage) >= stages.size() || stages[size_t(part.stage)].getAt() != int64_t(at))
          return op.emitOpError() << "list " << at << " has " << schedule::toString(action)
                                  << ", and no stage " << part.stage << " lies there";
  }
  return success();
}

/// Predicted seconds: a number for each stage, of links one for each two neighbours.
static LogicalResult verifyTimes(PipelineOp op) {
  DictionaryAttr times = op.getTimesAttr();
  if (!times)
    return success();
  for (NamedAttribute one : times) {
    auto seconds = dyn_cast<DenseF64ArrayAttr>(one.getValue());
    const bool isOfPairs = one.getName() == "link" || one.getName() == "wire";
    const size_t wanted = op.getStages().size() - isOfPairs;
    if (!seconds || size_t(seconds.size()) != wanted)
      return op.emitOpError() << "times of " << one.getName() << ": expected " << wanted
                              << " numbers of type f64, found " << one.getValue();
    if (llvm::any_of(seconds.asArrayRef(), [](double number) { return !(number >= 0); }))
      return op.emitOpError() << "times of " << one.getName() << ": " << seconds << " has what is no time";
  }
  return success();
}

LogicalResult PipelineOp::verify() {
  FailureOr<int64_t> coordinates = verifyStages(*this);
  return failure(failed(coordinates) || failed(verifyLists(*this, *coordinates)) ||
                 failed(verifyTimes(*this)));
}

LogicalResult PipelineOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (auto [i, stage] : llvm::enumerate(getStages().getAsRange<StageAttr>()))
    if (!symbols.lookupNearestSymbolFrom<ModuleOp>(*this, stage.getProgram()))
      return emitOpError() << "stage " << i << " runs " << stage.getProgram()
                           << ", but no module is called so";
  return success();
}
