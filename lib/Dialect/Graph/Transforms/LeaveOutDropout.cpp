//===- LeaveOutDropout.cpp - The entry that drops nothing -----------------===//
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace tessera::graph {
#define GEN_PASS_DEF_LEAVEOUTDROPOUT
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::graph

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;

static bool isOfDropout(func::FuncOp function, unsigned argument) {
  auto fill = function.getArgAttrOfType<FillAttr>(argument, kFillAttr);
  return fill && (fill.getSource() == FillSource::DropoutKey || fill.getSource() == FillSource::Dropout);
}

namespace {
struct LeaveOutDropout : graph::impl::LeaveOutDropoutBase<LeaveOutDropout> {
  void runOnOperation() override {
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      auto role = function->getAttrOfType<RoleAttr>(kRoleAttr);
      if (role && role.getValue() == Role::TrainDropout && failed(leaveOut(function)))
        return signalPassFailure();
    }
  }

  LogicalResult leaveOut(func::FuncOp dropping) {
    if (Operation *taken = getOperation().lookupSymbol("train"))
      return taken->emitError() << "taken name (@train): the entry that drops nothing is called so";
    func::FuncOp plain = dropping.clone();
    plain.setName("train");
    plain->setAttr(kRoleAttr, RoleAttr::get(&getContext(), Role::Train));
    dropping->getBlock()->getOperations().insert(dropping->getIterator(), plain);
    plain.walk([](DropOpInterface op) { op.keepAllElements(); });
    // Keys of rows, and what they are made of, have no reader left.
    IRRewriter rewriter(&getContext());
    (void)runRegionDCE(rewriter, plain->getRegions());
    llvm::BitVector inputs(plain.getNumArguments());
    for (unsigned i = 0; i < plain.getNumArguments(); ++i) {
      inputs[i] = isOfDropout(plain, i);
      if (inputs[i] && !plain.getArgument(i).use_empty())
        return plain.getArgument(i).getUsers().begin()->emitOpError()
               << "stays in the entry that drops nothing, though it reads what is drawn from: what drops "
                  "elements says how to keep all (DropOpInterface)";
    }
    return plain.eraseArguments(inputs);
  }
};
} // namespace
