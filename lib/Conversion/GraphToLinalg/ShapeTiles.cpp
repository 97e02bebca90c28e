//===- ShapeTiles.cpp - tiles of ops that move, make and combine elements ---===//

#include "Tiles.h"

namespace tessera::tiles {
namespace {

/// Boilerplate of a model: `emit(op, t, tiles, type, context)` returns the one result.
template <typename Derived, typename OpT>
struct Tile : TileLoweringOpInterface::ExternalModel<Derived, OpT> {
  LogicalResult lowerTile(Operation *op, OpBuilder &builder, ValueRange tiles, TypeRange types, TileContext &context,
                          SmallVectorImpl<Value> &results) const {
    TileBuilder t(builder, op->getLoc());
    results.push_back(Derived::emit(cast<OpT>(op), t, tiles, cast<RankedTensorType>(types[0]), context));
    return success();
  }
};

SmallVector<OpFoldResult> zeros(TileBuilder &t, int64_t rank) {
  return SmallVector<OpFoldResult>(rank, t.b.getIndexAttr(0));
}

struct ConstantTile : Tile<ConstantTile, graph::ConstantOp> {
  static Value emit(graph::ConstantOp op, TileBuilder &t, ValueRange, RankedTensorType type, TileContext &) {
    auto value = cast<DenseElementsAttr>(op.getValue());
    if (!value.isSplat()) // whole: a dense constant needs replication
      return arith::ConstantOp::create(t.b, value.reshape(type));
    auto scalar = cast<TypedAttr>(value.getSplatValue<Attribute>());
    return t.filled(type.getShape(), arith::ConstantOp::create(t.b, scalar));
  }
};

struct IotaTile : Tile<IotaTile, graph::IotaOp> {
  static Value emit(graph::IotaOp op, TileBuilder &t, ValueRange, RankedTensorType type, TileContext &context) {
    Value offset = context.offset(t.b, op.getResult(), op.getDim());
    return t.map(type.getShape(), type.getElementType(), {}, [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
      Value i = arith::AddIOp::create(b, linalg::IndexOp::create(b, op.getDim()), offset);
      if (auto integer = dyn_cast<IntegerType>(type.getElementType()))
        return arith::IndexCastOp::create(b, integer, i);
      return arith::SIToFPOp::create(b, type.getElementType(), arith::IndexCastOp::create(b, b.getI64Type(), i));
    });
  }
};

struct NameTile : Tile<NameTile, graph::NameOp> {
  static Value emit(graph::NameOp, TileBuilder &, ValueRange tiles, RankedTensorType, TileContext &) { return tiles[0]; }
};

struct TransposeTile : Tile<TransposeTile, graph::TransposeOp> {
  static Value emit(graph::TransposeOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type, TileContext &) {
    AffineMap fromResult = AffineMap::getPermutationMap(op.getPermutation(), t.b.getContext());
    return t.map(type.getShape(), type.getElementType(), {{tiles[0], inversePermutation(fromResult)}},
                 [](ImplicitLocOpBuilder &, ValueRange x) { return x[0]; });
  }
};

struct BroadcastTile : Tile<BroadcastTile, graph::BroadcastOp> {
  static Value emit(graph::BroadcastOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type, TileContext &) {
    SmallVector<AffineExpr> exprs;
    for (auto [i, dim] : llvm::enumerate(op.getDims()))
      exprs.push_back(typeOf(tiles[0]).getDimSize(i) == type.getDimSize(dim) ? t.b.getAffineDimExpr(dim)
                                                                             : t.b.getAffineConstantExpr(0));
    AffineMap map = AffineMap::get(type.getRank(), 0, exprs, t.b.getContext());
    return t.map(type.getShape(), type.getElementType(), {{tiles[0], map}},
                 [](ImplicitLocOpBuilder &, ValueRange x) { return x[0]; });
  }
};

struct SliceTile : Tile<SliceTile, graph::SliceOp> {
  static Value emit(graph::SliceOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type, TileContext &) {
    // A cut dimension needs replication, so the loop never runs over one: offsets hold in the tile too.
    return t.slice(tiles[0], getAsIndexOpFoldResult(t.b.getContext(), op.getOffsets()), type.getShape());
  }
};

struct ConcatTile : Tile<ConcatTile, graph::ConcatOp> {
  static Value emit(graph::ConcatOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type, TileContext &) {
    Value out = t.empty(type.getShape(), type.getElementType());
    SmallVector<OpFoldResult> offsets = zeros(t, type.getRank());
    int64_t at = 0;
    for (Value tile : tiles) {
      offsets[op.getDim()] = t.b.getIndexAttr(at);
      out = t.insert(tile, out, offsets);
      at += typeOf(tile).getDimSize(op.getDim());
    }
    return out;
  }
};

struct ReduceTile : Tile<ReduceTile, graph::ReduceOp> {
  static Value emit(graph::ReduceOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type, TileContext &) {
    RankedTensorType in = typeOf(tiles[0]);
    Type element = in.getElementType();
    bool isFloat = isa<FloatType>(element), sum = op.getKind() == graph::ReduceKind::sum;
    Type sumType = isFloat ? t.widen(t.scalar(element, 0)).getType() : element;
    Value neutral;
    if (sum)
      neutral = t.scalar(sumType, 0);
    else if (isFloat)
      neutral = t.scalar(sumType, -std::numeric_limits<double>::infinity());
    else
      neutral = arith::ConstantOp::create(
          t.b, t.b.getIntegerAttr(element, APInt::getSignedMinValue(element.getIntOrFloatBitWidth())));
    Value folded = t.fold(in.getShape(), op.getDims(), {{tiles[0], t.identity(in.getRank())}},
                          t.filled(type.getShape(), neutral), [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                            if (!isFloat)
                              return sum ? arith::AddIOp::create(b, x[1], x[0]).getResult()
                                         : arith::MaxSIOp::create(b, x[1], x[0]).getResult();
                            Value wide = TileBuilder(b, b.getLoc()).widen(x[0]);
                            return sum ? arith::AddFOp::create(b, x[1], wide).getResult()
                                       : arith::MaximumFOp::create(b, x[1], wide).getResult();
                          });
    if (sumType == element)
      return folded;
    return t.map(type.getShape(), element, {{folded, t.identity(type.getRank())}},
                 [&](ImplicitLocOpBuilder &b, ValueRange x) {
                   return TileBuilder(b, b.getLoc()).narrow(x[0], element);
                 });
  }
};

struct MaskPaddingTile : Tile<MaskPaddingTile, graph::MaskPaddingOp> {
  static Value emit(graph::MaskPaddingOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &context) {
    Value neutral = t.scalar(type.getElementType(), op.getValue().convertToDouble());
    SmallVector<std::pair<int64_t, Value>> limits; // dimension, first index of the tile that is padding
    for (int64_t dim : op.getDims()) {
      Value offset = context.offset(t.b, op.getInput(), dim);
      limits.push_back({dim, arith::SubIOp::create(t.b, t.index(context.globalSize(op.getInput(), dim)), offset)});
    }
    return t.map(type.getShape(), type.getElementType(), {{tiles[0], t.identity(type.getRank())}},
                 [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                   Value result = x[0];
                   for (auto [dim, limit] : limits) {
                     Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                                          linalg::IndexOp::create(b, dim), limit);
                     result = arith::SelectOp::create(b, inside, result, neutral);
                   }
                   return result;
                 });
  }
};

} // namespace

void attachShape(MLIRContext *context) {
  graph::ConstantOp::attachInterface<ConstantTile>(*context);
  graph::IotaOp::attachInterface<IotaTile>(*context);
  graph::NameOp::attachInterface<NameTile>(*context);
  graph::TransposeOp::attachInterface<TransposeTile>(*context);
  graph::BroadcastOp::attachInterface<BroadcastTile>(*context);
  graph::SliceOp::attachInterface<SliceTile>(*context);
  graph::ConcatOp::attachInterface<ConcatTile>(*context);
  graph::ReduceOp::attachInterface<ReduceTile>(*context);
  graph::MaskPaddingOp::attachInterface<MaskPaddingTile>(*context);
}

} // namespace tessera::tiles
