//===- Barriers.cpp - where the threads of a block meet ---------------------===//

#include "Barriers.h"
#include "SharedLoops.h"
#include "Touches.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera {
namespace {

class BarrierInserter {
public:
  BarrierInserter(const DenseMap<Operation *, TileSpread> &spreads,
                  const DenseMap<Operation *, int64_t> &shared, int64_t threads)
      : spreads(spreads), shared(shared), threads(threads) {}

  LogicalResult run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(visit(&op)))
        return failure();
    return success();
  }

private:
  void meet(Operation *op, ArrayRef<Touch> touches) {
    if (llvm::any_of(touches, [&](const Touch &now) {
          return llvm::any_of(pending, [&](const Touch &before) { return crossesThreads(before, now); });
        })) {
      if (looking) {
        conflict = true;
        return;
      }
      OpBuilder builder(op);
      gpu::BarrierOp::create(builder, op->getLoc());
      pending.clear();
    }
    llvm::append_range(pending, touches);
  }

  /// What a loop's rounds need among themselves stands inside; what they need of what came before, in front.
  LogicalResult visitLoop(scf::ForOp loop) {
    SmallVector<Touch> before = std::exchange(pending, {});
    // Twice: the second round meets what the first has left, at places that depend on the round.
    for (int round = 0; round < 2; ++round) {
      if (failed(run(*loop.getBody())))
        return failure();
      for (Touch &touch : pending)
        for (auto &part : touch.origin)
          if (part.first && loop.getBodyRegion().isAncestor(part.first.getParentRegion()))
            part.first = Value();
    }
    SmallVector<Touch> after = std::exchange(pending, before);
    bool outermost = !std::exchange(looking, true), metBefore = std::exchange(conflict, false);
    LogicalResult walked = run(*loop.getBody());
    bool needed = std::exchange(conflict, metBefore);
    if (outermost)
      looking = false;
    if (failed(walked))
      return failure();
    if (needed && looking)
      conflict = true;
    if (needed && !looking) {
      OpBuilder builder(loop);
      gpu::BarrierOp::create(builder, loop.getLoc());
      before.clear();
    }
    pending = std::move(after);
    llvm::append_range(pending, before); // the body may not run
    return success();
  }

  /// What the rounds of a loop touch that run side by side. Among themselves nobody meets.
  void meetShared(scf::ForOp loop) {
    SmallVector<Touch> touches;
    int64_t group = shared.lookup(loop), rounds = roundsApart(loop);
    loop.walk([&](Operation *op) {
      if (auto tile = dyn_cast<linalg::LinalgOp>(op))
        collectTouches(tile, spreads.find(op)->second, group, touches);
      else if (auto load = dyn_cast<memref::LoadOp>(op))
        touches.push_back(touchOf(load.getMemref(), load.getIndices(), /*writes=*/false));
    });
    for (Touch &touch : touches)
      touch = touchOfRounds(touch, loop, rounds, group, threads);
    meet(loop, touches);
  }

  LogicalResult visit(Operation *op) {
    SmallVector<Touch> touches;
    if (auto tile = dyn_cast<linalg::LinalgOp>(op)) {
      collectTouches(tile, spreads.find(op)->second, threads, touches);
      meet(op, touches);
      return success();
    }
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      meet(op, touchOf(load.getMemref(), load.getIndices(), /*writes=*/false));
      return success();
    }
    if (auto store = dyn_cast<memref::StoreOp>(op)) {
      meet(op, touchOf(store.getMemref(), store.getIndices(), /*writes=*/true));
      return success();
    }
    if (isa<gpu::BarrierOp>(op)) {
      pending.clear();
      return success();
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (!shared.contains(op))
        return visitLoop(loop);
      meetShared(loop);
      return success();
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      SmallVector<Touch> before = pending, after;
      for (Region &region : branch->getRegions()) {
        pending = before;
        for (Block &block : region)
          if (failed(run(block)))
            return failure();
        llvm::append_range(after, pending);
      }
      if (branch.getElseRegion().empty())
        llvm::append_range(after, before);
      pending = std::move(after);
      return success();
    }
    if (isMemoryEffectFree(op) || isa<memref::AllocOp, memref::DeallocOp>(op))
      return success();
    return op->emitError() << "kernel '" << op->getParentOfType<func::FuncOp>().getName()
                           << "' has an op that is not known to be safe on the threads of a block: '"
                           << op->getName() << "'";
  }

  const DenseMap<Operation *, TileSpread> &spreads;
  const DenseMap<Operation *, int64_t> &shared;
  int64_t threads;
  SmallVector<Touch> pending; ///< since the threads last met
  bool looking = false;       ///< barriers are not put in but asked for
  bool conflict = false;      ///< one would be
};

} // namespace

LogicalResult insertBarriers(func::FuncOp kernel, const DenseMap<Operation *, TileSpread> &spreads,
                             const DenseMap<Operation *, int64_t> &shared, int64_t threads) {
  return BarrierInserter(spreads, shared, threads).run(kernel.getBody().front());
}

} // namespace tessera
