// Which tasks are ordered by streams, events and waits of the host, and whether tasks that touch the same
// memory are: vector clocks, kept while work is given to the streams. What is found does not depend on the
// order in which the tasks run.
#ifndef TESSERA_RUNTIME_TEST_CHECKED_ORDERING_H
#define TESSERA_RUNTIME_TEST_CHECKED_ORDERING_H

#include "AccessHistory.h"
#include "Space.h"
#include "tessera/runtime/device/Stream.h"

#include <string>
#include <vector>

namespace tessera::runtime::checked {

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
  void forget();

  Space &space_;
  std::vector<Clock> seen_; // by stream: what its next task comes after; its own entry: its tasks so far
  Clock host_;
  AccessHistory history_; // of tasks that some other stream does not come after yet
  uint64_t tasks_ = 0;
};

} // namespace tessera::runtime::checked
#endif
