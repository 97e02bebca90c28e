//===- PartialTiles.cpp - tiles of reductions in parts ----------------------===//

#include "Tiles.h"

#include "tessera/Dialect/Graph/IR/Partial.h"

namespace tessera::tiles {
namespace {

/// Where the op in the body stands: at part `part` of the tile of `op`.
class PartContext : public TileContext {
public:
  PartContext(TileContext &outer, graph::PartialOp op, Value part) : outer(outer), op(op), part(part) {}

  Value offset(OpBuilder &builder, Value value, int64_t dim) override {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return outer.offset(builder, op.getResult(), dim + 1);
    Value first = outer.offset(builder, input(argument), dim);
    return cut(argument) == dim ? plusParts(builder, first, argument) : first;
  }
  /// Ops that read arrays at places of their own, tables and caches, reduce nothing.
  Value begin(OpBuilder &, Value, int64_t) override {
    llvm::report_fatal_error("a reduction in parts asks where its tile begins");
  }
  int64_t globalSize(Value value, int64_t dim) override {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? outer.globalSize(input(argument), dim) : outer.globalSize(op.getResult(), dim + 1);
  }

private:
  Value input(BlockArgument argument) { return op.getInputs()[argument.getArgNumber()]; }
  int64_t cut(BlockArgument argument) { return op.getCutDim(argument.getArgNumber()); }
  int64_t partSize(BlockArgument argument) {
    return typeOf(argument).getDimSize(cut(argument)) / int64_t(op.getParts());
  }
  /// `first` and the parts of the tile in front of this one.
  Value plusParts(OpBuilder &builder, Value first, BlockArgument argument) {
    Value size = arith::ConstantIndexOp::create(builder, op.getLoc(), partSize(argument));
    Value before = arith::MulIOp::create(builder, op.getLoc(), part, size);
    return arith::AddIOp::create(builder, op.getLoc(), first, before);
  }

  TileContext &outer;
  graph::PartialOp op;
  Value part;
};

struct PartialTile : Tile<PartialTile, graph::PartialOp> {
  /// The tile of an input has its parts as a dimension in front of the one that is cut, or, where nothing
  /// asks for some of the parts alone, the dimension as it is. The op in the body runs once for each part.
  static Value emit(graph::PartialOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &context) {
    auto inner = dyn_cast<TileLoweringOpInterface>(op.getOp());
    if (!inner) {
      op.emitOpError() << "runs " << op.getOp()->getName() << " in parts, which computes no tiles";
      return {};
    }
    auto one = RankedTensorType::get(type.getShape().drop_front(), type.getElementType());
    LogicalResult status = success();
    auto step = [&](TileBuilder &t, Value part, Value all) -> Value {
      SmallVector<Value> ofPart, result;
      for (auto [number, tile] : llvm::enumerate(tiles))
        ofPart.push_back(slicePart(t, op, tile, unsigned(number), part));
      PartContext inside(context, op, part);
      if (failed(inner.lowerTile(t.b, ofPart, TypeRange(one), inside, result))) {
        status = failure();
        return all;
      }
      SmallVector<OpFoldResult> offsets(type.getRank(), t.b.getIndexAttr(0)),
          ones(type.getRank(), t.b.getIndexAttr(1)),
          sizes = getAsIndexOpFoldResult(t.b.getContext(), type.getShape());
      offsets[0] = part;
      sizes[0] = t.b.getIndexAttr(1);
      return tensor::InsertSliceOp::create(t.b, result.front(), all, offsets, sizes, ones);
    };
    Value parts = t.repeat(type.getDimSize(0), t.empty(type.getShape(), type.getElementType()), step);
    return succeeded(status) ? parts : Value();
  }

private:
  /// Part number `part` of input `number`; all of the tile where it is not cut.
  static Value slicePart(TileBuilder &t, graph::PartialOp op, Value tile, unsigned number, Value part) {
    int64_t dim = op.getCutDim(number);
    if (dim < 0)
      return tile;
    RankedTensorType type = typeOf(tile);
    SmallVector<OpFoldResult> offsets(type.getRank(), t.b.getIndexAttr(0)),
        ones(type.getRank(), t.b.getIndexAttr(1)),
        sizes = getAsIndexOpFoldResult(t.b.getContext(), type.getShape());
    SmallVector<int64_t> shape(type.getShape());
    if (type.getRank() > typeOf(op.getInputs()[number]).getRank()) {
      offsets[dim] = part;
      sizes[dim] = t.b.getIndexAttr(1);
      shape.erase(shape.begin() + dim);
    } else {
      shape[dim] /= int64_t(op.getParts());
      offsets[dim] =
          arith::MulIOp::create(t.b, part, arith::ConstantIndexOp::create(t.b, shape[dim])).getResult();
      sizes[dim] = t.b.getIndexAttr(shape[dim]);
    }
    return tensor::ExtractSliceOp::create(t.b, RankedTensorType::get(shape, type.getElementType()), tile,
                                          offsets, sizes, ones);
  }
};

} // namespace

void attachPartial(MLIRContext *context) { graph::PartialOp::attachInterface<PartialTile>(*context); }

} // namespace tessera::tiles
