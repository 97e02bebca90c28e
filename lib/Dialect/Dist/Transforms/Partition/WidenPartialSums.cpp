//===- WidenPartialSums.cpp - Terms of sums over ranks in float32 ---------===//
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/Verifier.h"

#include "llvm/ADT/MapVector.h"

#include <set>

namespace tessera::dist {
#define GEN_PASS_DEF_DISTWIDENPARTIALSUMSPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {

bool isNarrow(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isBF16() || element.isF16();
}

/// A tensor that is to be summed over ranks.
bool isSum(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  ShardingAttr sharding = tensor ? getShardingAttr(tensor) : ShardingAttr();
  return sharding && !sharding.getPartial().empty() && sharding.getPartialKind() == PartialKindEnum::sum;
}

/// Of 16 bits.
bool isNarrowSum(Type type) { return isNarrow(type) && isSum(type); }

Type withElement(Type type, Type element) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), element, tensor.getEncoding());
}
Type wideType(Type type) { return withElement(type, Float32Type::get(type.getContext())); }

/// The verifier says which types an op takes together.
bool isValid(Operation *op) {
  ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
  return succeeded(verify(op, /*verifyRecursively=*/false));
}

/// Sources: products and the like, by their number in the order of a walk.
using Sources = std::set<unsigned>;

class Widener {
public:
  /// Leaves the sources `blocked` as they are.
  Widener(ModuleOp module, const Sources &blocked) : blocked(blocked) {
    module.walk<WalkOrder::PreOrder>([&](Operation *op) { numbers[op] = unsigned(numbers.size()); });
    for (Operation &op : *module.getBody())
      for (Region &region : op.getRegions())
        for (Block &block : region)
          run(block);
    for (auto &[narrow, whole] : llvm::reverse(casts))
      if (narrow.use_empty())
        narrow.getDefiningOp()->erase();
      else if (auto found = sources.find(whole); found != sources.end())
        rounded.insert(found->second.begin(), found->second.end());
  }

  /// Sources of terms that somebody takes in 16 bits all the same: a loop that carries them.
  const Sources &getRounded() const { return rounded; }

private:
  void run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          run(inner);
      if (op.getNumResults() != 0 && op.getNumRegions() == 0)
        visit(&op);
    }
  }

  void visit(Operation *op) {
    Sources from;
    for (Value operand : op->getOperands())
      if (Value whole = wide.lookup(operand))
        from.insert(sources[whole].begin(), sources[whole].end());
    bool reads = !from.empty();
    // The last collective's result is the sum itself.
    bool sumsUp = reads && isa<CollectiveOpInterface>(op);
    SmallVector<Value, 2> terms(llvm::make_filter_range(
        op->getResults(), [&](Value result) { return (sumsUp ? isNarrow : isNarrowSum)(result.getType()); }));
    // Its results are float32 anyhow, or ranks exchange them in the type that somebody chose. What they are
    // made of may be wide.
    if (op->hasAttr(graph::kTermsAttr) || (terms.empty() && llvm::any_of(op->getResultTypes(), isSum)))
      return reads ? takeWide(op) : void();
    if (terms.empty())
      return;
    if (!reads) {
      unsigned number = numbers.lookup(op);
      if (blocked.count(number))
        return;
      from.insert(number);
    }
    SmallVector<Value> operands(op->getOperands());
    SmallVector<Type, 2> types(ValueRange(terms).getTypes());
    for (Value term : terms)
      term.setType(wideType(term.getType()));
    readWide(op);
    // Products take operands of any types. What only passes sums on has its other operands in float32 too; a
    // lookup or a contribution, whose other terms are zeros, is exact as it is.
    if (!isValid(op) && (!reads || !widenOperands(op))) {
      op->setOperands(operands);
      for (auto [term, type] : llvm::zip_equal(terms, types))
        term.setType(type);
      return;
    }
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    for (auto [whole, type] : llvm::zip_equal(terms, types)) {
      auto narrow = graph::CastOp::create(builder, op->getLoc(), type, whole);
      whole.replaceAllUsesExcept(narrow, narrow);
      casts.push_back({narrow, whole});
      if (!isNarrowSum(type))
        continue;
      wide[narrow] = whole;
      sources[whole] = from;
    }
  }

  void readWide(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (Value whole = wide.lookup(operand.get()))
        operand.set(whole);
  }

  /// The same, if the op can, and its result stays what it is.
  void takeWide(Operation *op) {
    SmallVector<Value> operands(op->getOperands());
    readWide(op);
    if (!isValid(op))
      op->setOperands(operands);
    if (auto cast = dyn_cast<graph::CastOp>(op); cast && cast.getInput().getType() == cast.getType()) {
      cast.replaceAllUsesWith(cast.getInput());
      cast.erase();
    }
  }

  /// Casts the operands that are narrow yet; if the op cannot take that either, its operands are the caller's
  /// to restore.
  bool widenOperands(Operation *op) {
    // Terms of a lookup cannot be cast before they are summed; of a contribution, what is contributed can, if
    // it is no term itself.
    for (Value operand : op->getOperands())
      if (isNarrowSum(operand.getType())) {
        auto contribution = operand.getDefiningOp<ContributeOp>();
        if (!contribution || isNarrowSum(contribution.getInput().getType()))
          return false;
      }
    OpBuilder builder(op);
    SmallVector<Operation *> made;
    llvm::MapVector<Operation *, Value>
        replaced; ///< contributions, an op may take one twice, and their wide forms
    auto widened = [&](Value value) -> Value {
      made.push_back(graph::CastOp::create(builder, value.getLoc(), wideType(value.getType()), value));
      return made.back()->getResult(0);
    };
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (!isNarrow(value.getType()))
        continue;
      if (!isNarrowSum(value.getType())) {
        operand.set(widened(value));
        continue;
      }
      auto contribution = value.getDefiningOp<ContributeOp>();
      Value &whole = replaced[contribution];
      if (!whole) {
        Operation *copy = contribution->clone();
        copy->setOperands(widened(contribution.getInput()));
        copy->getResult(0).setType(wideType(value.getType()));
        made.push_back(builder.insert(copy));
        whole = copy->getResult(0);
      }
      operand.set(whole);
    }
    if (isValid(op)) {
      for (auto &[contribution, whole] : replaced)
        if (contribution->use_empty())
          contribution->erase();
      return true;
    }
    op->setOperands(ValueRange());
    for (Operation *created : llvm::reverse(made))
      created->erase();
    return false;
  }

  const Sources &blocked;
  DenseMap<Operation *, unsigned> numbers;
  DenseMap<Value, Value> wide;                   ///< narrow terms, as they were before rounding
  DenseMap<Value, Sources> sources;              ///< of terms in float32
  SmallVector<std::pair<Value, Value>, 8> casts; ///< narrow and wide form, in order
  Sources rounded;
};

struct DistWidenPartialSumsPass : dist::impl::DistWidenPartialSumsPassBase<DistWidenPartialSumsPass> {
  void runOnOperation() override {
    WalkResult found = getOperation().walk([](Operation *op) {
      return llvm::any_of(op->getResultTypes(), isNarrowSum) ? WalkResult::interrupt()
                                                             : WalkResult::advance();
    });
    if (!found.wasInterrupted())
      return;
    // No partial sum may be rounded: a source whose terms would be somewhere stays narrow, and it all begins
    // anew.
    for (Sources blocked;;) {
      OwningOpRef<ModuleOp> copy = getOperation().clone();
      Widener widener(*copy, blocked);
      if (widener.getRounded().empty()) {
        getOperation().getBodyRegion().takeBody(copy->getBodyRegion());
        return;
      }
      blocked.insert(widener.getRounded().begin(), widener.getRounded().end());
    }
  }
};

} // namespace
