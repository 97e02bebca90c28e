//===- StageParts.cpp -----------------------------------------------------===//
#include "Pipeline/StageParts.h"

#include "Pipeline/SplitRepeat.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Entries.h"
#include "tessera/Interfaces/Interfaces.h"

using namespace mlir;
using tessera::graph::FillSource;
using tessera::graph::Gives;
using tessera::graph::givesOf;

namespace tessera::dist {

/// Of an argument of the function; nothing of other values.
static std::optional<FillSource> fillOf(func::FuncOp function, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &function.getBody().front())
    return std::nullopt;
  return graph::fillOf(function, argument.getArgNumber());
}

/// What a body reads from the stack that `slice` is a slice of, or null.
static Value stackOfSlice(graph::RepeatOp loop, Value slice) {
  auto argument = dyn_cast<BlockArgument>(slice);
  if (!argument || argument.getOwner() != &loop.getBody(0))
    return {};
  unsigned first = 1 + unsigned(loop.getInits().size());
  return argument.getArgNumber() < first ? Value() : loop.getStacks()[argument.getArgNumber() - first];
}

std::optional<StageParts::Part> StageParts::of(Value value) {
  if (Operation *op = value.getDefiningOp()) {
    auto found = parts.find(op);
    return found == parts.end() ? std::nullopt : std::optional(found->second);
  }
  Value stack = stackOfSlice(loop, value);
  if (!stack)
    return std::nullopt;
  std::optional<FillSource> fill = fillOf(function, stack);
  if (fill == FillSource::Received)
    return Part::Forward;
  if (fill == FillSource::ReceivedGradient)
    return splitsBackward ? Part::InputGradient : Part::Backward;
  return std::nullopt;
}

bool StageParts::isFree(Value value) {
  llvm::DenseMap<Value, bool> known;
  return isFree(value, known);
}

bool StageParts::isFree(Value value, llvm::DenseMap<Value, bool> &known) {
  auto [found, isNew] = known.try_emplace(value, false);
  if (!isNew)
    return found->second;
  const bool free = followsFromInputs(value, known);
  return known[value] = free;
}

bool StageParts::followsFromInputs(Value value, llvm::DenseMap<Value, bool> &known) {
  if (Operation *op = value.getDefiningOp()) {
    bool stands = op->getParentRegion() == &function.getBody() || op->getBlock() == &loop.getBody(0);
    return stands && op->getNumRegions() == 0 && isPure(op) && !isa<DistDialect>(op->getDialect()) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isFree(operand, known); });
  }
  if (Value stack = stackOfSlice(loop, value))
    return isFree(stack, known);
  auto argument = cast<BlockArgument>(value);
  if (argument.getOwner() == &loop.getBody(0))
    return argument.getArgNumber() == 0;
  if (graph::argumentKind(value) != graph::Kind::Input)
    return false;
  std::optional<FillSource> fill = fillOf(function, value);
  return fill != FillSource::Received && fill != FillSource::ReceivedGradient;
}

bool StageParts::isOfForward(Value value) {
  if (isa<BlockArgument>(value) && value.getParentRegion() == &function.getBody())
    return true; // a weight: what is received comes in slices
  return of(value) == Part::Forward || isOfNoMicroBatch(value);
}

bool StageParts::isOfNoMicroBatch(Value value) {
  llvm::DenseMap<Value, bool> known;
  return isOfNoMicroBatch(value, known);
}

bool StageParts::isOfNoMicroBatch(Value value, llvm::DenseMap<Value, bool> &known) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  const bool holds =
      op && op->getBlock() == &loop.getBody(0) && op->getNumRegions() == 0 && isPure(op) &&
      llvm::all_of(op->getOperands(), [&](Value operand) {
        return operand.getParentRegion() == &function.getBody() || isOfNoMicroBatch(operand, known);
      });
  return known[value] = holds;
}

bool StageParts::isCheap(Operation *op) {
  if (op->getNumRegions() > 0 || !isPure(op) || isa<DistDialect>(op->getDialect()))
    return false;
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return true;
  int64_t elements = 0;
  for (Value result : op->getResults())
    elements += cast<RankedTensorType>(result.getType()).getNumElements();
  // No more than to write a float32 and to read it again: while a core moves a byte (10 GB/s) it does two
  // operations (20 Gflop/s), and a GPU ten.
  constexpr double kFlopsOfByte = 2, kBytes = 2 * sizeof(float);
  return cost.getCost().flops <= kFlopsOfByte * kBytes * double(elements);
}

void StageParts::take(Value value, Part part) {
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op == loop)
      continue;
    // An op within another one belongs to what that one belongs to.
    bool inBody = isInLoop(part);
    Block *block = inBody ? &loop.getBody(0) : loop->getBlock();
    op = block->findAncestorOpInBlock(*op);
    if (!op || (!inBody && op->isBeforeInBlock(loop)) || !parts.try_emplace(op, part).second)
      continue;
    op->walk([&](Operation *inner) { llvm::append_range(work, inner->getOperands()); });
  }
}

LogicalResult StageParts::findResults() {
  Operation *end = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    std::optional<Gives> gives = givesOf(function, unsigned(i));
    bool travels = gives == Gives::Sent || gives == Gives::SentGradient;
    auto result = dyn_cast<OpResult>(value);
    bool isStack = result && result.getOwner() == loop && result.getResultNumber() >= loop.getInits().size();
    if (travels && !isStack)
      return function.emitError() << "result #" << i << " goes to another stage, but is no stack that the "
                                  << "loop over micro-batches returns";
    stackNumbers.push_back(travels ? int64_t(result.getResultNumber() - loop.getInits().size()) : -1);
    if (gives == Gives::Sent)
      resultParts.push_back(Part::Forward);
    else if (gives == Gives::SentGradient)
      resultParts.push_back(splitsBackward ? Part::InputGradient : Part::Backward);
    else if (gives == Gives::SharedGradient)
      resultParts.push_back(Part::Share);
    else if (gives == Gives::StageSum)
      resultParts.push_back(Part::Sum);
    else
      resultParts.push_back(Part::Update);
  }
  for (OpResult stack : loop.getCollected())
    for (OpOperand &use : stack.getUses())
      if (use.getOwner() != end || stackNumbers[use.getOperandNumber()] < 0)
        return use.getOwner()->emitOpError()
               << "reads values of all micro-batches: it cannot be a part of a stage's step";
  return success();
}

SmallVector<Value> StageParts::inputGradients() {
  SmallVector<Value> values;
  Operation *yield = loop.getBody(0).getTerminator();
  for (unsigned i = 0; i < resultParts.size(); ++i)
    if (givesOf(function, i) == Gives::SentGradient)
      values.push_back(yield->getOperand(unsigned(loop.getInits().size() + size_t(stackNumbers[i]))));
  if (!values.empty())
    return values;
  for (auto layers : loop.getBody(0).getOps<graph::RepeatOp>())
    if (!parts.count(layers) && !layers.getInits().empty())
      for (size_t i = 0; i < layers.getInits().size(); ++i)
        values.push_back(layers.getResult(unsigned(i)));
  return values;
}

void StageParts::splitLoops() {
  llvm::SmallPtrSet<Operation *, 4> done; // what they return besides is for the second halves
  for (bool again = true; again;) {
    again = false;
    llvm::SmallDenseSet<Value> needed;
    SmallVector<Value> work = inputGradients();
    llvm::SmallSetVector<Operation *, 4> loops;
    while (!work.empty()) {
      Value value = work.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!op || op->getBlock() != &loop.getBody(0) || parts.count(op) || !needed.insert(value).second)
        continue;
      if (isa<graph::RepeatOp>(op))
        loops.insert(op);
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
            work.push_back(operand);
      });
    }
    for (Operation *op : loops) {
      llvm::BitVector wanted(op->getNumResults());
      for (OpResult result : op->getResults())
        wanted[result.getResultNumber()] = needed.contains(result);
      // Operands of both halves are known only now.
      if (done.contains(op))
        continue;
      auto isKnown = [&](Value stack) { return isFree(stack) || isOfForward(stack); };
      done.insert(splitRepeat(cast<graph::RepeatOp>(op), wanted, isKnown));
      again = true;
      break;
    }
  }
}

/// Forward has the loss: what the sum over stages called so comes from.
void StageParts::takeLoss() {
  Operation *yield = loop.getBody(0).getTerminator();
  Operation *end = function.getBody().front().getTerminator();
  llvm::SmallPtrSet<Operation *, 16> seen; // behind the loop
  SmallVector<Value> work;
  for (auto [i, value] : llvm::enumerate(end->getOperands()))
    if (givesOf(function, unsigned(i)) == Gives::StageSum &&
        graph::resultName(function, unsigned(i)) == graph::kLossSum)
      work.push_back(value);
  while (!work.empty()) {
    auto result = dyn_cast<OpResult>(work.pop_back_val());
    if (!result)
      continue;
    if (result.getOwner() == loop)
      take(yield->getOperand(result.getResultNumber()), Part::Forward);
    else if (seen.insert(result.getOwner()).second)
      llvm::append_range(work, result.getOwner()->getOperands());
  }
}

void StageParts::takeSent() {
  Operation *yield = loop.getBody(0).getTerminator();
  for (unsigned i = 0; i < resultParts.size(); ++i)
    if (stackNumbers[i] >= 0 && resultParts[i] == Part::Forward)
      take(yield->getOperand(unsigned(loop.getInits().size() + size_t(stackNumbers[i]))), Part::Forward);
}

void StageParts::splitBackward() {
  splitLoops();
  for (Value gradient : inputGradients())
    take(gradient, Part::InputGradient);
}

/// What is forward's even though it adds to a gradient: all it needs is there when forward ends. Kept for
/// backward it would be kept once for each micro-batch.
void StageParts::moveReady() {
  Operation *yield = loop.getBody(0).getTerminator();
  for (unsigned i = 0; i < loop.getInits().size(); ++i) {
    // Ops that are not forward's on the way to the next value.
    SmallVector<Operation *> missing;
    SmallVector<Value> work{yield->getOperand(i)};
    bool isReady = true;
    while (!work.empty() && isReady) {
      Value at = work.pop_back_val();
      Operation *op = at.getDefiningOp();
      if (!op || op->getBlock() != &loop.getBody(0)) {
        isReady = of(at).value_or(Part::Forward) == Part::Forward;
        continue;
      }
      if (auto known = parts.find(op); known != parts.end()) {
        isReady = known->second == Part::Forward;
        continue;
      }
      bool moves = isCheap(op) || isa<DistDialect>(op->getDialect());
      isReady = moves && op->getNumRegions() == 0;
      missing.push_back(op);
      llvm::append_range(work, op->getOperands());
    }
    if (isReady)
      for (Operation *op : missing)
        parts.try_emplace(op, Part::Forward);
  }
}

void StageParts::findBodyParts() {
  const bool isTraining =
      function->getAttrOfType<graph::RoleAttr>(graph::kRoleAttr).getValue() != graph::Role::Evaluate;
  takeLoss();
  takeSent();
  if (isTraining && splitsBackward)
    splitBackward();
  moveReady();
  const Part rest = !isTraining ? Part::Forward : splitsBackward ? Part::WeightGradient : Part::Backward;
  for (Operation &op : loop.getBody(0).without_terminator())
    parts.try_emplace(&op, rest);
  Operation *yield = loop.getBody(0).getTerminator();
  for (unsigned i = 0; i < loop.getInits().size(); ++i) {
    Operation *maker = yield->getOperand(i).getDefiningOp();
    carriedParts.push_back(maker && parts.count(maker) ? parts.lookup(maker) : Part::Forward);
  }
}

void StageParts::findPartsBehind() {
  Operation *end = function.getBody().front().getTerminator();
  for (Part part : {Part::Share, Part::Sum})
    for (auto [i, value] : llvm::enumerate(end->getOperands()))
      if (resultParts[i] == part)
        take(value, part);
  for (Operation &op : function.getBody().front().without_terminator())
    if (&op != loop)
      parts.try_emplace(&op, op.isBeforeInBlock(loop) ? Part::Begin : Part::Update);
}

LogicalResult StageParts::analyze() {
  if (loop.getBodies().size() != 1 || loop.getReverse())
    return loop.emitOpError() << "runs over micro-batches: expected one body, and the first one first";
  if (failed(findResults()))
    return failure();
  findBodyParts();
  findPartsBehind();
  // What forward needs must not wait for a gradient.
  for (Operation &op : loop.getBody(0).without_terminator()) {
    LogicalResult ordered = success();
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (std::optional<Part> made = of(operand); made && isInLoop(*made) && *made > of(&op))
          ordered = failure();
    });
    if (failed(ordered))
      return op.emitOpError()
             << "is needed by what a stage sends on, and waits for a gradient that it receives";
  }
  return success();
}

} // namespace tessera::dist
