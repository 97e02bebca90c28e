// Products as cuBLASLt can compute them.
#ifndef TESSERA_LIB_TARGET_CUDA_PRODUCTFORM_H
#define TESSERA_LIB_TARGET_CUDA_PRODUCTFORM_H

#include "tessera/Target/LibraryForm.h"
#include "tessera/Target/Target.h"

namespace tessera {

/// linear, einsum -> exec.matmul on a plain weight. Products of few rows (8; 2 where both operands are of one
/// type of 16 bits) are tiles instead and fuse with what surrounds them: their time is that of reading the
/// weight. cuBLASLt multiplies f32, bf16 or f16 by the same, into the same or f32; for other mixtures the
/// operands are widened and the result is rounded once, which gives the same numbers.
void addCUDAProductForm(LibraryForms &forms);

/// What cuBLASLt does to the sums: it adds a matrix of the result's type (beta = 1) to any product, and bias,
/// ReLU and GELU (its GELU is the tanh form) where all is of one type. Its kernels read the bias 16 bytes at
/// a time.
bool takesCUDAEpilogue(const ProductEpilogue &epilogue);

} // namespace tessera

#endif
