//===- Collectives.cpp - What each collective makes of a sharding ---------===//
//
// A collective says what it does (a dimension, axes); from the operand's sharding follows the result's. The
// verifiers compute it and compare: sharding and local shape must be what the op implies.
//
//===----------------------------------------------------------------------===//
#include "tessera/Analysis/Sharding/GroupedSends.h"
#include "tessera/Dialect/Dist/IR/ExchangeRows.h"
#include "tessera/Support/TypeSizes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

static Sharding shardingOf(Value value, const Mesh &mesh) {
  return getShardingAttr(value.getType()).toSharding(mesh);
}

namespace {
/// Operand and result of one collective, checked on their own.
struct CollectiveTypes {
  MeshOp meshOp;
  Mesh mesh;
  RankedTensorType input, result;
  Sharding before, after;
};
} // namespace

/// `isPart`: the result's sizes are its own.
static FailureOr<CollectiveTypes> verifyTypes(Operation *op, bool isPart = false) {
  CollectiveTypes types;
  types.input = cast<RankedTensorType>(op->getOperand(0).getType());
  types.result = cast<RankedTensorType>(op->getResult(0).getType());
  ShardingAttr before = getShardingAttr(types.input), after = getShardingAttr(types.result);
  if (!before || !after)
    return op->emitOpError() << (before ? "result" : "operand") << " carries no sharding";
  for (auto [what, type, sharding] :
       {std::tuple("operand", types.input, before), std::tuple("result", types.result, after)})
    if (type.getRank() > 0 && !sharding.isLocal())
      return op->emitOpError()
             << what << " has no global sizes: collectives stand on rung spmd, where types are local";
  if (before.getMesh() != after.getMesh())
    return op->emitOpError() << "goes from mesh " << before.getMesh() << " to " << after.getMesh();
  if (types.input.getElementType() != types.result.getElementType())
    return op->emitOpError() << "changes the element type from " << types.input.getElementType() << " to "
                             << types.result.getElementType();
  if (failed(verifyShardedType(op, types.input, "operand")) ||
      failed(verifyShardedType(op, types.result, "result")))
    return failure();
  if (!isPart && globalShape(types.input) != globalShape(types.result))
    return op->emitOpError() << "changes the global sizes";
  types.meshOp = lookupMesh(op, before.getMesh());
  types.mesh = types.meshOp.getMesh().toMesh();
  types.before = before.toSharding(types.mesh);
  types.after = after.toSharding(types.mesh);
  return types;
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

static LogicalResult verifyDim(Operation *op, int64_t dim, StringRef what, const CollectiveTypes &types) {
  if (dim < 0 || dim >= types.input.getRank())
    return op->emitOpError() << what << " " << dim << " is out of range for a tensor of rank "
                             << types.input.getRank();
  return success();
}

/// Without the axes of size 1: they split nothing, and a sum over one rank is no sum.
static Sharding withoutTrivialAxes(Sharding sharding) {
  auto strip = [](AxisList &axes) {
    llvm::erase_if(axes, [](const AxisRef &axis) { return axis.size == 1; });
  };
  for (DimSharding &dim : sharding.dims)
    strip(dim.axes);
  strip(sharding.partial);
  if (sharding.partial.empty())
    sharding.partialKind = PartialKind::None;
  return sharding;
}

/// The result's sharding is `expected`. Local shapes follow: verifyShardedType has compared them with the
/// global ones.
static LogicalResult verifyImplied(Operation *op, const CollectiveTypes &types, const Sharding &expected) {
  if (withoutTrivialAxes(types.after).samePlacement(withoutTrivialAxes(expected)))
    return success();
  for (auto [i, dims] : llvm::enumerate(llvm::zip(expected.dims, types.after.dims))) {
    auto &[want, have] = dims;
    if (want.axes != have.axes)
      return op->emitOpError() << "result dimension " << i << " must be sharded over "
                               << axesText(want.axes, types.mesh) << ", not "
                               << axesText(have.axes, types.mesh);
  }
  return op->emitOpError() << "result must be partial over " << axesText(expected.partial, types.mesh)
                           << ", not " << axesText(types.after.partial, types.mesh)
                           << (expected.partial == types.after.partial ? ", with the operand's kind" : "");
}

/// Takes `axes` from the partial axes.
static LogicalResult takePartial(Operation *op, const CollectiveTypes &types, Sharding &sharding,
                                 ArrayRef<AxisRef> axes) {
  if (!removeAxes(sharding.partial, axes))
    return op->emitOpError() << "combines over " << axesText(axes, types.mesh)
                             << ", but the operand is partial over "
                             << axesText(types.before.partial, types.mesh);
  if (sharding.partial.empty())
    sharding.partialKind = PartialKind::None;
  return success();
}

/// Takes `axes` from the minor end of dimension `dim`.
static LogicalResult takeMinor(Operation *op, const CollectiveTypes &types, Sharding &sharding, int64_t dim,
                               ArrayRef<AxisRef> axes) {
  if (!dropMinorAxes(sharding.dims[dim].axes, axes))
    return op->emitOpError() << axesText(axes, types.mesh) << " are not the minor-most axes of dimension "
                             << dim << ", which is sharded over "
                             << axesText(types.before.dims[dim].axes, types.mesh);
  return success();
}

/// Adds `axes` at the minor end of dimension `dim`; none may be in use.
static LogicalResult addMinor(Operation *op, const CollectiveTypes &types, Sharding &sharding, int64_t dim,
                              ArrayRef<AxisRef> axes) {
  for (const AxisRef &axis : axes)
    for (const AxisRef &used : sharding.usedAxes())
      if (axis.overlaps(used))
        return op->emitOpError() << "axis " << toString(axis, types.mesh)
                                 << " is in use already, it cannot split dimension " << dim;
  appendMinorAxes(sharding.dims[dim].axes, axes);
  return success();
}

LogicalResult AllGatherOp::verify() {
  auto types = verifyTypes(*this);
  if (failed(types) || failed(verifyDim(*this, getDim(), "dimension", *types)))
    return failure();
  auto axes = verifyAxes(*this, getAxes(), types->mesh);
  Sharding expected = types->before;
  if (failed(axes) || failed(takeMinor(*this, *types, expected, getDim(), *axes)))
    return failure();
  return verifyImplied(*this, *types, expected);
}

LogicalResult AllSliceOp::verify() {
  auto types = verifyTypes(*this);
  if (failed(types) || failed(verifyDim(*this, getDim(), "dimension", *types)))
    return failure();
  auto axes = verifyAxes(*this, getAxes(), types->mesh);
  Sharding expected = types->before;
  if (failed(axes) || failed(addMinor(*this, *types, expected, getDim(), *axes)))
    return failure();
  return verifyImplied(*this, *types, expected);
}

LogicalResult AllReduceOp::verify() {
  auto types = verifyTypes(*this);
  if (failed(types))
    return failure();
  auto axes = verifyAxes(*this, getAxes(), types->mesh);
  Sharding expected = types->before;
  if (failed(axes) || failed(takePartial(*this, *types, expected, *axes)))
    return failure();
  return verifyImplied(*this, *types, expected);
}

LogicalResult ContributeOp::verify() {
  auto types = verifyTypes(*this);
  if (failed(types))
    return failure();
  auto axes = verifyAxes(*this, getAxes(), types->mesh);
  if (failed(axes))
    return failure();
  Sharding expected = types->before;
  for (const AxisRef &axis : *axes)
    for (const AxisRef &used : expected.usedAxes())
      if (axis.overlaps(used))
        return emitOpError() << "axis " << toString(axis, types->mesh)
                             << " is in use already: ranks along it hold no copies to contribute";
  expected.partialKind = types->after.partialKind;
  if (!types->before.partial.empty() && expected.partialKind != types->before.partialKind)
    return emitOpError() << "makes a partial sum and a partial maximum at once; reduce one before";
  if (expected.partialKind == PartialKind::Sum && types->input.getElementType().isInteger(1))
    return emitOpError() << "makes a sum of " << types->input.getElementType()
                         << ", which cannot be added up";
  expected.partial.append(axes->begin(), axes->end());
  llvm::sort(expected.partial);
  mergeAdjacent(expected.partial);
  return verifyImplied(*this, *types, expected);
}

LogicalResult ReduceScatterOp::verify() {
  auto types = verifyTypes(*this);
  if (failed(types) || failed(verifyDim(*this, getDim(), "dimension", *types)))
    return failure();
  auto axes = verifyAxes(*this, getAxes(), types->mesh);
  Sharding expected = types->before;
  if (failed(axes) || failed(takePartial(*this, *types, expected, *axes)) ||
      failed(addMinor(*this, *types, expected, getDim(), *axes)))
    return failure();
  return verifyImplied(*this, *types, expected);
}

LogicalResult AllToAllOp::verify() {
  auto types = verifyTypes(*this);
  if (failed(types))
    return failure();
  if (getFrom().size() != getAxes().size() || getTo().size() != getAxes().size())
    return emitOpError() << "has " << getAxes().size() << " axes, but " << getFrom().size()
                         << " entries of 'from' and " << getTo().size() << " of 'to'";
  if (getAxes().empty())
    return emitOpError() << "names no axes";
  // One by one: neighbours may be parts of one axis that go different ways, or left in another order. None
  // can leave twice.
  for (Attribute axis : getAxes())
    if (failed(verifyAxes(*this, ArrayAttr::get(getContext(), axis), types->mesh)))
      return failure();
  AxisList axes = fromAxesAttr(getAxes(), types->mesh);
  // By dimension: what leaves, what comes.
  SmallVector<AxisList> leave(types->input.getRank()), come(types->input.getRank());
  for (auto [axis, from, to] : llvm::zip(axes, getFrom(), getTo())) {
    if (failed(verifyDim(*this, from, "dimension 'from'", *types)) ||
        failed(verifyDim(*this, to, "dimension 'to'", *types)))
      return failure();
    if (from == to)
      return emitOpError() << "moves axes from dimension " << from << " to itself";
    leave[from].push_back(axis);
    come[to].push_back(axis);
  }
  Sharding expected = types->before;
  for (size_t d = 0; d < leave.size(); ++d) {
    if (!leave[d].empty() && !come[d].empty())
      return emitOpError() << "takes axes from dimension " << d << " and brings others there: two exchanges";
    // In any order: the group's order is that of the dimensions they come to.
    AxisList &left = expected.dims[d].axes, rest = leave[d];
    while (!rest.empty()) {
      auto *minor = llvm::find_if(rest, [&](const AxisRef &axis) { return dropMinorAxes(left, axis); });
      if (minor == rest.end())
        return takeMinor(*this, *types, expected, int64_t(d), rest);
      rest.erase(minor);
    }
  }
  for (auto [d, axes] : llvm::enumerate(come))
    if (!axes.empty() && failed(addMinor(*this, *types, expected, int64_t(d), axes)))
      return failure();
  return verifyImplied(*this, *types, expected);
}

LogicalResult ExchangeRowsOp::verify() {
  auto types = verifyTypes(*this);
  if (failed(types))
    return failure();
  int64_t experts = types->input.getRank() - 2, dim = int64_t(getDim());
  if (dim < 0 || dim >= experts)
    return emitOpError() << "dimension " << dim << " is none of tokens: those of " << types->input
                         << " stand before the last two";
  auto axes = verifyAxes(*this, getAxes(), types->mesh);
  Sharding expected = types->before;
  int64_t from = getToExperts() ? dim : experts, to = getToExperts() ? experts : dim;
  if (failed(axes) || failed(takeMinor(*this, *types, expected, from, *axes)) ||
      failed(addMinor(*this, *types, expected, to, *axes)) || failed(verifyImplied(*this, *types, expected)))
    return failure();
  int64_t few = types->input.getDimSize(dim), many = types->result.getDimSize(dim);
  if (!getToExperts())
    std::swap(few, many);
  if (few * axesSize(*axes) != many)
    return emitOpError() << "has " << few << " of dimension " << dim << " on one side and " << many
                         << " on the other: tokens of " << axesSize(*axes)
                         << " ranks have to be whole, as counts of padding are known to nobody";
  for (auto [what, ids, rows, sharding] :
       {std::tuple("sent_ids", getSentIds(), types->input, types->before),
        std::tuple("received_ids", getReceivedIds(), types->result, types->after)}) {
    auto type = cast<RankedTensorType>(ids.getType());
    ShardingAttr attr = getShardingAttr(type);
    if (!type.getElementType().isInteger(32) || type.getRank() != experts + 1)
      return emitOpError() << what << " are " << type << "; they are i32, a row for each token of " << rows;
    if (!attr || !attr.isLocal() || attr.getMesh() != getShardingAttr(rows).getMesh() ||
        failed(verifyShardedType(*this, type, what)))
      return emitOpError() << what << " carry no sharding of the same mesh, with global sizes";
    Sharding own = attr.toSharding(types->mesh);
    for (int64_t d = 0; d <= experts; ++d)
      if (d < experts ? own.dims[d].axes != sharding.dims[d].axes || type.getDimSize(d) != rows.getDimSize(d)
                      : !own.dims[d].axes.empty())
        return emitOpError() << what << " must lie as the tokens do, and choices be whole: dimension " << d
                             << " of " << type << " does not";
    if (!own.partial.empty())
      return emitOpError() << what << " are partial: nobody knows them";
  }
  if (cast<RankedTensorType>(getSentIds().getType()).getShape().back() !=
      cast<RankedTensorType>(getReceivedIds().getType()).getShape().back())
    return emitOpError("has other numbers of choices on both sides");
  return success();
}

LogicalResult CollectivePermuteOp::verify() {
  auto types = verifyTypes(*this);
  if (failed(types))
    return failure();
  if (getMirrored()) {
    auto axes = verifyAxes(*this, *getMirrored(), types->mesh);
    if (failed(axes))
      return failure();
    for (const DimSharding &dim : types->before.dims) {
      llvm::erase_if(*axes, [&](const AxisRef &axis) {
        return llvm::any_of(dim.axes, [&](const AxisRef &own) {
          return own == axis ||
                 (own.axis == axis.axis && own.pre <= axis.pre && own.pre * own.size >= axis.pre * axis.size);
        });
      });
    }
    if (!axes->empty())
      return emitOpError() << "mirrors " << axesText(*axes, types->mesh) << ", over which no dimension lies";
    return verifyImplied(*this, *types, types->before);
  }
  for (auto [i, dims] : llvm::enumerate(llvm::zip(types->before.dims, types->after.dims))) {
    auto &[before, after] = dims;
    if (axesSize(before.axes) != axesSize(after.axes))
      return emitOpError() << "dimension " << i << ": " << axesSize(before.axes) << " pieces before, "
                           << axesSize(after.axes) << " after; whole pieces move, their number stays";
  }
  Sharding expected = types->after;
  expected.partial = types->before.partial;
  expected.partialKind = types->before.partialKind;
  return verifyImplied(*this, *types, expected);
}

/// Calls `use` with what is sent, and from where to where.
template <typename F> static auto withPart(GroupedSendOp op, const Mesh &mesh, F use) {
  SmallVector<int64_t> shape = globalShape(op.getInput().getType()),
                       size = globalShape(op.getResult().getType());
  return use(SentPart(shape, op.getAt().value_or(ArrayRef<int64_t>()), size), shardingOf(op.getInput(), mesh),
             shardingOf(op.getResult(), mesh));
}

LogicalResult GroupedSendOp::verify() {
  auto types = verifyTypes(*this, /*isPart=*/bool(getAt()));
  if (failed(types))
    return failure();
  if (auto at = getAt()) {
    SmallVector<int64_t> shape = globalShape(types->input), size = globalShape(types->result);
    if (at->size() != shape.size() || size.size() != shape.size())
      return emitOpError() << "takes a part of rank " << size.size() << " at " << at->size()
                           << " places out of a tensor of rank " << shape.size();
    for (auto [d, begin] : llvm::enumerate(*at))
      if (begin < 0 || begin > shape[d] - size[d])
        return emitOpError() << "takes " << size[d] << " elements at " << begin << " of dimension " << d
                             << ", which has " << shape[d];
  }
  // A rank sends what it holds: terms of a sum stay terms.
  Sharding expected = types->after;
  expected.partial = types->before.partial;
  expected.partialKind = types->before.partialKind;
  if (failed(verifyImplied(*this, *types, expected)))
    return failure();
  if (getGroupAxes(types->mesh).empty())
    return emitOpError() << "sends nothing: every rank has what it wants of "
                         << toString(types->after, types->mesh);
  return success();
}

//===----------------------------------------------------------------------===//
// What they move
//===----------------------------------------------------------------------===//

static int64_t bytesOf(Value value) { return arrayBytes(value.getType()); }

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
  return withPart(*this, mesh, [&](const SentPart &part, const Sharding &from, const Sharding &to) {
    return sendAxes(mesh, part, from, to);
  });
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
      withPart(*this, mesh, [&](const SentPart &part, const Sharding &from, const Sharding &to) {
        return mostMoved(mesh, part, from, to);
      });
  return bytesSentBy(*this, mesh, int64_t(elements * tensorBytes(type.clone(ArrayRef<int64_t>(1)))));
}
bool GroupedSendOp::communicates() {
  ShardingAttr sharding = getShardingAttr(getInput().getType());
  return getBytesSent(lookupMesh(*this, sharding.getMesh()).getMesh().toMesh()) > 0;
}
int64_t GroupedSendOp::getMessages(const Mesh &mesh) {
  return withPart(*this, mesh, [](const SentPart &part, const Sharding &from, const Sharding &to) {
    return sendMessages(part, from, to);
  });
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
