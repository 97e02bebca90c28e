//===- IterationTiles.cpp - the tiles that one iteration takes --------------===//

#include "IterationTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tessera::kernels {

Iteration delinearize(OpBuilder &builder, Location loc, Value row, ArrayRef<Axis> axes) {
  Iteration at;
  at.axes = axes;
  int64_t left = 1;
  for (const Axis &axis : axes)
    left *= axis.count();
  at.number.resize(axes.size());
  for (int d = int(axes.size()) - 1; d >= 0; --d) {
    int64_t count = axes[d].count();
    Value size = arith::ConstantIndexOp::create(builder, loc, count);
    left /= count;
    at.number[d] = left == 1 ? row : arith::RemUIOp::create(builder, loc, row, size).getResult();
    if (left > 1)
      row = arith::DivUIOp::create(builder, loc, row, size);
    else
      row = arith::ConstantIndexOp::create(builder, loc, 0);
  }
  for (auto [axis, number] : llvm::zip_equal(axes, at.number)) {
    Value begin = number;
    if (axis.tile > 1)
      begin = arith::MulIOp::create(builder, loc, number,
                                    arith::ConstantIndexOp::create(builder, loc, axis.tile));
    at.begin.push_back(begin);
  }
  return at;
}

RankedTensorType tileType(Value value, const Parts &parts, ArrayRef<Axis> axes) {
  SmallVector<int64_t> shape;
  for (const Part &part : parts)
    shape.push_back(part.axis < 0 ? part.size : axes[part.axis].tile);
  return RankedTensorType::get(shape, tensorOf(value).getElementType());
}
static void slicing(OpBuilder &builder, RankedTensorType tile, const Parts &parts, const Iteration &at,
                    SmallVectorImpl<OpFoldResult> &offsets, SmallVectorImpl<OpFoldResult> &sizes) {
  for (auto [size, part] : llvm::zip_equal(tile.getShape(), parts)) {
    offsets.push_back(part.axis < 0 ? OpFoldResult(builder.getIndexAttr(0))
                                    : OpFoldResult(at.begin[part.axis]));
    sizes.push_back(builder.getIndexAttr(size));
  }
}

Value tileOf(OpBuilder &builder, Location loc, Value array, Value value, const Parts &parts,
             const Iteration &at) {
  RankedTensorType tile = tileType(value, parts, at.axes);
  if (tile == array.getType())
    return array;
  SmallVector<OpFoldResult> offsets, sizes, ones(parts.size(), builder.getIndexAttr(1));
  slicing(builder, tile, parts, at, offsets, sizes);
  return tensor::ExtractSliceOp::create(builder, loc, tile, array, offsets, sizes, ones);
}

Value store(OpBuilder &builder, Location loc, Value value, Value into, const Parts &parts,
            const Iteration &at) {
  SmallVector<OpFoldResult> offsets, sizes, ones(parts.size(), builder.getIndexAttr(1));
  slicing(builder, tensorOf(value), parts, at, offsets, sizes);
  auto insert = [&](OpBuilder &builder, Value tile) -> Value {
    return tensor::InsertSliceOp::create(builder, loc, tile, into, offsets, sizes, ones);
  };
  Value isFirst;
  for (int axis = 0; axis < int(at.axes.size()); ++axis) {
    if (at.axes[axis].count() == 1 ||
        llvm::any_of(parts, [&](const Part &part) { return part.axis == axis; }))
      continue;
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value here = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, at.number[axis], zero);
    isFirst = isFirst ? arith::AndIOp::create(builder, loc, isFirst, here).getResult() : here;
  }
  if (!isFirst)
    return insert(builder, value);
  // A copy: the tile itself is computed elsewhere, for all the iterations that do not store it.
  auto copy = [&](OpBuilder &inner) {
    auto type = tensorOf(value);
    Value place = tensor::ExtractSliceOp::create(inner, loc, type, into, offsets, sizes, ones);
    AffineMap identity = inner.getMultiDimIdentityMap(type.getRank());
    SmallVector<utils::IteratorType> loops(type.getRank(), utils::IteratorType::parallel);
    Value copied =
        linalg::GenericOp::create(
            inner, loc, type, value, place, ArrayRef{identity, identity}, loops,
            [](OpBuilder &b, Location loc, ValueRange x) { linalg::YieldOp::create(b, loc, x[0]); })
            .getResult(0);
    return insert(inner, copied);
  };
  return scf::IfOp::create(
             builder, loc, isFirst,
             [&](OpBuilder &inner, Location) { scf::YieldOp::create(inner, loc, copy(inner)); },
             [&](OpBuilder &inner, Location) { scf::YieldOp::create(inner, loc, into); })
      .getResult(0);
}

} // namespace tessera::kernels
