// From kernels on vectors and buffers to the LLVM dialect: what targets share.
#ifndef TESSERA_TARGET_KERNELS_TOLLVM_H
#define TESSERA_TARGET_KERNELS_TOLLVM_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// On a kernel: its bfloat16 is the machine's own, which rounds in one instruction, whatever is said of other
/// kernels. expand-math leaves its arithmetic alone, and integers do not carry its values.
inline constexpr llvm::StringLiteral kNativeBF16Attr = "tessera.native_bf16";

/// Memory views to addresses, vector ops to those that LLVM has.
llvm::LogicalResult simplifyKernel(mlir::func::FuncOp func);

/// Where a machine has no bf16, kernels only move it (expand-math), and LLVM would round what it selects once
/// more, by a function that compiler libraries have only since GCC 13: integers are moved instead.
void carryBFloat16AsIntegers(mlir::func::FuncOp func);

/// All dialects that a kernel may hold by then. fma becomes fmuladd: one instruction where the machine has
/// it, two where it has not, never a call of fmaf.
void populateKernelToLLVMPatterns(mlir::LLVMTypeConverter &converter, mlir::RewritePatternSet &patterns);

} // namespace tessera

#endif
