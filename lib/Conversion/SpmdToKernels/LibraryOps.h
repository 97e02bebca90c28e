//===- LibraryOps.h - Ops with a form of their own --------------*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_SPMDTOKERNELS_LIBRARYOPS_H
#define TESSERA_LIB_CONVERSION_SPMDTOKERNELS_LIBRARYOPS_H

#include "Lowering.h"

#include "tessera/Interfaces/LibraryOp.h"

namespace tessera::kernels {

inline int64_t product(ArrayRef<int64_t> sizes) {
  int64_t n = 1;
  for (int64_t size : sizes)
    n *= size;
  return n;
}

/// A new tensor like `like`: what a call writes its result to.
Value fresh(OpBuilder &builder, Value like);

void attachAttentionOps(MLIRContext *context);
void attachPackedOps(MLIRContext *context);
void attachScatterOps(MLIRContext *context);
void attachViewOps(MLIRContext *context);

} // namespace tessera::kernels
#endif
