//===- StartCollectives.cpp - Communication in flight beside the host's work -===//
//
// On a device without streams what ranks exchange is started and waited for by the host. A collective begins
// behind the last op that it meets in memory, and is waited for before the first one; which ops these are
// follows from bytes, so places that values share count too. Collectives begin in the order of the program,
// which is one on all ranks.
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Exec/IR/Flight.h"
#include "tessera/Dialect/Exec/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::exec {
#define GEN_PASS_DEF_EXECSTARTCOLLECTIVES
#include "tessera/Dialect/Exec/Transforms/Passes.h.inc"

using namespace mlir;

namespace {

template <typename Op> Flight flightOf(Op op) {
  return {MemoryRange(op.getInput()), MemoryRange(op.getOutput())};
}

/// Whether other ranks take part in `op`, or in something that stands in it.
bool communicates(Operation *op) {
  return op
      ->walk([](ExecAccessOpInterface inner) {
        return WalkResult(inner.isNeededElsewhere() || inner.getStartedToken() ? WalkResult::interrupt()
                                                                               : WalkResult::advance());
      })
      .wasInterrupted();
}

/// Whether `op` waits for work that meets `flight`.
bool waitsFor(Operation *op, const Flight &flight) {
  auto wait = dyn_cast<WaitOp>(op);
  return wait && meeting(wait.getToken().getDefiningOp(), flight);
}

/// Moves what makes `value` (views, numbers) before `point`.
void bringBefore(Value value, Operation *point) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != point->getBlock() || op->isBeforeInBlock(point))
    return;
  for (Value operand : op->getOperands())
    bringBefore(operand, point);
  op->moveBefore(point);
}

/// Behind the last op that the collective has to come after.
void moveUp(CollectiveOp op) {
  Flight flight = flightOf(op);
  Operation *point = op;
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
    if (isPure(before))
      continue;
    if (communicates(before) || waitsFor(before, flight) || meeting(before, flight))
      break;
    point = before;
  }
  if (point == op)
    return;
  for (Value operand : op->getOperands())
    bringBefore(operand, point);
  op->moveBefore(point);
}

/// The first op that has to come after the end of the collective.
Operation *firstAfter(CollectiveOp op) {
  Flight flight = flightOf(op);
  Operation *after = op->getNextNode();
  while (!after->hasTrait<OpTrait::IsTerminator>() && !meeting(after, flight))
    after = after->getNextNode();
  return after;
}

/// Something goes on between the start and the wait: work, or another collective.
bool hides(CollectiveStartOp start, WaitOp wait) {
  for (Operation *op = start->getNextNode(); op != wait; op = op->getNextNode())
    if (!isPure(op) && !isa<WaitOp>(op))
      return true;
  return false;
}

class Starts {
public:
  void run(Block &block) {
    SmallVector<CollectiveOp> collectives;
    for (Operation &op : block)
      if (auto loop = dyn_cast<ForOp>(op))
        run(loop.getBody().front());
      else if (auto collective = dyn_cast<CollectiveOp>(op))
        collectives.push_back(collective);
    SmallVector<std::pair<CollectiveStartOp, WaitOp>> pairs;
    for (CollectiveOp op : collectives) {
      moveUp(op);
      OpBuilder builder(op);
      auto start = CollectiveStartOp::create(builder, op.getLoc(), TokenType::get(op.getContext()),
                                             op->getOperands(), op->getAttrs());
      builder.setInsertionPoint(firstAfter(op));
      pairs.push_back({start, WaitOp::create(builder, op.getLoc(), start.getToken(), /*stream=*/nullptr)});
      op.erase();
    }
    for (auto [start, wait] : pairs)
      if (!hides(start, wait)) {
        OpBuilder builder(start);
        CollectiveOp::create(builder, start.getLoc(), TypeRange(), start->getOperands(), start->getAttrs());
        wait.erase();
        start.erase();
      }
  }
};

struct ExecStartCollectives : impl::ExecStartCollectivesBase<ExecStartCollectives> {
  using Base::Base;

  void runOnOperation() override {
    if (getOperation()->hasAttr(kStreamsAttr)) // they run beside each other already
      return markAllAnalysesPreserved();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func->hasAttr(kEntryAttr))
        Starts().run(func.getBody().front());
  }
};

} // namespace
} // namespace tessera::exec
