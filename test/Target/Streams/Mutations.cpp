#include "Mutations.h"

#include "tessera/Dialect/Exec/IR/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::test {

using namespace mlir;
using namespace tessera::exec;

/// The ops of all entries, in the order of the text: a clone's have the same numbers.
static SmallVector<Operation *> opsOf(ModuleOp module) {
  SmallVector<Operation *> ops;
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(kEntryAttr))
      func.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  return ops;
}

static bool communicates(Operation *op) {
  auto access = dyn_cast<ExecAccessOpInterface>(op);
  return access && (access.isNeededElsewhere() || access.getStartedToken());
}

namespace {
class Collector {
public:
  explicit Collector(ModuleOp module) : ops(opsOf(module)) {
    events = 1;
    for (Operation *op : ops)
      if (std::optional<int64_t> event = eventOf(op))
        events = std::max(events, *event + 1);
    Operation *communicated = nullptr;
    size_t place = 0;
    for (auto [number, op] : llvm::enumerate(ops)) {
      addEvents(number, op);
      addStream(number, op);
      addOffsets(number, op);
      if (!communicates(op))
        continue;
      if (communicated && communicated->getBlock() == op->getBlock())
        add("two that communicate change places", number,
            [place](Operation *second, ArrayRef<Operation *> all) {
              Operation *first = all[place], *after = second->getNextNode();
              second->moveBefore(first);
              first->moveBefore(after);
            });
      communicated = op;
      place = number;
    }
  }
  std::vector<Mutation> made;

private:
  using Change = std::function<void(Operation *, ArrayRef<Operation *>)>;

  void add(StringRef kind, size_t number, Change change) {
    Operation *op = ops[number];
    auto at = dyn_cast<FileLineColLoc>(op->getLoc());
    std::string where = (op->getParentOfType<func::FuncOp>().getName() + ", line " +
                         Twine(at ? at.getLine() : 0) + ": " + op->getName().getStringRef())
                            .str();
    made.push_back({kind.str(), where, [number, change = std::move(change)](ModuleOp clone) {
                      SmallVector<Operation *> all = opsOf(clone);
                      change(all[number], all);
                    }});
  }

  static std::optional<int64_t> eventOf(Operation *op) {
    auto streamed = dyn_cast<ExecStreamOpInterface>(op);
    if (!streamed)
      return std::nullopt;
    std::optional<int64_t> recorded = streamed.getRecordedEvent();
    return recorded ? recorded : streamed.getAwaitedEvent();
  }

  void addEvents(size_t number, Operation *op) {
    std::optional<int64_t> event = eventOf(op);
    if (!event)
      return;
    bool records = isa<EventRecordOp>(op);
    add(records ? "a record is gone" : "a wait is gone", number,
        [](Operation *op, ArrayRef<Operation *>) { op->erase(); });
    // Past the nearest op that does something on a stream.
    auto moved = [](Operation *op, bool later) {
      Operation *past = op;
      do
        past = later ? past->getNextNode() : past->getPrevNode();
      while (past && !isa<ExecStreamOpInterface, ForOp>(past));
      return past;
    };
    for (bool later : {false, true})
      if (moved(op, later))
        add(std::string(records ? "a record is " : "a wait is ") + (later ? "later" : "earlier"), number,
            [=](Operation *op, ArrayRef<Operation *>) {
              later ? op->moveAfter(moved(op, true)) : op->moveBefore(moved(op, false));
            });
    for (int64_t other = 0; other < events; ++other)
      if (other != *event)
        add(records ? "a record is of another event" : "a wait is for another event", number,
            [other](Operation *op, ArrayRef<Operation *>) {
              op->setAttr("event", Builder(op->getContext()).getI64IntegerAttr(other));
            });
  }

  void addStream(size_t number, Operation *op) {
    if (isa<ExecStreamOpInterface>(op))
      add(eventOf(op)        ? "an event is on the other stream"
          : communicates(op) ? "what communicates is on the other stream"
                             : "what computes is on the other stream",
          number, [](Operation *op, ArrayRef<Operation *>) {
            auto streamed = cast<ExecStreamOpInterface>(op);
            streamed.setStreamNumber(1 - streamed.getStreamNumber());
          });
  }

  void addOffsets(size_t number, Operation *op) {
    auto buffer = dyn_cast<BufferOp>(op);
    if (!buffer)
      return;
    auto offset = int64_t(buffer.getOffset());
    auto place = [&](StringRef kind, int64_t at) {
      if (at >= 0 && at != offset)
        add(kind, number,
            [at](Operation *op, ArrayRef<Operation *>) { cast<BufferOp>(op).setOffset(uint64_t(at)); });
    };
    place("a buffer is 64 bytes lower", offset - kBufferAlignment);
    place("a buffer is 64 bytes higher", offset + kBufferAlignment);
    if (auto next = dyn_cast_or_null<BufferOp>(op->getNextNode()))
      place("a buffer is where another is", int64_t(next.getOffset()));
  }

  SmallVector<Operation *> ops;
  int64_t events;
};
} // namespace

std::vector<Mutation> mutationsOf(ModuleOp module) { return Collector(module).made; }

} // namespace tessera::test
