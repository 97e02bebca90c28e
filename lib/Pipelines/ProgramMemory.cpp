//===- ProgramMemory.cpp - What a program takes of a rank -----------------===//
#include "ProgramMemory.h"

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/TypeSizes.h"

using namespace mlir;

namespace tessera {

/// What the runtime's WeightPlan holds of it: all layers, in whole lines.
static int64_t weightBytes(graph::ParameterOp op, const Target &target) {
  auto held = op->getAttrOfType<TypeAttr>(exec::kLocalTypeAttr);
  if (!held)
    return 0; // nobody reads it
  auto type = cast<RankedTensorType>(held.getValue());
  int64_t layers = op.getStacked() ? type.getDimSize(0) : 1;
  ArrayRef<int64_t> shape = type.getShape().drop_front(op.getStacked() ? 1 : 0);
  auto lines = [](int64_t bytes) { return llvm::alignTo(uint64_t(bytes), 64); };
  int64_t elements = 1, rows = 1;
  for (int64_t size : shape)
    elements *= size;
  int64_t plain = elements * elementBytes(type);
  if (auto outDims = op->getAttrOfType<IntegerAttr>(exec::kPackAttr)) {
    for (int64_t size : shape.take_front(size_t(outDims.getInt())))
      rows *= size;
    int64_t packed =
        target.packedBytes(rows, rows ? elements / rows : 0, *exec::elementDType(type.getElementType()));
    return int64_t(lines(layers * packed) + (op.getVariable() ? lines(layers * plain) : 0));
  }
  auto apart = op->getAttrOfType<IntegerAttr>(exec::kLayerBytesAttr);
  return int64_t(lines(layers * std::max(plain, apart ? apart.getInt() : 0)));
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
