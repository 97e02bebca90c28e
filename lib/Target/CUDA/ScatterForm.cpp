//===- ScatterForm.cpp - rows added up where their ids say ------------------===//
//
// Most rows of a table have no id among some thousands. So a block first asks whether one of all ids is its
// row's, then of a stretch of them, and goes through those stretches alone one by one.
//
//===----------------------------------------------------------------------===//

#include "ScatterForm.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/Shapes.h"
#include "tessera/Target/Forms/FormKernel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera {
namespace {

/// Ids that are looked at one by one where one of them is the row's.
constexpr int64_t kStretch = 64;

/// The body of the kernel for one row of the result.
class RowOfSums {
public:
  RowOfSums(Location loc, RankedTensorType rows, RankedTensorType ids, RankedTensorType result)
      : loc(loc), rows(rows), ids(ids), rowShape(result.getShape().drop_front()),
        element(result.getElementType()), count(ids.getNumElements()) {
    for (int64_t length = std::min(kStretch, count); length > 1 && stretch == 1; --length)
      if (count % length == 0)
        stretch = length;
  }

  /// `out` with row `row`, which is for the ids that are `id` (i32). `values`, `ids`: the op's operands.
  Value emit(OpBuilder &b, Value values, Value allIds, Value row, Value id, Value out) {
    this->values = values;
    wanted = id;
    flat = allIds;
    if (ids.getRank() == 0)
      flat = tensor::ExpandShapeOp::create(b, loc, RankedTensorType::get({1}, ids.getElementType()), allIds,
                                           ArrayRef<ReassociationIndices>());
    else if (ids.getRank() > 1)
      flat = tensor::CollapseShapeOp::create(
          b, loc, RankedTensorType::get({count}, ids.getElementType()), allIds,
          SmallVector<ReassociationIndices>{llvm::to_vector<2>(llvm::seq<int64_t>(0, ids.getRank()))});
    SmallVector<OpFoldResult> at(rowShape.size() + 1, b.getIndexAttr(0)), sizes{b.getIndexAttr(1)},
        ones(rowShape.size() + 1, b.getIndexAttr(1));
    at[0] = row;
    for (int64_t n : rowShape)
      sizes.push_back(b.getIndexAttr(n));
    auto type = RankedTensorType::get(rowShape, element);
    Value place = tensor::ExtractSliceOp::create(b, loc, type, out, at, sizes, ones);
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
    Value sum = linalg::FillOp::create(b, loc, zero, place).getResult(0);
    auto oneByOne = [&](OpBuilder &b, Value first, int64_t length, Value sum) {
      return forEach(b, length, sum, [&](OpBuilder &b, Value i, Value sum) {
        return addIfOwn(b, arith::AddIOp::create(b, loc, first, i), sum);
      });
    };
    Value zeroth = constant(b, 0);
    sum = whereFound(b, zeroth, count, sum, [&](OpBuilder &b, Value sum) {
      if (stretch == 1 || stretch == count)
        return oneByOne(b, zeroth, count, sum);
      return forEach(b, count / stretch, sum, [&](OpBuilder &b, Value number, Value sum) {
        Value first = arith::MulIOp::create(b, loc, number, constant(b, stretch));
        return whereFound(b, first, stretch, sum,
                          [&](OpBuilder &b, Value sum) { return oneByOne(b, first, stretch, sum); });
      });
    });
    return tensor::InsertSliceOp::create(b, loc, sum, out, at, sizes, ones);
  }

private:
  Value constant(OpBuilder &b, int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value forEach(OpBuilder &b, int64_t times, Value sum,
                llvm::function_ref<Value(OpBuilder &, Value, Value)> body) {
    auto loop = scf::ForOp::create(b, loc, constant(b, 0), constant(b, times), constant(b, 1), sum,
                                   [&](OpBuilder &b, Location, Value i, ValueRange carried) {
                                     scf::YieldOp::create(b, loc, body(b, i, carried[0]));
                                   });
    return loop.getResult(0);
  }

  Value where(OpBuilder &b, Value condition, Value sum, llvm::function_ref<Value(OpBuilder &, Value)> body) {
    auto branch = scf::IfOp::create(
        b, loc, condition, [&](OpBuilder &b, Location) { scf::YieldOp::create(b, loc, body(b, sum)); },
        [&](OpBuilder &b, Location) { scf::YieldOp::create(b, loc, sum); });
    return branch.getResult(0);
  }

  /// body(sum) where one of `length` ids from `first` on is the row's: all threads look.
  Value whereFound(OpBuilder &b, Value first, int64_t length, Value sum,
                   llvm::function_ref<Value(OpBuilder &, Value)> body) {
    Type i32 = b.getI32Type();
    auto some = tensor::ExtractSliceOp::create(
        b, loc, RankedTensorType::get({length}, ids.getElementType()), flat, ArrayRef<OpFoldResult>{first},
        ArrayRef<OpFoldResult>{b.getIndexAttr(length)}, ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
    Value none = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    Value start = tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>(), i32);
    start = linalg::FillOp::create(b, loc, none, start).getResult(0);
    AffineMap each = b.getMultiDimIdentityMap(1), all = AffineMap::get(1, 0, b.getContext());
    Value found =
        linalg::GenericOp::create(
            b, loc, start.getType(), ValueRange(some), start, ArrayRef{each, all},
            ArrayRef{utils::IteratorType::reduction},
            [&](OpBuilder &b, Location loc, ValueRange x) {
              Value own = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x[0], wanted);
              Value wide = arith::ExtUIOp::create(b, loc, i32, own);
              linalg::YieldOp::create(b, loc, arith::MaxSIOp::create(b, loc, x[1], wide).getResult());
            })
            .getResult(0);
    Value any = tensor::ExtractOp::create(b, loc, found, ValueRange());
    return where(b, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, any, none), sum, body);
  }

  /// The row of values number `i` too, if its id is the row's.
  Value addIfOwn(OpBuilder &b, Value i, Value sum) {
    Value own = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                      tensor::ExtractOp::create(b, loc, flat, i), wanted);
    return where(b, own, sum, [&](OpBuilder &b, Value sum) -> Value {
      SmallVector<OpFoldResult> from(rows.getRank(), b.getIndexAttr(0)),
          sizes(ids.getRank(), b.getIndexAttr(1)), ones(rows.getRank(), b.getIndexAttr(1));
      for (int64_t d = ids.getRank() - 1; d >= 0; --d) {
        from[d] = d ? arith::RemUIOp::create(b, loc, i, constant(b, ids.getDimSize(d))).getResult() : i;
        i = d ? arith::DivUIOp::create(b, loc, i, constant(b, ids.getDimSize(d))).getResult() : i;
      }
      for (int64_t n : rowShape)
        sizes.push_back(b.getIndexAttr(n));
      Value term = tensor::ExtractSliceOp::create(
          b, loc, RankedTensorType::get(rowShape, rows.getElementType()), values, from, sizes, ones);
      AffineMap identity = b.getMultiDimIdentityMap(unsigned(rowShape.size()));
      SmallVector<utils::IteratorType> kinds(rowShape.size(), utils::IteratorType::parallel);
      return linalg::GenericOp::create(b, loc, sum.getType(), term, sum, ArrayRef{identity, identity}, kinds,
                                       [&](OpBuilder &b, Location loc, ValueRange x) {
                                         Value wide = x[0];
                                         if (wide.getType() != element)
                                           wide = arith::ExtFOp::create(b, loc, element, wide);
                                         linalg::YieldOp::create(
                                             b, loc, arith::AddFOp::create(b, loc, x[1], wide).getResult());
                                       })
          .getResult(0);
    });
  }

  Location loc;
  RankedTensorType rows, ids;
  SmallVector<int64_t> rowShape;
  Type element;
  int64_t count, stretch = 1;
  Value values, flat, wanted;
};

struct CUDAScatterAddForm : LibraryForm {
  LogicalResult lower(Operation *self, KernelLowering &lowering) const override {
    auto op = cast<graph::ScatterAddOp>(self);
    OpBuilder builder(op);
    Location loc = op.getLoc();
    RankedTensorType rows = tensorOf(op.getRows()), ids = tensorOf(op.getIds()),
                     result = tensorOf(op.getResult());
    int64_t size = result.getDimSize(0), width = product(result.getShape().drop_front());
    Value shard = lowering.shardIndex(op, lowering.shardAxes(result, 0));
    exec::KernelShell shell(loc, llvm::formatv("scatter_add_{0}x{1}", ids.getNumElements(), width).str(),
                            {rows, ids}, {result}, shard ? 1 : 0);
    RowOfSums body(loc, exec::plainType(rows), exec::plainType(ids), exec::plainType(result));
    shell.loop(size, [&](OpBuilder &b, Value row, ValueRange outs) -> SmallVector<Value> {
      Value id = row;
      if (shard) {
        Value before =
            arith::MulIOp::create(b, loc, shell.scalars[0], arith::ConstantIndexOp::create(b, loc, size));
        id = arith::AddIOp::create(b, loc, row, before);
      }
      id = arith::IndexCastOp::create(b, loc, b.getI32Type(), id);
      return {body.emit(b, shell.inputs[0], shell.inputs[1], row, id, outs[0])};
    });
    replaceByLaunch(op, lowering, shell, {op.getRows(), op.getIds()}, exec::fresh(builder, op.getResult()),
                    shard ? ValueRange(shard) : ValueRange(), size, width);
    return success();
  }
};

} // namespace

void addCUDAScatterAddForm(LibraryForms &forms) {
  forms.add<graph::ScatterAddOp>(std::make_unique<CUDAScatterAddForm>());
}

} // namespace tessera
