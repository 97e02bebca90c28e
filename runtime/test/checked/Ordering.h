// Which tasks are ordered by streams, events and waits of the host, and whether tasks that touch the same
// memory are: vector clocks, kept while work is given to the streams. What is found does not depend on the
// order in which the tasks run.
#ifndef TESSERA_RUNTIME_TEST_CHECKED_ORDERING_H
#define TESSERA_RUNTIME_TEST_CHECKED_ORDERING_H

#include "Space.h"
#include "tessera/runtime/device/Stream.h"

#include <string>
#include <vector>

namespace tessera::runtime::checked {

// For each stream: the number of its tasks known to be done before.
using Clock = std::vector<uint64_t>;

class Ordering {
public:
  explicit Ordering(Space &space) : space_(space) {}

  int64_t addStream();
  // The next task of `stream` makes these accesses. Throws Error if one of them is not ordered against that
  // of an earlier task.
  void task(int64_t stream, const std::vector<MemoryAccess> &accesses, const std::string &what);
  Clock record(int64_t stream) { return seen_[stream]; }
  // Tasks given to `stream` from now on come after `clock`.
  void wait(int64_t stream, const Clock &clock) { merge(seen_[stream], clock); }
  // All that is given from now on comes after `clock`.
  void hostWait(const Clock &clock);

private:
  struct Access {
    uint64_t time;
    uintptr_t begin, end;
    bool writes;
    std::string task;
  };
  static void merge(Clock &into, const Clock &from);
  void forget();

  Space &space_;
  std::vector<Clock> seen_; // by stream: what its next task comes after; its own entry: its tasks so far
  std::vector<std::vector<Access>> access_; // by stream: those that some other stream does not come after yet
  Clock host_;
};

} // namespace tessera::runtime::checked
#endif
