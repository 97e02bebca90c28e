//===- OptimizeCollectives.cpp - Fuse and merge collectives ---------------===//
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
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

struct OptimizePass : public tessera::dist::impl::DistOptimizeCollectivesPassBase<OptimizePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseReduceScatter, CancelOut<AllGatherOp, AllSliceOp>, CancelOut<AllSliceOp, AllGatherOp>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};
} // namespace
