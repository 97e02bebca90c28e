//===- KernelFunction.h - What makes a function a kernel --------*- C++ -*-===//
//
// A kernel function is a func.func with the attribute `tessera.kernel`:
//   (inputs..., outputs..., index scalars..., %begin: index, %end: index) -> (outputs...)
// Tensors have static shapes; result k belongs to the k-th output argument. The body is scf.for loops over
// [begin, end) that hold linalg ops on small static tiles, or scalar code written by hand (attention); any
// partition of the range gives the same result. Kernels are made by `spmd-to-kernels` and by the library
// forms of a target, run by `exec.launch`, and become machine code by the target's kernel pipeline.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_EXEC_IR_KERNELFUNCTION_H
#define TESSERA_DIALECT_EXEC_IR_KERNELFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace tessera::exec {

/// Marks a kernel function.
inline constexpr llvm::StringLiteral kKernelAttr = "tessera.kernel";
/// On an output argument of a kernel: the number of the input argument whose buffer it is.
inline constexpr llvm::StringLiteral kInplaceAttr = "tessera.inplace";
/// On a loop in a kernel: no iteration writes what another one reads or writes, so that they may run at once.
/// Whoever makes the loop promises it of data (positions of a cache): a target need not be able to see it.
inline constexpr llvm::StringLiteral kApartAttr = "tessera.apart";

/// The type on rung kernels: without the sharding.
mlir::RankedTensorType plainType(mlir::Type type);

/// A new tensor like `like`, its sharding included: what a launch or a call writes its result to.
mlir::Value fresh(mlir::OpBuilder &builder, mlir::Value like);

/// A kernel function outside of any module, with an empty body and no terminator.
struct KernelShell {
  mlir::func::FuncOp func;
  mlir::ValueRange inputs, outputs, scalars;
  mlir::Value begin, end;
  mlir::OpBuilder builder; ///< in the entry block

  KernelShell(mlir::Location loc, llvm::StringRef name, mlir::TypeRange inputs, mlir::TypeRange outputs,
              unsigned scalars);
  /// Fills the body with one loop over [begin, end) of [0, count): `body` returns the outputs' next values. A
  /// single iteration has no loop.
  void loop(int64_t count,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Value row,
                                                              mlir::ValueRange outputs)>
                body);
};

} // namespace tessera::exec
#endif
