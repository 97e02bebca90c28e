//===- NameCalls.cpp - Ops know the values they make ----------------------===//
//
// What is emitted for an op later takes its location over, so names are given once, before anything is
// derived from the program.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::graph {
#define GEN_PASS_DEF_NAMECALLS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::graph

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;

namespace {

class CallNamer {
public:
  void run(func::FuncOp func) {
    for (BlockArgument argument : func.getArguments())
      if (argumentKind(func, argument.getArgNumber()) == Kind::Parameter)
        if (auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
          parameters[argument] = name.getValue();
    runBlock(func.getBody().front(), func);
  }

private:
  void runBlock(Block &block, func::FuncOp func) {
    for (Operation &op : block) {
      if (auto repeat = dyn_cast<RepeatOp>(op)) {
        for (auto [body, region] : llvm::enumerate(repeat.getBodies())) {
          for (auto [slice, stack] : llvm::zip_equal(repeat.getSlices(unsigned(body)), repeat.getStacks()))
            if (StringRef name = parameters.lookup(stack); !name.empty())
              parameters[slice] = name;
          runBlock(region.front(), func);
        }
        continue; // a loop makes no value of its own
      }
      StringRef name = nameOf(op, func);
      if (name.empty())
        continue;
      for (Value result : op.getResults())
        values[result] = name;
      op.setLoc(nameCall(op.getLoc(), name));
    }
  }

  /// What graph.name, or the function's result, calls it; or else the parameter, or the named value, that it
  /// is made from.
  StringRef nameOf(Operation &op, func::FuncOp func) {
    if (auto name = dyn_cast<NameOp>(op))
      return name.getName();
    for (OpOperand &use : op.getUses()) {
      if (auto name = dyn_cast<NameOp>(use.getOwner()))
        return name.getName();
      if (isa<func::ReturnOp>(use.getOwner()))
        if (auto name = func.getResultAttrOfType<StringAttr>(use.getOperandNumber(), kNameAttr))
          return name.getValue();
    }
    for (const llvm::DenseMap<Value, StringRef> *known : {&parameters, &values})
      for (Value operand : op.getOperands())
        if (StringRef name = known->lookup(operand); !name.empty())
          return name;
    return "";
  }

  llvm::DenseMap<Value, StringRef> parameters, values;
};

struct NameCalls : graph::impl::NameCallsBase<NameCalls> {
  using Base::Base;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        CallNamer().run(func);
  }
};

} // namespace
