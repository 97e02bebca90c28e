//===- Access.cpp - what ops do to their operands ---------------------------===//

#include "tessera/Dialect/Exec/IR/ExchangeRows.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera::exec {

StringRef stringifyAccessKind(AccessKind kind) {
  static constexpr StringLiteral kNames[] = {"read", "write", "update", "layer"};
  return kNames[size_t(kind)];
}

ArrayView viewOf(Value value) {
  ArrayView view{value, {}, arrayBytes(value.getType())};
  while (auto op = view.root.getDefiningOp<ExecViewOpInterface>()) {
    if (Value layer = op.getViewedLayer()) {
      auto stack = cast<ShapedType>(op.getViewed().getType());
      view.layers.insert(view.layers.begin(), {layer, stack.getDimSize(0), arrayBytes(view.root.getType())});
    }
    view.root = op.getViewed();
  }
  return view;
}

using Accesses = SmallVector<Access>;

/// Reads what it takes, writes all of what it makes.
static Accesses wholeAccesses(DestinationStyleOpInterface op) {
  Accesses accesses;
  for (OpOperand &operand : op->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()))
      accesses.push_back({&operand, op.isDpsInit(&operand) ? AccessKind::Write : AccessKind::Read, {}});
  return accesses;
}
Accesses MatmulOp::getAccesses() {
  Accesses accesses = wholeAccesses(*this);
  OpOperand *addend = getAddend() ? &*getAddendMutable().begin() : nullptr;
  for (Access &access : accesses)
    access.inPlace = access.operand == addend;
  return accesses;
}
Accesses GatherPackedOp::getAccesses() { return wholeAccesses(*this); }
/// Others put blocks in other places than they take them from.
static bool worksInPlace(CollectiveKind kind) { return kind == CollectiveKind::AllReduce; }
Accesses CollectiveOp::getAccesses() {
  Accesses accesses = wholeAccesses(*this);
  for (Access &access : accesses)
    access.inPlace = access.kind == AccessKind::Read && worksInPlace(getKind());
  return accesses;
}
Accesses ExchangeRowsOp::getAccesses() { return wholeAccesses(*this); }
Accesses CollectiveStartOp::getAccesses() {
  return {{&getInputMutable(), AccessKind::Read, {}, worksInPlace(getKind())},
          {&getOutputMutable(), AccessKind::Write, {}}};
}
Accesses SendOp::getAccesses() { return {{&getBufferMutable(), AccessKind::Read, {}}}; }
Accesses ReceiveOp::getAccesses() { return {{&getBufferMutable(), AccessKind::Write, {}}}; }

Accesses CopyOp::getAccesses() {
  // The planner may give both sides one place: then the copy does nothing.
  return {{&getSourceMutable(), AccessKind::Read, {}, /*inPlace=*/true},
          {&getTargetMutable(), AccessKind::Write, {}}};
}

Accesses PackOp::getAccesses() { return {}; }
Accesses ReadFlagOp::getAccesses() {
  if (!isa<MemRefType>(getFlag().getType()))
    return {};
  return {{&getFlagMutable(), AccessKind::Read, {}}};
}

SmallVector<ParameterAccess> MatmulOp::getParameterAccesses() {
  if (!getParamAttr() || getWeight()) // of a gathered one it reads what was gathered
    return {};
  return {{getParamAttr(), getLayer(), /*packed=*/true, AccessKind::Read}};
}
SmallVector<ParameterAccess> GatherPackedOp::getParameterAccesses() {
  return {{getParamAttr(), getLayer(), /*packed=*/true, AccessKind::Read}};
}
SmallVector<ParameterAccess> PackOp::getParameterAccesses() {
  return {{getParamAttr(), getLayer(), /*packed=*/false, AccessKind::Read},
          {getParamAttr(), getLayer(), /*packed=*/true, AccessKind::Write}};
}

Accesses LaunchOp::getAccesses() {
  Accesses accesses = wholeAccesses(*this);
  for (Access &access : accesses)
    if (access.kind == AccessKind::Write) {
      access.kind =
          getMode(access.operand->getOperandNumber() - getOutputsMutable().begin()->getOperandNumber());
      if (access.kind == AccessKind::Layer)
        access.layer = getScalars().front();
    }
  return accesses;
}

//===- Effects --------------------------------------------------------------===//

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

void addAccessEffects(ExecAccessOpInterface op, Effects &effects) {
  for (const Access &access : op.getAccesses()) {
    if (access.kind != AccessKind::Write) // of a stack, the other layers are as needed as if they were read
      effects.emplace_back(MemoryEffects::Read::get(), access.operand);
    if (access.kind != AccessKind::Read)
      effects.emplace_back(MemoryEffects::Write::get(), access.operand);
  }
}
void LaunchOp::getEffects(Effects &effects) { addAccessEffects(*this, effects); }
void MatmulOp::getEffects(Effects &effects) { addAccessEffects(*this, effects); }
void GatherPackedOp::getEffects(Effects &effects) { addAccessEffects(*this, effects); }
void CopyOp::getEffects(Effects &effects) { addAccessEffects(*this, effects); }
void ReadFlagOp::getEffects(Effects &effects) { addAccessEffects(*this, effects); }

//===- Modes of a launch ----------------------------------------------------===//

AccessKind LaunchOp::getMode(unsigned output) {
  if (getModes())
    return AccessKind((*getModes())[output]);
  return getOutputs()[output].getDefiningOp<tensor::EmptyOp>() ? AccessKind::Write : AccessKind::Update;
}

void LaunchOp::setModes(ArrayRef<AccessKind> modes) {
  setModesAttr(DenseI32ArrayAttr::get(
      getContext(), llvm::map_to_vector(modes, [](AccessKind kind) { return int32_t(kind); })));
}

} // namespace tessera::exec
