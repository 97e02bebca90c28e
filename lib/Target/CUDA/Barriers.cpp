//===- Barriers.cpp - where the threads of a block meet ---------------------===//

#include "Barriers.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera {
namespace {

/// Which thread touches which element: two touches of one memref with equal ways never cross threads.
struct Way {
  enum Kind { Unknown, First, Spread } kind = Unknown;
  TileSpread spread;
  AffineMap map;
  Value memref;

  bool operator==(const Way &other) const {
    return kind != Unknown && kind == other.kind && memref == other.memref &&
           (kind == First || (map == other.map && spread == other.spread));
  }
};

struct Touch {
  Value root;
  bool writes;
  Way way;
};

/// The argument or allocation that a memref shows a part of.
Value rootOf(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    if (!isa<memref::SubViewOp, memref::CastOp, memref::ExpandShapeOp, memref::CollapseShapeOp,
             memref::ReinterpretCastOp>(op))
      break;
    memref = op->getOperand(0);
  }
  return memref;
}

class BarrierInserter {
public:
  BarrierInserter(const DenseMap<Operation *, TileSpread> &spreads, int64_t threads)
      : spreads(spreads), threads(threads) {}

  LogicalResult run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(visit(&op)))
        return failure();
    return success();
  }

private:
  /// The one form of spreads that give the threads the same elements.
  Way wayOf(OpOperand &operand, linalg::LinalgOp op, const TileSpread &spread, bool reducedAway) {
    Way way{Way::Spread, spread, op.getMatchingIndexingMap(&operand), operand.get()};
    if (reducedAway) // by the first thread of a group, or all threads of it read it
      return {};
    if (spread.kind == TileSpread::Grouped) {
      if (spread.items != 1 || spread.group != threads)
        return {};
      way.spread.dims = {spread.dim};
      way.spread.sizes = {op.getStaticLoopRanges()[spread.dim] / spread.width};
      way.spread.items = way.spread.sizes.front();
    } else if (spread.kind == TileSpread::Scalar) {
      way.spread.dim = -1;
    }
    way.spread.kind = TileSpread::Parallel;
    way.spread.group = way.spread.slices = way.spread.places = 1;
    return way;
  }

  void add(SmallVectorImpl<Touch> &touches, Value memref, bool writes, Way way) {
    if (isa<MemRefType>(memref.getType()))
      touches.push_back({rootOf(memref), writes, std::move(way)});
  }

  void touchesOf(linalg::LinalgOp op, SmallVectorImpl<Touch> &touches) {
    const TileSpread &spread = spreads.find(op)->second;
    auto moves = [&](OpOperand &operand, int64_t dim) {
      return dim >= 0 && op.getMatchingIndexingMap(&operand).isFunctionOfDim(unsigned(dim));
    };
    for (OpOperand *input : op.getDpsInputOperands()) {
      // Threads of a slice, or of a group, read what their number says only where every dimension of the item
      // is one of the operand.
      bool shared = spread.kind == TileSpread::Split ||
                    (spread.kind == TileSpread::Grouped && !moves(*input, spread.dim));
      add(touches, input->get(), false, wayOf(*input, op, spread, shared));
    }
    for (OpOperand &out : op.getDpsInitsMutable()) {
      bool reduced = spread.kind == TileSpread::Grouped && !moves(out, spread.dim);
      add(touches, out.get(), true, wayOf(out, op, spread, reduced));
    }
    op->walk([&](memref::LoadOp load) { add(touches, load.getMemref(), false, {}); });
  }

  void meet(Operation *op, ArrayRef<Touch> touches) {
    bool conflict = llvm::any_of(touches, [&](const Touch &now) {
      return llvm::any_of(pending, [&](const Touch &before) {
        return (now.writes || before.writes) && now.root == before.root && !(now.way == before.way);
      });
    });
    if (conflict) {
      OpBuilder builder(op);
      gpu::BarrierOp::create(builder, op->getLoc());
      pending.clear();
    }
    llvm::append_range(pending, touches);
  }

  LogicalResult visit(Operation *op) {
    SmallVector<Touch> touches;
    if (auto tile = dyn_cast<linalg::LinalgOp>(op)) {
      touchesOf(tile, touches);
      meet(op, touches);
      return success();
    }
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      add(touches, load.getMemref(), false, {});
      meet(op, touches);
      return success();
    }
    if (auto store = dyn_cast<memref::StoreOp>(op)) {
      Way way;
      way.kind = Way::First;
      way.memref = store.getMemref();
      add(touches, store.getMemref(), true, way);
      meet(op, touches);
      return success();
    }
    if (isa<gpu::BarrierOp>(op)) {
      pending.clear();
      return success();
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      SmallVector<Touch> before = pending; // the body may not run
      // Twice: the second round meets what the first has left.
      for (int round = 0; round < 2; ++round)
        if (failed(run(*loop.getBody())))
          return failure();
      llvm::append_range(pending, before);
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
  int64_t threads;
  SmallVector<Touch> pending; ///< since the threads last met
};

} // namespace

LogicalResult insertBarriers(func::FuncOp kernel, const DenseMap<Operation *, TileSpread> &spreads,
                             int64_t threads) {
  return BarrierInserter(spreads, threads).run(kernel.getBody().front());
}

} // namespace tessera
