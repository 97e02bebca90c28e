#ifndef TESSERA_INTERFACES_SAMEELEMENTSOPINTERFACE_TD
#define TESSERA_INTERFACES_SAMEELEMENTSOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def SameElementsOpInterface : OpInterface<"SameElementsOpInterface"> {
  let description = [{
    Ops whose only result has the elements of one operand, all of them and in row-major order: nothing is computed and nothing moves. On rung `kernels` the result is a view of
    the operand, or the operand itself where their types are the same (`spmd-to-kernels`). A target may still have a form of its own for such an op.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<"The operand whose elements the result has, of the result's element type.", "::mlir::Value", "getSource", (ins), [{}], [{
      return $_op->getOperand(0);
    }]>,
  ];
}

#endif
