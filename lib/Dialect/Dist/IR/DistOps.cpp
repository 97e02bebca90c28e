//===- DistOps.cpp - Mesh, constraint and reshard -------------------------===//
#include "AxisText.h"

#include "tessera/Dialect/Dist/IR/Dist.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

/// `from = 2 to = 1 axes = {"x"}, from = 0 to = 1 axes = {"y"}`: neighbours that go the same way together.
static ParseResult parseAxisMoves(OpAsmParser &parser, DenseI64ArrayAttr &from, DenseI64ArrayAttr &to,
                                  ArrayAttr &axes) {
  SmallVector<int64_t> sources, targets;
  SmallVector<Attribute> all;
  do {
    int64_t source, target;
    SmallVector<AxisRefAttr> list;
    if (parser.parseKeyword("from") || parser.parseEqual() || parser.parseInteger(source) ||
        parser.parseKeyword("to") || parser.parseEqual() || parser.parseInteger(target) ||
        parser.parseKeyword("axes") || parser.parseEqual() || parseAxisSet(parser, list))
      return failure();
    all.append(list.begin(), list.end());
    sources.append(list.size(), source);
    targets.append(list.size(), target);
  } while (succeeded(parser.parseOptionalComma()));
  from = parser.getBuilder().getDenseI64ArrayAttr(sources);
  to = parser.getBuilder().getDenseI64ArrayAttr(targets);
  axes = ArrayAttr::get(parser.getContext(), all);
  return success();
}

static void printAxisMoves(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr from, DenseI64ArrayAttr to,
                           ArrayAttr axes) {
  // What does not verify is printed as far as it goes.
  size_t count = std::min<size_t>({axes.size(), size_t(from.size()), size_t(to.size())});
  for (size_t i = 0; i < count;) {
    size_t end = i;
    SmallVector<AxisRefAttr> list;
    for (; end < count && from[end] == from[i] && to[end] == to[i]; ++end)
      if (auto axis = dyn_cast<AxisRefAttr>(axes[end]))
        list.push_back(axis);
    printer << (i ? ", " : "") << "from = " << from[i] << " to = " << to[i] << " axes = ";
    printAxisSet(printer, list);
    i = end;
  }
}

#define GET_OP_CLASSES
#include "tessera/Dialect/Dist/IR/DistOps.cpp.inc"

ShardingRule tessera::dist::identityRule(Value value) {
  ShardingRule rule;
  TensorFactors tensor;
  for (int64_t size : globalShape(cast<RankedTensorType>(value.getType())))
    tensor.dims.push_back({rule.addFactor(size)});
  rule.operands = {tensor};
  rule.results = {tensor};
  rule.linear = {{0}};
  rule.maxLinear = {{0}};
  return rule;
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

LogicalResult MeshOp::verify() {
  for (MeshOp other : (*this)->getParentOfType<ModuleOp>().getOps<MeshOp>())
    if (other != *this && other->isBeforeInBlock(*this))
      return (emitOpError() << "is the second mesh: a program runs on one mesh").attachNote(other.getLoc())
             << "the first one";
  return success();
}

//===----------------------------------------------------------------------===//
// Constraint
//===----------------------------------------------------------------------===//

LogicalResult ConstraintOp::verify() {
  MeshOp mesh = lookupMesh(*this, getSharding().getMesh());
  if (!mesh)
    return failure();
  auto type = cast<RankedTensorType>(getInput().getType());
  if (getSharding().isLocal())
    return emitOpError() << "takes a sharding without global sizes";
  if (getSharding().getPartialKind() != PartialKindEnum::none)
    return emitOpError() << "cannot ask for a partial value";
  if (std::string error = checkSharding(getSharding(), mesh.getMesh().toMesh(), type.getRank());
      !error.empty())
    return emitOpError() << error;
  return success();
}

//===----------------------------------------------------------------------===//
// Reshard
//===----------------------------------------------------------------------===//

LogicalResult ReshardOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType()),
       to = cast<RankedTensorType>(getResult().getType());
  ShardingAttr before = getShardingAttr(from), after = getShardingAttr(to);
  if (!before || !after)
    return emitOpError() << (before ? "result" : "operand") << " carries no sharding";
  if (before.isLocal() || after.isLocal())
    return emitOpError() << "stands on rung sharded only: types must be global (without 'global' sizes)";
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError() << "changes the tensor from " << withSharding(from, {}) << " to "
                         << withSharding(to, {}) << ": only the sharding may change";
  if (before.getMesh() != after.getMesh())
    return emitOpError() << "goes from mesh " << before.getMesh() << " to " << after.getMesh();
  if (failed(verifyShardedType(*this, from, "operand")) || failed(verifyShardedType(*this, to, "result")))
    return failure();
  // What becomes partial is contributed by one rank of each group.
  if (after.getPartialKind() == PartialKindEnum::sum && before.getPartialKind() != after.getPartialKind() &&
      to.getElementType().isInteger(1))
    return emitOpError() << "makes a partial sum of " << to.getElementType() << ", which cannot be added up";
  return success();
}

ShardingRule ReshardOp::getShardingRule() { return identityRule(getInput()); }

OpCost ReshardOp::getCost() { return getInput().getType() == getType() ? OpCost{} : streamingCost(*this, 0); }

LogicalResult ReshardOp::evaluate(ArrayRef<ReferenceTensor> operands, const ReferenceContext &,
                                  SmallVectorImpl<ReferenceTensor> &results) {
  results.push_back(operands[0]);
  return success();
}

OpFoldResult ReshardOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  // Two in a row are one, if nobody else wants what lies between.
  if (auto inner = getInput().getDefiningOp<ReshardOp>(); inner && inner->hasOneUse()) {
    if (inner.getInput().getType() == getType())
      return inner.getInput();
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return {};
}
