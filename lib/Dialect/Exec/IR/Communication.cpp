//===- Communication.cpp - verifiers and effects of what communicates -------===//

#include "tessera/Dialect/Exec/IR/ExchangeRows.h"
#include "tessera/Dialect/Exec/IR/Flight.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "tessera/Dialect/Exec/IR/ExecRowOps.cpp.inc"

namespace tessera::exec {

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

static int64_t numElements(Value value) { return cast<ShapedType>(value.getType()).getNumElements(); }

//===- Effects --------------------------------------------------------------===//

/// Every rank of the group must take part, whether or not this one uses the result.
static void addMeeting(Effects &effects) { effects.emplace_back(MemoryEffects::Write::get()); }

void CollectiveOp::getEffects(Effects &effects) {
  addAccessEffects(*this, effects);
  addMeeting(effects);
}
void ExchangeRowsOp::getEffects(Effects &effects) {
  addAccessEffects(*this, effects);
  addMeeting(effects);
}
void CollectiveStartOp::getEffects(Effects &effects) {
  addAccessEffects(*this, effects);
  addMeeting(effects);
}
void SendOp::getEffects(Effects &effects) {
  addAccessEffects(*this, effects);
  addMeeting(effects);
}
void ReceiveOp::getEffects(Effects &effects) {
  addAccessEffects(*this, effects);
  addMeeting(effects);
}
void WaitOp::getEffects(Effects &effects) { addMeeting(effects); }

//===- Collectives ----------------------------------------------------------===//

/// What can be said without the mesh.
template <typename Op> static LogicalResult verifyForm(Op op) {
  CollectiveKind kind = op.getKind();
  if (!communicates(kind))
    return op.emitOpError() << collectiveName(kind)
                            << " does not communicate; it is a copy of this rank's own";
  if (reduces(kind) != (op.getReduce() != Reduction::None))
    return op.emitOpError() << collectiveName(kind) << (reduces(kind) ? " must say" : " does not say")
                            << " how to combine";
  bool sends = kind == CollectiveKind::GroupedSend, permutes = kind == CollectiveKind::CollectivePermute;
  bool layouts = op.getFrom() && op.getTo();
  if (bool(op.getFrom()) != bool(op.getTo()) || (layouts && !sends && !permutes) || (sends && !layouts))
    return op.emitOpError("from and to belong to grouped_send and collective_permute, both and only there");
  if ((op.getMirrored() && !permutes) || (permutes && bool(op.getMirrored()) == layouts))
    return op.emitOpError("mirrored axes, or from and to, belong to collective_permute, one of the two");
  auto in = cast<ShapedType>(op.getInput().getType()), out = cast<ShapedType>(op.getOutput().getType());
  if (in.getElementType() != out.getElementType())
    return op.emitOpError() << "turns " << Type(in) << " into " << Type(out) << ": elements differ";
  if (isa<MemRefType>(in) != isa<MemRefType>(out))
    return op.emitOpError("mixes tensors (rung kernels) and memrefs (rung exec)");
  std::optional<io::DType> dtype = elementDType(in.getElementType());
  if (reduces(kind) && (!dtype || !io::traits(*dtype).reduce)) {
    std::string known;
    for (io::DType type : io::allDTypes())
      if (io::traits(type).reduce)
        known += (known.empty() ? "" : ", ") + std::string(io::traits(type).name);
    return op.emitOpError() << "combines elements of type " << in.getElementType() << "; ranks can combine "
                            << known;
  }
  if (op.getAt() && !sends)
    return op.emitOpError("takes a part: only a grouped_send does");
  if (layouts && (op.getFrom()->getDims().size() != op.getTo()->getDims().size() ||
                  (!op.getAt() && op.getFrom()->getGlobal() != op.getTo()->getGlobal())))
    return op.emitOpError() << "moves " << Type(in)
                            << " between layouts of another rank, or of other global sizes";
  if (sends && (int64_t(op.getFrom()->getDims().size()) != in.getRank() || out.getRank() != in.getRank() ||
                !op.getFrom()->isLocal()))
    return op.emitOpError() << "sends " << Type(in)
                            << " between layouts of another rank, or of other global sizes";
  if (op.getAt()) {
    ArrayRef<int64_t> whole = op.getFrom()->getGlobal().asArrayRef(),
                      part = op.getTo()->getGlobal().asArrayRef(), at = *op.getAt();
    bool inside = at.size() == whole.size() && part.size() == whole.size();
    for (size_t d = 0; inside && d < at.size(); ++d)
      inside = at[d] >= 0 && at[d] <= whole[d] - part[d];
    if (!inside)
      return op.emitOpError() << "sends the part [" << part << "] at [" << at << "] of a tensor of [" << whole
                              << "]";
  }
  return success();
}

/// The mesh of the module; an error if there is none, or if it lacks one of `axes`.
static FailureOr<Mesh> meshFor(Operation *op, ArrayRef<ArrayAttr> lists) {
  auto module = op->getParentOfType<ModuleOp>();
  dist::MeshOp mesh = module ? dist::getMesh(module) : nullptr;
  if (!mesh)
    return op->emitOpError("communicates, but the module has no dist.mesh"), failure();
  for (ArrayAttr list : lists)
    for (Attribute attr : list ? list.getValue() : ArrayRef<Attribute>()) {
      auto axis = dyn_cast<dist::AxisRefAttr>(attr);
      if (!axis || !mesh.getMesh().toMesh().find(axis.getName()))
        return op->emitOpError() << "communicates over " << attr << ", which is no axis of the mesh",
               failure();
    }
  return mesh.getMesh().toMesh();
}

/// Rows of blocks, and what the longer side lacks of them.
template <typename Op>
static LogicalResult verifyRows(Op op, int64_t group, int64_t elements, int64_t rows, int64_t cut) {
  CollectiveKind kind = op.getKind();
  if (kind != CollectiveKind::AllGather && kind != CollectiveKind::ReduceScatter)
    return op.emitOpError("rows and cut belong to all_gather and reduce_scatter");
  if (!areBlockRows(kind, group, elements, rows, cut))
    return op.emitOpError() << collectiveName(kind) << " of " << op.getInput().getType() << " in a group of "
                            << group << ": " << rows << " rows, of which " << cut
                            << " elements are cut off, are not those of equal blocks, of which the first "
                               "stays whole";
  return success();
}

/// Sizes of both ends against the group.
template <typename Op> static LogicalResult verifySizes(Op op) {
  FailureOr<Mesh> mesh = meshFor(op, {op.getAxes(), op.getMirrored().value_or(ArrayAttr())});
  if (failed(mesh))
    return failure();
  CollectiveKind kind = op.getKind();
  auto in = cast<ShapedType>(op.getInput().getType()), out = cast<ShapedType>(op.getOutput().getType());
  int64_t group = axesSize(dist::fromAxesAttr(op.getAxes(), *mesh)), elements = in.getNumElements();
  if (kind == CollectiveKind::GroupedSend) {
    for (auto [layout, type] : {std::pair(*op.getFrom(), in), std::pair(*op.getTo(), out)}) {
      SmallVector<int64_t> local = layout.toSharding(*mesh).localShape(layout.getGlobal().asArrayRef());
      if (ArrayRef<int64_t>(local) != type.getShape())
        return op.emitOpError() << "has " << Type(type) << " for a piece of " << layout << ", whose shape is "
                                << local;
    }
    return success();
  }
  if (kind == CollectiveKind::CollectivePermute && op.getFrom()) {
    Sharding before = op.getFrom()->toSharding(*mesh), after = op.getTo()->toSharding(*mesh);
    for (auto [d, dims] : llvm::enumerate(llvm::zip_equal(before.dims, after.dims)))
      if (axesSize(std::get<0>(dims).axes) != axesSize(std::get<1>(dims).axes))
        return op.emitOpError() << "moves whole pieces, but dimension " << d << " has "
                                << axesSize(std::get<0>(dims).axes) << " before and "
                                << axesSize(std::get<1>(dims).axes) << " after";
  }
  int64_t rows = op.getRows().value_or(1), cut = op.getCut().value_or(0);
  if ((op.getRows() || op.getCut()) && failed(verifyRows(op, group, elements, rows, cut)))
    return failure();
  bool splits = kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::AllToAll;
  if (splits && (elements + cut) % group != 0)
    return op.emitOpError() << "splits " << Type(in) << " into " << group
                            << " equal blocks, which it does not have";
  int64_t expected = resultElements(kind, group, elements, cut);
  bool same = kind == CollectiveKind::AllReduce || kind == CollectiveKind::CollectivePermute;
  if (out.getNumElements() != expected || (same && in.getShape() != out.getShape()))
    return op.emitOpError() << collectiveName(kind) << " of " << Type(in) << " in a group of " << group
                            << " gives " << expected << " elements" << (same ? " in the same shape" : "")
                            << ", not " << Type(out);
  return success();
}

LogicalResult CollectiveOp::verify() { return verifyForm(*this); }
LogicalResult CollectiveOp::verifySymbolUses(SymbolTableCollection &) { return verifySizes(*this); }

//===- Rows by counts -------------------------------------------------------===//

LogicalResult ExchangeRowsOp::verify() {
  auto in = cast<ShapedType>(getInput().getType()), out = cast<ShapedType>(getOutput().getType()),
       counts = cast<ShapedType>(getCounts().getType());
  if (in.getRank() != 2 || out.getRank() != 2 || in.getDimSize(1) != out.getDimSize(1) ||
      in.getElementType() != out.getElementType())
    return emitOpError() << "turns " << Type(in) << " into " << Type(out)
                         << "; both are rows [n, d] of equal elements";
  if (isa<MemRefType>(in) != isa<MemRefType>(out) || isa<MemRefType>(in) != isa<MemRefType>(counts))
    return emitOpError("mixes tensors (rung kernels) and memrefs (rung exec)");
  int64_t even = int64_t(getEven()), most = int64_t(getMost());
  if (even < 0 || even > most || most > in.getDimSize(0))
    return emitOpError() << "sends " << even << " rows at even routing and " << most << " at most, of "
                         << in.getDimSize(0);
  return success();
}

LogicalResult ExchangeRowsOp::verifySymbolUses(SymbolTableCollection &) {
  FailureOr<Mesh> mesh = meshFor(*this, {getAxes()});
  if (failed(mesh))
    return failure();
  auto counts = cast<ShapedType>(getCounts().getType());
  int64_t group = axesSize(dist::fromAxesAttr(getAxes(), *mesh));
  if (!counts.getElementType().isInteger(32) || counts.getNumElements() != 2 * group)
    return emitOpError() << "has counts " << Type(counts) << "; for a group of " << group << " they are "
                         << 2 * group << " numbers of type i32";
  return success();
}

//===- Tokens ---------------------------------------------------------------===//

/// One exec.wait in the same block, and nobody in the way before it.
static LogicalResult verifyToken(Operation *start, Value token, const Flight &flight) {
  if (!token.hasOneUse())
    return start->emitOpError() << "is waited for " << std::distance(token.use_begin(), token.use_end())
                                << " times, not once";
  Operation *wait = *token.user_begin();
  if (!isa<WaitOp>(wait) || wait->getBlock() != start->getBlock())
    return start->emitOpError("must be waited for by one exec.wait in the same block");
  for (Operation *between = start->getNextNode(); between && between != wait;
       between = between->getNextNode())
    if (std::optional<Meeting> met = meeting(between, flight)) {
      InFlightDiagnostic error = met->op->emitOpError();
      error.attachNote(start->getLoc()) << "started here, waited for later";
      error << (met->kind == AccessKind::Read ? "reads " : "writes ");
      if (met->operand)
        error << met->operand.getType();
      else
        error << met->parameter;
      return error << ", which is in flight";
    }
  return success();
}

LogicalResult CollectiveStartOp::verify() {
  if (failed(verifyForm(*this)))
    return failure();
  return verifyToken(*this, getToken(), {MemoryRange(getInput()), MemoryRange(getOutput())});
}
LogicalResult CollectiveStartOp::verifySymbolUses(SymbolTableCollection &) { return verifySizes(*this); }

template <typename Op> static LogicalResult verifyMessage(Op op) {
  int64_t tag = op.getTag();
  if (tag < 0 || tag > kLargestMessageTag)
    return op.emitOpError() << "has tag " << tag << "; tags are 0 to " << kLargestMessageTag;
  if (numElements(op.getBuffer()) == 0)
    return op.emitOpError("is a message of nothing");
  return success();
}

LogicalResult SendOp::verify() {
  return failed(verifyMessage(*this))
             ? failure()
             : verifyToken(*this, getToken(), {MemoryRange(getBuffer()), std::nullopt});
}
LogicalResult ReceiveOp::verify() {
  return failed(verifyMessage(*this))
             ? failure()
             : verifyToken(*this, getToken(), {std::nullopt, MemoryRange(getBuffer())});
}
LogicalResult SendOp::verifySymbolUses(SymbolTableCollection &) {
  return LogicalResult(meshFor(*this, {getAxes()}));
}
LogicalResult ReceiveOp::verifySymbolUses(SymbolTableCollection &) {
  return LogicalResult(meshFor(*this, {getAxes()}));
}

} // namespace tessera::exec
