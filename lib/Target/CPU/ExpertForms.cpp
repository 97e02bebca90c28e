//===- ExpertForms.cpp - ops by expert as launches ------------------------===//
//
// combine, expert_outer, chosen_dot -> everything that their chosen rows are made by: rows grouped by expert,
// products, what is computed between them, and the sum by token, the sums by expert, or the products with
// tokens. dispatch, expert_linear and exchange_rows leave nothing unless something reads all of their rows.
//
//===----------------------------------------------------------------------===//

#include "tessera/Target/CPU/ExpertForms.h"

#include "ExpertKernels.h"
#include "ExpertRows.h"

#include "tessera/Dialect/Dist/IR/ExchangeRows.h"
#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Graph/IR/Experts.h"
#include "tessera/Support/Shapes.h"
#include "tessera/Target/Forms/FormKernel.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tessera {
namespace {

struct TopKForm : LibraryForm {
  LogicalResult lower(Operation *self, KernelLowering &lowering) const override {
    auto op = cast<graph::TopKOp>(self);
    OpBuilder builder(op);
    RankedTensorType input = tensorOf(op.getInput());
    int64_t rows = product(input.getShape().drop_back()), size = input.getShape().back(),
            count = tensorOf(op.getValues()).getShape().back();
    func::FuncOp kernel = buildTopKKernel(op.getLoc(), rows, size, count, input.getElementType());
    SmallVector<Value> outputs = {exec::fresh(builder, op.getValues()),
                                  exec::fresh(builder, op.getIndices())};
    auto launch = exec::LaunchOp::create(builder, op.getLoc(), op->getResultTypes(),
                                         lowering.addKernel(kernel), ValueRange(op.getInput()), outputs,
                                         ValueRange(), builder.getI64IntegerAttr(rows),
                                         builder.getI64IntegerAttr(lowering.grain(size * count, rows)));
    op->replaceAllUsesWith(launch.getResults());
    op->erase();
    return success();
  }
};

/// `op`, and the ops that made all rows for it, now that nobody reads them.
void eraseUnread(Operation *op) {
  llvm::SmallSetVector<Operation *, 8> makers;
  makers.insert(op);
  while (!makers.empty()) {
    Operation *next = makers.pop_back_val();
    if (!isOpTriviallyDead(next))
      continue;
    for (Value operand : next->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        makers.insert(maker);
    next->erase();
  }
}

/// dispatch, expert_linear and rows that come from other ranks: whoever reads chosen rows makes them; what
/// reads all of them gets them here.
struct RowsForm : LibraryForm {
  RowsForm(int64_t lanes, bool packs) : lanes(lanes), packs(packs) {}
  LogicalResult lower(Operation *op, KernelLowering &lowering) const override {
    Value result = op->getResult(0), ids = idsOf(op);
    SmallVector<OpOperand *> whole;
    for (OpOperand &use : result.getUses())
      if (ExpertRows::readsWhole(use, ids))
        whole.push_back(&use);
    if (!whole.empty()) {
      // Behind the op, which is there to be made anew.
      ExpertRows rows(op->getNextNode(), ids, result, lowering, lanes);
      Value all = rows.spread(rows.chosen(result), tensorOf(result));
      for (OpOperand *use : whole)
        use->set(all);
    }
    eraseUnread(op);
    return success();
  }
  /// The choices by which the result's rows are there.
  static Value idsOf(Operation *op) {
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case<graph::DispatchOp, graph::ExpertLinearOp>([](auto op) { return op.getIds(); })
        .Case([](dist::ExchangeRowsOp op) { return op.getReceivedIds(); });
  }
  /// Rows of the packed matrix are the outputs of one expert after those of another.
  std::optional<PackedUse> packedUse(OpOperand &operand) const override {
    auto op = dyn_cast<graph::ExpertLinearOp>(operand.getOwner());
    if (!op || !packs || op.getTransposed() || &operand != &op.getWeightMutable())
      return std::nullopt;
    return PackedUse{2, true, /*gathered=*/true};
  }
  int64_t lanes;
  bool packs;
};

/// Ops that read chosen rows and give something else: what makes the rows is made for them.
template <typename OpT> struct ChosenForm : LibraryForm {
  explicit ChosenForm(int64_t lanes) : lanes(lanes) {}
  LogicalResult lower(Operation *self, KernelLowering &lowering) const override {
    auto op = cast<OpT>(self);
    Value result = made(op, lowering);
    op->replaceAllUsesWith(ValueRange(result));
    eraseUnread(op);
    return success();
  }

  Value made(graph::CombineOp op, KernelLowering &lowering) const {
    ExpertRows rows(op, op.getIds(), op.getRows(), lowering, lanes);
    return rows.combined(rows.chosen(op.getRows()), op.getWeights(), op.getResult());
  }
  Value made(graph::ExpertOuterOp op, KernelLowering &lowering) const {
    ExpertRows rows(op, op.getIds(), op.getLhs(), lowering, lanes);
    Value lhs = rows.chosen(op.getLhs());
    return rows.outer(lhs, rows.chosen(op.getRhs()), op.getResult());
  }
  Value made(graph::ChosenDotOp op, KernelLowering &lowering) const {
    ExpertRows rows(op, op.getIds(), op.getRows(), lowering, lanes);
    return rows.products(op.getInput(), rows.chosen(op.getRows()), op.getResult());
  }

  int64_t lanes;
};

} // namespace

void addExpertForms(LibraryForms &forms, const VectorUnit &unit, bool packs) {
  forms.add<graph::TopKOp>(std::make_unique<TopKForm>());
  forms.add<graph::DispatchOp>(std::make_unique<RowsForm>(unit.lanes, packs));
  forms.add<graph::ExpertLinearOp>(std::make_unique<RowsForm>(unit.lanes, packs));
  forms.add<dist::ExchangeRowsOp>(std::make_unique<RowsForm>(unit.lanes, packs));
  forms.add<graph::CombineOp>(std::make_unique<ChosenForm<graph::CombineOp>>(unit.lanes));
  forms.add<graph::ExpertOuterOp>(std::make_unique<ChosenForm<graph::ExpertOuterOp>>(unit.lanes));
  forms.add<graph::ChosenDotOp>(std::make_unique<ChosenForm<graph::ChosenDotOp>>(unit.lanes));
}

} // namespace tessera
