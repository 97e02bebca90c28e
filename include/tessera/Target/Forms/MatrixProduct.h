//===- MatrixProduct.h - Ops that are one product of matrices ---*- C++ -*-===//
//
// A BLAS multiplies matrices that lie either way round. Which `linear` and which `einsum` are such a product,
// and how their operands lie, is said here once for all targets.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_FORMS_MATRIXPRODUCT_H
#define TESSERA_TARGET_FORMS_MATRIXPRODUCT_H

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Target/Forms/PackedWeight.h"

#include <optional>

namespace tessera {

/// y[m, n] = x[m, k] . w[n, k]^T, all row-major; what is transposed lies as [k, m] or [k, n].
struct MatrixProduct {
  mlir::Value x, w;
  bool xTransposed = false, wTransposed = false;
  int64_t m = 1, n = 1, k = 1;
};

/// `op` as one product of matrices: a `linear`, or an `einsum` whose dimensions, in the order in which they
/// stand, are the rows, the columns and what is summed over. Transpositions that only say how an operand lies
/// are read through. None: a dimension is in all three tensors (a batch), or one would have to be copied.
std::optional<MatrixProduct> matrixProduct(mlir::Operation *op);

/// The library's call into a fresh array of `type`; `packed` says what `product.w` is if it is packed.
mlir::Value createMatmul(mlir::OpBuilder &builder, mlir::Location loc, const MatrixProduct &product,
                         mlir::RankedTensorType type, const PackedWeight &packed = {});

} // namespace tessera
#endif
