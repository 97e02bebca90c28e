//===- CheckOrder.cpp - Proving that streams and events order a program -----===//

#include "OrderRun.h"

#include "tessera/Analysis/Order/Order.h"

#include "llvm/Support/FormatVariadic.h"

namespace tessera {

namespace {

class Checker : public order::OrderRun {
public:
  using OrderRun::OrderRun;
  std::optional<OrderViolation> violation;

private:
  bool fail(const ArenaItem &item, int access, const llvm::Twine &what,
            const order::PastAccess *past = nullptr) {
    violation = OrderViolation{item.tag, access, past ? past->tag : -1, past ? past->access : -1, what.str()};
    return false;
  }

  std::string text(const order::Region &region, int inRound) const {
    order::Span span = order::spanOf(region, loopsOf(inRound));
    const char *within = region.factors.empty() ? "bytes" : "a layer in bytes";
    return llvm::formatv("{0} [{1}, {2}){3}", within, span.begin, span.end,
                         region.memory == 0  ? ""
                         : region.memory > 0 ? " of the parameter"
                                             : " of the memory that its launches share");
  }
  std::string streamText(int stream) const {
    return stream < streams ? "stream " + std::to_string(stream) : "in flight";
  }

  bool onConflicts(const ArenaItem &item, llvm::ArrayRef<order::Conflict> conflicts) override {
    const order::PastAccess &past = *conflicts.front().past;
    int access = conflicts.front().access, stream = item.op.stream;
    std::string which =
        relation(past.round, round).second ? "the other op of the round before" : "the other op";
    std::string remedy =
        past.stream < streams
            ? llvm::formatv("stream {0} has to wait for an event that stream {1} records after the other op",
                            stream, past.stream)
                  .str()
            : llvm::formatv("stream {0} has to come after the wait for it", stream).str();
    if (access < 0)
      return fail(
          item, -1,
          llvm::formatv("communicates on stream {0}, and {1} on stream {2}: nothing orders them, so ranks "
                        "could begin them in different orders; {3}",
                        stream, which, past.stream, remedy),
          &past);
    bool writes = item.op.accesses[size_t(access)].mode != AccessMode::Read;
    return fail(item, access,
                llvm::formatv("{0} {1} on stream {2}, which {3} {4} ({5}, {6}): nothing orders them; {7}",
                              writes ? "writes" : "reads",
                              text(order::regionOf(program, item.op.accesses[size_t(access)]), round), stream,
                              which, past.writes ? "writes" : "reads", text(past.region, past.round),
                              streamText(past.stream), remedy),
                &past);
  }
  bool onUnrecorded(const ArenaItem &item) override {
    return fail(item, -1,
                llvm::formatv("waits for event {0}, which may not have been recorded in this call before",
                              item.op.awaits));
  }
  bool onNotBegun(const ArenaItem &item) override {
    return fail(
        item, -1,
        llvm::formatv("is the first on stream {0}, which has not waited for stream 0: what ran before the "
                      "call may still be at work",
                      item.op.stream));
  }
  bool onNotJoined(int counter) override {
    const Counter &last = counters[size_t(counter)];
    violation = OrderViolation{
        last.tag, -1, -1, -1,
        llvm::formatv("is {0}, and stream 0 does not wait for it before the entry ends: what "
                      "comes after the call may run beside it",
                      last.stream < streams ? "on " + streamText(last.stream) : streamText(last.stream))};
    return false;
  }
};

} // namespace

std::optional<OrderViolation> checkOrder(const ArenaProgram &program, int streams) {
  Checker checker(program, streams);
  checker.run();
  return checker.violation;
}

} // namespace tessera
