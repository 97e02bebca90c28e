//===- Attention.cpp - attention as a kernel of a target ------------------===//

#include "tessera/Target/Forms/Attention.h"

#include "tessera/Target/Forms/CacheBlocks.h"
#include "tessera/Target/Forms/FormKernel.h"

#include "tessera/Dialect/Graph/IR/HeldAttr.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera {

namespace {

struct Signature {
  SmallVector<Type> inputs, outputs;
};

Signature signatureOf(const AttentionShape &shape, int64_t scratch, Builder b) {
  Type f32 = b.getF32Type(), element = shape.elementType ? shape.elementType : f32;
  Type keyElement = shape.keyType ? shape.keyType : element;
  auto keys = [&](int64_t width) -> Type {
    if (isInBlocks(keyElement))
      width = graph::cacheRowBytes(width);
    SmallVector<int64_t> dims = {shape.batch, shape.context, shape.kvHeads, width};
    if (shape.layers)
      dims.insert(dims.begin(), *shape.layers);
    return RankedTensorType::get(dims, keyElement);
  };
  SmallVector<int64_t> queries = {shape.batch, shape.seq, shape.kvHeads, shape.group};
  auto perQuery = [&](int64_t width) -> Type {
    SmallVector<int64_t> dims = queries;
    dims.push_back(width);
    return RankedTensorType::get(dims, element);
  };
  SmallVector<int64_t> positions = {shape.batch, shape.seq};
  if (shape.firsts)
    positions.push_back(2);
  Signature signature = {{perQuery(shape.headDim), keys(shape.headDim), keys(shape.valueDim),
                          RankedTensorType::get(positions, b.getI32Type())},
                         {perQuery(shape.valueDim)}};
  if (shape.page)
    signature.inputs.push_back(
        RankedTensorType::get({shape.batch, shape.context / shape.page}, b.getI32Type()));
  if (shape.sinkType)
    signature.inputs.push_back(RankedTensorType::get({shape.kvHeads, shape.group}, shape.sinkType));
  if (shape.dropout)
    signature.inputs.append({RankedTensorType::get(queries, b.getI64Type()), RankedTensorType::get({}, f32)});
  if (shape.logSumExp)
    signature.outputs.push_back(RankedTensorType::get(queries, f32));
  if (scratch)
    signature.outputs.push_back(RankedTensorType::get(scratch, f32));
  return signature;
}

exec::KernelShell shellOf(Location loc, StringRef name, const AttentionShape &shape, int64_t scratch) {
  Signature signature = signatureOf(shape, scratch, Builder(loc.getContext()));
  return exec::KernelShell(loc, name, signature.inputs, signature.outputs, shape.layers ? 2 : 1);
}

} // namespace

AttentionFunction::AttentionFunction(Location loc, StringRef name, const AttentionShape &shape,
                                     int64_t scratch)
    : KernelShell(shellOf(loc, name, shape, scratch)) {
  auto buffer = [&](Value array, bool readOnly) -> Value {
    auto type = cast<RankedTensorType>(array.getType());
    auto op = bufferization::ToBufferOp::create(
        builder, loc, MemRefType::get(type.getShape(), type.getElementType()), array);
    op.setReadOnly(readOnly);
    return op;
  };
  arguments.q = buffer(inputs[0], true);
  arguments.k = buffer(inputs[1], true);
  arguments.v = buffer(inputs[2], true);
  arguments.positions = buffer(inputs[3], true);
  size_t next = 4;
  if (shape.page)
    arguments.pages = buffer(inputs[next++], true);
  if (shape.sinkType)
    arguments.sinks = buffer(inputs[next++], true);
  if (shape.dropout) {
    arguments.dropKeys = buffer(inputs[next++], true);
    arguments.dropShare = buffer(inputs[next++], true);
  }
  arguments.out = buffer(outputs[0], false);
  if (shape.logSumExp)
    arguments.logSumExp = buffer(outputs[1], false);
  if (scratch)
    arguments.scratch = buffer(outputs.back(), false);
  if (shape.layers)
    arguments.layer = scalars.front();
  arguments.base = scalars.back();
}

Value AttentionFunction::openLoop(ImplicitLocOpBuilder &b) const {
  Value one = arith::ConstantIndexOp::create(b, 1);
  auto loop = scf::ForOp::create(b, begin, end, one, ValueRange{});
  func::ReturnOp::create(b, outputs);
  b.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

AttentionShape AttentionForm::shapeOf(graph::AttentionOp op) {
  AttentionShape shape = attentionShape(op);
  shape.valueDim = tensorOf(op.getResult()).getDimSize(4); // values may be in blocks
  if (op.getSinks())
    shape.sinkType = tensorOf(op.getSinks()).getElementType();
  shape.elementType = tensorOf(op.getQuery()).getElementType();
  shape.keyType = tensorOf(op.getKey()).getElementType();
  shape.logSumExp = bool(op.getLogSumExp());
  shape.page = int64_t(op.getPage().value_or(0));
  shape.ring = op.getRing();
  return shape;
}

/// All that the time of a launch depends on.
static std::string siblingKey(const AttentionShape &shape) {
  std::string key;
  llvm::raw_string_ostream text(key);
  text << "attention " << shape.elementType << " " << shape.batch << "x" << shape.seq << "x" << shape.kvHeads
       << "x" << shape.group << "x" << shape.headDim << " values " << shape.valueDim << " of "
       << shape.context << " keys";
  if (shape.window)
    text << " window " << *shape.window;
  if (shape.page)
    text << " pages of " << shape.page;
  if (shape.ring)
    text << " ring";
  text << (shape.softcap ? " softcap" : "") << (shape.logSumExp ? " logsumexp" : "")
       << (shape.sinkType ? " sinks" : "") << (shape.dropout ? " dropout" : "");
  return key;
}

/// Tried on a chunk in the middle of the context.
static KernelSibling siblingOf(FlatSymbolRefAttr kernel, int64_t count, int64_t blocks,
                               const AttentionShape &shape) {
  constexpr int64_t positions = 3;
  return {kernel,
          count,
          blocks,
          siblingKey(shape),
          positions,
          shape.seq,
          std::max<int64_t>(0, (shape.context - shape.seq) / 2)};
}

LogicalResult AttentionForm::lower(Operation *self, KernelLowering &lowering) const {
  auto op = cast<graph::AttentionOp>(self);
  if (lowering.shardAxes(tensorOf(op.getKey()), 1))
    return op.emitOpError("attends over a sharded context; gather keys and values first");
  OpBuilder builder(op);
  Location loc = op.getLoc();
  AttentionShape shape = shapeOf(op);
  std::string name = llvm::formatv("attention_{0}{1}x{2}x{3}x{4}x{5}", shape.dropout ? "dropout_" : "",
                                   shape.batch, shape.seq, shape.kvHeads, shape.group, shape.headDim);
  Kernel kernel = build(loc, name, shape);
  SmallVector<Value> outputs;
  for (Value result : op.getResults())
    outputs.push_back(exec::fresh(builder, result));
  for (Type more : kernel.func.getResultTypes().drop_front(outputs.size())) { // scratch
    auto type = cast<RankedTensorType>(more);
    outputs.push_back(tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType()));
  }
  Value base = arith::ConstantIndexOp::create(builder, loc, 0);
  FlatSymbolRefAttr symbol = lowering.addKernel(kernel.func);
  for (Sibling &sibling : kernel.siblings) {
    sibling.func.setName((symbol.getValue() + "$" + sibling.form).str());
    sibling.func->setAttr(
        kSiblingAttr,
        siblingOf(symbol, kernel.iterations, sibling.iterations, shape).attribute(builder.getContext()));
    lowering.addKernel(sibling.func);
  }
  auto launch = exec::LaunchOp::create(
      builder, loc, ValueRange(outputs).getTypes(), symbol, op->getOperands(), outputs, base,
      builder.getI64IntegerAttr(kernel.iterations), builder.getI64IntegerAttr(1));
  op->replaceAllUsesWith(launch.getResults().take_front(op->getNumResults()));
  op.erase();
  return success();
}

} // namespace tessera
