//===- ElementwiseTiles.cpp - tiles of elementwise ops ----------------------===//

#include "Tiles.h"

namespace tessera::tiles {
namespace {

/// One lowering for all ops that know their scalar form. Libraries of products know some as `function`.
template <typename OpT, ProductFunction function = ProductFunction::None>
struct ElementwiseTile : Tile<ElementwiseTile<OpT, function>, OpT> {
  static Value emit(OpT op, TileBuilder &t, ValueRange tiles, RankedTensorType type, TileContext &) {
    SmallVector<Read> reads;
    for (Value tile : tiles)
      reads.push_back({tile, t.broadcast(typeOf(tile), type.getShape())});
    auto scalar = cast<ElementwiseScalarOpInterface>(op.getOperation());
    return t.map(type.getShape(), type.getElementType(), reads,
                 [&](ImplicitLocOpBuilder &b, ValueRange x) { return scalar.emitScalar(b, b.getLoc(), x); });
  }

  ProductFunction getProductFunction(Operation *) const { return function; }
  /// Every operand that reaches up to the dimension has it too: they stay aligned at the end.
  bool canSplit(Operation *op, const ShardingRule &rule, int factor) const {
    const auto &result = rule.results[0].dims;
    auto has = [&](const auto &dim) { return llvm::is_contained(dim, factor); };
    size_t fromEnd = size_t(result.end() - llvm::find_if(result, has));
    return llvm::all_of(rule.operands, [&](const TensorFactors &operand) {
      return operand.dims.size() < fromEnd || llvm::any_of(operand.dims, has);
    });
  }
};

template <typename... Ops> void attachAll(MLIRContext *context) {
  (Ops::template attachInterface<ElementwiseTile<Ops>>(*context), ...);
}

} // namespace

void attachElementwise(MLIRContext *context) {
  using namespace graph;
  attachAll<NegOp, AbsOp, ExpOp, LogOp, SqrtOp, RsqrtOp, TanhOp, SinOp, CosOp, ErfOp, SigmoidOp, SiluOp,
            GeluErfOp, AddOp, SubOp, MulOp, DivOp, MaximumOp, MinimumOp, CastOp, CompareOp, SelectOp,
            RandomKeyOp, DropoutOp>(context);
  ReluOp::attachInterface<ElementwiseTile<ReluOp, ProductFunction::Relu>>(*context);
  GeluTanhOp::attachInterface<ElementwiseTile<GeluTanhOp, ProductFunction::GeluTanh>>(*context);
}

} // namespace tessera::tiles
