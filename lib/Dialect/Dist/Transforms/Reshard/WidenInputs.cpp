//===- WidenInputs.cpp - Hand every rank what it would gather anyway ------===//
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::dist {
#define GEN_PASS_DEF_DISTWIDENINPUTSPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

/// What both lists begin with.
static AxisList commonPrefix(const AxisList &a, const AxisList &b) {
  AxisList prefix;
  for (size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i)
    prefix.push_back(a[i]);
  return prefix;
}

/// The sharding of `arg` without the axes that a reshard of it takes away; nothing to do: no value.
static std::optional<Sharding> widened(BlockArgument arg, const Mesh &mesh) {
  ShardingAttr own = getShardingAttr(cast<RankedTensorType>(arg.getType()));
  if (!own)
    return std::nullopt;
  Sharding sharding = own.toSharding(mesh);
  for (Operation *user : arg.getUsers())
    if (auto reshard = dyn_cast<ReshardOp>(user)) {
      Sharding wanted = getShardingAttr(reshard.getType()).toSharding(mesh);
      for (auto [dim, other] : llvm::zip(sharding.dims, wanted.dims))
        dim.axes = commonPrefix(dim.axes, other.axes);
    }
  if (sharding.samePlacement(own.toSharding(mesh)))
    return std::nullopt;
  return sharding;
}

static void widen(func::FuncOp function, BlockArgument arg, const Sharding &sharding, ShardingAttr own,
                  const Mesh &mesh) {
  auto narrowType = cast<RankedTensorType>(arg.getType());
  SmallVector<OpOperand *> others;
  for (OpOperand &use : arg.getUses())
    if (!isa<ReshardOp>(use.getOwner()))
      others.push_back(&use);
  arg.setType(withSharding(
      narrowType, ShardingAttr::get(function.getContext(), own.getMesh().getValue(), sharding, mesh)));
  if (!others.empty()) {
    OpBuilder builder = OpBuilder::atBlockBegin(arg.getOwner());
    auto why = builder.getStringAttr("each rank takes its part of what all are handed");
    auto narrow = ReshardOp::create(builder, arg.getLoc(), narrowType, arg, why);
    for (OpOperand *use : others)
      use->set(narrow);
  }
  for (Operation *user : llvm::make_early_inc_range(arg.getUsers()))
    if (auto reshard = dyn_cast<ReshardOp>(user); reshard && reshard.getType() == arg.getType()) {
      reshard.getResult().replaceAllUsesWith(arg);
      reshard.erase();
    }
}

namespace {
struct WidenInputsPass : tessera::dist::impl::DistWidenInputsPassBase<WidenInputsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      for (BlockArgument arg : function.getArguments()) {
        unsigned i = arg.getArgNumber();
        if (!function.getArgAttr(i, kWidenableAttr))
          continue;
        function.removeArgAttr(i, kWidenableAttr);
        auto type = dyn_cast<RankedTensorType>(arg.getType());
        ShardingAttr own = type ? getShardingAttr(type) : ShardingAttr();
        MeshOp meshOp = own ? lookupMesh(function, own.getMesh()) : MeshOp();
        if (!meshOp)
          continue;
        Mesh mesh = meshOp.getMesh().toMesh();
        if (auto sharding = widened(arg, mesh)) {
          widen(function, arg, *sharding, own, mesh);
          function.setArgAttr(i, kSeededAttr, own);
        }
      }
      function.setFunctionType(
          FunctionType::get(&getContext(), function.getBody().getArgumentTypes(), function.getResultTypes()));
    }
  }
};
} // namespace
