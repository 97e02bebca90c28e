//===- FuseTileOps.cpp - elementwise fusion inside a kernel ----------------===//

#include "tessera/Target/Kernels/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tessera {
#define GEN_PASS_DEF_FUSETILEOPS
#include "tessera/Target/Kernels/Passes.h.inc"

using namespace mlir;

namespace {

/// True if every other user of the producer comes after the consumer: then the fused op, which stands where
/// the consumer stood, can hand them the producer's value as a further result.
bool othersComeLater(Operation *producer, Operation *consumer) {
  return llvm::all_of(producer->getUsers(), [&](Operation *user) {
    Operation *ancestor = consumer->getBlock()->findAncestorOpInBlock(*user);
    return ancestor == consumer || (ancestor && consumer->isBeforeInBlock(ancestor));
  });
}

int64_t iterations(linalg::GenericOp op) {
  int64_t product = 1;
  for (int64_t range : op.getStaticLoopRanges())
    product = ShapedType::isDynamic(range) ? range : product * range;
  return product;
}

/// A body that is not worth a tile of its own even if its consumer runs it many times over.
bool isCheap(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return !isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(inner) &&
           !isa<math::MathDialect>(inner.getDialect());
  });
}

/// Rows of sines that all heads share must not be computed once a head.
bool repeatsWork(linalg::GenericOp producer, linalg::GenericOp consumer) {
  return iterations(consumer) > iterations(producer) && !(producer->hasOneUse() && isCheap(producer));
}

/// Adds to what its destination holds, as a product that sums nothing up does: it must run once an element,
/// not once an iteration of its consumer.
bool readsDestination(linalg::GenericOp op) {
  return llvm::any_of(op.getDpsInitsMutable(),
                      [&](OpOperand &init) { return op.payloadUsesValueFromOperand(&init); });
}

/// Fuses one elementwise producer into its consumer. Upstream's pattern set also cuts unused outputs loose
/// from their buffers (a whole output yielded from a loop would then live elsewhere), so only its core is
/// used.
struct FuseProducer : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp consumer, PatternRewriter &rewriter) const override {
    for (OpOperand &operand : consumer->getOpOperands()) {
      auto producer = operand.get().getDefiningOp<linalg::GenericOp>();
      if (!producer || !linalg::areElementwiseOpsFusable(&operand))
        continue;
      if (producer->getBlock() != consumer->getBlock() || readsDestination(producer))
        continue; // never move work into an inner loop
      if (!othersComeLater(producer, consumer) || repeatsWork(producer, consumer))
        continue;
      FailureOr<linalg::ElementwiseOpFusionResult> fused = linalg::fuseElementwiseOps(rewriter, &operand);
      if (failed(fused))
        continue;
      // A consumer that reads the producer twice is itself one of its users still.
      for (auto [from, to] : fused->replacements)
        rewriter.replaceUsesWithIf(from, to, [&](OpOperand &use) {
          return use.getOwner() != producer && use.getOwner() != fused->fusedOp;
        });
      rewriter.eraseOp(consumer);
      return success();
    }
    return rewriter.notifyMatchFailure(consumer, "no elementwise producer worth fusing");
  }
};

struct FuseTileOps : impl::FuseTileOpsBase<FuseTileOps> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func->hasAttr(kKernelAttr))
      return;
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::SoftmaxOp> softmaxes;
    func.walk([&](linalg::SoftmaxOp op) { softmaxes.push_back(op); });
    for (linalg::SoftmaxOp op : softmaxes) {
      rewriter.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> parts = op.decomposeOperation(rewriter);
      if (failed(parts))
        return signalPassFailure();
      rewriter.replaceOp(op, *parts);
    }

    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
    patterns.add<FuseProducer>(&getContext());
    if (failed(applyPatternsGreedily(func, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace tessera
