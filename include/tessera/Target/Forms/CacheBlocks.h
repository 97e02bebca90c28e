//===- CacheBlocks.h - Rows of caches as blocks, in kernels -----*- C++ -*-===//
//
// What kernels do with caches in blocks (tessera/Dialect/Graph/IR/HeldAttr.h), which are arrays of bytes to
// them: the last dimension holds the blocks of a row, one after another.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_FORMS_CACHEBLOCKS_H
#define TESSERA_TARGET_FORMS_CACHEBLOCKS_H

#include "tessera/Dialect/Exec/IR/KernelFunction.h"
#include "tessera/Target/LibraryForm.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera {

/// Whether an array of this element type holds blocks.
inline bool isInBlocks(mlir::Type element) { return element.isInteger(8); }

/// `lanes` elements of a row in blocks, as f32: [at..., element] is the first of them, in elements of the
/// row. `lanes` divides a block, and the element is a multiple of it.
mlir::Value loadFromBlock(mlir::ImplicitLocOpBuilder &b, mlir::Value bytes, mlir::ValueRange at,
                          mlir::Value element, int64_t lanes);

/// Rounds the elements of a block of f32 that begins at [from..., element] of `floats` and writes them to
/// [to..., element] of `bytes`. With a NaN among them all elements come back as NaN.
void storeBlock(mlir::ImplicitLocOpBuilder &b, mlir::Value floats, mlir::ValueRange from, mlir::Value bytes,
                mlir::ValueRange to, mlir::Value element);

/// What a kernel that writes new rows into a cache is made for.
struct BlockUpdate {
  int64_t layers = 1, batch = 1, context = 1, heads = 1; ///< of the cache; the context is a rank's piece
  int64_t width = 32;                                    ///< elements of a row
  int64_t seq = 1;                                       ///< positions of an update
  bool isSharded = false;                                ///< the kernel is given which piece it has
  int64_t ring = 0;                                      ///< positions of the ring, of all pieces; 0: none

  int64_t iterations() const { return batch * seq; }
};

/// name(update f32 [B,S,H,D], positions i32 [B,S], cache i8 [L,B,T,H,D/32*34], layer (, piece), begin, end)
/// -> cache. Row (b, i) goes to position positions[b, i], or of a ring to that mod its length, less what lies
/// in front of the piece; outside of the context, and below 0, nothing is written. Iterations [0, batch *
/// seq).
exec::KernelShell blockUpdateKernel(mlir::Location loc, llvm::StringRef name, const BlockUpdate &update);

/// name(blocks i8 [d..., D/32*34], floats f32 [d..., D], begin, end) -> floats. Iterations: one of a row.
exec::KernelShell expandBlocksKernel(mlir::Location loc, llvm::StringRef name, mlir::RankedTensorType floats);

/// A cast from blocks (with graph.held, made by spmd-to-kernels) -> a kernel that expands them.
void addExpandBlocksForm(LibraryForms &forms);

} // namespace tessera
#endif
