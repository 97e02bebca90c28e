//===- Draw.cpp - drawing tokens as a kernel of a target ------------------===//

#include "DrawRow.h"
#include "tessera/Target/Forms/FormKernel.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/Shapes.h"
#include "tessera/Target/Forms.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera {

func::FuncOp buildDrawKernel(Location loc, StringRef name, const DrawShape &shape, DrawThreads &threads) {
  Builder types(loc.getContext());
  auto array = [](ArrayRef<int64_t> sizes, Type element) -> Type {
    return RankedTensorType::get(sizes, element);
  };
  Type i32 = types.getI32Type(), i64 = types.getI64Type(), f64 = types.getF64Type();
  SmallVector<Type> inputs{array({shape.rows, shape.vocab}, shape.elementType),
                           array(shape.rows, i32),
                           array(shape.rows, i32),
                           array({}, i64),
                           array({}, f64),
                           array({}, i32),
                           array({}, f64),
                           array({}, f64)};
  SmallVector<Type> outputs{array(shape.rows, i32), array({shape.rows, 2, shape.vocab}, i64)};
  exec::KernelShell shell(loc, name, inputs, outputs, /*scalars=*/0);
  ImplicitLocOpBuilder b(loc, shell.builder);
  auto buffer = [&](Value array, bool readOnly) -> Value {
    auto type = cast<RankedTensorType>(array.getType());
    auto op =
        bufferization::ToBufferOp::create(b, MemRefType::get(type.getShape(), type.getElementType()), array);
    op.setReadOnly(readOnly);
    return op;
  };
  SmallVector<Value> in;
  for (Value input : shell.inputs)
    in.push_back(buffer(input, /*readOnly=*/true));
  DrawArguments arguments{in[0],
                          in[1],
                          in[2],
                          in[3],
                          in[4],
                          in[5],
                          in[6],
                          in[7],
                          buffer(shell.outputs[0], /*readOnly=*/false),
                          buffer(shell.outputs[1], /*readOnly=*/false)};
  Value one = arith::ConstantIndexOp::create(b, 1);
  auto loop = scf::ForOp::create(b, shell.begin, shell.end, one, ValueRange{});
  func::ReturnOp::create(b, shell.outputs);
  b.setInsertionPointToStart(loop.getBody());
  DrawRow(b, shape, arguments, threads).emit(loop.getInductionVar());
  return shell.func;
}

LogicalResult DrawForm::lower(Operation *self, KernelLowering &lowering) const {
  auto op = cast<graph::DrawOp>(self);
  RankedTensorType logits = tensorOf(op.getLogits());
  if (lowering.shardAxes(logits, logits.getRank() - 1))
    return op.emitOpError("draws from a sharded vocabulary; gather the logits first");
  OpBuilder builder(op);
  Location loc = op.getLoc();
  DrawShape shape{product(logits.getShape().drop_back()), logits.getShape().back(), logits.getElementType()};
  func::FuncOp kernel = build(loc, llvm::formatv("draw_{0}x{1}", shape.rows, shape.vocab).str(), shape);
  Value ids = exec::fresh(builder, op.getResult());
  Value scratch = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{shape.rows, 2, shape.vocab},
                                          builder.getI64Type());
  auto launch = exec::LaunchOp::create(builder, loc, TypeRange{ids.getType(), scratch.getType()},
                                       lowering.addKernel(kernel), ValueRange(op->getOperands()),
                                       ValueRange{ids, scratch}, ValueRange{},
                                       builder.getI64IntegerAttr(shape.rows), builder.getI64IntegerAttr(1));
  op.replaceAllUsesWith(launch.getResults()[0]);
  op.erase();
  return success();
}

namespace {

struct OneThread : DrawThreads {
  Value number(ImplicitLocOpBuilder &b) override { return arith::ConstantIndexOp::create(b, 0); }
};

struct OneThreadDrawForm : DrawForm {
  func::FuncOp build(Location loc, StringRef name, const DrawShape &shape) const override {
    return buildDrawKernel(loc, name, shape);
  }
};

} // namespace

func::FuncOp buildDrawKernel(Location loc, StringRef name, const DrawShape &shape) {
  OneThread threads;
  return buildDrawKernel(loc, name, shape, threads);
}

void addDrawForm(LibraryForms &forms) { forms.add<graph::DrawOp>(std::make_unique<OneThreadDrawForm>()); }

} // namespace tessera
