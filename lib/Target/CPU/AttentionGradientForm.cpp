//===- AttentionGradientForm.cpp - gradients of attention as launches -------===//

#include "tessera/Target/CPU/AttentionGradientForm.h"

#include "AttentionGradients.h"

#include "tessera/Target/Forms/FormKernel.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;

namespace tessera {
namespace {

/// Operands of both ops.
enum { Q, K, V, Positions, Gradient, LogSumExp, Delta, DropKeys, DropShare };

template <typename OpT> class AttentionGradientForm : public LibraryForm {
public:
  AttentionGradientForm(AttentionGradient::Of of, StringRef name, const VectorUnit &unit)
      : of(of), name(name), unit(unit) {}

  LogicalResult lower(Operation *self, KernelLowering &lowering) const override {
    auto op = cast<OpT>(self);
    if (lowering.shardAxes(tensorOf(op.getKey()), 1))
      return op.emitOpError("attends over a sharded context; gather keys and values first");
    AttentionShape shape = attentionShape(op);
    exec::KernelShell shell(op.getLoc(),
                            llvm::formatv("{0}_{1}{2}x{3}x{4}x{5}x{6}", name, shape.dropout ? "dropout_" : "",
                                          shape.batch, shape.seq, shape.kvHeads, shape.group, shape.headDim)
                                .str(),
                            op->getOperandTypes(), op->getResultTypes(), 0);
    emit(shell, shape);
    OpBuilder builder(op);
    SmallVector<Value> outputs;
    for (Value result : op->getResults())
      outputs.push_back(exec::fresh(builder, result));
    int64_t count = AttentionGradient::iterations(shape, unit.lanes, of);
    auto launch = exec::LaunchOp::create(
        builder, op.getLoc(), op->getResultTypes(), lowering.addKernel(shell.func), op->getOperands(),
        outputs, ValueRange(), builder.getI64IntegerAttr(count), builder.getI64IntegerAttr(1));
    op->replaceAllUsesWith(launch.getResults());
    op->erase();
    return success();
  }

private:
  void emit(exec::KernelShell &shell, const AttentionShape &shape) const {
    ImplicitLocOpBuilder b(shell.func.getLoc(), shell.builder);
    auto buffer = [&](Value array, bool readOnly) -> Value {
      auto type = cast<RankedTensorType>(array.getType());
      auto op = bufferization::ToBufferOp::create(b, MemRefType::get(type.getShape(), type.getElementType()),
                                                  array);
      op.setReadOnly(readOnly);
      return op;
    };
    auto input = [&](unsigned number) { return buffer(shell.inputs[number], true); };
    AttentionArguments arguments;
    arguments.q = input(Q);
    arguments.k = input(K);
    arguments.v = input(V);
    arguments.positions = input(Positions);
    arguments.logSumExp = input(LogSumExp);
    if (shape.dropout) {
      arguments.dropKeys = input(DropKeys);
      arguments.dropShare = input(DropShare);
    }
    AttentionGradient::Arrays arrays{input(Gradient), input(Delta), {}};
    for (auto [number, output] : llvm::enumerate(shell.outputs))
      arrays.results[number] = buffer(output, false);
    AttentionGradient emitter(b, shape, arguments, unit, of, arrays);
    emitter.allocate();
    auto loop = scf::ForOp::create(b, shell.begin, shell.end, arith::ConstantIndexOp::create(b, 1));
    func::ReturnOp::create(b, shell.outputs);
    b.setInsertionPointToStart(loop.getBody());
    emitter.emit(loop.getInductionVar());
  }

  AttentionGradient::Of of;
  std::string name;
  VectorUnit unit;
};

template <typename OpT>
void add(LibraryForms &forms, AttentionGradient::Of of, StringRef name, const VectorUnit &unit) {
  forms.add<OpT>(std::make_unique<AttentionGradientForm<OpT>>(of, name, unit));
}

} // namespace

void addAttentionGradientForms(LibraryForms &forms, const VectorUnit &unit) {
  using Of = AttentionGradient::Of;
  add<graph::AttentionQueryGradientOp>(forms, Of::Queries, "attention_query_gradient", unit);
  add<graph::AttentionKeyValueGradientOp>(forms, Of::KeysAndValues, "attention_key_value_gradient", unit);
}

} // namespace tessera
