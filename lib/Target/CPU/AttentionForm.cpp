//===- AttentionForm.cpp - attention as a launch --------------------------===//
//
// attention -> the CPU's attention kernel.
//
//===----------------------------------------------------------------------===//

#include "tessera/Target/CPU/AttentionForm.h"

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Exec/IR/KernelFunction.h"
#include "tessera/Dialect/Graph/IR/AttentionWindow.h"
#include "tessera/Target/CPU/AttentionKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tessera {
namespace {

RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

class AttentionForm : public LibraryForm {
public:
  explicit AttentionForm(unsigned lanes) : lanes(lanes) {}

  LogicalResult lower(Operation *self, KernelLowering &lowering) const override {
    auto op = cast<graph::AttentionOp>(self);
    if (lowering.shardAxes(tensorOf(op.getKey()), 1))
      return op.emitOpError("attends over a sharded context; gather keys and values first");
    OpBuilder builder(op);
    Location loc = op.getLoc();
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
    shape.lanes = lanes;

    OwningOpRef<ModuleOp> scratch = ModuleOp::create(loc);
    OpBuilder inScratch = OpBuilder::atBlockBegin(scratch->getBody());
    std::string name = llvm::formatv("attention_{0}x{1}x{2}x{3}x{4}", shape.batch, shape.seq, shape.kvHeads,
                                     shape.group, shape.headDim);
    func::FuncOp kernel = buildAttentionKernel(inScratch, loc, name, shape);
    kernel->remove();
    FlatSymbolRefAttr symbol = lowering.addKernel(kernel);
    Value base = arith::ConstantIndexOp::create(builder, loc, 0);
    int64_t count = attentionIterations(shape);
    auto launch =
        exec::LaunchOp::create(builder, loc, TypeRange(op.getType()), symbol,
                               ValueRange{op.getQuery(), op.getKey(), op.getValue(), op.getPositions()},
                               exec::fresh(builder, op.getResult()), base, builder.getI64IntegerAttr(count),
                               builder.getI64IntegerAttr(1));
    op.replaceAllUsesWith(launch.getResults()[0]);
    op.erase();
    return success();
  }

private:
  unsigned lanes;
};

} // namespace

void addAttentionForm(LibraryForms &forms, unsigned lanes) {
  forms.add<graph::AttentionOp>(std::make_unique<AttentionForm>(lanes));
}

} // namespace tessera
