//===- VerifyRung.cpp - Only what belongs on a rung stands on it ----------===//
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSwitch.h"

namespace tessera::dist {
#define GEN_PASS_DEF_VERIFYRUNGPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
enum class Rung { graph, step, sharded, spmd };

/// What tensor types look like on a rung.
enum class Types { Plain, Global, Local };

struct RungRules {
  Types types;
  /// Which pass should have removed `op`, or should not have made it; empty: it may stay.
  StringRef (*culprit)(Operation *op);
};

StringRef onGraph(Operation *op) {
  if (isa<DistDialect>(op->getDialect()))
    return "nothing: ops of dist do not stand before dist-annotate";
  return "";
}
StringRef onStep(Operation *op) {
  // dist-annotate leaves its mark here; the rung is otherwise the same as graph.
  if (isa<DistDialect>(op->getDialect()) && !isa<MeshOp, ConstraintOp>(op))
    return "nothing: it is made later, by dist-insert-reshards or dist-partition";
  return "";
}
StringRef onSharded(Operation *op) {
  if (isa<ConstraintOp>(op))
    return "dist-insert-reshards";
  if (isa<DistDialect>(op->getDialect()) && !isa<MeshOp, ReshardOp>(op))
    return "nothing: collectives are made later, by dist-partition";
  return "";
}
StringRef onSpmd(Operation *op) {
  if (isa<ConstraintOp>(op))
    return "dist-insert-reshards";
  if (isa<ReshardOp, graph::NameOp>(op))
    return "dist-partition";
  return "";
}

RungRules rulesOf(Rung rung) {
  switch (rung) {
  case Rung::graph:
    return {Types::Plain, onGraph};
  case Rung::step:
    return {Types::Plain, onStep};
  case Rung::sharded:
    return {Types::Global, onSharded};
  case Rung::spmd:
    return {Types::Local, onSpmd};
  }
  llvm_unreachable("rung");
}

std::optional<Rung> parseRung(StringRef name) {
  return llvm::StringSwitch<std::optional<Rung>>(name)
      .Case("graph", Rung::graph)
      .Case("step", Rung::step)
      .Case("sharded", Rung::sharded)
      .Case("spmd", Rung::spmd)
      .Default(std::nullopt);
}

struct VerifyPass : public tessera::dist::impl::VerifyRungPassBase<VerifyPass> {
  using VerifyRungPassBase::VerifyRungPassBase;

  void runOnOperation() override {
    auto parsed = parseRung(rung);
    if (!parsed) {
      getOperation().emitError() << "unknown rung '" << rung << "': verify-rung knows graph, step, sharded and spmd";
      return signalPassFailure();
    }
    rules = rulesOf(*parsed);
    if (getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
          return failed(check(op)) ? WalkResult::interrupt() : WalkResult::advance();
        }).wasInterrupted())
      signalPassFailure();
    else
      markAllAnalysesPreserved();
  }

private:
  LogicalResult check(Operation *op) {
    if (op == getOperation())
      return success();
    if (!op->getDialect() || !isa<DistDialect, graph::GraphDialect, func::FuncDialect>(op->getDialect()))
      return op->emitOpError() << "does not stand on rung " << rung << ": only graph, dist and func do";
    if (StringRef culprit = rules.culprit(op); !culprit.empty())
      return op->emitOpError() << "does not stand on rung " << rung << "; what should have removed it: " << culprit;
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      for (auto [i, type] : llvm::enumerate(function.getFunctionType().getInputs()))
        if (failed(checkType(op, type, "argument #" + Twine(i))))
          return failure();
      for (auto [i, type] : llvm::enumerate(function.getFunctionType().getResults()))
        if (failed(checkType(op, type, "result #" + Twine(i))))
          return failure();
      return success();
    }
    for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
      if (failed(checkType(op, type, "result #" + Twine(i))))
        return failure();
    for (Region &region : op->getRegions())
      for (BlockArgument arg : region.getArguments())
        if (failed(checkType(op, arg.getType(), "body argument #" + Twine(arg.getArgNumber()))))
          return failure();
    return success();
  }

  LogicalResult checkType(Operation *op, Type type, const Twine &what) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return success();
    ShardingAttr sharding = getShardingAttr(tensor);
    switch (rules.types) {
    case Types::Plain:
      return tensor.getEncoding() ? op->emitOpError() << what << " has an encoding, " << tensor << ": none does on rung " << rung
                                  : success();
    case Types::Global:
      if (!sharding)
        return op->emitOpError() << what << " has no sharding, " << tensor
                                 << ": on rung sharded every tensor has one; dist-insert-reshards should have given it";
      if (sharding.isLocal())
        return op->emitOpError() << what << " has global sizes in its sharding: types are local on rung spmd only";
      return success();
    case Types::Local:
      if (!sharding || (tensor.getRank() > 0 && !sharding.isLocal()))
        return op->emitOpError() << what << " is no local type, " << tensor
                                 << ": on rung spmd every tensor has a sharding with global sizes; dist-partition should have "
                                    "given it";
      return success();
    }
    llvm_unreachable("types");
  }

  RungRules rules = {Types::Plain, onGraph};
};
} // namespace
