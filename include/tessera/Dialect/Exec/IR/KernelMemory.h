//===- KernelMemory.h - What a kernel keeps from launch to launch -*- C++ -*-===//
#ifndef TESSERA_DIALECT_EXEC_IR_KERNELMEMORY_H
#define TESSERA_DIALECT_EXEC_IR_KERNELMEMORY_H

#include "mlir/IR/Operation.h"

namespace tessera::exec {

/// On an allocation in a kernel: it is no temporary but memory that comes with the code, zero when that is
/// loaded and kept from launch to launch. All launches of the kernel share it, so they must not run at once:
/// to the checks of rung exec each of them updates it.
inline constexpr llvm::StringLiteral kImageMemoryAttr = "tessera.image_memory";

/// Bytes that launches of `kernel` share; of a function without a body none are known.
int64_t imageMemoryBytes(mlir::Operation *kernel);

} // namespace tessera::exec
#endif
