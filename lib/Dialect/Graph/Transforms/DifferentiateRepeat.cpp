//===- DifferentiateRepeat.cpp - Gradients of loops -----------------------===//
//
// Backward of a repeat is a repeat over the same layers in the other order. It carries the gradients of what
// forward carries, and sums of those of values from outside; it returns stacks of the gradients of slices.
// Its bodies are emitted as if they stood behind forward's; whatever of forward's body they turn out to read
// is then handed over: slices of stacks again, the rest saved, as stacks that forward returns, or computed
// again (Recompute.h chooses).
//
//===----------------------------------------------------------------------===//
#include "Differentiator.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tessera::graph {

class RepeatDifferentiator {
public:
  RepeatDifferentiator(RepeatOp op, Differentiator &outer, OpBuilder &builder, GradientSums &gradients)
      : forward(op), outer(outer), builder(builder), gradients(gradients), loc(op.getLoc()) {}

  void run();

private:
  /// What backward's body reads of forward's.
  struct Reads {
    SmallVector<std::pair<Value, size_t>> slices; ///< and the number of the stack
    SmallVector<Value> kept;                      ///< values that forward returns
    SmallVector<StringRef> again;                 ///< names of those that are computed again
  };
  /// A stack that forward returns for backward: what each body yields for it, null if a body has nothing to
  /// keep.
  struct Kept {
    Type type;
    SmallVector<Value> values;
  };

  void chooseGradients();
  void emitBody(unsigned body);
  Reads findReads(unsigned body);
  SmallVector<Kept> pairKept(ArrayRef<Reads> reads);
  RepeatOp returnKept(ArrayRef<Kept> kept);
  void report(ArrayRef<Kept> kept, ArrayRef<Reads> reads);
  void replaceReads(unsigned body, Value value, Value by);
  RepeatOp finish(ArrayRef<Value> read);
  void addResults(RepeatOp backward);

  bool isActive(Value value) const { return outer.activity.isActive(value); }
  bool isInside(Value value) { return forward->isAncestor(value.getParentBlock()->getParentOp()); }
  Block &bodyOf(unsigned body) { return regions[body]->front(); }

  RepeatOp forward;
  Differentiator &outer;
  OpBuilder &builder;
  GradientSums &gradients;
  Location loc;

  SmallVector<unsigned> carried;         ///< values carried by forward whose gradients backward carries
  llvm::SmallSetVector<Value, 4> shared; ///< values from outside whose gradients are summed up
  SmallVector<unsigned> collected;       ///< stacks returned by forward whose gradients are known
  SmallVector<unsigned> stacks;          ///< stacks read by forward whose gradients are wanted
  SmallVector<std::unique_ptr<Region>> regions; ///< backward's bodies
};

static Type gradientTypeOf(Value value) {
  return RankedTensorType::get(cast<RankedTensorType>(value.getType()).getShape(),
                               gradientElementType(value));
}

void RepeatDifferentiator::chooseGradients() {
  unsigned inits = unsigned(forward.getInits().size());
  for (unsigned i = 0; i < inits; ++i) {
    bool active = isActive(forward.getResult(i));
    for (unsigned body = 0; body < forward.getBodies().size(); ++body)
      active |= isActive(forward.getCarried(body)[i]);
    if (active)
      carried.push_back(i);
  }
  for (unsigned i = inits; i < forward.getNumResults(); ++i)
    if (gradients.lookup(forward.getResult(i)))
      collected.push_back(i);
  for (unsigned i = 0; i < forward.getStacks().size(); ++i)
    if (isActive(forward.getStacks()[i]))
      stacks.push_back(i);
  forward->walk([&](Operation *op) {
    if (op != forward.getOperation())
      for (Value operand : op->getOperands())
        if (isActive(operand) && !isInside(operand))
          shared.insert(operand);
  });
}

/// Arguments: index, carried gradients, sums, slices of gradients of returned stacks; what is read of forward
/// comes behind.
void RepeatDifferentiator::emitBody(unsigned body) {
  Block &from = forward.getBody(body);
  Operation *yielded = from.getTerminator();
  Block &to = regions.emplace_back(std::make_unique<Region>())->emplaceBlock();
  OpBuilder inner(forward.getContext());
  inner.setInsertionPointToEnd(&to);
  to.addArgument(forward.getIndex(body).getType(), loc);
  GradientSums sums;
  SmallVector<std::pair<Value, Value>> known;
  for (unsigned i : carried)
    known.push_back({yielded->getOperand(i), to.addArgument(forward.getResult(i).getType(), loc)});
  for (Value value : shared)
    sums.set(value, to.addArgument(gradientTypeOf(value), loc));
  for (unsigned i : collected)
    known.push_back({yielded->getOperand(i), to.addArgument(yielded->getOperand(i).getType(), loc)});
  for (auto [value, gradient] : known)
    if (isActive(value))
      sums.add(inner, loc, value, gradient);

  outer.runBlock(from, inner, sums);

  SmallVector<Value> next;
  for (unsigned i : carried)
    next.push_back(sums.orZeros(inner, loc, forward.getCarried(body)[i]));
  for (Value value : shared)
    next.push_back(sums.lookup(value));
  for (unsigned i : stacks)
    next.push_back(sums.orZeros(inner, loc, forward.getSlices(body)[i]));
  YieldOp::create(inner, loc, next);
  eraseDead(to);
}

RepeatDifferentiator::Reads RepeatDifferentiator::findReads(unsigned body) {
  Block &from = forward.getBody(body), &to = bodyOf(body);
  SmallVector<Value> used;
  to.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (operand.getParentBlock() == &from)
        used.push_back(operand);
  });
  unsigned inits = unsigned(forward.getInits().size());
  llvm::DenseSet<Value> saved = chooseSaved(from, inits, used, outer.recompute);
  OpBuilder again(&to.front()); // in front of all that was emitted
  IRMapping made;               // what forward's body has, and backward makes again
  SmallVector<Operation *> copies;
  llvm::SmallSetVector<Value, 16> seen;
  auto resolve = [&](auto &self, Value value) -> void {
    if (value.getParentBlock() != &from || !seen.insert(value) || saved.contains(value) ||
        isa<BlockArgument>(value) || made.contains(value))
      return;
    for (Value operand : readBy(value.getDefiningOp()))
      self(self, operand);
    copies.push_back(again.clone(*value.getDefiningOp(), made));
  };
  for (Value value : used)
    resolve(resolve, value);
  Reads reads;
  for (Value value : seen) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (made.contains(value))
      replaceReads(body, value, made.lookup(value));
    else if (argument && argument.getArgNumber() == 0)
      replaceReads(body, value, to.getArgument(0));
    else if (argument && argument.getArgNumber() > inits)
      reads.slices.push_back({value, argument.getArgNumber() - 1 - inits});
    else
      reads.kept.push_back(value);
  }
  for (Operation *copy : copies)
    if (auto name = dyn_cast<NameOp>(copy);
        name && llvm::is_contained(copies, name.getInput().getDefiningOp()))
      reads.again.push_back(name.getName());
  // As late as can be: a value that waits takes memory.
  for (Operation *copy : llvm::reverse(copies)) {
    Operation *first = nullptr;
    for (Operation *user : copy->getUsers()) {
      user = to.findAncestorOpInBlock(*user);
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    if (first)
      copy->moveBefore(first);
  }
  return reads;
}

void RepeatDifferentiator::replaceReads(unsigned body, Value value, Value by) {
  value.replaceUsesWithIf(
      by, [&](OpOperand &use) { return regions[body]->isAncestor(use.getOwner()->getParentRegion()); });
}

/// Every body yields for every stack, so values of one type of several bodies share one.
SmallVector<RepeatDifferentiator::Kept> RepeatDifferentiator::pairKept(ArrayRef<Reads> reads) {
  SmallVector<Kept> kept;
  for (size_t body = 0; body < reads.size(); ++body)
    for (Value value : reads[body].kept) {
      auto *stack = llvm::find_if(
          kept, [&](Kept &other) { return other.type == value.getType() && !other.values[body]; });
      if (stack == kept.end()) {
        kept.push_back({value.getType(), SmallVector<Value>(reads.size())});
        stack = &kept.back();
      }
      stack->values[body] = value;
    }
  return kept;
}

/// What a stack holds, of each body that keeps something in it.
static std::string nameOfStack(ArrayRef<Value> values) {
  llvm::SmallSetVector<StringRef, 2> names;
  llvm::BumpPtrAllocator memory;
  for (Value value : values)
    if (value)
      names.insert(StringRef(nameOfSaved(value)).copy(memory));
  return llvm::join(names, "|");
}

void RepeatDifferentiator::report(ArrayRef<Kept> kept, ArrayRef<Reads> reads) {
  std::string saved;
  int64_t bytes = 0;
  llvm::SmallSetVector<StringRef, 8> names;
  for (const Kept &stack : kept) {
    auto type = cast<RankedTensorType>(stack.type);
    bytes += llvm::divideCeil(type.getNumElements() * type.getElementTypeBitWidth(), 8);
    saved += (saved.empty() ? ": " : ", ") + nameOfStack(stack.values);
  }
  for (const Reads &of : reads)
    names.insert_range(of.again);
  remark::passed(loc, remark::RemarkOpts::name("saved").category("graph"))
      << llvm::formatv("backward of the loop over {0} layers reads {1} bytes a layer that forward saves{2}; "
                       "computed again: {3}",
                       forward.getCount(), bytes, saved,
                       names.empty() ? "nothing with a name" : llvm::join(names, ", "))
             .str();
}

/// Forward, returning stacks of what is kept behind its results.
RepeatOp RepeatDifferentiator::returnKept(ArrayRef<Kept> kept) {
  if (kept.empty())
    return forward;
  SmallVector<Type> types(forward.getResultTypes());
  for (const Kept &stack : kept) {
    auto slice = cast<RankedTensorType>(stack.type);
    SmallVector<int64_t> shape(slice.getShape());
    shape.insert(shape.begin(), int64_t(forward.getCount()));
    types.push_back(RankedTensorType::get(shape, slice.getElementType()));
  }
  OpBuilder before(forward);
  auto op = RepeatOp::create(before, loc, types, int64_t(forward.getCount()), forward.getInits(),
                             forward.getStacks(), unsigned(forward.getBodies().size()), forward.getReverse());
  op->setDiscardableAttrs(forward->getDiscardableAttrDictionary());
  SmallVector<Attribute> names;
  for (const Kept &stack : kept)
    names.push_back(before.getStringAttr(nameOfStack(stack.values)));
  op->setAttr(kSavedAttr, before.getArrayAttr(names));
  for (auto [body, region] : llvm::enumerate(forward.getBodies())) {
    op.getBodies()[body].takeBody(region);
    Operation *yielded = op.getBody(unsigned(body)).getTerminator();
    OpBuilder inner(yielded);
    for (const Kept &stack : kept) {
      Value value = stack.values[body];
      if (!value) { // nothing reads it
        auto type = cast<RankedTensorType>(stack.type);
        value = ConstantOp::create(inner, loc, type, cast<ElementsAttr>(inner.getZeroAttr(type)));
      }
      yielded->insertOperands(yielded->getNumOperands(), value);
    }
  }
  forward->replaceAllUsesWith(op.getResults().take_front(forward.getNumResults()));
  outer.replaced.push_back(forward);
  return op;
}

/// Backward itself, reading `read` behind gradients of returned stacks.
RepeatOp RepeatDifferentiator::finish(ArrayRef<Value> read) {
  SmallVector<Value> inits, slices;
  SmallVector<Type> types;
  for (unsigned i : carried)
    inits.push_back(gradients.orZeros(builder, loc, forward.getResult(i)));
  for (Value value : shared)
    inits.push_back(gradients.orZeros(builder, loc, value));
  for (Value init : inits)
    types.push_back(init.getType());
  for (unsigned i : collected)
    slices.push_back(gradients.lookup(forward.getResult(i)));
  llvm::append_range(slices, read);
  for (unsigned i : stacks)
    types.push_back(gradientTypeOf(forward.getStacks()[i]));
  auto op = RepeatOp::create(builder, loc, types, int64_t(forward.getCount()), inits, slices,
                             unsigned(regions.size()), !forward.getReverse());
  for (auto [to, from] : llvm::zip_equal(op.getBodies(), regions))
    to.takeBody(*from);
  return op;
}

void RepeatDifferentiator::run() {
  chooseGradients();
  if (carried.empty() && collected.empty())
    return;
  SmallVector<Reads> reads;
  for (unsigned body = 0; body < forward.getBodies().size(); ++body) {
    emitBody(body);
    reads.push_back(findReads(body));
  }
  SmallVector<Kept> kept = pairKept(reads);
  // Every body takes a slice of every stack that one reads.
  SmallVector<Value> read;
  llvm::SmallSetVector<size_t, 8> again;
  for (const Reads &of : reads)
    for (auto [value, stack] : of.slices)
      again.insert(stack);
  for (size_t stack : again) {
    read.push_back(forward.getStacks()[stack]);
    for (auto [body, of] : llvm::enumerate(reads)) {
      Value slice =
          bodyOf(unsigned(body)).addArgument(forward.getSlices(unsigned(body))[stack].getType(), loc);
      for (auto [value, number] : of.slices)
        if (number == stack)
          replaceReads(unsigned(body), value, slice);
    }
  }
  for (const Kept &stack : kept)
    for (auto [body, value] : llvm::enumerate(stack.values)) {
      Value slice = bodyOf(unsigned(body)).addArgument(stack.type, loc);
      if (value)
        replaceReads(unsigned(body), value, slice);
    }
  report(kept, reads);
  RepeatOp whole = returnKept(kept);
  llvm::append_range(read, whole.getResults().drop_front(forward.getNumResults()));
  addResults(finish(read));
}

/// What backward gives is added to the gradients of what forward read.
void RepeatDifferentiator::addResults(RepeatOp backward) {
  ValueRange results = backward.getResults();
  // Sums began with what was known: they come first, more is added to them.
  for (auto [value, sum] : llvm::zip(shared, results.drop_front(carried.size())))
    gradients.set(value, sum);
  auto add = [&](Value of, Value gradient) {
    if (isActive(of))
      gradients.add(builder, loc, of, gradient);
  };
  for (auto [i, gradient] : llvm::zip(carried, results))
    add(forward.getInits()[i], gradient);
  for (auto [i, gradient] : llvm::zip_equal(stacks, results.take_back(stacks.size())))
    add(forward.getStacks()[i], gradient);
}

void Differentiator::runRepeat(RepeatOp op, OpBuilder &builder, GradientSums &gradients) {
  RepeatDifferentiator(op, *this, builder, gradients).run();
}

} // namespace tessera::graph
