//===- PipelineLoops.cpp - Collectives of a loop one iteration apart --------===//
//
// Software pipelining of what ranks exchange, on tensors. An iteration has three parts: early collectives,
// which need nothing that the loop carries; the work; late ones, whose results only go into what nobody else
// of the loop reads. An iteration of the new loop does the early part of the next layer, the late part of the
// layer before, and the work of its own. What passes between is carried; two iterations are one of the loop,
// so that the places in which it lies take turns and nothing is copied. The first and the last iteration, and
// one more where their number is odd, stand outside.
//
//===----------------------------------------------------------------------===//

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Exec/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/CallNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace tessera::exec {
#define GEN_PASS_DEF_EXECPIPELINELOOPS
#include "tessera/Dialect/Exec/Transforms/Passes.h.inc"

using namespace mlir;

namespace {

using OpSet = llvm::SetVector<Operation *>;

/// All that it writes is new.
bool makesFresh(Operation *op) {
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  return destination && llvm::all_of(destination.getDpsInits(),
                                     [](Value out) { return out.getDefiningOp<tensor::EmptyOp>(); });
}

/// Which op of a loop's body belongs to which part.
class LoopParts {
public:
  explicit LoopParts(ForOp loop) : loop(loop), body(loop.getBody().front()) {
    findEarly();
    if (loop.getStep() == 1) // of a period's other layers each has work behind it
      findLate();
  }

  bool isEmpty() const { return early.empty() && late.empty(); }

  ForOp loop;
  Block &body;
  OpSet early, late;             ///< work and collectives; views and numbers are made where they are needed
  SmallVector<Value> prefetched; ///< of early ops, read by the work
  SmallVector<Value> staged;     ///< of the work, read by late ops
  SmallVector<bool> isLate;      ///< of what the loop carries: late ops make the next value

private:
  bool isInside(Value value) const { return value.getParentBlock() == &body; }

  /// The layer of the period that `op` is of, by the numbers that it takes; -1: it needs what the loop
  /// carries, or the work.
  int64_t turnOf(Operation *op) {
    auto [known, isNew] = turns.try_emplace(op, -1);
    if (!isNew)
      return known->second;
    int64_t turn = 0;
    if (auto offset = dyn_cast<IndexOffsetOp>(op))
      turn = offset.getReverse() ? int64_t(loop.getCount()) - 1 - int64_t(offset.getOffset())
                                 : int64_t(offset.getOffset());
    if (!isPure(op) && !((isa<CollectiveOp, LaunchOp>(op)) && makesFresh(op)))
      return -1;
    for (Value operand : op->getOperands()) {
      if (!isInside(operand) || operand == loop.getIndex())
        continue;
      Operation *def = operand.getDefiningOp();
      int64_t other = def ? turnOf(def) : -1;
      if (other < 0)
        return -1;
      turn = std::max(turn, other);
    }
    return turns[op] = turn;
  }

  void findEarly() {
    OpSet needed;
    SmallVector<Operation *> work;
    for (auto op : body.getOps<CollectiveOp>())
      if (turnOf(op) == 0)
        work.push_back(op);
    while (!work.empty()) {
      Operation *op = work.pop_back_val();
      if (!needed.insert(op))
        continue;
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp(); def && isInside(operand))
          work.push_back(def);
    }
    for (Operation &op : body)
      if (needed.contains(&op) && !isPure(&op))
        early.insert(&op);
    for (Operation *op : early)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !early.contains(user); }))
          prefetched.push_back(result);
  }

  /// All ops of the body that `op` has to do with the values of, `op` included.
  OpSet followers(Operation *op) {
    OpSet set;
    SmallVector<Operation *> work{op};
    while (!work.empty()) {
      Operation *next = work.pop_back_val();
      if (next == loop.getYield() || !set.insert(next))
        continue;
      for (Operation *user : next->getUsers())
        work.push_back(body.findAncestorOpInBlock(*user));
    }
    return set;
  }

  /// Calls `use` for everything behind `value` that is no view or number of the body.
  void roots(Value value, llvm::function_ref<void(Value)> use) {
    Operation *def = value.getDefiningOp();
    if (!def || !isInside(value) || !isPure(def))
      return use(value);
    for (Value operand : def->getOperands())
      roots(operand, use);
  }

  /// Ops that read `value`, through views.
  void readers(Value value, SmallVectorImpl<OpOperand *> &uses) {
    for (OpOperand &use : value.getUses())
      if (isPure(use.getOwner()) && use.getOwner() != loop.getYield())
        for (Value view : use.getOwner()->getResults())
          readers(view, uses);
      else
        uses.push_back(&use);
  }

  /// It may be carried to the next iteration and lie where it is: nobody changes it or makes it elsewhere.
  bool mayBeStaged(Value value, const OpSet &followers) {
    SmallVector<OpOperand *> uses;
    readers(value, uses);
    return llvm::all_of(uses, [&](OpOperand *use) {
      Operation *user = use->getOwner();
      if (followers.contains(user))
        return true;
      auto destination = dyn_cast<DestinationStyleOpInterface>(user);
      auto launch = dyn_cast<LaunchOp>(user);
      return destination && !destination.isDpsInit(use) && !(launch && launch.getCopies());
    });
  }

  bool mayBeLate(const OpSet &own, const OpSet &all) {
    auto yieldedBy = [&](const OpSet &ops) {
      llvm::SmallDenseSet<unsigned> yielded;
      for (auto [number, next] : llvm::enumerate(loop.getYield()->getOperands()))
        roots(next, [&, number = unsigned(number)](Value root) {
          if (Operation *def = root.getDefiningOp(); def && ops.contains(def))
            yielded.insert(number);
        });
      return yielded;
    };
    llvm::SmallDenseSet<unsigned> yielded = yieldedBy(all);
    for (Operation *op : own) {
      if (op->getNumRegions() > 0)
        return false;
      bool isGood = true;
      for (Value operand : op->getOperands())
        roots(operand, [&](Value root) {
          Operation *def = root.getDefiningOp();
          if (!isInside(root) || root == loop.getIndex() || (def && all.contains(def)))
            return;
          isGood &= def ? !early.contains(def) && mayBeStaged(root, all)
                        : yielded.contains(cast<BlockArgument>(root).getArgNumber() - 1);
        });
      if (!isGood)
        return false;
    }
    for (unsigned number : yieldedBy(own)) {
      SmallVector<OpOperand *> uses;
      readers(loop.getCarried()[number], uses);
      if (llvm::any_of(uses, [&](OpOperand *use) { return !all.contains(use->getOwner()); }))
        return false;
    }
    return true;
  }

  void findLate() {
    SmallVector<std::pair<Operation *, OpSet>> candidates;
    for (auto op : body.getOps<CollectiveOp>()) {
      // What is carried anyway is no work's.
      bool isOfWork = !early.contains(op);
      roots(op.getInput(), [&](Value root) { isOfWork &= bool(root.getDefiningOp()) || !isInside(root); });
      if (isOfWork)
        candidates.push_back({op, followers(op)});
    }
    OpSet all;
    for (bool changed = true; changed;) {
      changed = false;
      all.clear();
      for (auto &[op, own] : candidates)
        all.insert(own.begin(), own.end());
      llvm::erase_if(candidates, [&](auto &candidate) {
        bool goes = !mayBeLate(candidate.second, all);
        changed |= goes;
        return goes;
      });
    }
    for (Operation &op : body)
      if (all.contains(&op) && !isPure(&op))
        late.insert(&op);
    llvm::SetVector<Value> read;
    for (Operation *op : late)
      for (Value operand : op->getOperands())
        roots(operand, [&](Value root) {
          if (Operation *def = root.getDefiningOp(); def && isInside(root) && !late.contains(def))
            read.insert(root);
        });
    staged.assign(read.begin(), read.end());
    for (Value next : loop.getYield()->getOperands()) {
      isLate.push_back(false);
      roots(next, [&](Value root) {
        isLate.back() |= root.getDefiningOp() && late.contains(root.getDefiningOp());
      });
    }
  }

  llvm::DenseMap<Operation *, int64_t> turns;
};

/// An iteration of the old loop on its way through the new program.
struct Turn {
  IRMapping map;
  int64_t factor = 0, shift = 0; ///< its index: factor * (that of the loop it stands in) + shift
};

class LoopPipeline {
public:
  explicit LoopPipeline(LoopParts &parts)
      : parts(parts), loop(parts.loop), builder(loop), values(loop.getInits()) {}

  void run() {
    int64_t count = loop.getIterations(), at = 0;
    int64_t first = parts.late.empty() ? 0 : 1, last = parts.early.empty() ? 0 : 1;
    now = turn(0, 0);
    emit(parts.early, now);
    for (; at < first; ++at)
      step(at + 1 < count ? turn(0, at + 1) : Turn(), at + 1 < count);
    if (int64_t pairs = (count - first - last) / 2; pairs > 0) {
      runLoop(pairs, at);
      at += 2 * pairs;
    }
    for (; at < count; ++at)
      step(at + 1 < count ? turn(0, at + 1) : Turn(), at + 1 < count);
    finish();
    loop.replaceAllUsesWith(values);
    loop.erase();
  }

private:
  /// The old loop's iteration `number`, or that many after `index`.
  Turn turn(int64_t factor, int64_t number, Value index = {}) {
    Turn made;
    made.factor = factor;
    made.shift = number * int64_t(loop.getStep());
    Value value = index;
    if (index && made.shift > 0)
      value = IndexOffsetOp::create(builder, loop.getLoc(), builder.getIndexType(), index,
                                    builder.getI64IntegerAttr(made.shift), UnitAttr());
    else if (!index)
      value = arith::ConstantIndexOp::create(builder, loop.getLoc(), made.shift);
    made.map.map(loop.getIndex(), value);
    // Numbers of layers first: what is made in a layer of a stack needs its number there.
    for (Operation &number : parts.body)
      if (isa<IndexOffsetOp, StackLayerOp>(number))
        get(number.getResult(0), made);
    return made;
  }

  /// What `value` of the old body is for this turn; views and numbers are made again.
  Value get(Value value, Turn &turn) {
    if (Value known = turn.map.lookupOrNull(value))
      return known;
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != &parts.body)
      return value;
    clone(def, turn);
    return turn.map.lookup(value);
  }
  void clone(Operation *op, Turn &turn) {
    for (Value operand : op->getOperands())
      get(operand, turn);
    Operation *made = builder.clone(*op, turn.map);
    made->setLoc(graph::moveCall(made->getLoc(), turn.factor, turn.shift));
  }
  void emit(const OpSet &ops, Turn &turn, llvm::function_ref<bool(Operation *)> which = {}) {
    for (Operation *op : ops)
      if (!which || which(op))
        clone(op, turn);
  }

  /// A late collective that needs no other late op begins before the work, all else comes after it.
  bool beginsLate(Operation *op) {
    return isa<CollectiveOp>(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
             Value root = rootOf(operand);
             Operation *def = root.getDefiningOp();
             return root.getParentBlock() != &parts.body || (def && !parts.late.contains(def));
           });
  }
  void endLate(Turn &turn) {
    for (auto [number, carried] : llvm::enumerate(loop.getCarried()))
      turn.map.map(carried, values[number]);
    emit(parts.late, turn, [&](Operation *op) { return !beginsLate(op); });
    for (auto [number, next] : llvm::enumerate(loop.getYield()->getOperands()))
      if (parts.isLate[number])
        values[number] = get(next, turn);
  }
  bool isLate(unsigned number) const { return !parts.isLate.empty() && parts.isLate[number]; }

  /// The work of `now`, beside the early part of `next` and the late part of the one before.
  void step(Turn next, bool hasNext) {
    if (hasNext)
      emit(parts.early, next);
    if (before)
      emit(parts.late, *before, [&](Operation *op) { return beginsLate(op); });
    for (auto [number, carried] : llvm::enumerate(loop.getCarried()))
      if (!isLate(unsigned(number)))
        now.map.map(carried, values[number]);
    for (Operation &op : parts.body.without_terminator())
      if (!isPure(&op) && !parts.early.contains(&op) && !parts.late.contains(&op))
        clone(&op, now);
    for (auto [number, following] : llvm::enumerate(loop.getYield()->getOperands()))
      if (!isLate(unsigned(number)))
        values[number] = get(following, now);
    if (before)
      endLate(*before);
    if (!parts.late.empty())
      before = now;
    now = next;
  }

  /// The late part of the last iteration.
  void finish() {
    if (!before)
      return;
    emit(parts.late, *before, [&](Operation *op) { return beginsLate(op); });
    endLate(*before);
  }

  /// `pairs` times two iterations, from `at` on.
  void runLoop(int64_t pairs, int64_t at) {
    Location loc = loop.getLoc();
    SmallVector<Value> inits(values);
    for (Value value : parts.prefetched)
      inits.push_back(now.map.lookup(value));
    for (Value value : parts.staged)
      inits.push_back(before->map.lookup(value));
    int64_t step = 2 * int64_t(loop.getStep());
    auto made = ForOp::create(builder, loc, ValueRange(inits).getTypes(), pairs * step, step, inits);
    Block *block = builder.createBlock(&made.getBody());
    Value index = block->addArgument(builder.getIndexType(), loc);
    for (Value init : inits)
      block->addArgument(init.getType(), loc);
    take(block->getArguments().drop_front(), turn(1, at, index),
         parts.late.empty() ? Turn() : turn(1, at - 1, index));
    for (int64_t i = 1; i <= 2; ++i)
      this->step(turn(1, at + i, index), true);
    SmallVector<Value> next(values);
    for (Value value : parts.prefetched)
      next.push_back(get(value, now));
    for (Value value : parts.staged)
      next.push_back(get(value, *before));
    YieldOp::create(builder, loc, next);
    builder.setInsertionPointAfter(made);
    at += 2 * pairs; // the iteration that is next, if there is one: with early parts there is
    take(made.getResults(), at < loop.getIterations() ? turn(0, at) : Turn(),
         parts.late.empty() ? Turn() : turn(0, at - 1));
  }

  /// Goes on with what a loop carries.
  void take(ValueRange carried, Turn current, Turn last) {
    size_t own = values.size();
    values.assign(carried.begin(), carried.begin() + own);
    carried = carried.drop_front(own);
    now = std::move(current);
    now.map.map(parts.prefetched, carried.take_front(parts.prefetched.size()));
    if (parts.late.empty())
      return;
    before = std::move(last);
    before->map.map(parts.staged, carried.drop_front(parts.prefetched.size()));
  }

  LoopParts &parts;
  ForOp loop;
  OpBuilder builder;
  SmallVector<Value> values; ///< that the old loop carries
  Turn now;
  std::optional<Turn> before;
};

struct ExecPipelineLoops : impl::ExecPipelineLoopsBase<ExecPipelineLoops> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<ForOp> loops;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func->hasAttr(kEntryAttr))
        func.walk([&](ForOp loop) {
          // How often a loop runs that the call says is not known here; of the layers of a micro-batch that
          // of another one would be far too far ahead.
          if (!loop.getCall() && loop.getIterations() > 1 && loop.getBody().front().getOps<ForOp>().empty())
            loops.push_back(loop);
        });
    for (ForOp loop : loops) {
      LoopParts parts(loop);
      if (!parts.isEmpty())
        LoopPipeline(parts).run();
    }
  }
};

} // namespace
} // namespace tessera::exec
