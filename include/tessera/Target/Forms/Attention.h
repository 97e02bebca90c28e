//===- Attention.h - Attention as a kernel of a target ----------*- C++ -*-===//
//
// What targets with an attention kernel of their own share: its shape, the arguments of its function, the
// launch that takes the place of the op. A target writes the function's body.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_FORMS_ATTENTION_H
#define TESSERA_TARGET_FORMS_ATTENTION_H

#include "tessera/Dialect/Exec/IR/KernelFunction.h"
#include "tessera/Dialect/Graph/IR/AttentionWindow.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Target/KernelSibling.h"
#include "tessera/Target/LibraryForm.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

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
  bool firsts = false;           ///< positions say the last key in sight and the first
  std::optional<double> softcap; ///< scores become cap * tanh(score / cap)
  std::optional<int64_t>
      layers; ///< L: k and v are stacked [L, B, T, KVH, D] and the kernel takes a layer number
  /// A second result: for each query the natural logarithm of the sum of exp(score) over the keys it sees
  /// (-inf: none). Parts of a sharded context combine by it: out = sum of out_r * exp(lse_r - lse), lse = log
  /// of the sum of exp(lse_r).
  bool logSumExp = false;
  /// Key j stands at j + pages[row, j / page] * page of its row; 0: at j, and there is no table.
  int64_t page = 0;
  /// Key j stands at j mod context, and a window of so many at most is in sight.
  bool ring = false;
  /// Weights are dropped from as `graph.attention` says.
  bool dropout = false;
  /// Of a score for each head beside those of its keys, [KVH, G] of f32, bf16 or f16; null: there is none.
  mlir::Type sinkType;
  mlir::Type elementType; ///< of q and out: f32, bf16 or f16; computed in f32. Null: f32
  /// Of k and v, the same ones, or i8: blocks along the last dimension, as bytes (CacheBlocks.h). Null:
  /// elementType.
  mlir::Type keyType;
};

/// What an attention and its gradients have in common: sizes, and what is in sight. Values are of numbers.
template <typename OpT> AttentionShape attentionShape(OpT op) {
  auto sizesOf = [](mlir::Value array) { return mlir::cast<mlir::ShapedType>(array.getType()).getShape(); };
  llvm::ArrayRef<int64_t> q = sizesOf(op.getQuery()), v = sizesOf(op.getValue());
  AttentionShape shape;
  shape.batch = q[0];
  shape.seq = q[1];
  shape.context = v[1];
  shape.kvHeads = q[2];
  shape.group = q[3];
  shape.headDim = q[4];
  shape.valueDim = v[3];
  shape.scale = op.getScale().convertToDouble();
  shape.window = graph::hidingWindow(op);
  shape.firsts = sizesOf(op.getPositions()).size() == 3;
  shape.dropout = bool(op.getDropKeys());
  if (op.getSoftcap())
    shape.softcap = op.getSoftcap()->convertToDouble();
  return shape;
}

/// The arguments of an attention kernel; arrays as buffers.
struct AttentionArguments {
  mlir::Value q, k, v, positions, out;
  mlir::Value pages;    ///< null without pages
  mlir::Value sinks;    ///< null without sinks
  mlir::Value dropKeys; ///< of query rows, and the share that is dropped; null without dropout
  mlir::Value dropShare;
  mlir::Value logSumExp; ///< null without that output
  mlir::Value scratch;   ///< null without that output
  mlir::Value layer;     ///< null without a layer dimension
  mlir::Value base;
};

/// The function of an attention kernel, without a body and outside of any module:
///   name(q [B,S,KVH,G,Dh], k [(L,)B,T,KVH,Dh], v [(L,)B,T,KVH,Dv], positions i32 [B,S(,2)], (pages
///   i32 [B,T/page],) (sinks [KVH,G],) (keys of rows i64 [B,S,KVH,G], share that is dropped f32 [],)
///        out [B,S,KVH,G,Dv], (lse f32 [B,S,KVH,G],) (scratch f32 [N],) (layer: index,) base: index, begin:
///        index, end: index)
///        -> (out (, lse) (, scratch))
/// Key j has position base + j (of a ring: base is 0, and key j stands at j mod T). Query (b, i) sees the
/// keys at positions p <= positions[b, i] (and p > positions[b, i] - window; with two numbers at positions[b,
/// i] those from the second to the first); positions[b, i] = -1, or no key in sight, gives 0. A sink is a key
/// more of its head, with this score, without a value, in everybody's sight. Keys above the largest position
/// of a block of queries are not read. The scratch is memory of the kernel's own use. Keys and values in
/// blocks have rows of D/32*34 bytes.
struct AttentionFunction : exec::KernelShell {
  AttentionFunction(mlir::Location loc, llvm::StringRef name, const AttentionShape &shape,
                    int64_t scratch = 0);

  /// Ends the body with the loop over [begin, end) and the return: `b` is in the loop then. Gives the
  /// iteration's number.
  mlir::Value openLoop(mlir::ImplicitLocOpBuilder &b) const;

  AttentionArguments arguments;
};

/// attention -> a launch of a kernel of the target.
class AttentionForm : public LibraryForm {
public:
  llvm::LogicalResult lower(mlir::Operation *op, KernelLowering &lowering) const final;

protected:
  struct Sibling {
    mlir::func::FuncOp func; ///< of the kernel's type
    std::string form;        ///< its name is that of the kernel, "$" and this
    int64_t iterations;
  };
  struct Kernel {
    mlir::func::FuncOp func; ///< made of an AttentionFunction
    int64_t iterations;      ///< of its loop
    std::vector<Sibling> siblings = {};
  };
  virtual Kernel build(mlir::Location loc, llvm::StringRef name, const AttentionShape &shape) const = 0;

  /// The shape that build() is given for `op`.
  static AttentionShape shapeOf(graph::AttentionOp op);
};

} // namespace tessera
#endif
