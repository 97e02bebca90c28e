//===- DistributeTiles.cpp - kernels on buffers to code of one thread -------===//

#include "Alignment.h"
#include "Barriers.h"
#include "SharedLoops.h"
#include "TileDistributor.h"

#include "tessera/Target/CUDA/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {
#define GEN_PASS_DEF_CUDADISTRIBUTETILES
#include "tessera/Target/CUDA/Passes.h.inc"

namespace {

/// Threads of a block: as many as its ops can use, and no more than leave room for other blocks unless the
/// work is large.
int64_t blockSize(int64_t wanted) {
  int64_t threads = int64_t(llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(wanted, 1))));
  int64_t most = wanted >= 4096 ? 512 : 256;
  return std::clamp<int64_t>(threads, kWarp, most);
}

struct CUDADistributeTiles : impl::CUDADistributeTilesBase<CUDADistributeTiles> {
  /// One block does one iteration: loops over [begin, end) are gone, `begin` is the block's number.
  LogicalResult replaceRange(func::FuncOp func) {
    Block &entry = func.getBody().front();
    Value begin = entry.getArgument(entry.getNumArguments() - 2),
          end = entry.getArgument(entry.getNumArguments() - 1);
    IRRewriter rewriter(&getContext());
    // Further down stands what follows from it.
    rewriter.setInsertionPointToStart(&entry);
    Value block = gpu::BlockIdOp::create(rewriter, func.getLoc(), gpu::Dimension::x);
    SmallVector<scf::ForOp> loops;
    func.walk([&](scf::ForOp loop) {
      if (loop.getLowerBound() == begin && loop.getUpperBound() == end)
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      if (loop.getNumRegionIterArgs())
        return loop.emitError() << "kernel '" << func.getName()
                                << "' carries a value from iteration to iteration";
      Operation *yield = loop.getBody()->getTerminator();
      rewriter.eraseOp(yield);
      rewriter.inlineBlockBefore(loop.getBody(), loop, ValueRange{block});
      rewriter.eraseOp(loop);
    }
    rewriter.replaceAllUsesWith(begin, block);
    if (!end.use_empty()) {
      Value one = arith::ConstantIndexOp::create(rewriter, func.getLoc(), 1);
      rewriter.replaceAllUsesWith(end,
                                  arith::AddIOp::create(rewriter, func.getLoc(), block, one).getResult());
    }
    return success();
  }

  /// Round i is for group i mod (number of groups). Returns the number of thread `id` within its group.
  static DenseMap<Operation *, Value>
  shareLoops(func::FuncOp func, const DenseMap<Operation *, int64_t> &shared, Value id, int64_t threads) {
    DenseMap<Operation *, Value> lanes;
    OpBuilder b(func.getContext());
    b.setInsertionPointAfterValue(id);
    func.walk([&](scf::ForOp loop) {
      int64_t group = shared.lookup(loop);
      if (!group)
        return;
      Value size = arith::ConstantIndexOp::create(b, loop.getLoc(), group);
      lanes[loop] = arith::RemUIOp::create(b, loop.getLoc(), id, size);
      loop.setLowerBound(arith::DivUIOp::create(b, loop.getLoc(), id, size));
      loop.setStep(arith::ConstantIndexOp::create(b, loop.getLoc(), threads / group));
    });
    return lanes;
  }

  /// Chunks are as wide as what they touch is aligned.
  static void alignAccesses(func::FuncOp func) {
    func.walk([&](Operation *op) {
      auto align = [&](auto access, VectorType type) {
        int64_t bytes = type.getNumElements() * bytesInMemory(type.getElementType());
        access.setAlignment(uint64_t(std::min(bytes, kLargestAccess)));
      };
      if (auto load = dyn_cast<vector::LoadOp>(op))
        align(load, load.getVectorType());
      else if (auto store = dyn_cast<vector::StoreOp>(op))
        align(store, store.getVectorType());
    });
  }

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func->hasAttr(kKernelAttr) || func.isExternal())
      return;
    if (failed(replaceRange(func)))
      return signalPassFailure();
    if (func->hasAttr(kThreadsAttr)) // written for threads by hand
      return;
    IRRewriter rewriter(&getContext());
    replaceCopies(rewriter, func);
    SmallVector<linalg::LinalgOp> ops;
    SmallVector<memref::StoreOp> stores; // between tile ops
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto tile = dyn_cast<linalg::LinalgOp>(op)) {
        ops.push_back(tile);
        return WalkResult::skip();
      }
      if (auto store = dyn_cast<memref::StoreOp>(op))
        stores.push_back(store);
      return WalkResult::advance();
    });
    int64_t wanted = 1;
    for (linalg::LinalgOp op : ops) {
      if (!op.hasPureBufferSemantics() || op.hasDynamicShape()) {
        op->emitError() << "kernel '" << func.getName() << "' has a tile op on tensors, or of dynamic shape";
        return signalPassFailure();
      }
      auto around = op->getParentOfType<scf::ForOp>();
      int64_t rounds = around ? roundsApart(around) : 1;
      wanted = std::max(wanted, TileDistributor(rewriter, op).wantedThreads() * rounds);
    }
    int64_t threads = blockSize(wanted);
    func->setAttr(kThreadsAttr, rewriter.getI64IntegerAttr(threads));
    DenseMap<Operation *, int64_t> shared = findSharedLoops(func, threads);
    auto loopOf = [&](Operation *op) { // the shared loop that the op is in, or null
      while (op && !shared.contains(op))
        op = op->getParentOp();
      return op;
    };
    DenseMap<Operation *, TileSpread> spreads;
    for (linalg::LinalgOp op : ops) {
      Operation *loop = loopOf(op);
      spreads[op] = TileDistributor(rewriter, op).spread(loop ? shared.lookup(loop) : threads);
    }
    if (failed(insertBarriers(func, spreads, shared, threads)))
      return signalPassFailure();
    rewriter.setInsertionPointToStart(&func.getBody().front());
    Value id = gpu::ThreadIdOp::create(rewriter, func.getLoc(), gpu::Dimension::x);
    for (memref::StoreOp store : stores) {
      rewriter.setInsertionPoint(store);
      Location loc = store.getLoc();
      Value first = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, id,
                                          arith::ConstantIndexOp::create(rewriter, loc, 0));
      auto branch = scf::IfOp::create(rewriter, loc, first, /*withElseRegion=*/false);
      rewriter.moveOpBefore(store, branch.thenBlock(), branch.thenBlock()->begin());
    }
    DenseMap<Operation *, Value> lanes = shareLoops(func, shared, id, threads);
    for (linalg::LinalgOp op : ops) {
      bool again = op->getParentOfType<scf::ForOp>() != nullptr;
      Operation *loop = loopOf(op);
      TileDistributor(rewriter, op)
          .emit(spreads[op], loop ? lanes.lookup(loop) : id, loop ? shared.lookup(loop) : threads, again);
    }
    alignAccesses(func);
  }
};

} // namespace
} // namespace tessera
