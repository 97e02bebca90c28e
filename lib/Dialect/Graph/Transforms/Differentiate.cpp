//===- Differentiate.cpp - Gradients in reverse mode ----------------------===//
#include "tessera/Dialect/Graph/Transforms/Differentiate.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"

#include "Differentiator.h"

#include "tessera/Dialect/Graph/IR/CallNames.h"

using namespace mlir;

namespace tessera::graph {

/// Ranks exchange a gradient in the type that somebody chose for it.
static void keepTerms(Value of, Operation *made) {
  Type chosen = chosenGradientType(of);
  if (chosen && chosen.getIntOrFloatBitWidth() < 32 && getElementTypeOrSelf(made->getResult(0)) == chosen)
    made->setAttr(kTermsAttr, TypeAttr::get(chosen));
}

void GradientSums::add(OpBuilder &builder, Location loc, Value of, Value gradient) {
  auto type = cast<RankedTensorType>(gradient.getType());
  if (Type element = gradientElementType(of); element != type.getElementType()) {
    gradient = CastOp::create(builder, loc, RankedTensorType::get(type.getShape(), element), gradient);
    keepTerms(of, gradient.getDefiningOp());
  }
  Value &sum = sums[of];
  if (!sum) {
    sum = gradient;
    return;
  }
  sum = AddOp::create(builder, loc, sum.getType(), sum, gradient);
  keepTerms(of, sum.getDefiningOp());
}

Value GradientSums::orZeros(OpBuilder &builder, Location loc, Value of) const {
  Value known = lookup(of);
  return known ? known : zeroGradient(builder, loc, of);
}

Value zeroGradient(OpBuilder &builder, Location loc, Value of) {
  auto type = RankedTensorType::get(cast<RankedTensorType>(of.getType()).getShape(), gradientElementType(of));
  return ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type, Attribute(builder.getFloatAttr(type.getElementType(), 0))));
}

void eraseDead(Block &block, Operation *first) {
  for (Operation *op = block.empty() ? nullptr : &block.back(); op && op != first;) {
    Operation *before = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    op = before;
  }
}

void Differentiator::runBlock(Block &forward, OpBuilder &builder, GradientSums &gradients) {
  // Backward may be emitted into the same block.
  SmallVector<Operation *> ops;
  for (Operation &op : forward.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      runRepeat(repeat, builder, gradients);
    else if (activity.isActive(op))
      runOp(op, builder, gradients);
  }
}

/// What leads to the gradient of one operand alone is called after that operand, other things after what the
/// op makes.
void Differentiator::nameMade(Operation *op, Operation *before, Operation *last,
                              const GradientSums &gradients) const {
  llvm::DenseMap<Operation *, Value> leadsTo; ///< null: to several
  auto note = [&](Value value, Value operand) {
    Operation *made = value.getDefiningOp();
    if (auto [at, isNew] = leadsTo.try_emplace(made, operand); !isNew && at->second != operand)
      at->second = Value();
  };
  for (Value operand : op->getOperands())
    if (Value gradient = gradients.lookup(operand))
      note(gradient, operand);
  for (Operation *made = last; made && made != before; made = made->getPrevNode()) {
    const Value operand = leadsTo.lookup(made);
    for (Value read : made->getOperands())
      note(read, operand);
    StringRef name = operand ? valueName(operand) : StringRef();
    if (name.empty())
      name = callName(op->getLoc());
    if (!name.empty())
      made->setLoc(nameCall(made->getLoc(), ("gradient of " + name).str()));
    made->setLoc(markPartOf(made->getLoc(), ("gradient of " + knownAs(op)).str(), differentiated));
  }
}

void Differentiator::runOp(Operation *op, OpBuilder &builder, GradientSums &gradients) {
  SmallVector<Value> ofResults =
      llvm::map_to_vector(op->getResults(), [&](Value result) { return gradients.lookup(result); });
  if (llvm::none_of(ofResults, [](Value known) { return bool(known); }))
    return;
  llvm::SmallBitVector wanted(op->getNumOperands());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    wanted[unsigned(i)] = activity.isActive(operand);
  auto lastOp = [&]() -> Operation * {
    Block::iterator at = builder.getInsertionPoint();
    return at == builder.getInsertionBlock()->begin() ? nullptr : &*std::prev(at);
  };
  Operation *before = lastOp();
  SmallVector<Value> ofOperands = cast<DerivativeOpInterface>(op).differentiate(builder, ofResults, wanted);
  Operation *last = lastOp();
  for (auto [i, gradient] : llvm::enumerate(ofOperands)) {
    if (!gradient || !wanted[unsigned(i)])
      continue;
    // What is handed through is made for others, too.
    Operation *made = gradient.getDefiningOp();
    bool isNew = made && last && made->getBlock() == last->getBlock() && !last->isBeforeInBlock(made) &&
                 (!before || before->isBeforeInBlock(made));
    if (isNew)
      keepTerms(op->getOperand(unsigned(i)), made);
    gradients.add(builder, op->getLoc(), op->getOperand(unsigned(i)), gradient);
  }
  nameMade(op, before, lastOp(), gradients);
  ++differentiated;
}

namespace {
/// An op that gives more than it did, for backward to read, and what it was, detached and without operands.
struct Extended {
  Operation *op, *before;
};
} // namespace

/// Backward that computes again reads the copy of an op: the op itself is as it was.
static void undoUnread(ArrayRef<Extended> extended) {
  for (auto [op, before] : extended) {
    if (llvm::any_of(op->getResults().drop_front(before->getNumResults()),
                     [](Value result) { return !result.use_empty(); })) {
      before->destroy();
      continue;
    }
    before->setOperands(op->getOperands());
    op->getBlock()->getOperations().insert(op->getIterator(), before);
    for (auto [with, without] : llvm::zip(op->getResults(), before->getResults()))
      with.replaceAllUsesWith(without);
    op->erase();
  }
}

/// Loops in loops that backward runs again return nothing for it in forward.
static void dropUnreadStacks(Block &block) {
  SmallVector<RepeatOp> loops;
  block.walk([&](RepeatOp op) {
    auto unread = [](Value stack) { return stack.use_empty(); };
    if (op->getParentOfType<RepeatOp>() && op->hasAttr(kSavedAttr) && llvm::any_of(op.getCollected(), unread))
      loops.push_back(op);
  });
  for (RepeatOp op : loops) {
    SmallVector<Attribute> names;
    ArrayRef<Attribute> before = op->getAttrOfType<ArrayAttr>(kSavedAttr).getValue();
    size_t first = op.getNumResults() - before.size();
    SmallVector<unsigned> read;
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      if (i >= first && op.getResult(i).use_empty())
        continue;
      read.push_back(i);
      if (i >= first)
        names.push_back(before[i - first]);
    }
    OpBuilder builder(op);
    auto less = RepeatOp::create(
        builder, op.getLoc(), llvm::map_to_vector(read, [&](unsigned i) { return op.getResultTypes()[i]; }),
        int64_t(op.getCount()), op.getInits(), op.getStacks(), unsigned(op.getBodies().size()),
        op.getReverse());
    less->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    less->setAttr(kSavedAttr, builder.getArrayAttr(names));
    for (auto [to, from] : llvm::zip_equal(less.getBodies(), op.getBodies())) {
      to.takeBody(from);
      Operation *yielded = to.front().getTerminator();
      yielded->setOperands(
          llvm::map_to_vector(read, [&](unsigned i) -> Value { return yielded->getOperand(i); }));
      eraseDead(to.front());
    }
    for (auto [i, result] : llvm::zip_equal(read, less.getResults()))
      op.getResult(i).replaceAllUsesWith(result);
    op.erase();
  }
}

/// Replaces ops that gradients flow through by others that do the same and can be differentiated. Says
/// whether there were any: whoever knows values of the block then knows old ones.
static FailureOr<bool> prepare(Block &block, const Activity &activity, SmallVector<Extended> &extended) {
  SmallVector<Operation *> active;
  block.walk([&](Operation *op) {
    if (!isa<RepeatOp>(op) && activity.isActive(op))
      active.push_back(op);
  });
  bool changed = false;
  auto replace = [&](Operation *op, ValueRange values) {
    op->replaceAllUsesWith(values);
    op->erase();
    changed = true;
  };
  for (Operation *op : active) {
    OpBuilder builder(op);
    if (auto derivative = dyn_cast<DerivativeOpInterface>(op)) {
      if (StringRef why = derivative.whyNoGradient(); !why.empty())
        return op->emitOpError() << why << ", and a gradient that is asked for would flow through it";
      if (Operation *more = derivative.withStatistics(builder)) {
        op->replaceAllUsesWith(more->getResults().take_front(op->getNumResults()));
        op->remove();
        op->dropAllReferences();
        extended.push_back({more, op});
        changed = true;
      }
    } else if (auto whole = dyn_cast<DecomposableOpInterface>(op)) {
      replace(op, whole.decompose(builder, op->getOperands()));
    } else {
      return op->emitOpError()
             << "has no derivative, and a gradient that is asked for would flow through it; such a model "
                "can generate (--task=generate), and is not trained";
    }
  }
  return changed;
}

FailureOr<SmallVector<Value>> differentiate(Block &block, ArrayRef<Value> seeds,
                                            ArrayRef<BlockArgument> wanted, const Recompute &recompute) {
  if (failed(recompute.checkNames(block)))
    return failure();
  Operation *terminator = block.getTerminator();
  auto analyze = [&] {
    SmallVector<Value> counted;
    for (auto [seed, operand] : llvm::zip_equal(seeds, terminator->getOperands()))
      if (seed)
        counted.push_back(operand);
    return Activity(block, wanted, counted);
  };
  Activity activity = analyze();
  SmallVector<Extended> extended;
  for (bool changed = true; changed;) {
    FailureOr<bool> prepared = prepare(block, activity, extended);
    if (failed(prepared)) {
      undoUnread(extended);
      return failure();
    }
    changed = *prepared;
    if (changed)
      activity = analyze();
  }
  OpBuilder builder(terminator);
  // What is emitted from here on belongs to backward.
  Operation *begin =
      UnrealizedConversionCastOp::create(builder, terminator->getLoc(), TypeRange(), ValueRange());
  GradientSums gradients;
  for (auto [seed, operand] : llvm::zip_equal(seeds, terminator->getOperands()))
    if (seed && activity.isActive(operand))
      gradients.add(builder, terminator->getLoc(), operand, seed);
  Differentiator(activity, recompute).runBlock(block, builder, gradients);
  undoUnread(extended);
  dropUnreadStacks(block);
  for (Operation &emitted : llvm::make_range(std::next(begin->getIterator()), terminator->getIterator()))
    emitted.walk([](Operation *op) { op->setLoc(markPart(op->getLoc(), StepPart::Backward)); });
  begin->erase();
  SmallVector<Value> found;
  for (BlockArgument argument : wanted)
    found.push_back(gradients.lookup(argument));
  return found;
}

static bool isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

LogicalResult addVectorJacobianProduct(func::FuncOp func, const Recompute &recompute) {
  OpBuilder builder(func.getContext());
  auto named = [&](Kind kind, const Twine &name) {
    NamedAttrList attrs;
    attrs.set(kKindAttr, KindAttr::get(builder.getContext(), kind));
    attrs.set(kNameAttr, builder.getStringAttr(name));
    return attrs.getDictionary(builder.getContext());
  };
  SmallVector<BlockArgument> wanted;
  for (BlockArgument argument : func.getArguments())
    if (isFloatTensor(argument.getType()))
      wanted.push_back(argument);
  SmallVector<Value> seeds(func.getNumResults());
  for (unsigned i = 0; i < seeds.size(); ++i) {
    Type type = func.getResultTypes()[i];
    if (!isFloatTensor(type))
      continue;
    unsigned number = func.getNumArguments();
    if (failed(func.insertArgument(number, type, named(Kind::Input, "of_result" + Twine(i)), func.getLoc())))
      return failure();
    seeds[i] = func.getArgument(number);
  }
  Block &block = func.getBody().front();
  FailureOr<SmallVector<Value>> gradients = differentiate(block, seeds, wanted, recompute);
  if (failed(gradients))
    return failure();
  Operation *terminator = block.getTerminator();
  builder.setInsertionPoint(terminator);
  for (auto [argument, gradient] : llvm::zip_equal(wanted, *gradients)) {
    Value value = gradient ? gradient : zeroGradient(builder, func.getLoc(), argument);
    unsigned number = func.getNumResults();
    terminator->insertOperands(number, value);
    if (failed(func.insertResult(number, value.getType(),
                                 named(Kind::Output, "gradient" + Twine(argument.getArgNumber())))))
      return failure();
  }
  return success();
}

} // namespace tessera::graph
