//===- ParameterUpdates.cpp -----------------------------------------------===//
#include "ParameterUpdates.h"

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

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
    Operation *behind = root.getDefiningOp();
    for (auto param : body.getOps<ParamOp>())
      if (param.getParamAttr() == update.parameter)
        if (Operation *last = lastReader(body, param); last && behind->isBeforeInBlock(last))
          behind = last;
    if (Operation *made = update.value.getDefiningOp(); behind->isBeforeInBlock(made))
      behind = made; // a view
    // Another may begin as what this one was: all of these come at the end, at once.
    bool isTakenOver = llvm::any_of(updates, [&](const ParameterUpdate &other) {
      auto param = rootOf(other.value).getDefiningOp<ParamOp>();
      return param && param.getParamAttr() == update.parameter;
    });
    if (behind != ret && !isTakenOver)
      update.behind = behind;
  }
  return updates;
}

} // namespace tessera::exec
