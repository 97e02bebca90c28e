// Passes from kernel functions on tensors to LLVM functions with the runtime's kernel signature.
#ifndef TESSERA_TARGET_CPU_PASSES_TD
#define TESSERA_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseTileOps : Pass<"cpu-fuse-tile-ops", "::mlir::func::FuncOp"> {
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

def BufferizeKernels : Pass<"cpu-bufferize-kernels", "::mlir::ModuleOp"> {
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

def PlaceTemporaries : Pass<"cpu-place-temporaries", "::mlir::func::FuncOp"> {
  let summary = "Give every temporary tile of a kernel one place on the stack for all iterations";
  let description = [{
    Each `memref.alloc` moves to the entry of the function and becomes an `memref.alloca` of 64-byte alignment. When
    all of them together exceed `stack-limit` bytes, the largest stay on the heap: allocated once per call, freed at
    the end. Temporaries of dynamic shape are an error, and so is a private copy of an output: iterations run in any order.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
  let options = [Option<"stackLimit", "stack-limit", "int64_t", /*default=*/"65536",
                        "Bytes of temporaries a kernel may keep on the stack">];
}

def VectorizeTiles : Pass<"cpu-vectorize-tiles", "::mlir::func::FuncOp"> {
  let summary = "Turn linalg ops on buffers into loops over vectors";
  let description = [{
    Picks, for each op, the dimension along which most operands are contiguous, walks it in vectors of `lanes`
    elements and masks the remainder. Reductions keep several partial vectors and are reduced across lanes once, at the end.
    Operands that do not depend on that dimension are read, and what follows from them computed, once in front of the
    vector loop. What has no vector form (a region with control flow, an argmax in one op) becomes a scalar loop.
  }];
  let dependentDialects = ["::mlir::vector::VectorDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::math::MathDialect",
                           "::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect"];
  let options = [Option<"lanes", "lanes", "unsigned", /*default=*/"16", "Elements of a vector">];
}

def ExpandMath : Pass<"cpu-expand-math", "::mlir::func::FuncOp"> {
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

def ConvertKernelsToLLVM : Pass<"cpu-convert-kernels-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Lower vectorized kernels to the LLVM dialect, behind the runtime's kernel signature";
  let description = [{
    `@k` becomes `@k(buffers: !llvm.ptr, scalars: !llvm.ptr, begin: i64, end: i64)`, which loads the base pointers and
    calls the private `@k.body` whose pointers are `noalias` (not aligned: one layer of a stack may begin anywhere). Other functions of the module stay as they are.
    Unless `native-bf16`, bfloat16 becomes i16 of the same bits: kernels after cpu-expand-math only move it.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect", "::mlir::affine::AffineDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
  let options = [
    Option<"cpu", "cpu", "std::string", /*default=*/"\"\"", "target-cpu of the functions">,
    Option<"features", "features", "std::string", /*default=*/"\"\"", "target-features of the functions">,
    Option<"vectorBits", "vector-bits", "unsigned", /*default=*/"0", "prefer-vector-width of the functions">,
    Option<"nativeBF16", "native-bf16", "bool", /*default=*/"true", "The CPU has instructions on bfloat16">
  ];
}

#endif
