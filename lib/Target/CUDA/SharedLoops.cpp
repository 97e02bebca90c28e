//===- SharedLoops.cpp - rounds of a loop side by side ----------------------===//

#include "SharedLoops.h"

#include "tessera/Target/Kernels/Passes.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {

int64_t roundsApart(scf::ForOp loop) {
  std::optional<int64_t> first = getConstantIntValue(loop.getLowerBound()),
                         end = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (!loop->hasAttr(kApartAttr) || loop.getNumResults() || first != 0 || step != 1 || !end)
    return 1;
  return std::max<int64_t>(*end, 1);
}

namespace {

/// What the ops of one round do to memory.
class Round {
public:
  /// Threads that a round has use for; none where its threads would have to meet.
  std::optional<int64_t> threadsOf(scf::ForOp loop, int64_t threads) {
    WalkResult walked = loop.getBody()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto tile = dyn_cast<linalg::LinalgOp>(op))
        return addTile(tile, threads) ? WalkResult::skip() : WalkResult::interrupt();
      if (auto load = dyn_cast<memref::LoadOp>(op))
        return add(load.getMemref(), /*writes=*/false) ? WalkResult::advance() : WalkResult::interrupt();
      bool known = isa<scf::IfOp, scf::YieldOp>(op) || isMemoryEffectFree(op);
      return known ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (walked.wasInterrupted() || !tiles)
      return std::nullopt;
    return int64_t(llvm::PowerOf2Ceil(uint64_t(most)));
  }

private:
  /// False where two operands meet in memory, one of them written.
  bool add(Value memref, bool writes) {
    auto [known, isNew] = written.try_emplace(rootOf(memref), writes);
    return isNew || (!known->second && !writes);
  }

  bool addTile(linalg::LinalgOp tile, int64_t threads) {
    IRRewriter rewriter(tile.getContext());
    TileSpread spread = TileDistributor(rewriter, tile).spread(threads);
    if (spread.kind != TileSpread::Parallel && spread.kind != TileSpread::Scalar)
      return false; // its threads share a reduction
    ++tiles;
    most = std::max(most, spread.items);
    for (OpOperand &operand : tile->getOpOperands())
      if (isa<MemRefType>(operand.get().getType()) &&
          !add(operand.get(), /*writes=*/tile.isDpsInit(&operand)))
        return false;
    return !tile->walk([&](memref::LoadOp load) { // at computed places
                  return add(load.getMemref(), /*writes=*/false) ? WalkResult::advance()
                                                                 : WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  DenseMap<Value, bool> written; ///< arguments and allocations that a round uses
  int64_t tiles = 0, most = 1;
};

} // namespace

DenseMap<Operation *, int64_t> findSharedLoops(func::FuncOp kernel, int64_t threads) {
  DenseMap<Operation *, int64_t> shared;
  kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    if (roundsApart(loop) < 2)
      return WalkResult::advance();
    std::optional<int64_t> group = Round().threadsOf(loop, threads);
    if (!group || *group * 2 > threads)
      return WalkResult::advance();
    shared[loop] = *group;
    return WalkResult::skip();
  });
  return shared;
}

/// A number that follows from the loop's, in round `round`; none where it follows from data.
static std::optional<int64_t> valueIn(Value value, scf::ForOp loop, int64_t round) {
  if (value == loop.getInductionVar())
    return round;
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return constant;
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::MulIOp, arith::DivUIOp, arith::RemUIOp>(op))
    return std::nullopt;
  std::optional<int64_t> x = valueIn(op->getOperand(0), loop, round),
                         y = valueIn(op->getOperand(1), loop, round);
  if (!x || !y || *x < 0 || *y < 0)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return *x + *y;
  if (isa<arith::MulIOp>(op))
    return *x * *y;
  if (*y == 0)
    return std::nullopt;
  return isa<arith::DivUIOp>(op) ? *x / *y : *x % *y;
}

Touch touchOfRounds(const Touch &touch, scf::ForOp loop, int64_t rounds, int64_t group, int64_t threads) {
  Touch all;
  all.root = touch.root;
  all.writes = touch.writes;
  SmallVector<std::pair<Value, int64_t>> moving;
  for (auto part : touch.origin) {
    bool inside = part.first && loop.getBodyRegion().isAncestor(part.first.getParentRegion());
    (inside ? moving : all.origin).push_back(part);
  }
  if (!touch.exact || rounds * int64_t(touch.threads.size()) > kMostPoints)
    return all;
  for (int64_t round = 0; round < rounds; ++round) {
    int64_t from = 0, first = round % (threads / group) * group;
    for (const auto &[value, stride] : moving) {
      std::optional<int64_t> number = valueIn(value, loop, round);
      if (!number)
        return all;
      from += *number * stride;
    }
    for (const auto &[element, thread] : touch.threads) {
      int32_t who = thread == Touch::kSeveral ? thread : int32_t(first + thread);
      auto [it, isNew] = all.threads.insert({from + element, who});
      if (!isNew && it->second != who)
        it->second = Touch::kSeveral;
    }
  }
  all.exact = true;
  return all;
}

} // namespace tessera
