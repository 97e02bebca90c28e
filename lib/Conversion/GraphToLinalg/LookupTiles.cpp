//===- LookupTiles.cpp - tiles of ops that look up rows and positions -------===//

#include "Tiles.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::tiles {
namespace {

/// The multi-index of element `i` of `shape`.
SmallVector<Value> delinearize(TileBuilder &t, Value i, ArrayRef<int64_t> shape) {
  SmallVector<Value> index(shape.size());
  for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
    if (shape[d] == 1) {
      index[d] = t.index(0);
      continue;
    }
    index[d] = d == 0 ? i : arith::RemUIOp::create(t.b, i, t.index(shape[d])).getResult();
    if (d > 0)
      i = arith::DivUIOp::create(t.b, i, t.index(shape[d]));
  }
  return index;
}

/// How indices along a dimension that may be sharded become positions in the shard.
struct Shard {
  Value begin; ///< index of its first position
  Value valid; ///< positions from here on are padding
};

Shard shardOf(TileBuilder &t, TileContext &context, Value value, int64_t dim) {
  Value begin = context.offset(t.b, value, dim);
  return {begin, arith::SubIOp::create(t.b, t.index(context.globalSize(value, dim)), begin)};
}

/// `source` at `index` along `dim` (indices in front given, the rest whole), or zeros where the shard has no
/// such index. Without a branch: the lookup is clamped and what it found is masked.
Value lookUp(TileBuilder &t, Value source, ArrayRef<Value> front, Value index, Shard shard,
             ArrayRef<int64_t> resultShape) {
  RankedTensorType type = typeOf(source);
  int64_t dim = front.size(), size = type.getDimSize(dim), rank = type.getRank();
  Value zero = t.index(0), position = arith::SubIOp::create(t.b, index, shard.begin);
  Value inside =
      arith::AndIOp::create(t.b, arith::CmpIOp::create(t.b, arith::CmpIPredicate::sge, position, zero),
                            arith::CmpIOp::create(t.b, arith::CmpIPredicate::slt, position,
                                                  arith::MinSIOp::create(t.b, t.index(size), shard.valid)));
  Value clamped = arith::MinSIOp::create(t.b, arith::MaxSIOp::create(t.b, position, zero), t.index(size - 1));
  SmallVector<OpFoldResult> offsets;
  SmallVector<int64_t> sizes;
  for (Value at : front)
    offsets.push_back(at), sizes.push_back(1);
  offsets.push_back(clamped), sizes.push_back(1);
  for (int64_t d = dim + 1; d < rank; ++d)
    offsets.push_back(t.b.getIndexAttr(0)), sizes.push_back(type.getDimSize(d));
  Value row = t.slice(source, offsets, sizes);
  // Leading dimensions of both are 1: align them at the end.
  int64_t resultRank = resultShape.size();
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < rank; ++d)
    exprs.push_back(d <= dim ? t.b.getAffineConstantExpr(0) : t.b.getAffineDimExpr(resultRank - rank + d));
  Value neutral = t.scalar(type.getElementType(), 0);
  return t.map(resultShape, type.getElementType(),
               {{row, AffineMap::get(resultRank, 0, exprs, t.b.getContext())}},
               [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                 return arith::SelectOp::create(b, inside, x[0], neutral);
               });
}

Value indexOf(TileBuilder &t, Value integers, ValueRange at) {
  return arith::IndexCastOp::create(t.b, t.b.getIndexType(), tensor::ExtractOp::create(t.b, integers, at));
}

struct EmbeddingTile : Tile<EmbeddingTile, graph::EmbeddingOp> {
  static Value emit(graph::EmbeddingOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &context) {
    RankedTensorType ids = typeOf(tiles[1]);
    Shard shard = shardOf(t, context, op.getTable(), 0);
    SmallVector<int64_t> rowShape(type.getShape());
    std::fill_n(rowShape.begin(), ids.getRank(), 1);
    auto step = [&](TileBuilder &t, Value i, Value acc) {
      SmallVector<Value> at = delinearize(t, i, ids.getShape());
      Value row = lookUp(t, tiles[0], {}, indexOf(t, tiles[1], at), shard, rowShape);
      SmallVector<OpFoldResult> offsets(type.getRank(), t.b.getIndexAttr(0));
      llvm::copy(at, offsets.begin());
      return t.insert(row, acc, offsets);
    };
    return t.repeat(ids.getNumElements(), t.empty(type.getShape(), type.getElementType()), step);
  }
};

struct TakeTile : Tile<TakeTile, graph::TakeOp> {
  static Value emit(graph::TakeOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &context) {
    Shard shard = shardOf(t, context, op.getInput(), 1);
    SmallVector<int64_t> rowShape(type.getShape());
    rowShape[0] = 1;
    auto step = [&](TileBuilder &t, Value i, Value acc) {
      Value row = lookUp(t, tiles[0], {i}, indexOf(t, tiles[1], {i}), shard, rowShape);
      SmallVector<OpFoldResult> offsets(type.getRank(), t.b.getIndexAttr(0));
      offsets[0] = i;
      return t.insert(row, acc, offsets);
    };
    return t.repeat(type.getDimSize(0), t.empty(type.getShape(), type.getElementType()), step);
  }
};

struct ArgMaxKeyTile : Tile<ArgMaxKeyTile, graph::ArgMaxKeyOp> {
  static Value emit(graph::ArgMaxKeyOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &context) {
    RankedTensorType in = typeOf(tiles[0]);
    int64_t last = in.getRank() - 1;
    Type i32 = t.b.getI32Type(), i64 = t.b.getI64Type();
    Value offset = arith::IndexCastOp::create(t.b, i64, context.offset(t.b, op.getInput(), last));
    Value least = arith::ConstantOp::create(t.b, t.b.getI64IntegerAttr(std::numeric_limits<int64_t>::min()));
    Value init = t.filled(type.getShape(), least);
    auto constant = [](ImplicitLocOpBuilder &b, Type type, int64_t value) -> Value {
      return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
    };
    return t.fold(in.getShape(), {last}, {{tiles[0], t.identity(in.getRank())}}, init,
                  [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                    // Floats order like sign and magnitude, integers like two's complement: turn the negative
                    // ones round.
                    Value bits = arith::BitcastOp::create(b, i32, TileBuilder(b, b.getLoc()).widen(x[0]));
                    Value flipped = arith::XOrIOp::create(b, bits, constant(b, i32, 0x7fffffff));
                    Value negative =
                        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, bits, constant(b, i32, 0));
                    Value ordered = arith::SelectOp::create(b, negative, flipped, bits);
                    // What is no number is above all, whatever its sign.
                    Value magnitude = arith::AndIOp::create(b, bits, constant(b, i32, 0x7fffffff));
                    Value isNaN = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, magnitude,
                                                        constant(b, i32, graph::kInfinityBits));
                    ordered = arith::SelectOp::create(b, isNaN, constant(b, i32, 0x7fffffff), ordered);
                    ordered = arith::ExtSIOp::create(b, i64, ordered);
                    Value high = arith::ShLIOp::create(b, ordered, constant(b, i64, 32));
                    Value index = arith::AddIOp::create(
                        b, arith::IndexCastOp::create(b, i64, linalg::IndexOp::create(b, last)), offset);
                    Value low = arith::SubIOp::create(b, constant(b, i64, 0x7fffffff), index);
                    return arith::MaxSIOp::create(b, x[1], arith::OrIOp::create(b, high, low));
                  });
  }
};

struct ArgMaxIndexTile : Tile<ArgMaxIndexTile, graph::ArgMaxIndexOp> {
  static Value emit(graph::ArgMaxIndexOp, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &) {
    return t.map(
        type.getShape(), type.getElementType(), {{tiles[0], t.identity(type.getRank())}},
        [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
          auto constant = [&](int32_t value) -> Value {
            return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
          };
          Value low = arith::TruncIOp::create(b, b.getI32Type(), x[0]);
          Value index = arith::SubIOp::create(b, constant(0x7fffffff), low);
          Value wide = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
          Value high = arith::TruncIOp::create(b, b.getI32Type(), arith::ShRSIOp::create(b, x[0], wide));
          Value below =
              arith::CmpIOp::create(b, arith::CmpIPredicate::slt, high, constant(graph::kInfinityBits));
          Value above =
              arith::CmpIOp::create(b, arith::CmpIPredicate::sge, high, constant(-graph::kInfinityBits));
          Value finite = arith::AndIOp::create(b, below, above);
          return arith::SelectOp::create(b, finite, index, constant(-1));
        });
  }
};

/// The elements of a tile with one element, which kernels make of numbers of layers.
Value onlyElement(TileBuilder &t, Value tile) {
  if (auto made = tile.getDefiningOp<tensor::FromElementsOp>(); made && made.getElements().size() == 1)
    return made.getElements()[0];
  return tensor::ExtractOp::create(t.b, tile, ValueRange());
}

struct CacheUpdateTile : Tile<CacheUpdateTile, graph::CacheUpdateOp> {
  /// Writes the update's tile [batch, seq, row...] to cache[layer, batch, positions[batch, seq] - begin of
  /// the shard, row...], row by row: no two rows have one place, but for those of the batch that are padding,
  /// which may have anything for positions and are passed over. Where there are pages, the table says how far
  /// from its position a row goes. In a ring it goes to what is left of its position by the ring's length.
  static Value emit(graph::CacheUpdateOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &context) {
    RankedTensorType update = typeOf(tiles[1]);
    int64_t batch = update.getDimSize(0), seq = update.getDimSize(1);
    Value layer = arith::IndexCastOp::create(t.b, t.b.getIndexType(), onlyElement(t, tiles[2]));
    Value size = t.index(type.getDimSize(2)), shard = context.offset(t.b, op.getCache(), 2);
    OpFoldResult zero = t.b.getIndexAttr(0);
    SmallVector<OpFoldResult> from(update.getRank(), zero), to(type.getRank(), zero);
    SmallVector<int64_t> fromSizes(update.getShape()), toSizes{1, 1, 1};
    fromSizes[0] = fromSizes[1] = 1;
    llvm::append_range(toSizes, update.getShape().drop_front(2));
    to[0] = layer;
    Value firstBatch = context.begin(t.b, op.getUpdate(), 0);
    Value rows = shardOf(t, context, op.getUpdate(), 0).valid;
    for (int64_t d = 2; d < update.getRank(); ++d)
      to[d + 1] = context.begin(t.b, op.getUpdate(), d);
    auto step = [&](TileBuilder &t, Value i, Value cache) {
      SmallVector<Value> at = delinearize(t, i, {batch, seq});
      Value position = indexOf(t, tiles[3], at), known;
      if (op.getPages())
        std::tie(position, known) = placeOf(op, t, position, at[0], tiles[4]);
      if (op.getRing()) {
        known = arith::CmpIOp::create(t.b, arith::CmpIPredicate::sge, position, t.index(0));
        position = arith::RemUIOp::create(t.b, position, t.index(context.globalSize(op.getCache(), 2)));
      }
      position = arith::SubIOp::create(t.b, position, shard);
      // Unsigned: a negative position is a large one.
      Value inside = arith::CmpIOp::create(t.b, arith::CmpIPredicate::ult, position, size);
      if (known)
        inside = arith::AndIOp::create(t.b, inside, known);
      Value exists = arith::CmpIOp::create(t.b, arith::CmpIPredicate::slt, at[0], rows);
      inside = arith::AndIOp::create(t.b, inside, exists);
      auto write = scf::IfOp::create(
          t.b, inside,
          [&](OpBuilder &builder, Location loc) {
            TileBuilder t(builder, loc);
            from[0] = at[0];
            from[1] = at[1];
            to[1] = arith::AddIOp::create(t.b, firstBatch, at[0]).getResult();
            to[2] = position;
            auto rowType = RankedTensorType::get(update.getShape().drop_front(2), update.getElementType());
            SmallVector<OpFoldResult> ones(type.getRank(), t.b.getIndexAttr(1));
            auto sizes = [&](ArrayRef<int64_t> sizes) {
              return getAsIndexOpFoldResult(t.b.getContext(), sizes);
            };
            Value row = tensor::ExtractSliceOp::create(t.b, rowType, tiles[1], from, sizes(fromSizes),
                                                       ArrayRef(ones).drop_back());
            Value place = tensor::ExtractSliceOp::create(t.b, rowType, cache, to, sizes(toSizes), ones);
            Value copied = linalg::CopyOp::create(t.b, row, place).getResult(0);
            Value updated = tensor::InsertSliceOp::create(t.b, copied, cache, to, sizes(toSizes), ones);
            scf::YieldOp::create(builder, loc, updated);
          },
          [&](OpBuilder &builder, Location loc) { scf::YieldOp::create(builder, loc, cache); });
      return write.getResult(0);
    };
    return t.repeat(batch * seq, tiles[0], step, /*apart=*/true);
  }

  /// Where `position` of row `row` of the table's tile stands, and whether it is one of the context.
  static std::pair<Value, Value> placeOf(graph::CacheUpdateOp op, TileBuilder &t, Value position, Value row,
                                         Value table) {
    int64_t page = int64_t(*op.getPage()), context = typeOf(table).getDimSize(1) * page;
    // Unsigned: a negative position is a large one.
    Value known = arith::CmpIOp::create(t.b, arith::CmpIPredicate::ult, position, t.index(context));
    Value safe = arith::SelectOp::create(t.b, known, position, t.index(0));
    Value number = arith::DivUIOp::create(t.b, safe, t.index(page));
    Value moved = arith::MulIOp::create(t.b, indexOf(t, table, {row, number}), t.index(page));
    return {arith::AddIOp::create(t.b, safe, moved), known};
  }

  int getUpdatedOperand(Operation *) const { return 0; }
  /// Every row of the update has a place of its own.
  ShardingRule getTilingRule(Operation *op) const {
    ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
    rule.factors[rule.operands[1].dims[1].front()].kind = FactorKind::PassThrough;
    return rule;
  }
  /// What a row is made of.
  bool canSplit(Operation *, const ShardingRule &rule, int factor) const {
    return llvm::any_of(ArrayRef(rule.operands[1].dims).drop_front(2),
                        [&](const auto &dim) { return llvm::is_contained(dim, factor); });
  }
};

} // namespace

void attachLookups(MLIRContext *context) {
  graph::EmbeddingOp::attachInterface<EmbeddingTile>(*context);
  graph::TakeOp::attachInterface<TakeTile>(*context);
  graph::ArgMaxKeyOp::attachInterface<ArgMaxKeyTile>(*context);
  graph::ArgMaxIndexOp::attachInterface<ArgMaxIndexTile>(*context);
  graph::CacheUpdateOp::attachInterface<CacheUpdateTile>(*context);
}

} // namespace tessera::tiles
