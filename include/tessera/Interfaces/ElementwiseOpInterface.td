#ifndef TESSERA_INTERFACES_ELEMENTWISEOPINTERFACE_TD
#define TESSERA_INTERFACES_ELEMENTWISEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ElementwiseScalarOpInterface : OpInterface<"ElementwiseScalarOpInterface"> {
  let description = [{
    Ops whose every result element depends on one element of each operand (after trailing broadcast). They know their scalar form, so
    one lowering serves all of them.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<"Emits the scalar computation with arith and math ops; `operands` are scalars of the operand element types.",
                    "::mlir::Value", "emitScalar",
                    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<"Whether the result is the sum of two operands: what a product may add to its own sums.",
                    "bool", "addsOperands", (ins), [{}], [{ return false; }]>,
  ];
}

#endif
