// What targets do with kernel functions alike: fuse their tile ops, give them buffers, write out mathematical functions.
#ifndef TESSERA_TARGET_KERNELS_PASSES_TD
#define TESSERA_TARGET_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseTileOps : Pass<"fuse-tile-ops", "::mlir::func::FuncOp"> {
  let summary = "Fuse elementwise tile ops of a kernel so that intermediate tiles vanish";
  let description = [{
    Turns named linalg ops and arithmetic on tensors into `linalg.generic`, decomposes `linalg.softmax`, and fuses elementwise producers into
    their consumers (reductions included). A producer with several users is fused into the first of them, and the others
    read its value from the fused op: one pass computes a residual sum and the sum of its squares. What a consumer would
    compute more often than its producer does (a table that all heads share) stays apart.

    ```mlir
    // given %gate: tensor<64xf32>, %up: tensor<64xf32>, %o: tensor<64xf32>
    %s = linalg.map { math.tanh } ins(%gate : tensor<64xf32>) outs(%o : tensor<64xf32>)
    %y = linalg.map { arith.mulf } ins(%s, %up : tensor<64xf32>, tensor<64xf32>) outs(%o : tensor<64xf32>)
    // to
    %y = linalg.map ins(%gate, %up : tensor<64xf32>, tensor<64xf32>) outs(%o : tensor<64xf32>) (%g: f32, %u: f32, %init: f32) {
      %t = math.tanh %g : f32
      %m = arith.mulf %t, %u : f32
      linalg.yield %m : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def BufferizeKernels : Pass<"bufferize-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernels on tensors into kernels on buffers, writing results in place";
  let description = [{
    Every tensor argument becomes a memref of identity layout; result k is written into the k-th of the last arguments
    of tensor type, the function returns nothing. Argument attribute `tessera.inplace = N` on an output says that it is
    the buffer of input N: reads of that input go through the output, so that the read-after-write analysis sees them.
    Constant tiles become globals of the module.

    ```mlir
    func.func private @k(%a: tensor<8x4xf32>, %o: tensor<8x4xf32>, %b: index, %e: index) -> tensor<8x4xf32>
    // to
    func.func private @k(%a: memref<8x4xf32>, %o: memref<8x4xf32>, %b: index, %e: index)
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect"];
}

def ExpandMath : Pass<"expand-math", "::mlir::func::FuncOp"> {
  let summary = "Replace transcendental functions by polynomials that work on vectors";
  let description = [{
    exp, exp2, tanh, erf, log, sin, cos and their like become straight-line code (a few ulp in float32; error bounds in
    docs/TargetCPU.md and its tests). sin and cos reduce their argument in float64, so that rope positions of 1e5 radians stay
    within 1e-6. Narrower floats are computed in float32. Unless `native-bf16`, sums and products of bfloat16 are
    computed in float32 too, and conversions become integer arithmetic.
  }];
  let options = [Option<"nativeBF16", "native-bf16", "bool", /*default=*/"false", "The CPU converts bfloat16 itself">];
  let dependentDialects = ["::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
