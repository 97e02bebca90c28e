#ifndef TESSERA_INTERFACES_LIBRARYOPINTERFACE_TD
#define TESSERA_INTERFACES_LIBRARYOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def LibraryOpInterface : OpInterface<"LibraryOpInterface"> {
  let description = [{
    Ops with a form of their own on rung `kernels`: a call of a library, a kernel written by hand, a view. All others are
    tiles (TileLoweringOpInterface) and fuse with their neighbours. Implemented from outside the dialect
    (`lib/Conversion/SpmdToKernels`); used by `spmd-to-kernels`.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<[{
      Replaces the op by ops of rung `kernels` and erases it, or leaves it as it is to be fused like any other. Fails with an error at the op.
    }], "::llvm::LogicalResult", "lowerToLibrary", (ins "::tessera::kernels::Lowering &":$lowering)>,
    InterfaceMethod<[{
      How the op reads `operand` if that is a packed parameter; none if it has to be a plain array.
    }], "std::optional<::tessera::PackedUse>", "packedUse", (ins "::mlir::OpOperand &":$operand), "", [{
      return std::nullopt;
    }]>,
  ];
}

#endif
