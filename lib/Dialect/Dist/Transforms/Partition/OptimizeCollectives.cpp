//===- OptimizeCollectives.cpp - Fuse and merge collectives ---------------===//
#include "Explain.h"
#include "Loops.h"
#include "Partition/ChosenExchanges.h"
#include "Partition/UnsliceReductions.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/TypeSizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
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

/// What takes the place of `first` and `second`, which alone reads it, stands where `first` does if that is
/// in another block: in a branch, or a loop, it would run at other times, and more often.
static void insertInPlaceOf(Operation *first, Operation *second, PatternRewriter &rewriter) {
  if (first->getBlock() != second->getBlock())
    rewriter.setInsertionPoint(first);
}

namespace {
/// all_reduce, then all_slice: every rank needs a piece of the sum only. Axes of the slice, in order: over
/// which the sum is, it is scattered; by others terms are sliced before they travel. What the slice does not
/// have is summed up of the piece, so that the next slice finds an all_reduce before it again.
struct FuseReduceScatter : public OpRewritePattern<AllSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllSliceOp slice, PatternRewriter &rewriter) const override {
    auto reduce = slice.getInput().getDefiningOp<AllReduceOp>();
    if (!reduce)
      return rewriter.notifyMatchFailure(slice, "no all_reduce before it");
    if (!reduce->hasOneUse())
      return rewriter.notifyMatchFailure(slice, "somebody else reads the whole sum");
    Mesh mesh = lookupMesh(slice, getShardingAttr(slice.getType()).getMesh()).getMesh().toMesh();
    AxisList summed = fromAxesAttr(reduce.getAxes(), mesh), later = fromAxesAttr(slice.getAxes(), mesh);
    struct Run {
      bool isSummed;
      AxisList axes;
    };
    SmallVector<Run> runs;
    while (!later.empty()) {
      bool isSummed = contains(summed, later.front());
      if (!isSummed && overlaps(summed, later.front())) // 6 as 2 x 3 and as 3 x 2 share no digits
        break;
      if (runs.empty() || runs.back().isSummed != isSummed)
        runs.push_back({isSummed, {}});
      runs.back().axes.push_back(later.front());
      later.erase(later.begin());
    }
    if (runs.empty())
      return rewriter.notifyMatchFailure(slice, "first an axis that the all_reduce has a part of");
    auto input = cast<RankedTensorType>(reduce.getInput().getType());
    SmallVector<int64_t> global = globalShape(input);
    Sharding sharding = getShardingAttr(input).toSharding(mesh);
    int64_t dim = int64_t(slice.getDim());
    // Pieces of pieces are those of the whole only where they divide it.
    if ((runs.size() > 1 || !later.empty()) &&
        global[dim] % getShardingAttr(slice.getType()).toSharding(mesh).shards(int(dim)) != 0)
      return rewriter.notifyMatchFailure(slice, "axes of both kinds, and a size that does not divide");
    StringAttr why = reduce.getWhyAttr() ? reduce.getWhyAttr() : slice.getWhyAttr();
    auto typeNow = [&] {
      auto attr =
          ShardingAttr::get(getContext(), getShardingAttr(input).getMesh().getValue(), sharding, mesh);
      return localType(RankedTensorType::get(global, input.getElementType(), attr), mesh);
    };
    auto sumUp = [&](ArrayRef<AxisRef> axes) {
      sharding.partial = axesWithout(sharding.partial, axes);
      mergeAdjacent(sharding.partial);
      sharding.partialKind = sharding.partial.empty() ? PartialKind::None : sharding.partialKind;
    };
    Value value = reduce.getInput();
    insertInPlaceOf(reduce, slice, rewriter);
    for (const Run &run : runs) {
      AxisList &axes = sharding.dims[dim].axes;
      axes.append(run.axes.begin(), run.axes.end());
      mergeAdjacent(axes);
      ArrayAttr attr = axesAttr(getContext(), run.axes, mesh);
      if (!run.isSummed) {
        value = AllSliceOp::create(rewriter, slice.getLoc(), typeNow(), value, slice.getDim(), attr,
                                   slice.getWhyAttr());
        continue;
      }
      sumUp(run.axes);
      summed = axesWithout(summed, run.axes);
      value = ReduceScatterOp::create(rewriter, slice.getLoc(), typeNow(), value, slice.getDim(), attr, why);
    }
    if (!summed.empty()) {
      sumUp(summed);
      value = AllReduceOp::create(rewriter, reduce.getLoc(), typeNow(), value,
                                  axesAttr(getContext(), summed, mesh), why);
    }
    if (!later.empty())
      value = AllSliceOp::create(rewriter, slice.getLoc(), slice.getType(), value, slice.getDim(),
                                 axesAttr(getContext(), later, mesh), slice.getWhyAttr());
    rewriter.replaceOp(slice, value);
    return success();
  }

private:
  static bool contains(ArrayRef<AxisRef> axes, const AxisRef &axis) {
    return llvm::any_of(axes, [&](const AxisRef &whole) {
      return whole.axis == axis.axis && axis.pre % whole.pre == 0 &&
             whole.pre * whole.size % (axis.pre * axis.size) == 0;
    });
  }
  static bool overlaps(ArrayRef<AxisRef> axes, const AxisRef &axis) {
    return llvm::any_of(axes, [&](const AxisRef &other) { return other.overlaps(axis); });
  }
};

/// Slices of other dimensions than what was scattered before them: terms are sliced before they travel. Of
/// two dimensions that are both scattered and sliced that comes first after which less travels.
struct SliceBeforeScatter : public OpRewritePattern<AllSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllSliceOp slice, PatternRewriter &rewriter) const override {
    SmallVector<Operation *> own = {slice}, others; // nearest first; of others up to a scatter
    Operation *op = slice.getInput().getDefiningOp();
    for (; isCut(op, slice) && dimOf(op) == dimOf(slice); op = op->getOperand(0).getDefiningOp())
      own.push_back(op);
    const bool scatters = llvm::any_of(own, llvm::IsaPred<ReduceScatterOp>);
    size_t count = 0;
    for (; isCut(op, slice) && dimOf(op) != dimOf(slice) && !(scatters && count);
         op = op->getOperand(0).getDefiningOp()) {
      others.push_back(op);
      count = isa<ReduceScatterOp>(op) ? others.size() : count;
    }
    if (count == 0)
      return rewriter.notifyMatchFailure(slice, "no reduce_scatter of another dimension before it");
    others.resize(count);
    if (travels(own, others) >= travels(others, own) * (1 - 1e-9))
      return rewriter.notifyMatchFailure(slice, "less travels as it is");
    Value value = others.back()->getOperand(0);
    for (const auto &list : {own, others})
      for (Operation *cut : llvm::reverse(list))
        value = cutAs(cut, value, rewriter);
    rewriter.replaceOp(slice, value);
    return success();
  }

private:
  static int64_t dimOf(Operation *op) {
    auto slice = dyn_cast<AllSliceOp>(op);
    return int64_t(slice ? slice.getDim() : cast<ReduceScatterOp>(op).getDim());
  }
  static bool isCut(Operation *op, AllSliceOp before) {
    return op && isa<AllSliceOp, ReduceScatterOp>(op) && op->hasOneUse() &&
           op->getBlock() == before->getBlock();
  }
  /// Parts of the terms that a rank receives if `first` is cut before `second`.
  static double travels(ArrayRef<Operation *> first, ArrayRef<Operation *> second) {
    double left = 1, received = 0;
    for (const auto &list : {first, second})
      for (Operation *op : llvm::reverse(list)) {
        ShardingAttr attr = getShardingAttr(op->getResult(0).getType());
        Mesh mesh = lookupMesh(op, attr.getMesh()).getMesh().toMesh();
        auto group = double(axesSize(fromAxesAttr(op->getAttrOfType<ArrayAttr>("axes"), mesh)));
        left /= group;
        received += isa<ReduceScatterOp>(op) ? (group - 1) * left : 0;
      }
    return received;
  }
  /// What `op` does, of `value`.
  static Value cutAs(Operation *op, Value value, PatternRewriter &rewriter) {
    auto type = cast<RankedTensorType>(value.getType());
    ShardingAttr attr = getShardingAttr(type);
    Mesh mesh = lookupMesh(op, attr.getMesh()).getMesh().toMesh();
    AxisList axes = fromAxesAttr(op->getAttrOfType<ArrayAttr>("axes"), mesh);
    Sharding sharding = attr.toSharding(mesh);
    AxisList &list = sharding.dims[size_t(dimOf(op))].axes;
    list.append(axes.begin(), axes.end());
    mergeAdjacent(list);
    if (isa<ReduceScatterOp>(op)) {
      sharding.partial = axesWithout(sharding.partial, axes);
      mergeAdjacent(sharding.partial);
      sharding.partialKind = sharding.partial.empty() ? PartialKind::None : sharding.partialKind;
    }
    IRMapping cut;
    cut.map(op->getOperand(0), value);
    Operation *made = rewriter.clone(*op, cut);
    auto whole = ShardingAttr::get(op->getContext(), attr.getMesh().getValue(), sharding, mesh);
    made->getResult(0).setType(
        localType(RankedTensorType::get(globalShape(type), type.getElementType(), whole), mesh));
    return made->getResult(0);
  }
};

/// What one op undid of the other.
template <typename First, typename Second> struct CancelOut : public OpRewritePattern<Second> {
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

/// What contributes neutral elements is made of them on all ranks: zeros are a sum of zeros.
struct MakeNeutral : public OpRewritePattern<ContributeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ContributeOp contribute, PatternRewriter &rewriter) const override {
    auto maker = contribute.getInput().getDefiningOp<ShardingRuleOpInterface>();
    auto kind = getShardingAttr(contribute.getType()).getPartialKind() == PartialKindEnum::max
                    ? PartialKind::Max
                    : PartialKind::Sum;
    if (!maker || maker->getNumResults() != 1 || maker.getShardingRule().neutral != kind)
      return rewriter.notifyMatchFailure(contribute, "contributes something");
    Operation *made = rewriter.clone(*maker);
    made->getResult(0).setType(cast<RankedTensorType>(contribute.getType()));
    rewriter.replaceOp(contribute, made->getResults());
    return success();
  }
};

/// Neutral elements that ranks would exchange are made where they are wanted: zeros are a piece of zeros, and
/// zeros of all pieces.
template <typename Op> struct MakeNeutralInPlace : public OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op moved, PatternRewriter &rewriter) const override {
    auto maker = moved.getInput().template getDefiningOp<ShardingRuleOpInterface>();
    if (!maker || maker->getNumResults() != 1 || maker.getShardingRule().neutral == PartialKind::None)
      return rewriter.notifyMatchFailure(moved, "moves something");
    auto type = cast<RankedTensorType>(moved.getType());
    // A part of it has another size, which the op that makes the whole cannot have.
    if (globalShape(type) != globalShape(cast<RankedTensorType>(moved.getInput().getType())))
      return rewriter.notifyMatchFailure(moved, "moves a part");
    Operation *made = rewriter.clone(*maker);
    made->getResult(0).setType(type);
    rewriter.replaceOp(moved, made->getResults());
    return success();
  }
};

/// Both reasons, or the one there is.
static StringAttr joinWhy(StringAttr first, StringAttr second) {
  if (!first || !second || first == second)
    return first ? first : second;
  return StringAttr::get(first.getContext(), first.getValue() + "; " + second.getValue());
}

static ArrayAttr joinAxes(Operation *op, ArrayAttr major, ArrayAttr minor, bool sorted = false) {
  Mesh mesh = lookupMesh(op, getShardingAttr(op->getResult(0).getType()).getMesh()).getMesh().toMesh();
  AxisList axes = fromAxesAttr(major, mesh);
  for (const AxisRef &axis : fromAxesAttr(minor, mesh))
    axes.push_back(axis);
  if (sorted)
    llvm::sort(axes);
  mergeAdjacent(axes);
  return axesAttr(op->getContext(), axes, mesh);
}

/// The same collective right before `second`, read by nobody else.
template <typename Op> static Op onlyOneBefore(Op second) {
  auto first = second.getInput().template getDefiningOp<Op>();
  return first && first->hasOneUse() ? first : Op();
}

/// Sums over {x}, then over {y}: over {x, y} at once.
struct MergeReduces : public OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllReduceOp second, PatternRewriter &rewriter) const override {
    AllReduceOp first = onlyOneBefore(second);
    if (!first)
      return rewriter.notifyMatchFailure(second, "no all_reduce before it that nobody else reads");
    insertInPlaceOf(first, second, rewriter);
    rewriter.replaceOpWithNewOp<AllReduceOp>(
        second, second.getType(), first.getInput(),
        joinAxes(second, first.getAxes(), second.getAxes(), /*sorted=*/true),
        joinWhy(first.getWhyAttr(), second.getWhyAttr()));
    return success();
  }
};

/// Gathers of one dimension: what leaves later is more major. Slices: what comes later is more minor.
template <typename Op> struct MergeAlongDimension : public OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op second, PatternRewriter &rewriter) const override {
    Op first = onlyOneBefore(second);
    if (!first || first.getDim() != second.getDim())
      return rewriter.notifyMatchFailure(second,
                                         "none of the same dimension before it that nobody else reads");
    constexpr bool gathers = std::is_same_v<Op, AllGatherOp>;
    ArrayAttr axes = gathers ? joinAxes(second, second.getAxes(), first.getAxes())
                             : joinAxes(second, first.getAxes(), second.getAxes());
    insertInPlaceOf(first, second, rewriter);
    rewriter.replaceOpWithNewOp<Op>(second, second.getType(), first.getInput(), second.getDim(), axes,
                                    joinWhy(first.getWhyAttr(), second.getWhyAttr()));
    return success();
  }
};

/// Exchanges between different dimensions: one among all their ranks moves less than one after the other.
struct MergeExchanges : public OpRewritePattern<AllToAllOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllToAllOp second, PatternRewriter &rewriter) const override {
    AllToAllOp first = onlyOneBefore(second);
    if (!first)
      return rewriter.notifyMatchFailure(second, "no all_to_all before it that nobody else reads");
    SmallVector<int64_t> from(first.getFrom()), to(first.getTo());
    SmallVector<Attribute> axes(first.getAxes().begin(), first.getAxes().end());
    for (int64_t dim : llvm::concat<const int64_t>(second.getFrom(), second.getTo()))
      if (llvm::is_contained(from, dim) || llvm::is_contained(to, dim))
        return rewriter.notifyMatchFailure(second, "a dimension takes part in both");
    llvm::append_range(from, second.getFrom());
    llvm::append_range(to, second.getTo());
    llvm::append_range(axes, second.getAxes());
    insertInPlaceOf(first, second, rewriter);
    rewriter.replaceOpWithNewOp<AllToAllOp>(second, second.getType(), first.getInput(), from, to,
                                            rewriter.getArrayAttr(axes),
                                            joinWhy(first.getWhyAttr(), second.getWhyAttr()));
    return success();
  }
};

/// Sums over the same axes that an op adds up (that it is linear in together): added up first, reduced once.
struct AddBeforeReducing : public OpInterfaceRewritePattern<ShardingRuleOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(ShardingRuleOpInterface op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || op->getNumRegions() != 0)
      return failure();
    for (ArrayRef<int> group : op.getShardingRule().linear)
      if (group.size() > 1 && succeeded(rewrite(op, group, rewriter)))
        return success();
    return rewriter.notifyMatchFailure(op, "adds up no sums over the same axes");
  }

private:
  LogicalResult rewrite(Operation *op, ArrayRef<int> group, PatternRewriter &rewriter) const {
    SmallVector<AllReduceOp> reduces;
    int64_t bytes = 0;
    for (int operand : group) {
      auto reduce = op->getOperand(operand).getDefiningOp<AllReduceOp>();
      if (!reduce || !reduce->hasOneUse() || reduce->getBlock() != op->getBlock() ||
          reduce.getAxes() != op->getOperand(group.front()).getDefiningOp<AllReduceOp>().getAxes() ||
          getShardingAttr(reduce.getInput().getType()).getPartialKind() != PartialKindEnum::sum)
        return failure();
      reduces.push_back(reduce);
      bytes += arrayBytes(reduce.getType());
    }
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    ShardingAttr encoding = getShardingAttr(type);
    if (!encoding || arrayBytes(type) > bytes)
      return failure();
    Mesh mesh = lookupMesh(op, encoding.getMesh()).getMesh().toMesh();
    AxisList axes = fromAxesAttr(reduces.front().getAxes(), mesh);
    // Nobody else may use the axes, or be partial at all: a product of two sums is none.
    auto isFree = [&](Type other) {
      Sharding sharding = getShardingAttr(other).toSharding(mesh);
      return sharding.partial.empty() && llvm::none_of(sharding.usedAxes(), [&](const AxisRef &used) {
               return llvm::any_of(axes, [&](const AxisRef &axis) { return axis.overlaps(used); });
             });
    };
    if (!isFree(type) || !llvm::all_of(op->getOperandTypes(), isFree))
      return failure();
    Sharding partial = encoding.toSharding(mesh);
    partial.partial = axes;
    partial.partialKind = PartialKind::Sum;
    StringAttr why;
    for (AllReduceOp reduce : reduces)
      why = joinWhy(why, reduce.getWhyAttr());
    rewriter.setInsertionPoint(op);
    Operation *sum = rewriter.clone(*op);
    for (auto [operand, reduce] : llvm::zip(group, reduces))
      sum->setOperand(operand, reduce.getInput());
    ArrayRef<int64_t> global = encoding.isLocal() ? encoding.getGlobal().asArrayRef() : ArrayRef<int64_t>();
    sum->getResult(0).setType(withSharding(
        type, ShardingAttr::get(op->getContext(), encoding.getMesh().getValue(), partial, mesh, global)));
    rewriter.replaceOpWithNewOp<AllReduceOp>(op, type, sum->getResult(0), reduces.front().getAxes(), why);
    return success();
  }
};

/// A weight, whole or a layer of a stack, or what collectives (and the views between them) made of it.
static bool isWeight(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() != 1) // a view between two steps of one reshard has one
      return false;
    value = op->getOperand(0);
  }
  return graph::argumentKind(value) == graph::Kind::Parameter;
}

/// Ops of `region` that `op` needs, itself included, in order; none if one of them has effects, needs what
/// the region is given anew each time (a block argument), or there are many: what they compute would stay in
/// memory for the whole loop.
static SmallVector<Operation *> invariantSlice(Operation *op, Region &region) {
  constexpr size_t kMost = 16;
  SetVector<Operation *> slice;
  SmallVector<Operation *> work = {op};
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    if (!slice.insert(next))
      continue;
    // A weight gathered for others too would be held for the whole loop.
    if (next != op && isa<DistDialect>(next->getDialect()) && next->getNumRegions() == 0 &&
        next->getNumOperands() > 0 && isWeight(next->getOperand(0)) && !next->hasOneUse())
      return {};
    if (slice.size() > kMost || next->getBlock() != op->getBlock() || next->getNumRegions() != 0 ||
        !isPure(next))
      return {};
    for (Value operand : next->getOperands()) {
      if (!region.isAncestor(operand.getParentRegion()))
        continue;
      if (!operand.getDefiningOp())
        return {};
      work.push_back(operand.getDefiningOp());
    }
  }
  SmallVector<Operation *> ordered = slice.takeVector();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ordered;
}

/// Collectives in the body of a loop that start from outside do the same in every iteration, and so does what
/// their operand is computed by.
static void hoistInvariant(Operation *root) {
  SmallVector<Operation *> loops;
  root->walk([&](Operation *op) { // inner loops first: what leaves them may leave the outer one too
    if (auto flow = dyn_cast<DataFlowOpInterface>(op); flow && isLoop(flow))
      loops.push_back(op);
  });
  for (Operation *loop : loops)
    for (Region &region : loop->getRegions())
      for (Block &block : region) {
        SmallVector<Operation *> collectives;
        for (Operation &op : block)
          if (isa<DistDialect>(op.getDialect()) && op.getNumRegions() == 0 && op.getNumOperands() > 0 &&
              !isWeight(op.getOperand(0)))
            collectives.push_back(&op);
        for (Operation *collective : collectives)
          for (Operation *op : invariantSlice(collective, region)) {
            op->moveBefore(loop);
            if (isa<DistDialect>(op->getDialect()))
              explain(op->getLoc(), "hoist",
                      op->getName().getStringRef().str() +
                          " does the same in every iteration and runs once before the loop");
          }
      }
}

struct OptimizePass : public tessera::dist::impl::DistOptimizeCollectivesPassBase<OptimizePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns
        .add<MakeNeutralInPlace<AllGatherOp>, MakeNeutralInPlace<AllSliceOp>, MakeNeutralInPlace<AllToAllOp>,
             MakeNeutralInPlace<CollectivePermuteOp>, MakeNeutralInPlace<GroupedSendOp>>(&getContext());
    patterns.add<FuseReduceScatter, SliceBeforeScatter, MakeNeutral, CancelOut<AllGatherOp, AllSliceOp>,
                 CancelOut<AllSliceOp, AllGatherOp>, MergeReduces, MergeAlongDimension<AllGatherOp>,
                 MergeAlongDimension<AllSliceOp>, MergeExchanges, AddBeforeReducing>(&getContext());
    addChosenExchanges(patterns);
    addUnsliceReductions(patterns, machineOf(getOperation()));
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    hoistInvariant(getOperation());
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};
} // namespace
