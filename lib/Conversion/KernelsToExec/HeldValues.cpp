//===- HeldValues.cpp - what the values of an entry are for -----------------===//
#include "HeldValues.h"

#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera::exec {

static bool isArray(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getNumElements() > 1;
}

/// Ops that read `value`, through views too.
static void collectReaders(Value value, SmallVectorImpl<Operation *> &readers) {
  for (Operation *user : value.getUsers())
    if (isa<ExecViewOpInterface>(user))
      collectReaders(user->getResult(0), readers);
    else
      readers.push_back(user);
}

/// The op that makes `value`: of what a loop carries the loop; null: the caller gives it.
static Operation *makerOf(Value value) {
  if (Operation *op = value.getDefiningOp())
    return op;
  return dyn_cast<ForOp>(value.getParentBlock()->getParentOp()).getOperation();
}

static int64_t elementsOf(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

static bool isExchange(Operation *op) {
  auto exchange = dyn_cast<ExecAccessOpInterface>(op);
  return exchange && exchange.isNeededElsewhere();
}

/// Whether `op`, or a loop that it stands in, is of `part`.
static bool belongsTo(Operation *op, graph::StepPart part) {
  for (; op && !isa<func::FuncOp>(op); op = op->getParentOp())
    if (graph::isPart(op->getLoc(), part))
      return true;
  return false;
}

HeldValues::HeldValues(func::FuncOp func, ArrayRef<ParameterUpdate> updates) {
  Block &body = func.getBody().front();
  for (BlockArgument argument : body.getArguments())
    origins[argument] = Origin::Other;
  follow(body);
  for (const ParameterUpdate &update : updates)
    markUpdate(update.value);
}

HeldValues::Origin HeldValues::originOf(Value value) const { return origins.lookup(rootOf(value)); }

/// Says whether this was news. A value can only move away from a constant.
bool HeldValues::set(Value value, Origin origin) {
  Origin &known = origins[value];
  bool isNew = origin > known;
  known = std::max(known, origin);
  return isNew;
}

bool HeldValues::follow(Block &block) {
  bool changed = false;
  for (Operation &op : block) {
    if (auto loop = dyn_cast<ForOp>(op)) {
      for (bool again = true; again;) {
        again = false;
        for (auto [init, arg] : llvm::zip_equal(loop.getInits(), loop.getCarried()))
          again |= set(arg, originOf(init));
        again |= follow(loop.getBody().front());
        for (auto [next, arg, result] :
             llvm::zip_equal(loop.getYield()->getOperands(), loop.getCarried(), loop.getResults())) {
          again |= set(arg, originOf(next));
          again |= set(result, originOf(arg));
        }
        changed |= again;
      }
      continue;
    }
    if (auto param = dyn_cast<ParamOp>(op)) {
      auto symbol = SymbolTable::lookupNearestSymbolFrom<graph::ParameterOp>(&op, param.getParamAttr());
      bool isState = symbol && symbol->hasAttr(graph::kStateOfAttr);
      if (isa<RankedTensorType>(param.getType()))
        changed |= set(param.getResult(), isState ? Origin::Other : Origin::Weights);
      continue;
    }
    if (isa<ExecViewOpInterface, tensor::EmptyOp>(op))
      continue;
    Origin origin = Origin::Constant;
    for (Value operand : op.getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        origin = std::max(origin, originOf(operand));
    if (origin == Origin::Weights && isExchange(&op) && !belongsTo(&op, graph::StepPart::Weights))
      origin = Origin::Gathered;
    for (Value result : op.getResults())
      if (isa<RankedTensorType>(result.getType()))
        changed |= set(result, origin);
  }
  return changed;
}

/// `value` and what it is another version of: carried and resulting values of loops, the stack before a layer
/// is written.
void HeldValues::markGradient(Value value) {
  value = rootOf(value);
  if (!isArray(value) || value.getDefiningOp<tensor::EmptyOp>() || originOf(value) != Origin::Other ||
      !gradients.insert(value).second)
    return;
  auto markLoop = [&](ForOp loop, unsigned number) {
    markGradient(loop.getInits()[number]);
    markGradient(loop.getCarried()[number]);
    markGradient(loop.getYield()->getOperand(number));
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto loop = dyn_cast<ForOp>(argument.getOwner()->getParentOp()))
      markLoop(loop, argument.getArgNumber() - loop.getCarried().front().getArgNumber());
    return;
  }
  if (auto loop = value.getDefiningOp<ForOp>())
    return markLoop(loop, cast<OpResult>(value).getResultNumber());
  if (auto destination = value.getDefiningOp<DestinationStyleOpInterface>())
    markGradient(destination.getTiedOpOperand(cast<OpResult>(value))->get());
  // What ranks sum up behind a loop over micro-batches is held by each of them until then. That of the loss
  // is on its way: its gradients are summed up over chunks of positions right before.
  while (Operation *maker = value.getDefiningOp()) {
    SmallVector<Value> read = arraysRead(maker);
    if (read.size() != 1 || (!isExchange(maker) && elementsOf(read.front()) != elementsOf(value)))
      return;
    value = read.front();
    if (auto loop = value.getDefiningOp<ForOp>())
      return belongsTo(loop, graph::StepPart::Loss) ? void() : markGradient(value);
  }
}

/// Roots of the arrays that `maker` reads, but for weights and constants.
SmallVector<Value> HeldValues::arraysRead(Operation *maker) const {
  SmallVector<Value> read;
  for (Value operand : maker->getOperands())
    if (isArray(operand) && !operand.getDefiningOp<tensor::EmptyOp>())
      if (Value root = rootOf(operand); !root.getDefiningOp<ParamOp>() && originOf(root) == Origin::Other)
        read.push_back(root);
  return read;
}

/// What the update of a variable reads and is neither variable nor made of weights: the gradient. Between
/// what is updated and the variable there may be exchanges and copies, which read one array each.
void HeldValues::markUpdate(Value next) {
  next = rootOf(next);
  Operation *maker = next.getDefiningOp();
  if (!maker || isa<ParamOp, ForOp>(maker) || !updated.insert(next).second)
    return;
  SmallVector<Value> read = arraysRead(maker);
  bool readsVariable = llvm::any_of(maker->getOperands(), [](Value operand) {
    return isa<RankedTensorType>(operand.getType()) && rootOf(operand).getDefiningOp<ParamOp>();
  });
  for (Value value : read)
    if (readsVariable)
      markGradient(value);
    else if (read.size() == 1)
      markUpdate(value);
}

Held HeldValues::heldBy(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
      return graph::argumentKind(argument) == graph::Kind::State ? Held::Caches : Held::Scratch;
  if (gradients.contains(value))
    return Held::Gradients;
  if (!isArray(value))
    return Held::Scratch;
  SmallVector<Operation *> readers;
  collectReaders(value, readers);
  Origin origin = originOf(value);
  if (origin == Origin::Gathered)
    return Held::Gathered;
  if (origin == Origin::Constant)
    return Held::Scratch;
  if (origin == Origin::Weights) {
    // What only another form of it is made of, once, is on its way.
    auto passesOn = [&](Operation *op) {
      return !op->getParentOfType<ForOp>() && op->getNumResults() > 0 &&
             llvm::all_of(op->getResults(), [&](Value made) { return originOf(made) == Origin::Weights; });
    };
    return !readers.empty() && llvm::all_of(readers, passesOn) ? Held::Scratch : Held::Parameters;
  }
  Operation *maker = makerOf(value);
  auto isOf = [](graph::StepPart part) { return [part](Operation *op) { return belongsTo(op, part); }; };
  auto ofLoss = isOf(graph::StepPart::Loss), ofBackward = isOf(graph::StepPart::Backward);
  if (ofLoss(maker) || llvm::any_of(readers, ofLoss))
    return Held::Loss;
  return !ofBackward(maker) && llvm::any_of(readers, ofBackward) ? Held::Saved : Held::Scratch;
}

StringRef HeldValues::nameOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())) {
      auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kNameAttr);
      return name ? name.getValue() : StringRef();
    }
  Operation *maker = makerOf(value);
  auto loop = dyn_cast_or_null<ForOp>(maker);
  if (!loop)
    return maker ? graph::callName(maker->getLoc()) : StringRef();
  // The op that writes a layer of the stack.
  auto result = dyn_cast<OpResult>(value);
  Operation *last =
      result ? rootOf(loop.getYield()->getOperand(result.getResultNumber())).getDefiningOp() : nullptr;
  return last ? graph::callName(last->getLoc()) : StringRef();
}

} // namespace tessera::exec
