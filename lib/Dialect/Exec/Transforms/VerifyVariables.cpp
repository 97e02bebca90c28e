//===- VerifyVariables.cpp - writes of parameters and stale packed forms ----===//
//
// One walk in the order of execution carries what is stale: a variable as a whole, or the layer that an index
// names. A loop is walked twice, so that the second iteration sees what the first one left.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Exec/IR/HeldWords.h"
#include "tessera/Dialect/Exec/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace tessera::exec {
#define GEN_PASS_DEF_EXECVERIFYVARIABLES
#include "tessera/Dialect/Exec/Transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// A stale packed form: of one layer, by the index that names it, or (null) of the whole variable. Which op
/// made it stale.
using StaleForms = std::map<std::pair<std::string, const void *>, Operation *>;

class Checker {
public:
  explicit Checker(ModuleOp module) : module(module) {}

  LogicalResult check(func::FuncOp entry) {
    StaleForms stale;
    if (failed(walk(entry.getBody().front(), stale)))
      return failure();
    if (stale.empty())
      return success();
    auto &[form, writer] = *stale.begin();
    InFlightDiagnostic error = writer->emitOpError()
                               << "leaves the packed form of @" << form.first
                               << " stale at the end of the entry; exec.pack makes it again";
    return error;
  }

private:
  graph::ParameterOp parameter(StringAttr name) { return module.lookupSymbol<graph::ParameterOp>(name); }

  LogicalResult use(Operation *op, StringRef name, const StaleForms &stale) {
    for (auto &[form, writer] : stale)
      if (form.first == name) {
        InFlightDiagnostic error = op->emitOpError() << "uses the packed form of @" << name
                                                     << ", which is stale; exec.pack makes it again";
        error.attachNote(writer->getLoc()) << "the variable is updated here";
        return error;
      }
    return success();
  }

  LogicalResult write(Operation *op, Value value, StaleForms &stale) {
    auto param = rootOf(value).getDefiningOp<ParamOp>();
    if (!param)
      return success();
    graph::ParameterOp symbol = parameter(param.getParamAttr().getAttr());
    if (!symbol.getVariable())
      return op->emitOpError() << "writes parameter " << param.getParamAttr() << ", which is no variable";
    if (!symbol->hasAttr(kPackAttr))
      return success();
    Value view = value, layer;
    for (; view != param.getResult(); view = view.getDefiningOp()->getOperand(0))
      if (auto op = view.getDefiningOp<LayerOp>(); op && op.getStack() == param.getResult())
        layer = op.getIndex();
    stale[{symbol.getSymName().str(), layer ? layer.getAsOpaquePointer() : nullptr}] = op;
    return success();
  }

  void pack(const ParameterAccess &access, StaleForms &stale) {
    std::string name = access.param.getValue().str();
    if (access.layer) {
      stale.erase({name, access.layer.getAsOpaquePointer()});
      return;
    }
    for (auto it = stale.begin(); it != stale.end();)
      it = it->first.first == name ? stale.erase(it) : std::next(it);
  }

  LogicalResult walk(ForOp loop, StaleForms &stale) {
    StaleForms before = stale;
    Block &body = loop.getBody().front();
    for (int iteration = 0; iteration < 2; ++iteration) {
      if (failed(walk(body, stale)))
        return failure();
      // An index of this loop names another layer in the next iteration, and nothing after the loop.
      StaleForms after;
      for (auto &[form, writer] : stale) {
        Value index = Value::getFromOpaquePointer(form.second);
        bool ofLoop = index && loop->isAncestor(index.getParentBlock()->getParentOp());
        after[{form.first, ofLoop ? nullptr : form.second}] = writer;
      }
      stale = after;
    }
    if (loop.getLeast() == 0) // may not run at all
      stale.insert(before.begin(), before.end());
    return success();
  }

  LogicalResult walk(Block &block, StaleForms &stale) {
    for (Operation &op : block) {
      if (auto loop = dyn_cast<ForOp>(op)) {
        if (failed(walk(loop, stale)))
          return failure();
        continue;
      }
      if (auto param = dyn_cast<ParamOp>(op)) {
        graph::ParameterOp symbol = parameter(param.getParamAttr().getAttr());
        if (symbol->hasAttr(kPackAttr) && !symbol.getVariable() && !heldWords(symbol))
          return param.emitOpError() << "asks for the plain form of " << param.getParamAttr()
                                     << ", which is held packed only";
        continue;
      }
      auto accessing = dyn_cast<ExecAccessOpInterface>(op);
      if (!accessing)
        continue;
      for (const ParameterAccess &access : accessing.getParameterAccesses()) {
        if (!access.packed)
          continue;
        if (access.kind != AccessKind::Read)
          pack(access, stale);
        else if (failed(use(&op, access.param.getValue(), stale)))
          return failure();
      }
      for (const Access &access : accessing.getAccesses())
        if (access.kind != AccessKind::Read && failed(write(&op, access.operand->get(), stale)))
          return failure();
    }
    return success();
  }

  ModuleOp module;
};

struct ExecVerifyVariables : impl::ExecVerifyVariablesBase<ExecVerifyVariables> {
  using Base::Base;

  void runOnOperation() override {
    Checker checker(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func->hasAttr(kEntryAttr) && failed(checker.check(func)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tessera::exec
