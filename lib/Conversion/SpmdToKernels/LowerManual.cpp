//===- LowerManual.cpp - dist.manual_computation to its body ----------------===//
//
// Here the whole program is that of one rank, and a manual computation is nothing else: its body, on the
// same arrays. Only types say something else of them: what is whole in the body is a piece outside.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "tessera/Dialect/Dist/IR/Manual.h"

namespace tessera::kernels {

void lowerManual(Lowering &lowering) {
  SmallVector<dist::ManualComputationOp> regions;
  lowering.module.walk([&](dist::ManualComputationOp op) { regions.push_back(op); });
  for (dist::ManualComputationOp op : regions) {
    OpBuilder builder(op);
    auto as = [&](Value value, Type type) -> Value {
      if (value.getType() == type)
        return value;
      return graph::ReshapeOp::create(builder, op.getLoc(), type,
                                      value); // a view, lowered before anybody fuses
    };
    Block &body = op.getProgram();
    for (auto [arg, operand] : llvm::zip_equal(body.getArguments(), op.getInputs()))
      arg.replaceAllUsesWith(as(operand, arg.getType()));
    SmallVector<Value> yielded(body.getTerminator()->getOperands());
    body.getTerminator()->erase();
    op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
    for (auto [result, value] : llvm::zip_equal(op.getResults(), yielded))
      result.replaceAllUsesWith(as(value, result.getType()));
    op.erase();
  }
}

} // namespace tessera::kernels
