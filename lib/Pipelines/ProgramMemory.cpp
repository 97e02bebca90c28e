//===- ProgramMemory.cpp - What a program takes of a rank -----------------===//
#include "tessera/Pipelines/ProgramMemory.h"

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/TypeSizes.h"
#include "tessera/runtime/core/HeldBytes.h"

using namespace mlir;

namespace tessera {

/// What a rank holds of it.
static int64_t weightBytes(graph::ParameterOp op, const Target &target) {
  auto held = op->getAttrOfType<TypeAttr>(exec::kLocalTypeAttr);
  if (!held)
    return 0; // nobody reads it
  auto type = cast<RankedTensorType>(held.getValue());
  int64_t layers = op.getStacked() ? type.getDimSize(0) : 1;
  ArrayRef<int64_t> shape = type.getShape().drop_front(op.getStacked() ? 1 : 0);
  int64_t elements = 1, rows = 1;
  for (int64_t size : shape)
    elements *= size;
  runtime::HeldWeight weight;
  weight.layers = layers;
  weight.bytes = elements * elementBytes(type);
  if (auto apart = op->getAttrOfType<IntegerAttr>(exec::kLayerBytesAttr))
    weight.apart = apart.getInt();
  if (auto outDims = op->getAttrOfType<IntegerAttr>(exec::kPackAttr)) {
    for (int64_t size : shape.take_front(size_t(outDims.getInt())))
      rows *= size;
    weight.plainBytes = op.getVariable() ? weight.bytes : 0;
    weight.isPacked = true;
    weight.bytes =
        target.packedBytes(rows, rows ? elements / rows : 0, *exec::elementDType(type.getElementType()));
    if (auto held = op->getAttrOfType<ArrayAttr>(exec::kHeldAttr)) {
      auto columns = [&](ArrayRef<int64_t> layer) {
        ArrayRef<int64_t> dims = layer.drop_front(size_t(outDims.getInt()));
        return std::vector<int64_t>(dims.begin(), dims.end());
      };
      auto global = cast<RankedTensorType>(op.getType()).getShape().drop_front(op.getStacked() ? 1 : 0);
      io::BlockColumns lie(columns(global), columns(shape));
      for (auto name : held.getAsRange<StringAttr>())
        weight.each.push_back(std::max(
            weight.apart, target.blockBytes(*io::weightTypeFromFileName(name.getValue()), rows, lie)));
      weight.bytes = weight.each.front();
      if (weight.each.size() == 1)
        weight.each.clear();
    }
  }
  return weight.total();
}

ProgramMemory programMemory(ModuleOp module, const Target &target) {
  ProgramMemory memory;
  for (auto op : module.getOps<graph::ParameterOp>())
    memory.weights += weightBytes(op, target);
  if (auto arena = module->getAttrOfType<IntegerAttr>(exec::kArenaAttr))
    memory.arena = arena.getInt();
  if (auto slots = module->getAttrOfType<DenseI64ArrayAttr>(exec::kSlotBytesAttr))
    llvm::copy(slots.asArrayRef(), memory.slots.begin());
  return memory;
}

} // namespace tessera
