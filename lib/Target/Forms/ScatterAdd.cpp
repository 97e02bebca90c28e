//===- ScatterAdd.cpp - rows added up where their ids say -----------------===//
//
// scatter_add -> a kernel that several threads can share.
//
//===----------------------------------------------------------------------===//

#include "FormKernel.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/Shapes.h"
#include "tessera/Target/Forms.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera {
namespace {

/// Every launch zeroes its rows of the result and passes over all ids, adding the rows of those that fall
/// into its range: no two write one row.
struct ScatterAddForm : LibraryForm {
  LogicalResult lower(Operation *self, KernelLowering &lowering) const override {
    auto op = cast<graph::ScatterAddOp>(self);
    OpBuilder builder(op);
    Location loc = op.getLoc();
    RankedTensorType rows = tensorOf(op.getRows()), ids = tensorOf(op.getIds()),
                     result = tensorOf(op.getResult());
    int64_t size = result.getDimSize(0), count = ids.getNumElements();
    Value shard = lowering.shardIndex(op, lowering.shardAxes(result, 0));
    SmallVector<int64_t> rowShape(result.getShape().drop_front());
    Type element = result.getElementType();

    exec::KernelShell shell(loc, llvm::formatv("scatter_add_{0}x{1}", count, product(rowShape)).str(),
                            {rows, ids}, {result}, shard ? 1 : 0);
    auto index = [&](OpBuilder &b, int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
    auto rowType = RankedTensorType::get(rowShape, element);
    /// A row of the result, changed in place by `change`.
    auto changeRow = [&](OpBuilder &b, Value into, Value row,
                         llvm::function_ref<Value(Value)> change) -> Value {
      SmallVector<OpFoldResult> at(rowShape.size() + 1, zero), sizes = {one}, ones(rowShape.size() + 1, one);
      at[0] = row;
      for (int64_t n : rowShape)
        sizes.push_back(b.getIndexAttr(n));
      Value old = tensor::ExtractSliceOp::create(b, loc, rowType, into, at, sizes, ones);
      return tensor::InsertSliceOp::create(b, loc, change(old), into, at, sizes, ones);
    };
    OpBuilder &b = shell.builder;
    Value step = index(b, 1);
    auto clear = scf::ForOp::create(b, loc, shell.begin, shell.end, step, shell.outputs,
                                    [&](OpBuilder &b, Location, Value row, ValueRange outs) {
                                      Value cleared = changeRow(b, outs[0], row, [&](Value old) {
                                        Value none =
                                            arith::ConstantOp::create(b, loc, b.getFloatAttr(element, 0));
                                        return linalg::FillOp::create(b, loc, none, old).getResult(0);
                                      });
                                      scf::YieldOp::create(b, loc, cleared);
                                    });
    auto add = scf::ForOp::create(
        b, loc, index(b, 0), index(b, count), step, clear.getResults(),
        [&](OpBuilder &b, Location, Value i, ValueRange outs) {
          SmallVector<Value> at(ids.getRank());
          for (int64_t d = ids.getRank() - 1; d >= 0; --d) {
            at[d] = d ? arith::RemUIOp::create(b, loc, i, index(b, ids.getDimSize(d))).getResult() : i;
            i = d ? arith::DivUIOp::create(b, loc, i, index(b, ids.getDimSize(d))).getResult() : i;
          }
          Value row = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                                 tensor::ExtractOp::create(b, loc, shell.inputs[1], at));
          row = indexInShard(b, loc, row, shard ? shell.scalars[0] : Value(), size);
          Value inside = arith::AndIOp::create(
              b, loc, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, row, shell.begin),
              arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, row, shell.end));
          auto write = scf::IfOp::create(
              b, loc, inside,
              [&](OpBuilder &b, Location) {
                Value sum = changeRow(b, outs[0], row, [&](Value old) {
                  SmallVector<OpFoldResult> from(at.begin(), at.end()), sizes(at.size(), one),
                      ones(rows.getRank(), one);
                  from.append(rowShape.size(), zero);
                  for (int64_t n : rowShape)
                    sizes.push_back(b.getIndexAttr(n));
                  auto sourceType = RankedTensorType::get(rowShape, rows.getElementType());
                  Value source =
                      tensor::ExtractSliceOp::create(b, loc, sourceType, shell.inputs[0], from, sizes, ones);
                  AffineMap identity = b.getMultiDimIdentityMap(rowShape.size());
                  SmallVector<utils::IteratorType> kinds(rowShape.size(), utils::IteratorType::parallel);
                  return linalg::GenericOp::create(
                             b, loc, rowType, source, old, {identity, identity}, kinds,
                             [&](OpBuilder &b, Location loc, ValueRange x) {
                               Value term = x[0];
                               if (term.getType() != element)
                                 term = arith::ExtFOp::create(b, loc, element, term);
                               linalg::YieldOp::create(b, loc,
                                                       arith::AddFOp::create(b, loc, x[1], term).getResult());
                             })
                      .getResult(0);
                });
                scf::YieldOp::create(b, loc, sum);
              },
              [&](OpBuilder &b, Location) { scf::YieldOp::create(b, loc, outs[0]); });
          scf::YieldOp::create(b, loc, write.getResults());
        });
    func::ReturnOp::create(b, loc, add.getResults());
    replaceByLaunch(op, lowering, shell, {op.getRows(), op.getIds()}, exec::fresh(builder, op.getResult()),
                    shard ? ValueRange(shard) : ValueRange(), size, product(rowShape));
    return success();
  }
};

} // namespace

void addScatterAddForm(LibraryForms &forms) {
  forms.add<graph::ScatterAddOp>(std::make_unique<ScatterAddForm>());
}

} // namespace tessera
