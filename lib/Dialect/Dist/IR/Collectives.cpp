//===- Collectives.cpp - What each collective makes of a sharding ---------===//
//
// A collective says what it does (a dimension, axes); from the operand's sharding follows the result's. The
// verifiers compute it and compare: sharding and local shape must be what the op implies.
//
//===----------------------------------------------------------------------===//
#include "tessera/Analysis/Sharding/GroupedSends.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Support/TypeSizes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
/// Operand and result of one collective, checked on their own.
struct Ends {
  MeshOp meshOp;
  Mesh mesh;
  RankedTensorType input, result;
  Sharding before, after;
};
} // namespace

static FailureOr<Ends> verifyEnds(Operation *op) {
  Ends ends;
  ends.input = cast<RankedTensorType>(op->getOperand(0).getType());
  ends.result = cast<RankedTensorType>(op->getResult(0).getType());
  ShardingAttr before = getShardingAttr(ends.input), after = getShardingAttr(ends.result);
  if (!before || !after)
    return op->emitOpError() << (before ? "result" : "operand") << " carries no sharding";
  for (auto [what, type, sharding] :
       {std::tuple("operand", ends.input, before), std::tuple("result", ends.result, after)})
    if (type.getRank() > 0 && !sharding.isLocal())
      return op->emitOpError()
             << what << " has no global sizes: collectives stand on rung spmd, where types are local";
  if (before.getMesh() != after.getMesh())
    return op->emitOpError() << "goes from mesh " << before.getMesh() << " to " << after.getMesh();
  if (ends.input.getElementType() != ends.result.getElementType())
    return op->emitOpError() << "changes the element type from " << ends.input.getElementType() << " to "
                             << ends.result.getElementType();
  if (failed(verifyShardedType(op, ends.input, "operand")) ||
      failed(verifyShardedType(op, ends.result, "result")))
    return failure();
  if (globalShape(ends.input) != globalShape(ends.result))
    return op->emitOpError() << "changes the global sizes";
  ends.meshOp = lookupMesh(op, before.getMesh());
  ends.mesh = ends.meshOp.getMesh().toMesh();
  ends.before = before.toSharding(ends.mesh);
  ends.after = after.toSharding(ends.mesh);
  return ends;
}

static std::string axesText(ArrayRef<AxisRef> axes, const Mesh &mesh) {
  std::string text;
  for (const AxisRef &axis : axes)
    text += (text.empty() ? "" : ", ") + toString(axis, mesh);
  return "{" + text + "}";
}

/// `axes` as plain data: at least one, all sound.
static FailureOr<AxisList> verifyAxes(Operation *op, ArrayAttr axes, const Mesh &mesh) {
  if (axes.empty())
    return op->emitOpError() << "names no axes";
  if (std::string error = checkAxes(axes, mesh); !error.empty())
    return op->emitOpError() << error;
  return fromAxesAttr(axes, mesh);
}

static LogicalResult verifyDim(Operation *op, int64_t dim, StringRef what, const Ends &ends) {
  if (dim < 0 || dim >= ends.input.getRank())
    return op->emitOpError() << what << " " << dim << " is out of range for a tensor of rank "
                             << ends.input.getRank();
  return success();
}

/// The result's sharding is `expected`. Local shapes follow: verifyShardedType has compared them with the
/// global ones.
static LogicalResult verifyImplied(Operation *op, const Ends &ends, const Sharding &expected) {
  if (ends.after.samePlacement(expected))
    return success();
  for (auto [i, dims] : llvm::enumerate(llvm::zip(expected.dims, ends.after.dims))) {
    auto &[want, have] = dims;
    if (want.axes != have.axes)
      return op->emitOpError() << "result dimension " << i << " must be sharded over "
                               << axesText(want.axes, ends.mesh) << ", not "
                               << axesText(have.axes, ends.mesh);
  }
  return op->emitOpError() << "result must be partial over " << axesText(expected.partial, ends.mesh)
                           << ", not " << axesText(ends.after.partial, ends.mesh)
                           << (expected.partial == ends.after.partial ? ", with the operand's kind" : "");
}

/// Takes `axes` from the partial axes.
static LogicalResult takePartial(Operation *op, const Ends &ends, Sharding &sharding,
                                 ArrayRef<AxisRef> axes) {
  if (!removeAxes(sharding.partial, axes))
    return op->emitOpError() << "combines over " << axesText(axes, ends.mesh)
                             << ", but the operand is partial over "
                             << axesText(ends.before.partial, ends.mesh);
  if (sharding.partial.empty())
    sharding.partialKind = PartialKind::None;
  return success();
}

/// Takes `axes` from the minor end of dimension `dim`.
static LogicalResult takeMinor(Operation *op, const Ends &ends, Sharding &sharding, int64_t dim,
                               ArrayRef<AxisRef> axes) {
  if (!dropMinorAxes(sharding.dims[dim].axes, axes))
    return op->emitOpError() << axesText(axes, ends.mesh) << " are not the minor-most axes of dimension "
                             << dim << ", which is sharded over "
                             << axesText(ends.before.dims[dim].axes, ends.mesh);
  return success();
}

/// Adds `axes` at the minor end of dimension `dim`; none may be in use.
static LogicalResult addMinor(Operation *op, const Ends &ends, Sharding &sharding, int64_t dim,
                              ArrayRef<AxisRef> axes) {
  for (const AxisRef &axis : axes)
    for (const AxisRef &used : sharding.usedAxes())
      if (axis.overlaps(used))
        return op->emitOpError() << "axis " << toString(axis, ends.mesh)
                                 << " is in use already, it cannot split dimension " << dim;
  appendMinorAxes(sharding.dims[dim].axes, axes);
  return success();
}

LogicalResult AllGatherOp::verify() {
  auto ends = verifyEnds(*this);
  if (failed(ends) || failed(verifyDim(*this, getDim(), "dimension", *ends)))
    return failure();
  auto axes = verifyAxes(*this, getAxes(), ends->mesh);
  Sharding expected = ends->before;
  if (failed(axes) || failed(takeMinor(*this, *ends, expected, getDim(), *axes)))
    return failure();
  return verifyImplied(*this, *ends, expected);
}

LogicalResult AllSliceOp::verify() {
  auto ends = verifyEnds(*this);
  if (failed(ends) || failed(verifyDim(*this, getDim(), "dimension", *ends)))
    return failure();
  auto axes = verifyAxes(*this, getAxes(), ends->mesh);
  Sharding expected = ends->before;
  if (failed(axes) || failed(addMinor(*this, *ends, expected, getDim(), *axes)))
    return failure();
  return verifyImplied(*this, *ends, expected);
}

LogicalResult AllReduceOp::verify() {
  auto ends = verifyEnds(*this);
  if (failed(ends))
    return failure();
  auto axes = verifyAxes(*this, getAxes(), ends->mesh);
  Sharding expected = ends->before;
  if (failed(axes) || failed(takePartial(*this, *ends, expected, *axes)))
    return failure();
  return verifyImplied(*this, *ends, expected);
}

LogicalResult ContributeOp::verify() {
  auto ends = verifyEnds(*this);
  if (failed(ends))
    return failure();
  auto axes = verifyAxes(*this, getAxes(), ends->mesh);
  if (failed(axes))
    return failure();
  Sharding expected = ends->before;
  for (const AxisRef &axis : *axes)
    for (const AxisRef &used : expected.usedAxes())
      if (axis.overlaps(used))
        return emitOpError() << "axis " << toString(axis, ends->mesh)
                             << " is in use already: ranks along it hold no copies to contribute";
  expected.partialKind = ends->after.partialKind;
  if (!ends->before.partial.empty() && expected.partialKind != ends->before.partialKind)
    return emitOpError() << "makes a partial sum and a partial maximum at once; reduce one before";
  if (expected.partialKind == PartialKind::Sum && ends->input.getElementType().isInteger(1))
    return emitOpError() << "makes a sum of " << ends->input.getElementType() << ", which cannot be added up";
  expected.partial.append(axes->begin(), axes->end());
  llvm::sort(expected.partial);
  mergeAdjacent(expected.partial);
  return verifyImplied(*this, *ends, expected);
}

LogicalResult ReduceScatterOp::verify() {
  auto ends = verifyEnds(*this);
  if (failed(ends) || failed(verifyDim(*this, getDim(), "dimension", *ends)))
    return failure();
  auto axes = verifyAxes(*this, getAxes(), ends->mesh);
  Sharding expected = ends->before;
  if (failed(axes) || failed(takePartial(*this, *ends, expected, *axes)) ||
      failed(addMinor(*this, *ends, expected, getDim(), *axes)))
    return failure();
  return verifyImplied(*this, *ends, expected);
}

LogicalResult AllToAllOp::verify() {
  auto ends = verifyEnds(*this);
  if (failed(ends))
    return failure();
  if (getFrom().size() != getAxes().size() || getTo().size() != getAxes().size())
    return emitOpError() << "has " << getAxes().size() << " axes, but " << getFrom().size()
                         << " entries of 'from' and " << getTo().size() << " of 'to'";
  if (getAxes().empty())
    return emitOpError() << "names no axes";
  // One by one: neighbours may be parts of one axis that go different ways, or left in another order. None
  // can leave twice.
  for (Attribute axis : getAxes())
    if (failed(verifyAxes(*this, ArrayAttr::get(getContext(), axis), ends->mesh)))
      return failure();
  AxisList axes = fromAxesAttr(getAxes(), ends->mesh);
  // By dimension: what leaves, what comes.
  SmallVector<AxisList> leave(ends->input.getRank()), come(ends->input.getRank());
  for (auto [axis, from, to] : llvm::zip(axes, getFrom(), getTo())) {
    if (failed(verifyDim(*this, from, "dimension 'from'", *ends)) ||
        failed(verifyDim(*this, to, "dimension 'to'", *ends)))
      return failure();
    if (from == to)
      return emitOpError() << "moves axes from dimension " << from << " to itself";
    leave[from].push_back(axis);
    come[to].push_back(axis);
  }
  Sharding expected = ends->before;
  for (size_t d = 0; d < leave.size(); ++d) {
    if (!leave[d].empty() && !come[d].empty())
      return emitOpError() << "takes axes from dimension " << d << " and brings others there: two exchanges";
    // In any order: the group's order is that of the dimensions they come to.
    AxisList &left = expected.dims[d].axes, rest = leave[d];
    while (!rest.empty()) {
      auto *minor = llvm::find_if(rest, [&](const AxisRef &axis) { return dropMinorAxes(left, axis); });
      if (minor == rest.end())
        return takeMinor(*this, *ends, expected, int64_t(d), rest);
      rest.erase(minor);
    }
  }
  for (auto [d, axes] : llvm::enumerate(come))
    if (!axes.empty() && failed(addMinor(*this, *ends, expected, int64_t(d), axes)))
      return failure();
  return verifyImplied(*this, *ends, expected);
}

LogicalResult CollectivePermuteOp::verify() {
  auto ends = verifyEnds(*this);
  if (failed(ends))
    return failure();
  if (getMirrored()) {
    auto axes = verifyAxes(*this, *getMirrored(), ends->mesh);
    if (failed(axes))
      return failure();
    for (const DimSharding &dim : ends->before.dims) {
      llvm::erase_if(*axes, [&](const AxisRef &axis) {
        return llvm::any_of(dim.axes, [&](const AxisRef &own) {
          return own == axis ||
                 (own.axis == axis.axis && own.pre <= axis.pre && own.pre * own.size >= axis.pre * axis.size);
        });
      });
    }
    if (!axes->empty())
      return emitOpError() << "mirrors " << axesText(*axes, ends->mesh) << ", over which no dimension lies";
    return verifyImplied(*this, *ends, ends->before);
  }
  for (auto [i, dims] : llvm::enumerate(llvm::zip(ends->before.dims, ends->after.dims))) {
    auto &[before, after] = dims;
    if (axesSize(before.axes) != axesSize(after.axes))
      return emitOpError() << "dimension " << i << ": " << axesSize(before.axes) << " pieces before, "
                           << axesSize(after.axes) << " after; whole pieces move, their number stays";
  }
  Sharding expected = ends->after;
  expected.partial = ends->before.partial;
  expected.partialKind = ends->before.partialKind;
  return verifyImplied(*this, *ends, expected);
}

LogicalResult GroupedSendOp::verify() {
  auto ends = verifyEnds(*this);
  if (failed(ends))
    return failure();
  // A rank sends what it holds: terms of a sum stay terms.
  Sharding expected = ends->after;
  expected.partial = ends->before.partial;
  expected.partialKind = ends->before.partialKind;
  if (failed(verifyImplied(*this, *ends, expected)))
    return failure();
  if (sendAxes(ends->mesh, globalShape(ends->input), ends->before, ends->after).empty())
    return emitOpError() << "sends nothing: every rank has what it wants of "
                         << toString(ends->after, ends->mesh);
  return success();
}

//===----------------------------------------------------------------------===//
// What they move
//===----------------------------------------------------------------------===//

static int64_t bytesOf(Value value) { return arrayBytes(value.getType()); }
static Sharding shardingOf(Value value, const Mesh &mesh) {
  return getShardingAttr(value.getType()).toSharding(mesh);
}

StepKind AllGatherOp::getStepKind() { return StepKind::AllGather; }
StepKind AllSliceOp::getStepKind() { return StepKind::AllSlice; }
StepKind ContributeOp::getStepKind() { return StepKind::Contribute; }
StepKind AllReduceOp::getStepKind() { return StepKind::AllReduce; }
StepKind ReduceScatterOp::getStepKind() { return StepKind::ReduceScatter; }
StepKind AllToAllOp::getStepKind() { return StepKind::AllToAll; }
StepKind CollectivePermuteOp::getStepKind() { return StepKind::CollectivePermute; }
StepKind GroupedSendOp::getStepKind() { return StepKind::GroupedSend; }

AxisList AllGatherOp::getGroupAxes(const Mesh &mesh) { return fromAxesAttr(getAxes(), mesh); }
AxisList AllSliceOp::getGroupAxes(const Mesh &mesh) { return fromAxesAttr(getAxes(), mesh); }
AxisList ContributeOp::getGroupAxes(const Mesh &mesh) { return fromAxesAttr(getAxes(), mesh); }
AxisList AllReduceOp::getGroupAxes(const Mesh &mesh) { return fromAxesAttr(getAxes(), mesh); }
AxisList ReduceScatterOp::getGroupAxes(const Mesh &mesh) { return fromAxesAttr(getAxes(), mesh); }
AxisList AllToAllOp::getGroupAxes(const Mesh &mesh) { return fromAxesAttr(getAxes(), mesh); }
AxisList CollectivePermuteOp::getGroupAxes(const Mesh &) { return {}; }
AxisList GroupedSendOp::getGroupAxes(const Mesh &mesh) {
  return sendAxes(mesh, globalShape(getInput().getType()), shardingOf(getInput(), mesh),
                  shardingOf(getResult(), mesh));
}

int64_t AllGatherOp::getLeftDim() { return getDim(); }
int64_t AllSliceOp::getLeftDim() { return -1; }
int64_t ContributeOp::getLeftDim() { return -1; }
int64_t AllReduceOp::getLeftDim() { return -1; }
int64_t ReduceScatterOp::getLeftDim() { return -1; }
int64_t AllToAllOp::getLeftDim() { return getFrom().front(); }
int64_t CollectivePermuteOp::getLeftDim() { return -1; }
int64_t GroupedSendOp::getLeftDim() { return -1; }

/// Of an operand of `bytes`, padding included, as `info` of the executable counts it.
static int64_t bytesSentBy(CollectiveOpInterface op, const Mesh &mesh, int64_t bytes) {
  return bytesSent(op.getStepKind(), axesSize(op.getGroupAxes(mesh)), bytes);
}
int64_t AllGatherOp::getBytesSent(const Mesh &mesh) { return bytesSentBy(*this, mesh, bytesOf(getInput())); }
int64_t AllSliceOp::getBytesSent(const Mesh &mesh) { return bytesSentBy(*this, mesh, bytesOf(getInput())); }
int64_t ContributeOp::getBytesSent(const Mesh &mesh) { return bytesSentBy(*this, mesh, bytesOf(getInput())); }
int64_t AllReduceOp::getBytesSent(const Mesh &mesh) { return bytesSentBy(*this, mesh, bytesOf(getInput())); }
// The result is one of as many equal pieces, padding included.
int64_t ReduceScatterOp::getBytesSent(const Mesh &mesh) {
  return bytesSentBy(*this, mesh, axesSize(getGroupAxes(mesh)) * bytesOf(getResult()));
}
// Each rank gets a piece: the operand, split along the dimensions that the axes come to as the result is.
int64_t AllToAllOp::getBytesSent(const Mesh &mesh) {
  auto before = cast<RankedTensorType>(getInput().getType()),
       after = cast<RankedTensorType>(getResult().getType());
  SmallVector<int64_t> piece(before.getShape());
  for (int64_t dim : getTo())
    piece[dim] = after.getDimSize(dim);
  return bytesSentBy(*this, mesh, axesSize(getGroupAxes(mesh)) * int64_t(tensorBytes(before.clone(piece))));
}
int64_t CollectivePermuteOp::getBytesSent(const Mesh &mesh) {
  return bytesSentBy(*this, mesh, bytesOf(getInput()));
}
int64_t GroupedSendOp::getBytesSent(const Mesh &mesh) {
  RankedTensorType type = getInput().getType();
  double elements =
      mostMoved(mesh, globalShape(type), shardingOf(getInput(), mesh), shardingOf(getResult(), mesh));
  return bytesSentBy(*this, mesh, int64_t(elements * tensorBytes(type.clone(ArrayRef<int64_t>(1)))));
}
int64_t GroupedSendOp::getMessages(const Mesh &mesh) {
  return sendMessages(globalShape(getInput().getType()), shardingOf(getInput(), mesh),
                      shardingOf(getResult(), mesh));
}

// Work besides communication, which the cost model adds from the kind: every element is read and written
// once.
OpCost AllGatherOp::getCost() { return streamingCost(*this, 0); }
OpCost AllSliceOp::getCost() { return streamingCost(*this, 0); }
OpCost ContributeOp::getCost() { return streamingCost(*this, 0); }
OpCost AllReduceOp::getCost() { return streamingCost(*this, 0); }
OpCost ReduceScatterOp::getCost() { return streamingCost(*this, 0); }
OpCost AllToAllOp::getCost() { return streamingCost(*this, 0); }
OpCost CollectivePermuteOp::getCost() { return streamingCost(*this, 0); }
OpCost GroupedSendOp::getCost() { return streamingCost(*this, 0); }
