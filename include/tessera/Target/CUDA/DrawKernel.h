//===- DrawKernel.h - Drawing tokens on NVIDIA GPUs -------------*- C++ -*-===//
#ifndef TESSERA_TARGET_CUDA_DRAWKERNEL_H
#define TESSERA_TARGET_CUDA_DRAWKERNEL_H

#include "tessera/Target/Forms/Draw.h"

namespace tessera {

/// The kernel of tessera/Target/Forms/Draw.h in which a block draws a row.
mlir::func::FuncOp buildCUDADrawKernel(mlir::Location loc, llvm::StringRef name, const DrawShape &shape);

} // namespace tessera
#endif
