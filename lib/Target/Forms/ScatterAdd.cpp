//===- ScatterAdd.cpp - rows added up where their ids say -----------------===//
//
// scatter_add -> a kernel that several threads can share.
//
//===----------------------------------------------------------------------===//

#include "tessera/Target/Forms/FormKernel.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/Shapes.h"
#include "tessera/Target/Forms.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera {
namespace {

/// The kernel's body: a launch zeroes its rows of the result and passes over all ids, adding the rows of
/// those that fall into its range: no two write one row.
class RowsByIds {
public:
  RowsByIds(Location loc, exec::KernelShell &shell, RankedTensorType rows, RankedTensorType ids,
            RankedTensorType result, bool sharded)
      : loc(loc), shell(shell), rows(rows), ids(ids), rowShape(result.getShape().drop_front()),
        element(result.getElementType()), size(result.getDimSize(0)), sharded(sharded) {}

  void emit() {
    OpBuilder &b = shell.builder;
    Value step = index(b, 1);
    auto clear = scf::ForOp::create(b, loc, shell.begin, shell.end, step, shell.outputs,
                                    [&](OpBuilder &b, Location, Value row, ValueRange outs) {
                                      scf::YieldOp::create(b, loc, cleared(b, outs[0], row));
                                    });
    auto add = scf::ForOp::create(b, loc, index(b, 0), index(b, ids.getNumElements()), step,
                                  clear.getResults(), [&](OpBuilder &b, Location, Value i, ValueRange outs) {
                                    scf::YieldOp::create(b, loc, withOne(b, outs[0], i));
                                  });
    func::ReturnOp::create(b, loc, add.getResults());
  }

private:
  Value index(OpBuilder &b, int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

  /// `into`, whose row `row` is changed in place by `change`.
  Value changeRow(OpBuilder &b, Value into, Value row, llvm::function_ref<Value(Value)> change) {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    SmallVector<OpFoldResult> at(rowShape.size() + 1, zero), sizes = {one}, ones(rowShape.size() + 1, one);
    at[0] = row;
    for (int64_t n : rowShape)
      sizes.push_back(b.getIndexAttr(n));
    Value old = tensor::ExtractSliceOp::create(b, loc, RankedTensorType::get(rowShape, element), into, at,
                                               sizes, ones);
    return tensor::InsertSliceOp::create(b, loc, change(old), into, at, sizes, ones);
  }

  Value cleared(OpBuilder &b, Value out, Value row) {
    return changeRow(b, out, row, [&](Value old) {
      Value none = arith::ConstantOp::create(b, loc, b.getFloatAttr(element, 0));
      return linalg::FillOp::create(b, loc, none, old).getResult(0);
    });
  }

  /// `out` with the row of values that belongs to id number `i`, where the launch has its row.
  Value withOne(OpBuilder &b, Value out, Value i) {
    SmallVector<Value> at(ids.getRank());
    for (int64_t d = ids.getRank() - 1; d >= 0; --d) {
      at[d] = d ? arith::RemUIOp::create(b, loc, i, index(b, ids.getDimSize(d))).getResult() : i;
      i = d ? arith::DivUIOp::create(b, loc, i, index(b, ids.getDimSize(d))).getResult() : i;
    }
    Value row = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                           tensor::ExtractOp::create(b, loc, shell.inputs[1], at));
    row = indexInShard(b, loc, row, sharded ? shell.scalars[0] : Value(), size);
    Value inside = arith::AndIOp::create(
        b, loc, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, row, shell.begin),
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, row, shell.end));
    auto write = scf::IfOp::create(
        b, loc, inside,
        [&](OpBuilder &b, Location) {
          scf::YieldOp::create(b, loc,
                               changeRow(b, out, row, [&](Value old) { return plusValues(b, old, at); }));
        },
        [&](OpBuilder &b, Location) { scf::YieldOp::create(b, loc, out); });
    return write.getResult(0);
  }

  /// The row `old` plus the row of values at `at`.
  Value plusValues(OpBuilder &b, Value old, ArrayRef<Value> at) {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    SmallVector<OpFoldResult> from(at.begin(), at.end()), sizes(at.size(), one), ones(rows.getRank(), one);
    from.append(rowShape.size(), zero);
    for (int64_t n : rowShape)
      sizes.push_back(b.getIndexAttr(n));
    auto sourceType = RankedTensorType::get(rowShape, rows.getElementType());
    Value source = tensor::ExtractSliceOp::create(b, loc, sourceType, shell.inputs[0], from, sizes, ones);
    AffineMap identity = b.getMultiDimIdentityMap(rowShape.size());
    SmallVector<utils::IteratorType> kinds(rowShape.size(), utils::IteratorType::parallel);
    auto sum = linalg::GenericOp::create(b, loc, old.getType(), source, old, {identity, identity}, kinds,
                                         [&](OpBuilder &b, Location loc, ValueRange x) {
                                           Value term = x[0];
                                           if (term.getType() != element)
                                             term = arith::ExtFOp::create(b, loc, element, term);
                                           linalg::YieldOp::create(
                                               b, loc, arith::AddFOp::create(b, loc, x[1], term).getResult());
                                         });
    return sum.getResult(0);
  }

  Location loc;
  exec::KernelShell &shell;
  RankedTensorType rows, ids;
  SmallVector<int64_t> rowShape;
  Type element;
  int64_t size;
  bool sharded;
};

struct ScatterAddForm : LibraryForm {
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
    RowsByIds(loc, shell, rows, ids, result, bool(shard)).emit();
    replaceByLaunch(op, lowering, shell, {op.getRows(), op.getIds()}, exec::fresh(builder, op.getResult()),
                    shard ? ValueRange(shard) : ValueRange(), size, width);
    return success();
  }
};

} // namespace

void addScatterAddForm(LibraryForms &forms) {
  forms.add<graph::ScatterAddOp>(std::make_unique<ScatterAddForm>());
}

} // namespace tessera
