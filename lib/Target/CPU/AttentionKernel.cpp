//===- AttentionKernel.cpp - attention as a kernel function -----------------===//

#include "tessera/Target/CPU/AttentionKernel.h"
#include "AttentionEmitter.h"
#include "tessera/Target/CPU/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

namespace tessera {

using namespace mlir;

int64_t attentionIterations(const AttentionShape &shape) {
  return RowLaneAttention::fits(shape) ? RowLaneAttention::iterations(shape)
                                       : KeyLaneAttention::iterations(shape);
}

func::FuncOp buildAttentionKernel(OpBuilder &builder, Location loc, StringRef name,
                                  const AttentionShape &shape) {
  OpBuilder::InsertionGuard guard(builder);
  ImplicitLocOpBuilder b(loc, builder);
  Type element = shape.elementType ? shape.elementType : b.getF32Type();
  Type keyElement = shape.keyType ? shape.keyType : element;
  auto tensor = [&](ArrayRef<int64_t> dims, Type type) { return RankedTensorType::get(dims, type); };
  SmallVector<int64_t> keyDims, valueDims;
  if (shape.layers)
    keyDims.push_back(*shape.layers);
  keyDims.append({shape.batch, shape.context, shape.kvHeads});
  valueDims = keyDims;
  keyDims.push_back(shape.headDim);
  valueDims.push_back(shape.valueDim);
  Type outType = tensor({shape.batch, shape.seq, shape.kvHeads, shape.group, shape.valueDim}, element);
  SmallVector<Type> inputs = {
      tensor({shape.batch, shape.seq, shape.kvHeads, shape.group, shape.headDim}, element),
      tensor(keyDims, keyElement), tensor(valueDims, keyElement),
      tensor({shape.batch, shape.seq}, b.getI32Type()), outType};
  SmallVector<Type> outputs = {outType};
  if (shape.logSumExp)
    outputs.push_back(tensor({shape.batch, shape.seq, shape.kvHeads, shape.group}, b.getF32Type()));
  inputs.append(outputs.begin() + 1, outputs.end());
  unsigned layer = inputs.size();
  inputs.append(shape.layers ? 4 : 3, b.getIndexType());
  auto func = func::FuncOp::create(b, name, b.getFunctionType(inputs, outputs));
  func.setPrivate();
  func->setAttr(kKernelAttr, b.getUnitAttr());

  Block *entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  auto buffer = [&](unsigned number, bool readOnly) -> Value {
    auto type = cast<RankedTensorType>(entry->getArgument(number).getType());
    auto op = bufferization::ToBufferOp::create(b, MemRefType::get(type.getShape(), type.getElementType()),
                                                entry->getArgument(number));
    op.setReadOnly(readOnly);
    return op;
  };
  AttentionBuffers buffers{buffer(0, true),
                           buffer(1, true),
                           buffer(2, true),
                           buffer(3, true),
                           buffer(4, false),
                           shape.logSumExp ? buffer(5, false) : Value(),
                           shape.layers ? Value(entry->getArgument(layer)) : Value(),
                           entry->getArgument(inputs.size() - 3)};
  std::unique_ptr<AttentionEmitter> emitter;
  if (RowLaneAttention::fits(shape))
    emitter = std::make_unique<RowLaneAttention>(b, shape, buffers);
  else
    emitter = std::make_unique<KeyLaneAttention>(b, shape, buffers);
  emitter->allocate();
  Value one = arith::ConstantIndexOp::create(b, 1);
  auto items = scf::ForOp::create(b, loc, entry->getArgument(inputs.size() - 2),
                                  entry->getArgument(inputs.size() - 1), one, ValueRange{});
  func::ReturnOp::create(b, ValueRange(entry->getArguments()).slice(4, outputs.size()));
  b.setInsertionPointToStart(items.getBody());
  emitter->emit(items.getInductionVar());
  return func;
}

} // namespace tessera
