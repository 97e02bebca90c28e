//===- ChosenExchanges.cpp - Only rows that were chosen travel --------------===//
#include "Partition/ChosenExchanges.h"
#include "Explain.h"

#include "tessera/Dialect/Dist/IR/ExchangeRows.h"
#include "tessera/Dialect/Graph/IR/Experts.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
struct ExchangeChosenRows : public OpRewritePattern<AllToAllOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AllToAllOp op, PatternRewriter &rewriter) const override {
    auto before = cast<RankedTensorType>(op.getInput().getType()),
         after = cast<RankedTensorType>(op.getResult().getType());
    int64_t experts = before.getRank() - 2, from = op.getFrom().front(), to = op.getTo().front();
    if (!llvm::all_equal(op.getFrom()) || !llvm::all_equal(op.getTo()))
      return rewriter.notifyMatchFailure(op, "axes go different ways");
    bool toExperts = to == experts && from < experts;
    if (!toExperts && (from != experts || to >= experts))
      return rewriter.notifyMatchFailure(op, "not between tokens and what they choose");
    int64_t dim = toExperts ? from : to;
    Value ids = graph::choosingIds(op.getResult());
    if (!ids)
      return rewriter.notifyMatchFailure(op, "somebody reads rows that nobody chose, or choices differ");
    if (cast<RankedTensorType>(ids.getType()).getShape().back() >= globalShape(before)[size_t(experts)])
      return rewriter.notifyMatchFailure(op, "every expert may be chosen");
    Mesh mesh = lookupMesh(op, getShardingAttr(before).getMesh()).getMesh().toMesh();
    AxisList axes = fromAxesAttr(op.getAxes(), mesh);
    int64_t few = before.getDimSize(dim), many = after.getDimSize(dim);
    if (!toExperts)
      std::swap(few, many);
    if (few * axesSize(axes) != many)
      return rewriter.notifyMatchFailure(op,
                                         "tokens do not divide: nobody would know how many rows padding has");
    Sharding sharding = getShardingAttr(before).toSharding(mesh);
    if (!dropMinorAxes(sharding.dims[size_t(from)].axes, axes))
      return rewriter.notifyMatchFailure(op, "axes leave in another order than they come in");
    // Where the first reader stands the choices are known, if they are anywhere.
    Operation *first = nullptr;
    for (Operation *user : op->getUsers()) {
      if (user->getBlock() != op->getBlock())
        return rewriter.notifyMatchFailure(op, "it is read in a region");
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    Operation *made = ids.getDefiningOp();
    if (made && made->getBlock() == op->getBlock() && !made->isBeforeInBlock(first))
      return rewriter.notifyMatchFailure(op, "choices are made behind the first reader");
    rewriter.setInsertionPoint(first);
    Value sent = movedIds(op, ids, dim, axes, toExperts, mesh, first, rewriter);
    auto exchange = ExchangeRowsOp::create(rewriter, op.getLoc(), after, op.getInput(), sent, ids,
                                           rewriter.getI64IntegerAttr(dim), op.getAxes(),
                                           toExperts ? rewriter.getUnitAttr() : UnitAttr(), op.getWhyAttr());
    explain(
        op.getLoc(), "exchange",
        llvm::formatv("chosen rows alone travel: {0} bytes per rank at even routing, {1} at most, in place "
                      "of {2}",
                      exchange.getBytesSent(mesh), exchange.getMostBytesSent(), op.getBytesSent(mesh)));
    rewriter.replaceOp(op, exchange.getResult());
    return success();
  }

private:
  /// The same choices as the other side has them: of one rank's tokens, or of all of a group.
  static Value movedIds(AllToAllOp op, Value ids, int64_t dim, const AxisList &axes, bool toExperts,
                        const Mesh &mesh, Operation *before, PatternRewriter &rewriter) {
    auto type = cast<RankedTensorType>(ids.getType());
    ShardingAttr attr = getShardingAttr(type);
    Sharding sharding = attr.toSharding(mesh);
    AxisList &own = sharding.dims[size_t(dim)].axes;
    if (toExperts)
      appendMinorAxes(own, axes);
    else
      dropMinorAxes(own, axes);
    auto encoding = ShardingAttr::get(op.getContext(), attr.getMesh().getValue(), sharding, mesh);
    Type moved = localType(RankedTensorType::get(globalShape(type), type.getElementType(), encoding), mesh);
    auto at = rewriter.getI64IntegerAttr(dim);
    ArrayAttr over = axesAttr(op.getContext(), axes, mesh);
    if (toExperts)
      return AllSliceOp::create(rewriter, op.getLoc(), moved, ids, at, over, op.getWhyAttr());
    // The experts' side has gathered them already, for a reason of its own.
    for (Operation *user : ids.getUsers())
      if (auto gather = dyn_cast<AllGatherOp>(user);
          gather && gather.getType() == moved && int64_t(gather.getDim()) == dim &&
          gather.getAxes() == over && gather->getBlock() == before->getBlock() &&
          gather->isBeforeInBlock(before))
        return gather;
    return AllGatherOp::create(rewriter, op.getLoc(), moved, ids, at, over, op.getWhyAttr());
  }
};
} // namespace

void tessera::dist::addChosenExchanges(RewritePatternSet &patterns) {
  patterns.add<ExchangeChosenRows>(patterns.getContext());
}
