//===- AttentionForm.cpp - attention as a launch on a GPU -------------------===//
//
// attention -> the CUDA target's attention kernel. What that has no code for (heads wider than 256) stays as
// it is, to be written out in smaller ops.
//
//===----------------------------------------------------------------------===//

#include "AttentionForm.h"

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Exec/IR/KernelFunction.h"
#include "tessera/Dialect/Graph/IR/AttentionWindow.h"
#include "tessera/Target/CUDA/AttentionKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tessera {
namespace {

RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

AttentionShape shapeOf(graph::AttentionOp op) {
  ArrayRef<int64_t> q = tensorOf(op.getQuery()).getShape(), v = tensorOf(op.getValue()).getShape();
  AttentionShape shape;
  shape.batch = q[0];
  shape.seq = q[1];
  shape.context = v[1];
  shape.kvHeads = q[2];
  shape.group = q[3];
  shape.headDim = q[4];
  shape.valueDim = v[3];
  shape.scale = op.getScale().convertToDouble();
  shape.window = graph::hidingWindow(op);
  if (op.getSoftcap())
    shape.softcap = op.getSoftcap()->convertToDouble();
  shape.elementType = tensorOf(op.getQuery()).getElementType();
  shape.keyType = tensorOf(op.getKey()).getElementType();
  return shape;
}

struct AttentionForm : LibraryForm {
  bool takes(Operation *op) const override {
    return tileAttention(shapeOf(cast<graph::AttentionOp>(op))).has_value();
  }

  LogicalResult lower(Operation *self, KernelLowering &lowering) const override {
    auto op = cast<graph::AttentionOp>(self);
    if (lowering.shardAxes(tensorOf(op.getKey()), 1))
      return op.emitOpError("attends over a sharded context; gather keys and values first");
    OpBuilder builder(op);
    Location loc = op.getLoc();
    AttentionShape shape = shapeOf(op);
    std::optional<AttentionTiling> tiling = tileAttention(shape);
    assert(tiling && "an op that this form does not take");

    OwningOpRef<ModuleOp> scratch = ModuleOp::create(loc);
    OpBuilder inScratch = OpBuilder::atBlockBegin(scratch->getBody());
    std::string name = llvm::formatv("attention_{0}x{1}x{2}x{3}x{4}", shape.batch, shape.seq, shape.kvHeads,
                                     shape.group, shape.headDim);
    func::FuncOp kernel = buildCUDAAttentionKernel(inScratch, loc, name, shape, *tiling);
    kernel->remove();
    FlatSymbolRefAttr symbol = lowering.addKernel(kernel);
    SmallVector<Value> outputs = {exec::fresh(builder, op.getResult())};
    if (int64_t elements = attentionScratch(shape, *tiling))
      outputs.push_back(
          tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{elements}, builder.getF32Type()));
    Value base = arith::ConstantIndexOp::create(builder, loc, 0);
    auto launch = exec::LaunchOp::create(
        builder, loc, ValueRange(outputs).getTypes(), symbol,
        ValueRange{op.getQuery(), op.getKey(), op.getValue(), op.getPositions()}, outputs, base,
        builder.getI64IntegerAttr(tiling->blocks), builder.getI64IntegerAttr(1));
    op.replaceAllUsesWith(launch.getResults()[0]);
    op.erase();
    return success();
  }
};

} // namespace

void addCUDAAttentionForm(LibraryForms &forms) {
  forms.add<graph::AttentionOp>(std::make_unique<AttentionForm>());
}

} // namespace tessera
