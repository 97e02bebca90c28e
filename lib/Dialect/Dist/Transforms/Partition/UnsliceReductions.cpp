//===- UnsliceReductions.cpp - Reduce before slicing ------------------------===//
#include "Partition/UnsliceReductions.h"
#include "Explain.h"
#include "Partition/PaddingFacts.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
bool overlaps(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
  return llvm::any_of(
      a, [&](const AxisRef &x) { return llvm::any_of(b, [&](const AxisRef &y) { return x.overlaps(y); }); });
}

struct UnsliceReduction : public OpRewritePattern<AllReduceOp> {
  UnsliceReduction(MLIRContext *context, Machine machine)
      : OpRewritePattern(context), machine(std::move(machine)) {}

  LogicalResult matchAndRewrite(AllReduceOp reduce, PatternRewriter &rewriter) const override {
    auto op = reduce.getInput().getDefiningOp<ShardingRuleOpInterface>();
    if (!op || !op->hasOneUse() || op->getNumResults() != 1 || op->getNumRegions() != 0 ||
        !isa<CostOpInterface>(op.getOperation()))
      return rewriter.notifyMatchFailure(reduce, "no op before it that nobody else reads");
    Mesh mesh = lookupMesh(reduce, getShardingAttr(reduce.getType()).getMesh()).getMesh().toMesh();
    AxisList axes = fromAxesAttr(reduce.getAxes(), mesh);
    SmallVector<Value> wholes;
    for (Value operand : op->getOperands()) {
      wholes.push_back(wholeOf(operand, axes, mesh));
      if (!wholes.back())
        return rewriter.notifyMatchFailure(reduce, "an operand is split otherwise, or a sum itself");
    }
    // The op as it would be, outside of the program until it is known to pay.
    Operation *whole = op->clone();
    whole->setOperands(wholes);
    whole->getResult(0).setType(reduce.getType());
    OpCost pieces = cast<CostOpInterface>(op.getOperation()).getCost(),
           all = cast<CostOpInterface>(whole).getCost();
    double more = workTime(machine, whole, all) - workTime(machine, op, pieces);
    double saved = collectiveTime(machine, mesh, reduce);
    if (more > saved) {
      whole->destroy();
      return rewriter.notifyMatchFailure(reduce, "dividing the work saves more than the collective costs");
    }
    rewriter.setInsertionPoint(op);
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (wholes[i] != operand)
        whole->setOperand(unsigned(i), masked(operand, wholes[i], mesh, rewriter));
    rewriter.insert(whole);
    explain(
        op->getLoc(), "unslice",
        llvm::formatv("{0} of the whole on every rank ({1:F3} us more) in place of a collective ({2:F3} us)",
                      graph::knownAs(op), more * 1e6, saved * 1e6));
    rewriter.replaceOp(reduce, whole->getResults());
    return success();
  }

private:
  /// What `value` is sliced out of over those of `axes` that split it, and over no others; itself if none of
  /// them do. Null if they do by other means.
  static Value wholeOf(Value value, const AxisList &axes, const Mesh &mesh) {
    Sharding wanted = getShardingAttr(value.getType()).toSharding(mesh);
    if (overlaps(wanted.partial, axes))
      return {};
    for (DimSharding &dim : wanted.dims)
      dim.axes = axesWithout(dim.axes, axes);
    while (!getShardingAttr(value.getType()).toSharding(mesh).samePlacement(wanted)) {
      auto mask = value.getDefiningOp<graph::MaskPaddingOp>();
      auto slice = value.getDefiningOp<AllSliceOp>();
      if (!mask && !slice)
        return {};
      value = mask ? mask.getInput() : slice.getInput();
    }
    return value;
  }

  /// `whole` with the masks that stand between it and `piece`, as far as it is padded still.
  static Value masked(Value piece, Value whole, const Mesh &mesh, PatternRewriter &rewriter) {
    if (piece == whole)
      return whole;
    Operation *op = piece.getDefiningOp();
    Value value = masked(op->getOperand(0), whole, mesh, rewriter);
    auto mask = dyn_cast<graph::MaskPaddingOp>(op);
    if (!mask || llvm::none_of(mask.getDims(), [&](int64_t dim) { return isPadded(value, dim, mesh); }))
      return value;
    return graph::MaskPaddingOp::create(rewriter, op->getLoc(), value.getType(), value, mask.getDimsAttr(),
                                        mask.getValueAttr());
  }

  Machine machine;
};
} // namespace

void tessera::dist::addUnsliceReductions(RewritePatternSet &patterns, Machine machine) {
  patterns.add<UnsliceReduction>(patterns.getContext(), std::move(machine));
}
