//===- ProductTiles.cpp - tiles of products with weights -------------------===//

#include "Tiles.h"

namespace tessera::tiles {
namespace {

/// Rows of the weight times rows of the input; sums are kept in float32.
struct LinearTile : Tile<LinearTile, graph::LinearOp> {
  static Value emit(graph::LinearOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &) {
    // Loops: rows of the input, rows of the weight (as many dimensions as the tile has), what is contracted.
    RankedTensorType input = typeOf(tiles[0]);
    int64_t contract = int64_t(op.getContract()), rows = input.getRank() - contract, kept = type.getRank();
    SmallVector<int64_t> shape(type.getShape()), contracted;
    llvm::append_range(shape, input.getShape().take_back(contract));
    int64_t rank = int64_t(shape.size());
    SmallVector<AffineExpr> inputAt, weightAt;
    for (int64_t d = 0; d < rank; ++d) {
      AffineExpr loop = t.b.getAffineDimExpr(unsigned(d));
      if (d < rows || d >= kept)
        inputAt.push_back(loop);
      if (d >= rows)
        weightAt.push_back(loop);
      if (d >= kept)
        contracted.push_back(d);
    }
    auto read = [&](Value tile, ArrayRef<AffineExpr> at) {
      return Read{tile, AffineMap::get(unsigned(rank), 0, at, t.b.getContext())};
    };
    Type element = type.getElementType(), wide = t.widen(t.scalar(element, 0)).getType();
    Value sum = t.fold(shape, contracted, {read(tiles[0], inputAt), read(tiles[1], weightAt)},
                       t.filled(type.getShape(), t.scalar(wide, 0)),
                       [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                         TileBuilder inner(b, b.getLoc());
                         Value product = arith::MulFOp::create(b, inner.widen(x[0]), inner.widen(x[1]));
                         return arith::AddFOp::create(b, x[2], product);
                       });
    if (wide == element)
      return sum;
    return t.map(type.getShape(), element, {{sum, t.identity(kept)}},
                 [&](ImplicitLocOpBuilder &b, ValueRange x) {
                   return TileBuilder(b, b.getLoc()).narrow(x[0], element);
                 });
  }

  /// Which rows of the weight stand in which dimension is nothing to a product. What passes through a weight
  /// are its rows.
  bool canSplit(Operation *, const ShardingRule &rule, int factor) const {
    return llvm::any_of(rule.operands[1].dims,
                        [&](const auto &dim) { return llvm::is_contained(dim, factor); });
  }
};

} // namespace

void attachProducts(MLIRContext *context) { graph::LinearOp::attachInterface<LinearTile>(*context); }

} // namespace tessera::tiles
