// Passes from kernel functions on tensors to LLVM functions with the runtime's kernel signature.
#ifndef TESSERA_TARGET_CPU_PASSES_TD
#define TESSERA_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

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

def ConvertKernelsToLLVM : Pass<"cpu-convert-kernels-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Lower vectorized kernels to the LLVM dialect, behind the runtime's kernel signature";
  let description = [{
    `@k` becomes `@k(buffers: !llvm.ptr, scalars: !llvm.ptr, begin: i64, end: i64)`, which loads the base pointers and
    calls the private `@k.body` whose pointers are `noalias` (not aligned: one layer of a stack may begin anywhere). Other functions of the module stay as they are.
    Unless `native-bf16`, bfloat16 becomes i16 of the same bits: kernels after expand-math only move it.
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
