#ifndef TESSERA_DIALECT_DIST_PROPAGATIONWORDOPINTERFACE_TD
#define TESSERA_DIALECT_DIST_PROPAGATIONWORDOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def PropagationWordOpInterface : OpInterface<"PropagationWordOpInterface"> {
  let description = [{
    Ops of rung `step` that say something to propagation and hand on their only operand as it is. They lie as the operand does, cost nothing and let gradients through; behind
    `dist-insert-reshards` there are none.
  }];
  let cppNamespace = "::tessera::dist";
  let verify = "return ::tessera::dist::verifyPropagationWord($_op);";
  let extraTraitClassDeclaration = [{
    ::tessera::ShardingRule getShardingRule() { return ::tessera::dist::identityRule($_op->getOperand(0)); }
    ::tessera::OpCost getCost() { return {}; }
    ::llvm::SmallVector<::mlir::Value> differentiate(::mlir::OpBuilder &, ::llvm::ArrayRef<::mlir::Value> gradients, const ::llvm::SmallBitVector &) {
      return {gradients[0]};
    }
    ::llvm::LogicalResult evaluate(::llvm::ArrayRef<::tessera::ReferenceTensor> operands, const ::tessera::ReferenceContext &,
                                   ::llvm::SmallVectorImpl<::tessera::ReferenceTensor> &results) {
      results.push_back(operands[0]);
      return ::mlir::success();
    }
  }];
}

#endif
