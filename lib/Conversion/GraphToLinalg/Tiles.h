//===- Tiles.h - What the tile lowerings share ------------------*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOLINALG_TILES_H
#define TESSERA_LIB_CONVERSION_GRAPHTOLINALG_TILES_H

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Interfaces/TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera::tiles {

using namespace mlir;
using Body = llvm::function_ref<Value(ImplicitLocOpBuilder &, ValueRange)>;

inline RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// An input of a linalg.generic: where it is read, in terms of the loops.
struct Read {
  Value value;
  AffineMap map;
};

/// Short names for code on tiles.
struct TileBuilder {
  ImplicitLocOpBuilder b;
  TileBuilder(OpBuilder &builder, Location loc) : b(loc, builder) {}

  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  Value scalar(Type type, double value);
  Value empty(ArrayRef<int64_t> shape, Type element) { return tensor::EmptyOp::create(b, shape, element); }
  Value filled(ArrayRef<int64_t> shape, Value scalar);
  AffineMap identity(int64_t rank) { return b.getMultiDimIdentityMap(rank); }
  /// The first `dims` of `rank` loops.
  AffineMap leading(int64_t rank, int64_t dims) {
    SmallVector<AffineExpr> exprs;
    for (int64_t d = 0; d < dims; ++d)
      exprs.push_back(b.getAffineDimExpr(d));
    return AffineMap::get(rank, 0, exprs, b.getContext());
  }
  /// The last `dims` of `rank` loops.
  AffineMap trailing(int64_t rank, int64_t dims) {
    SmallVector<AffineExpr> exprs;
    for (int64_t d = rank - dims; d < rank; ++d)
      exprs.push_back(b.getAffineDimExpr(d));
    return AffineMap::get(rank, 0, exprs, b.getContext());
  }
  /// The last loop alone.
  AffineMap last(int64_t rank) { return AffineMap::get(rank, 0, b.getAffineDimExpr(rank - 1)); }
  /// Trailing broadcast: the operand's dimensions are the last loops; a dimension of size 1 stays at 0 where
  /// the loop is longer.
  AffineMap broadcast(RankedTensorType operand, ArrayRef<int64_t> shape);

  /// result[i] = body(reads at i): all loops parallel.
  Value map(ArrayRef<int64_t> shape, Type element, ArrayRef<Read> reads, Body body);
  /// Loops over `shape`; those of `dims` are folded into `init` (map: the others, in order): acc =
  /// body(reads..., acc).
  Value fold(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims, ArrayRef<Read> reads, Value init, Body body);

  /// acc = step(i, acc) for i = 0 .. count - 1; no loop for one iteration. `apart`: no step writes what
  /// another one reads or writes.
  Value repeat(int64_t count, Value acc, llvm::function_ref<Value(TileBuilder &, Value, Value)> step,
               bool apart = false);

  Value slice(Value source, ArrayRef<OpFoldResult> offsets, ArrayRef<int64_t> sizes,
              ArrayRef<int64_t> strides = {});
  Value insert(Value source, Value into, ArrayRef<OpFoldResult> offsets, ArrayRef<int64_t> strides = {});

  /// f32 of a narrower float (or the value itself), and back.
  Value widen(Value x);
  Value narrow(Value x, Type type);
};

/// The model of an op with one result: `Derived::emit(op, t, tiles, type, context)` returns its tile, of type
/// `type`, or null where that fails. What `Derived` says of its op hides `tilingRule` and `tileScratch`.
template <typename Derived, typename OpT> struct Tile : TileLoweringOpInterface::ExternalModel<Derived, OpT> {
  LogicalResult lowerTile(Operation *op, OpBuilder &builder, ValueRange tiles, TypeRange types,
                          TileContext &context, SmallVectorImpl<Value> &results) const {
    TileBuilder t(builder, op->getLoc());
    results.push_back(Derived::emit(cast<OpT>(op), t, tiles, cast<RankedTensorType>(types[0]), context));
    return success(bool(results.back()));
  }
  ShardingRule getTilingRule(Operation *op) const { return Derived::tilingRule(cast<OpT>(op)); }
  SmallVector<TileScratch> getTileScratch(Operation *op, const ShardingRule &rule) const {
    return Derived::tileScratch(cast<OpT>(op), rule);
  }

  static ShardingRule tilingRule(OpT op) { return op.getShardingRule(); }
  static SmallVector<TileScratch> tileScratch(OpT, const ShardingRule &) { return {}; }
};

/// Attaches the models of one family of ops.
void attachElementwise(MLIRContext *context);
void attachShape(MLIRContext *context);
void attachNorms(MLIRContext *context);
void attachLookups(MLIRContext *context);
void attachProducts(MLIRContext *context);
void attachPartial(MLIRContext *context);

} // namespace tessera::tiles
#endif
