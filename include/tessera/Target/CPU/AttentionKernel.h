// Attention as a kernel function: online softmax over blocks of keys (FlashAttention, arXiv 2205.14135).
#ifndef TESSERA_TARGET_CPU_ATTENTIONKERNEL_H
#define TESSERA_TARGET_CPU_ATTENTIONKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <optional>

namespace tessera {

struct AttentionShape {
  int64_t batch = 1;             ///< B
  int64_t seq = 1;               ///< S: query positions a row of the batch
  int64_t context = 1;           ///< T: keys held for a row of the batch
  int64_t kvHeads = 1;           ///< KVH
  int64_t group = 1;             ///< G: query heads that share a KV head
  int64_t headDim = 64;          ///< Dh: of queries and keys
  int64_t valueDim = 64;         ///< Dv: of values
  double scale = 1.0;            ///< scores are scale * q.k
  std::optional<int64_t> window; ///< keys j > position - window only
  std::optional<double> softcap; ///< scores become cap * tanh(score / cap)
  std::optional<int64_t>
      layers; ///< L: k and v are stacked [L, B, T, KVH, D] and the kernel takes a layer number
  /// A second result: for each query the natural logarithm of the sum of exp(score) over the keys it sees
  /// (-inf: none). Parts of a sharded context combine by it: out = sum of out_r * exp(lse_r - lse), lse = log
  /// of the sum of exp(lse_r).
  bool logSumExp = false;
  mlir::Type elementType; ///< of q and out: f32, bf16 or f16; computed in f32. Null: f32
  mlir::Type keyType;     ///< of k and v, the same ones. Null: elementType
  unsigned lanes = 16;    ///< float32 elements of a vector (CPUTarget::lanes)
};

/// Appends to the builder's module the kernel function
///   name(q [B,S,KVH,G,Dh], k [(L,)B,T,KVH,Dh], v [(L,)B,T,KVH,Dv], positions i32 [B,S], out [B,S,KVH,G,Dv],
///        (lse f32 [B,S,KVH,G],) (layer: index,) base: index, begin: index, end: index)
///        -> [B,S,KVH,G,Dv] (, [B,S,KVH,G])
/// Key j of the arrays stands at position base + j. Query (b, i) sees the keys at positions p <= positions[b,
/// i] (and p > positions[b, i] - window); positions[b, i] = -1, or no key in sight, gives 0. Keys above the
/// largest position of a block of queries are not read. Iterations [0, attentionIterations(shape)) may be
/// split in any way; contiguous equal parts cost about the same.
mlir::func::FuncOp buildAttentionKernel(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                                        const AttentionShape &shape);

/// The number of iterations of the kernel's parallel loop (ts_launch count).
int64_t attentionIterations(const AttentionShape &shape);

} // namespace tessera

#endif
