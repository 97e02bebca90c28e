//===- OptimizeCollectives.cpp - Fuse and merge collectives ---------------===//
#include "Explain.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera::dist {
#define GEN_PASS_DEF_DISTOPTIMIZECOLLECTIVESPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
/// all_reduce, then all_slice of the same axes: every rank needs a piece of the sum only.
struct FuseReduceScatter : public OpRewritePattern<AllSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllSliceOp slice, PatternRewriter &rewriter) const override {
    auto reduce = slice.getInput().getDefiningOp<AllReduceOp>();
    if (!reduce)
      return rewriter.notifyMatchFailure(slice, "no all_reduce before it");
    if (!reduce->hasOneUse())
      return rewriter.notifyMatchFailure(slice, "somebody else reads the whole sum");
    // In any order: a reduction does not care.
    auto sorted = [](ArrayAttr axes) {
      SmallVector<std::tuple<StringRef, int64_t, int64_t>> list;
      for (auto axis : axes.getAsRange<AxisRefAttr>())
        list.emplace_back(axis.getName(), axis.getPre(), axis.getSize());
      llvm::sort(list);
      return list;
    };
    if (sorted(reduce.getAxes()) != sorted(slice.getAxes()))
      return rewriter.notifyMatchFailure(slice, "other axes than the all_reduce");
    rewriter.replaceOpWithNewOp<ReduceScatterOp>(slice, slice.getType(), reduce.getInput(), slice.getDim(), slice.getAxes(),
                                                 reduce.getWhyAttr() ? reduce.getWhyAttr() : slice.getWhyAttr());
    return success();
  }
};

/// What one op undid of the other.
template <typename First, typename Second>
struct CancelOut : public OpRewritePattern<Second> {
  using OpRewritePattern<Second>::OpRewritePattern;
  LogicalResult matchAndRewrite(Second second, PatternRewriter &rewriter) const override {
    auto first = second.getInput().template getDefiningOp<First>();
    if (!first || first.getDim() != second.getDim() || first.getAxes() != second.getAxes() ||
        first.getInput().getType() != second.getType())
      return rewriter.notifyMatchFailure(second, "nothing that it undoes");
    rewriter.replaceOp(second, first.getInput());
    return success();
  }
};

/// A weight, whole or a layer of a stack, or what collectives made of it.
static bool isWeight(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<DistDialect>(op->getDialect()))
      return false;
    value = op->getOperand(0);
  }
  auto arg = cast<BlockArgument>(value);
  auto function = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
  auto kind = function ? function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kKindAttr) : StringAttr();
  return kind && kind == "parameter";
}

/// Collectives in the body of a loop whose operand comes from outside do the same in every iteration.
static void hoistInvariant(Operation *root) {
  SmallVector<Operation *> loops;
  root->walk([&](Operation *op) { // inner loops first: what leaves them may leave the outer one too
    if (isa<DataFlowOpInterface>(op))
      loops.push_back(op);
  });
  for (Operation *loop : loops)
    for (Region &region : loop->getRegions())
      for (Block &block : region)
        for (Operation &op : llvm::make_early_inc_range(block)) {
          if (!isa<DistDialect>(op.getDialect()) || region.isAncestor(op.getOperand(0).getParentRegion()) ||
              isWeight(op.getOperand(0)))
            continue;
          op.moveBefore(loop);
          explain(op.getLoc(), "hoist",
                  op.getName().getStringRef().str() + " does the same in every iteration and runs once before the loop");
        }
}

struct OptimizePass : public tessera::dist::impl::DistOptimizeCollectivesPassBase<OptimizePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseReduceScatter, CancelOut<AllGatherOp, AllSliceOp>, CancelOut<AllSliceOp, AllGatherOp>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    hoistInvariant(getOperation());
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};
} // namespace
