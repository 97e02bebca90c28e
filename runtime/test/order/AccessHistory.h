// Who touched which memory, and whether what touches the same bytes is ordered: vector clocks. What is found
// does not depend on the order in which the work ran. The driver `checked` and the stand-in for libcuda use
// it.
#ifndef TESSERA_RUNTIME_TEST_ORDER_ACCESSHISTORY_H
#define TESSERA_RUNTIME_TEST_ORDER_ACCESSHISTORY_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

// For each lane, a sequence of tasks that run one after another: how many of its tasks are known to be done.
using Clock = std::vector<uint64_t>;

void merge(Clock &into, const Clock &from);
inline uint64_t timeOf(const Clock &clock, int64_t lane) {
  return size_t(lane) < clock.size() ? clock[size_t(lane)] : 0;
}

// Bytes that a task reads or writes.
struct TouchedBytes {
  uintptr_t begin, end;
  bool writes;
};

// Where a task stands: the number `time` (from 1) of `lane`, after all that `after` counts.
struct TaskPlace {
  int64_t lane = 0;
  uint64_t time = 0;
  std::shared_ptr<const Clock> after;

  bool comesAfter(const TaskPlace &other) const {
    return lane == other.lane ? time >= other.time : other.time <= timeOf(*after, other.lane);
  }
};

class AccessHistory {
public:
  struct Conflict {
    std::string task; // the other one's name
    bool otherWrites, writes;
    uintptr_t begin, end; // bytes that both touch
  };

  // Adds what a task touches. Gives a task that touches the same bytes, one of both writing, and is ordered
  // neither before nor after it. Tasks may be added in any order.
  std::optional<Conflict> add(const TaskPlace &place, const std::vector<TouchedBytes> &touched,
                              const std::string &task);
  // Forgets tasks that everything added from now on comes after.
  void forget(const Clock &known);
  // So many tasks are remembered.
  size_t size() const { return size_; }

private:
  struct Record {
    TaskPlace place;
    std::vector<TouchedBytes> read, written; // sorted, each byte once
    uintptr_t begin, end;                    // encloses both
    std::string task;
  };
  std::vector<std::vector<Record>> lanes_;
  size_t size_ = 0;
};

} // namespace tessera::runtime
#endif
