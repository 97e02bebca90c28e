#ifndef TESSERA_INTERFACES_DERIVATIVEOPINTERFACE_TD
#define TESSERA_INTERFACES_DERIVATIVEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DerivativeOpInterface : OpInterface<"DerivativeOpInterface"> {
  let description = [{
    Ops through which gradients flow back, from results to operands. The op emits ops of the same rung, which have rules, costs and meanings of their
    own: whoever partitions, prices or judges a program learns nothing new from its gradients. Read by `graph::differentiate` (docs/Derivatives.md). An op
    without this interface that can be decomposed is differentiated through its decomposition.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<[{
      Emits ops that compute the gradients of operands. `gradients` are those of the results, each of its result's type (or wider: docs/Derivatives.md, "Types"); null: zero everywhere, which
      not all of them are. `wanted` has a bit for each operand, set for floats only. Operands and results of the op itself may be read: what of them the emitted
      ops read is what is kept from forward for backward, and nobody keeps a second list. Returns a value for each operand, of its shape and
      `graph::gradientElementType`; null where it is not wanted, or zero everywhere. Called on rungs without shardings.
    }], "::llvm::SmallVector<::mlir::Value>", "differentiate",
        (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$gradients, "const ::llvm::SmallBitVector &":$wanted)>,
    InterfaceMethod<[{
      The same op with results behind its own that `differentiate` reads (statistics of a softmax), emitted in front of it; null: it has
      what it takes.
    }], "::mlir::Operation *", "withStatistics", (ins "::mlir::OpBuilder &":$builder), [{}], [{ return nullptr; }]>,
    InterfaceMethod<"Why no gradient flows through this op, though its kind has one; empty: one does.", "::llvm::StringRef", "whyNoGradient", (ins), [{}], [{ return {}; }]>,
  ];
}

#endif
