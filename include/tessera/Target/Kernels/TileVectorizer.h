//===- TileVectorizer.h - One op on its way to vector loops -*- C++ -*-===//
//
// TileVectorizer.cpp chooses the dimension, TileVectorizerBody.cpp computes the body on one vector,
// TileVectorizerLoops.cpp puts loops around it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_KERNELS_TILEVECTORIZER_H
#define TESSERA_TARGET_KERNELS_TILEVECTORIZER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

namespace tessera {

using namespace mlir;

/// How an operand moves when the vectorized dimension advances by one.
enum class Access { Uniform, Contiguous, Strided };

class TileVectorizer {
public:
  TileVectorizer(RewriterBase &rewriter, linalg::LinalgOp op, int64_t lanes)
      : b(rewriter), op(op), loc(op.getLoc()), lanes(lanes), ranges(op.getStaticLoopRanges()),
        iterators(op.getIteratorTypesArray()), body(op.getBlock()) {}

  LogicalResult run();

protected:
  /// A stretch of the vectorized dimension: `count` vectors side by side of which the last may be masked.
  struct Chunk {
    Value start;    // index of the first element
    int64_t width;  // elements of a vector; 1: scalars
    int64_t active; // lanes that hold data
    int64_t offset; // added to start
  };
  using Values = SmallVector<Value>;

  bool isReduction(int64_t dim) const { return iterators[dim] == utils::IteratorType::reduction; }
  Access accessOf(OpOperand &operand, int64_t d);
  bool bodyHasVectorForm();
  LogicalResult findCombiners(int64_t dim);
  bool movesWith(OpOperand &operand, int64_t dim) { return accessOf(operand, dim) != Access::Uniform; }
  /// Each iteration of the reductions makes elements of its own: a fused producer's value.
  bool isMadeInside(OpOperand &out);
  bool chooseDimension();

  Value constantIndex(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Values indicesOf(OpOperand &operand, Value dValue);
  Value laneMask(const Chunk &chunk);
  VectorType vectorOf(Type element, const Chunk &chunk) { return VectorType::get({chunk.width}, element); }
  Value chunkIndex(const Chunk &chunk, int64_t lane = 0);
  Value toVector(Value value, const Chunk &chunk);
  Value load(OpOperand &operand, const Chunk &chunk);
  void store(OpOperand &operand, Value value, const Chunk &chunk);
  Value gather(memref::LoadOp loadOp, DenseMap<Value, Value> &vectors, const Chunk &chunk);

  void computeUniform();
  Values runBody(const Chunk &chunk, ValueRange outs);
  void emitLoops(ArrayRef<int64_t> dims, ValueRange carried, llvm::function_ref<Values(ValueRange)> inner,
                 Values *results = nullptr);
  void emitParallelDimension();
  void emitReductionDimension();
  Values reduceOver(ArrayRef<int64_t> dims, ArrayRef<Chunk> chunks, ValueRange carried);

  RewriterBase &b;
  linalg::LinalgOp op;
  Location loc;
  int64_t lanes;
  SmallVector<int64_t> ranges;
  SmallVector<utils::IteratorType> iterators;
  Block *body;
  int64_t d = -1;
  bool traps = false;
  SmallVector<Value> ivs;          // per dimension, where known
  DenseMap<Value, Value> uniforms; // body value -> scalar that holds for every lane
  bool uniformsReady = false;
  SmallVector<Operation *> combiners; // per output, when d is a reduction; null: the output moves with d
};

/// Makes tile ops of the copies of a kernel on buffers.
void replaceCopies(RewriterBase &rewriter, func::FuncOp kernel);

/// Replaces `op` (buffer semantics, static loop bounds) by loops over vectors of `lanes` elements. Fails,
/// with the IR untouched, when the op has no vector form; its scalar loops are then the caller's business.
LogicalResult vectorizeTileOp(RewriterBase &rewriter, linalg::LinalgOp op, unsigned lanes);

} // namespace tessera

#endif
