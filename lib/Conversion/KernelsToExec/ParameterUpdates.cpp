//===- ParameterUpdates.cpp -----------------------------------------------===//
#include "ParameterUpdates.h"

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera::exec {

/// The last op of `block` that reads `value` or a view of it; null: none.
static Operation *lastReader(Block &block, Value value) {
  Operation *last = nullptr;
  for (Operation *user : value.getUsers()) {
    Operation *here = block.findAncestorOpInBlock(*user);
    if (isa<ExecViewOpInterface>(user))
      if (Operation *inner = lastReader(block, user->getResult(0)))
        here = inner;
    if (!last || last->isBeforeInBlock(here))
      last = here;
  }
  return last;
}

/// Whether `root`, the next value of `parameter`, can be made where that lies: the op that makes it is the
/// `last` one that reads the old value and updates it, or comes later and writes all of a fresh array.
static bool canLieIn(FlatSymbolRefAttr parameter, Value root, Operation *last) {
  auto maker = root.getDefiningOp<DestinationStyleOpInterface>();
  if (!maker || !isa<ExecDialect>(maker->getDialect()))
    return false;
  Value output = maker.getTiedOpOperand(cast<OpResult>(root))->get();
  if (output.getDefiningOp<tensor::EmptyOp>())
    return !last || last->isBeforeInBlock(maker);
  auto launch = dyn_cast<LaunchOp>(maker.getOperation());
  auto isThere = [parameter](Value value) {
    auto param = isa<RankedTensorType>(value.getType()) ? rootOf(value).getDefiningOp<ParamOp>() : ParamOp();
    return param && param.getParamAttr() == parameter;
  };
  return launch && isThere(output) && last == launch && llvm::count_if(launch->getOperands(), isThere) == 1 &&
         arrayBytes(rootOf(output).getType()) == arrayBytes(root.getType()) &&
         launch.getMode(cast<OpResult>(root).getResultNumber()) == AccessKind::Update;
}

FailureOr<SmallVector<ParameterUpdate>> takeUpdates(func::FuncOp func) {
  Block &body = func.getBody().front();
  Operation *ret = body.getTerminator();
  SmallVector<ParameterUpdate> updates;
  BitVector taken(func.getNumResults());
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    if (graph::resultKind(func, i) != graph::Kind::Parameter)
      continue;
    auto name = func.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
    auto symbol =
        func->getParentOfType<ModuleOp>().lookupSymbol<graph::ParameterOp>(name ? name.getValue() : "");
    if (!symbol || !symbol.getVariable() || !symbol->hasAttr(kLocalTypeAttr))
      return func.emitOpError() << "gives parameter " << name
                                << " a new value, which is no variable that it takes";
    updates.push_back({FlatSymbolRefAttr::get(symbol.getSymNameAttr()), ret->getOperand(i)});
    taken.set(i);
  }
  ret->eraseOperands(taken);
  if (failed(func.eraseResults(taken)))
    return failure();
  for (ParameterUpdate &update : updates) {
    Value root = rootOf(update.value);
    if (root.getDefiningOp<ParamOp>() || !root.getDefiningOp())
      continue; // what was another's old value, or the caller's: at the end, all at once
    Operation *behind = root.getDefiningOp(), *read = nullptr;
    for (auto param : body.getOps<ParamOp>())
      if (param.getParamAttr() == update.parameter)
        if (Operation *last = lastReader(body, param); last && (!read || read->isBeforeInBlock(last)))
          read = last;
    bool isWhole = arrayBytes(root.getType()) == arrayBytes(update.value.getType());
    bool canLie =
        isWhole && canLieIn(update.parameter, root, read) &&
        llvm::none_of(updates, [&](const ParameterUpdate &other) { return other.madeInPlace == root; });
    if (read && behind->isBeforeInBlock(read))
      behind = read;
    if (Operation *made = update.value.getDefiningOp(); behind->isBeforeInBlock(made))
      behind = made; // a view
    // Another may begin as what this one was: all of these come at the end, at once.
    bool isTakenOver = llvm::any_of(updates, [&](const ParameterUpdate &other) {
      auto param = rootOf(other.value).getDefiningOp<ParamOp>();
      return param && param.getParamAttr() == update.parameter;
    });
    if (behind != ret && !isTakenOver)
      update.behind = behind;
    if (canLie && !isTakenOver)
      update.madeInPlace = root;
  }
  return updates;
}

} // namespace tessera::exec
