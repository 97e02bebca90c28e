//===- Tiles.cpp - what the tile lowerings share ----------------------------===//

#include "Tiles.h"

#include "tessera/Conversion/GraphToLinalg/GraphToLinalg.h"
#include "tessera/Dialect/Exec/IR/KernelFunction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "tessera/Interfaces/TileLoweringOpInterface.cpp.inc"

namespace tessera {

using namespace mlir;

void registerTileLowering(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    context->getOrLoadDialect<arith::ArithDialect>();
    context->getOrLoadDialect<linalg::LinalgDialect>();
    context->getOrLoadDialect<math::MathDialect>();
    context->getOrLoadDialect<tensor::TensorDialect>();
    tiles::attachElementwise(context);
    tiles::attachShape(context);
    tiles::attachNorms(context);
    tiles::attachLookups(context);
    tiles::attachProducts(context);
    tiles::attachPartial(context);
  });
}

namespace tiles {

Value TileBuilder::scalar(Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, int64_t(value)));
}

Value TileBuilder::filled(ArrayRef<int64_t> shape, Value scalar) {
  return linalg::FillOp::create(b, scalar, empty(shape, scalar.getType())).getResult(0);
}

AffineMap TileBuilder::broadcast(RankedTensorType operand, ArrayRef<int64_t> shape) {
  SmallVector<AffineExpr> exprs;
  int64_t rank = shape.size(), first = rank - operand.getRank();
  for (int64_t d = 0; d < operand.getRank(); ++d)
    exprs.push_back(operand.getDimSize(d) == shape[first + d] ? b.getAffineDimExpr(first + d)
                                                              : b.getAffineConstantExpr(0));
  return AffineMap::get(rank, 0, exprs, b.getContext());
}

static void emitBody(OpBuilder &builder, Location loc, ValueRange args, Body body) {
  ImplicitLocOpBuilder inner(loc, builder);
  linalg::YieldOp::create(inner, body(inner, args));
}

Value TileBuilder::map(ArrayRef<int64_t> shape, Type element, ArrayRef<Read> reads, Body body) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Read &read : reads) {
    inputs.push_back(read.value);
    maps.push_back(read.map);
  }
  maps.push_back(identity(shape.size()));
  Value out = empty(shape, element);
  SmallVector<utils::IteratorType> kinds(shape.size(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, out.getType(), inputs, out, maps, kinds,
                                   [&](OpBuilder &builder, Location loc, ValueRange args) {
                                     emitBody(builder, loc, args.drop_back(), body);
                                   })
      .getResult(0);
}

Value TileBuilder::fold(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims, ArrayRef<Read> reads, Value init,
                        Body body) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Read &read : reads) {
    inputs.push_back(read.value);
    maps.push_back(read.map);
  }
  SmallVector<AffineExpr> kept;
  SmallVector<utils::IteratorType> kinds;
  for (int64_t d = 0; d < int64_t(shape.size()); ++d) {
    bool folded = llvm::is_contained(dims, d);
    kinds.push_back(folded ? utils::IteratorType::reduction : utils::IteratorType::parallel);
    if (!folded)
      kept.push_back(b.getAffineDimExpr(d));
  }
  maps.push_back(AffineMap::get(shape.size(), 0, kept, b.getContext()));
  return linalg::GenericOp::create(
             b, init.getType(), inputs, init, maps, kinds,
             [&](OpBuilder &builder, Location loc, ValueRange args) { emitBody(builder, loc, args, body); })
      .getResult(0);
}

Value TileBuilder::repeat(int64_t count, Value acc,
                          llvm::function_ref<Value(TileBuilder &, Value, Value)> step, bool apart) {
  if (count == 1)
    return step(*this, index(0), acc);
  auto loop = scf::ForOp::create(b, index(0), index(count), index(1), acc,
                                 [&](OpBuilder &builder, Location loc, Value i, ValueRange args) {
                                   TileBuilder inner(builder, loc);
                                   scf::YieldOp::create(builder, loc, step(inner, i, args[0]));
                                 });
  if (apart)
    loop->setAttr(exec::kApartAttr, b.getUnitAttr());
  return loop.getResult(0);
}

Value TileBuilder::slice(Value source, ArrayRef<OpFoldResult> offsets, ArrayRef<int64_t> sizes,
                         ArrayRef<int64_t> strides) {
  SmallVector<OpFoldResult> ones(sizes.size(), b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b, source, offsets, getAsIndexOpFoldResult(b.getContext(), sizes),
                                        strides.empty() ? ones
                                                        : getAsIndexOpFoldResult(b.getContext(), strides));
}

Value TileBuilder::insert(Value source, Value into, ArrayRef<OpFoldResult> offsets,
                          ArrayRef<int64_t> strides) {
  SmallVector<OpFoldResult> ones(offsets.size(), b.getIndexAttr(1));
  return tensor::InsertSliceOp::create(
      b, source, into, offsets, getAsIndexOpFoldResult(b.getContext(), typeOf(source).getShape()),
      strides.empty() ? ones : getAsIndexOpFoldResult(b.getContext(), strides));
}

static bool isNarrow(Type type) { return type.isF16() || type.isBF16(); }

Value TileBuilder::widen(Value x) {
  return isNarrow(x.getType()) ? arith::ExtFOp::create(b, b.getF32Type(), x).getResult() : x;
}
Value TileBuilder::narrow(Value x, Type type) {
  return x.getType() == type ? x : arith::TruncFOp::create(b, type, x).getResult();
}

} // namespace tiles
} // namespace tessera
