//===- ShapeTiles.cpp - tiles of ops that move, make and combine elements ---===//

#include "Tiles.h"

namespace tessera::tiles {
namespace {

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
  static Value emit(graph::IotaOp op, TileBuilder &t, ValueRange, RankedTensorType type,
                    TileContext &context) {
    Value offset = context.offset(t.b, op.getResult(), op.getDim());
    return t.map(type.getShape(), type.getElementType(), {},
                 [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
                   Value i = arith::AddIOp::create(b, linalg::IndexOp::create(b, op.getDim()), offset);
                   if (auto integer = dyn_cast<IntegerType>(type.getElementType()))
                     return arith::IndexCastOp::create(b, integer, i);
                   return arith::SIToFPOp::create(b, type.getElementType(),
                                                  arith::IndexCastOp::create(b, b.getI64Type(), i));
                 });
  }
};

struct NameTile : Tile<NameTile, graph::NameOp> {
  static Value emit(graph::NameOp, TileBuilder &, ValueRange tiles, RankedTensorType, TileContext &) {
    return tiles[0];
  }
};

struct TransposeTile : Tile<TransposeTile, graph::TransposeOp> {
  static Value emit(graph::TransposeOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &) {
    AffineMap fromResult = AffineMap::getPermutationMap(op.getPermutation(), t.b.getContext());
    return t.map(type.getShape(), type.getElementType(), {{tiles[0], inversePermutation(fromResult)}},
                 [](ImplicitLocOpBuilder &, ValueRange x) { return x[0]; });
  }
};

struct BroadcastTile : Tile<BroadcastTile, graph::BroadcastOp> {
  static Value emit(graph::BroadcastOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &) {
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
  static Value emit(graph::SliceOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &) {
    // A cut dimension needs replication, so the loop never runs over one: offsets hold in the tile too.
    return t.slice(tiles[0], getAsIndexOpFoldResult(t.b.getContext(), op.getOffsets()), type.getShape());
  }
};

struct ReverseTile : Tile<ReverseTile, graph::ReverseOp> {
  static Value emit(graph::ReverseOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &) {
    int64_t dim = int64_t(op.getDim()), size = type.getDimSize(dim);
    if (size == 1)
      return tiles[0];
    SmallVector<int64_t> slice(type.getShape());
    slice[dim] = 1;
    // A loop, not a slice for each element: code must not grow with the dimension.
    auto step = [&](TileBuilder &t, Value i, Value acc) {
      SmallVector<OpFoldResult> from = zeros(t, type.getRank()), to = from;
      from[dim] = arith::SubIOp::create(t.b, t.index(size - 1), i).getResult();
      to[dim] = i;
      return t.insert(t.slice(tiles[0], from, slice), acc, to);
    };
    return t.repeat(size, t.empty(type.getShape(), type.getElementType()), step);
  }
};

struct ConcatTile : Tile<ConcatTile, graph::ConcatOp> {
  static Value emit(graph::ConcatOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &) {
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
  static Value emit(graph::ReduceOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &) {
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
    Value folded =
        t.fold(in.getShape(), op.getDims(), {{tiles[0], t.identity(in.getRank())}},
               t.filled(type.getShape(), neutral), [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                 if (!isFloat)
                   return sum ? arith::AddIOp::create(b, x[1], x[0]).getResult()
                              : arith::MaxSIOp::create(b, x[1], x[0]).getResult();
                 Value wide = TileBuilder(b, b.getLoc()).widen(x[0]);
                 return sum ? arith::AddFOp::create(b, x[1], wide).getResult()
                            : arith::MaximumFOp::create(b, x[1], wide).getResult();
               });
    Type result = type.getElementType();
    if (sumType == result)
      return folded;
    return t.map(type.getShape(), result, {{folded, t.identity(type.getRank())}},
                 [&](ImplicitLocOpBuilder &b, ValueRange x) {
                   return TileBuilder(b, b.getLoc()).narrow(x[0], result);
                 });
  }
};

struct EinsumTile : Tile<EinsumTile, graph::EinsumOp> {
  static Value emit(graph::EinsumOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &) {
    std::string summed = op.getSummedLetters(), letters = (op.getResultLetters() + summed).str();
    int64_t rank = int64_t(letters.size()), kept = type.getRank();
    auto read = [&](Value tile, StringRef own) {
      SmallVector<AffineExpr> exprs;
      for (char letter : own)
        exprs.push_back(t.b.getAffineDimExpr(unsigned(letters.find(letter))));
      return Read{tile, AffineMap::get(unsigned(rank), 0, exprs, t.b.getContext())};
    };
    SmallVector<int64_t> shape(type.getShape()), dims;
    for (char letter : summed) {
      dims.push_back(int64_t(shape.size()));
      shape.push_back(typeOf(tiles[0]).getDimSize(int64_t(op.getLhsLetters().find(letter))));
    }
    Type element = type.getElementType(), wide = t.widen(t.scalar(element, 0)).getType();
    auto same = [&](ImplicitLocOpBuilder &b, Value x) -> Value {
      x = TileBuilder(b, b.getLoc()).widen(x);
      return x.getType() == wide ? x : arith::ExtFOp::create(b, wide, x).getResult();
    };
    Value sum = t.fold(
        shape, dims, {read(tiles[0], op.getLhsLetters()), read(tiles[1], op.getRhsLetters())},
        t.filled(type.getShape(), t.scalar(wide, 0)), [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
          return arith::AddFOp::create(b, x[2], arith::MulFOp::create(b, same(b, x[0]), same(b, x[1])));
        });
    if (wide == element)
      return sum;
    return t.map(type.getShape(), element, {{sum, t.identity(kept)}},
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
      limits.push_back(
          {dim, arith::SubIOp::create(t.b, t.index(context.globalSize(op.getInput(), dim)), offset)});
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
  bool masksPadding(Operation *) const { return true; }
};

} // namespace

void attachShape(MLIRContext *context) {
  graph::ConstantOp::attachInterface<ConstantTile>(*context);
  graph::IotaOp::attachInterface<IotaTile>(*context);
  graph::NameOp::attachInterface<NameTile>(*context);
  graph::TransposeOp::attachInterface<TransposeTile>(*context);
  graph::BroadcastOp::attachInterface<BroadcastTile>(*context);
  graph::SliceOp::attachInterface<SliceTile>(*context);
  graph::ReverseOp::attachInterface<ReverseTile>(*context);
  graph::ConcatOp::attachInterface<ConcatTile>(*context);
  graph::EinsumOp::attachInterface<EinsumTile>(*context);
  graph::ReduceOp::attachInterface<ReduceTile>(*context);
  graph::MaskPaddingOp::attachInterface<MaskPaddingTile>(*context);
}

} // namespace tessera::tiles
