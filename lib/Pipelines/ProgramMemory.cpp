//===- ProgramMemory.cpp - What a program takes of a rank -----------------===//
#include "tessera/Pipelines/ProgramMemory.h"

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Exec/IR/HeldWords.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/TypeSizes.h"
#include "tessera/runtime/core/HeldBytes.h"

using namespace mlir;

namespace tessera {

static int64_t blockBytes(const Target &target, io::DType type, const exec::BlockMatrix &layer) {
  return target.blockBytes(type, layer.rows, layer.columns);
}

/// What a rank holds of it.
static int64_t weightBytes(graph::ParameterOp op, const Target &target) {
  auto held = op->getAttrOfType<TypeAttr>(exec::kLocalTypeAttr);
  if (!held)
    return 0; // nobody reads it
  auto type = cast<RankedTensorType>(held.getValue());
  runtime::HeldWeight weight;
  weight.layers = op.getStacked() ? type.getDimSize(0) : 1;
  weight.bytes = type.getNumElements() / std::max<int64_t>(weight.layers, 1) * elementBytes(type);
  if (auto apart = op->getAttrOfType<IntegerAttr>(exec::kLayerBytesAttr))
    weight.apart = apart.getInt();
  if (op->hasAttr(exec::kPackAttr)) {
    exec::PackedMatrix layer = exec::packedMatrix(op);
    weight.plainBytes = op.getVariable() ? weight.bytes : 0;
    weight.isPacked = true;
    weight.bytes = target.packedBytes(layer.rows, layer.columns, *exec::elementDType(type.getElementType()));
    for (io::DType held : exec::blockTypes(op))
      weight.each.push_back(std::max(weight.apart, blockBytes(target, held, exec::blockMatrix(op))));
    if (weight.each.size() == 1)
      weight.bytes = weight.each.front();
    if (weight.each.size() < 2)
      weight.each.clear();
  }
  return weight.total();
}

/// Memory for a weight in blocks that comes in pieces, put together: all products share that of the largest.
static int64_t workspaceBytes(ModuleOp module, const Target &target) {
  int64_t most = 0;
  module.walk([&](exec::MatmulOp op) {
    ArrayRef<int64_t> pieces = exec::piecesOf(op);
    if (pieces.empty())
      return;
    auto parameter = module.lookupSymbol<graph::ParameterOp>(op.getParamAttr());
    exec::BlockMatrix whole = exec::blockMatrix(parameter, exec::layerOfPieces(parameter, pieces));
    for (io::DType type : exec::blockTypes(parameter))
      most = std::max(most, blockBytes(target, type, whole));
  });
  return most;
}

ProgramMemory programMemory(ModuleOp module, const Target &target) {
  ProgramMemory memory;
  for (auto op : module.getOps<graph::ParameterOp>())
    memory.weights += weightBytes(op, target);
  if (auto arena = module->getAttrOfType<IntegerAttr>(exec::kArenaAttr))
    memory.arena = arena.getInt();
  memory.workspace = workspaceBytes(module, target);
  if (auto slots = module->getAttrOfType<DenseI64ArrayAttr>(exec::kSlotBytesAttr))
    llvm::copy(slots.asArrayRef(), memory.slots.begin());
  return memory;
}

} // namespace tessera
