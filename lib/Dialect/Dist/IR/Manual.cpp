//===- Manual.cpp - Programs of one rank over some axes -------------------===//
#include "tessera/Dialect/Dist/IR/Manual.h"
#include "AxisText.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

#define GET_OP_CLASSES
#include "tessera/Dialect/Dist/IR/DistManualOps.cpp.inc"

AxisList ManualComputationOp::getManualAxes(const Mesh &mesh) { return fromAxesAttr(getAxes(), mesh); }

AxisList tessera::dist::reservedAxes(Block &block, const Mesh &mesh) {
  AxisList axes;
  for (Operation *op = block.getParentOp(); op; op = op->getParentOp())
    if (auto manual = dyn_cast<ManualComputationOp>(op))
      axes.append(manual.getManualAxes(mesh));
  return axes;
}

static ShardingAttr shardingOf(Type type, std::optional<ArrayAttr> list, unsigned i) {
  if (ShardingAttr written = getShardingAttr(type))
    return written;
  return list && i < list->size() ? dyn_cast<ShardingAttr>((*list)[i]) : ShardingAttr();
}
ShardingAttr ManualComputationOp::getInSharding(unsigned i) {
  return shardingOf(getInputs()[i].getType(), getInShardings(), i);
}
ShardingAttr ManualComputationOp::getOutSharding(unsigned i) {
  return shardingOf(getResult(i).getType(), getOutShardings(), i);
}

Sharding ManualComputationOp::inside(Sharding sharding, const Mesh &mesh) {
  AxisList manual = getManualAxes(mesh);
  auto isManual = [&](const AxisRef &axis) { return llvm::is_contained(manual, axis); };
  for (DimSharding &dim : sharding.dims)
    llvm::erase_if(dim.axes, isManual);
  llvm::erase_if(sharding.replicated, isManual);
  llvm::erase_if(sharding.partial, isManual);
  if (sharding.partial.empty())
    sharding.partialKind = PartialKind::None;
  return sharding;
}

OpCost ManualComputationOp::getCost() {
  OpCost total;
  for (Operation &op : getProgram())
    if (auto inner = dyn_cast<CostOpInterface>(op)) {
      OpCost cost = inner.getCost();
      total.flops += cost.flops;
      total.bytesRead += cost.bytesRead;
      total.bytesWritten += cost.bytesWritten;
    }
  return total;
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

namespace {
class Boundary {
public:
  Boundary(ManualComputationOp op, const Mesh &mesh, bool isPlain)
      : op(op), mesh(mesh), manual(op.getManualAxes(mesh)), isPlain(isPlain) {}

  bool isManual(const AxisRef &axis) const { return llvm::is_contained(manual, axis); }
  /// A part of a manual axis is one, too.
  bool overlapsManual(const AxisRef &axis) const {
    return llvm::any_of(manual, [&](const AxisRef &other) { return axis.overlaps(other); });
  }

  /// `outer`: an operand or a result, `attr`: how it lies; `inner`: what the body takes or yields of it.
  LogicalResult verify(const Twine &what, Type outer, ShardingAttr attr, Type inner, bool isResult) {
    if (!lookupMesh(op, attr.getMesh()))
      return failure();
    auto whole = cast<RankedTensorType>(outer), piece = dyn_cast<RankedTensorType>(inner);
    if (std::string error = checkSharding(attr, mesh, whole.getRank()); !error.empty())
      return op.emitOpError() << what << ": " << error;
    Sharding sharding = attr.toSharding(mesh);
    for (const AxisRef &axis : sharding.partial)
      if (overlapsManual(axis) ? !isResult || !isManual(axis) : isPlain)
        return op.emitOpError() << what << " is partial over " << toString(axis, mesh)
                                << "; only results may be, over manual axes";
    SmallVector<int64_t> shape = globalShape(whole), local;
    for (auto [d, dim] : llvm::enumerate(sharding.dims)) {
      AxisList front;
      for (const AxisRef &axis : dim.axes) {
        if (overlapsManual(axis) && (!isManual(axis) || front.size() != size_t(&axis - dim.axes.begin())))
          return op.emitOpError() << what << " has the manual axis " << toString(axis, mesh)
                                  << " in parts or behind others in dimension " << d
                                  << "; whole manual axes come first";
        if (isManual(axis))
          front.push_back(axis);
      }
      // On rungs with shardings pieces of pieces must be those of the whole.
      int64_t shards = axesSize(isPlain || front.empty() ? front : dim.axes);
      if (!front.empty() && shape[d] % shards != 0)
        return op.emitOpError() << what << " has size " << shape[d] << " in dimension " << d << ", which "
                                << shards << " pieces do not divide";
      local.push_back(shape[d] / axesSize(front));
    }
    if (!piece || piece.getElementType() != whole.getElementType() ||
        ArrayRef<int64_t>(globalShape(piece)) != ArrayRef<int64_t>(local))
      return op.emitOpError() << what << " has pieces [" << local << "] of " << whole.getElementType()
                              << ", the body has " << inner;
    ShardingAttr inside = getShardingAttr(piece);
    if (isPlain ? bool(piece.getEncoding())
                : !inside || inside.isLocal() != attr.isLocal() ||
                      !inside.toSharding(mesh).samePlacement(op.inside(sharding, mesh)))
      return op.emitOpError() << what << " lies " << toString(sharding, mesh) << ", which the body's "
                              << inner << " does not say of all but the manual axes";
    return success();
  }

private:
  ManualComputationOp op;
  const Mesh &mesh;
  AxisList manual;
  bool isPlain;
};

/// An annotation or a type in the body that speaks of a manual axis.
bool liesOver(Operation *inner, const Boundary &boundary, const Mesh &mesh) {
  auto over = [&](ShardingAttr attr) {
    // Rungs refuse types that are wrong themselves.
    return attr && checkSharding(attr, mesh, int64_t(attr.getDims().size())).empty() &&
           llvm::any_of(attr.toSharding(mesh).usedAxes(),
                        [&](const AxisRef &axis) { return boundary.overlapsManual(axis); });
  };
  if (auto pin = dyn_cast<ConstraintOp>(inner))
    return over(pin.getSharding());
  return llvm::any_of(inner->getResultTypes(), [&](Type type) { return over(getShardingAttr(type)); });
}
} // namespace

// Arguments and the terminator are known to be there once the regions are verified.
LogicalResult ManualComputationOp::verifyRegions() {
  MeshOp meshOp = dist::getMesh((*this)->getParentOfType<ModuleOp>());
  if (!meshOp)
    return emitOpError() << "needs a mesh: there is no dist.mesh";
  Mesh mesh = meshOp.getMesh().toMesh();
  if (std::string error = checkAxes(getAxes(), mesh); !error.empty())
    return emitOpError() << error;
  for (const AxisRef &axis : getManualAxes(mesh))
    if (!axis.isWhole(mesh))
      return emitOpError() << "has the manual axis " << toString(axis, mesh) << ", which is a part of one";
  if ((*this)->getParentOfType<ManualComputationOp>())
    return emitOpError() << "stands in another one; write the axes of both into one";
  auto isSharded = [](Type type) { return bool(getShardingAttr(type)); };
  bool isPlain = llvm::none_of((*this)->getOperandTypes(), isSharded) &&
                 llvm::none_of((*this)->getResultTypes(), isSharded);
  auto checkList = [&](std::optional<ArrayAttr> list, StringRef name, size_t count) -> LogicalResult {
    if (!isPlain && list)
      return emitOpError() << "has '" << name << "' beside types that say the same";
    if (isPlain && (!list || list->size() != count || !llvm::all_of(*list, llvm::IsaPred<ShardingAttr>)))
      return emitOpError() << "needs '" << name << "' with " << count << " shardings";
    return success();
  };
  if (failed(checkList(getInShardings(), "in", getInputs().size())) ||
      failed(checkList(getOutShardings(), "out", getNumResults())))
    return failure();
  Block &body = getProgram();
  Operation *yield = body.getTerminator();
  if (body.getNumArguments() != getInputs().size() || yield->getNumOperands() != getNumResults())
    return emitOpError() << "has a body that takes " << body.getNumArguments() << " values and yields "
                         << yield->getNumOperands() << ", expected " << getInputs().size() << " and "
                         << getNumResults();
  Boundary boundary(*this, mesh, isPlain);
  auto check = [&](const Twine &what, Value outer, ShardingAttr attr, Value inner,
                   bool isResult) -> LogicalResult {
    if (!attr)
      return emitOpError() << what << " carries no sharding, others do";
    return boundary.verify(what, outer.getType(), attr, inner.getType(), isResult);
  };
  for (unsigned i = 0; i < getInputs().size(); ++i)
    if (failed(check("operand #" + Twine(i), getInputs()[i], getInSharding(i), body.getArgument(i), false)))
      return failure();
  for (unsigned i = 0; i < getNumResults(); ++i)
    if (failed(check("result #" + Twine(i), getResult(i), getOutSharding(i), yield->getOperand(i), true)))
      return failure();
  WalkResult walked = body.walk([&](Operation *inner) {
    if (!liesOver(inner, boundary, mesh))
      return WalkResult::advance();
    inner->emitOpError() << "lies over an axis that is manual here: along it, it is a program of one rank";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}
