//===- OrderRun.h - Following what streams know -----------------*- C++ -*-===//
//
// One pass over a program in the order in which the host gives it to the streams. Each stream has a clock:
// how many tasks of every stream are done before its next one. Tasks of a stream in a loop that may run less
// often are counted apart from its others, for after the loop something else is known of them. Of each range
// of bytes the accesses are kept that a later one could meet unordered: an access goes once another one takes
// its place, which comes after it, covers it and is as strict.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_ANALYSIS_ORDER_ORDERRUN_H
#define TESSERA_LIB_ANALYSIS_ORDER_ORDERRUN_H

#include "Region.h"

#include <map>
#include <optional>
#include <vector>

namespace tessera::order {

/// By counter: tasks known to be done. Missing ones: 0.
class Clock {
public:
  uint64_t operator[](int counter) const {
    return size_t(counter) < counts.size() ? counts[size_t(counter)] : 0;
  }
  void set(int counter, uint64_t count) {
    if (size_t(counter) >= counts.size())
      counts.resize(size_t(counter) + 1, 0);
    counts[size_t(counter)] = count;
  }
  /// Also knows what `other` knows. Whether that was news.
  bool merge(const Clock &other);
  int size() const { return int(counts.size()); }

private:
  llvm::SmallVector<uint64_t, 4> counts;
};

/// The memory of a pseudo access: the meeting of ranks, which collectives take part in one after another.
inline constexpr int kMeeting = -1;

/// An access that was made.
struct PastAccess {
  int stream;  ///< those of work in flight come after the program's own
  int counter; ///< that counted it, and what it showed
  uint64_t time;
  int tag, access; ///< access -1: the meeting
  bool writes;
  Region region;
  int round; ///< the innermost round that it was made in; -1: none
};

/// A task's access that is not ordered with an earlier one.
struct Conflict {
  int access;
  const PastAccess *past;
};

class OrderRun {
public:
  OrderRun(const ArenaProgram &program, int streams);
  virtual ~OrderRun() = default;

  /// False if a handler said to stop.
  bool run();

protected:
  /// A round of a loop: the first, or the one that stands for all others.
  struct Round {
    int parent; ///< around it
    const ArenaItem *loop;
    int execution; ///< which of the loop: inner loops are run again by each round
    int number;
    bool passed = false; ///< what was done in it another round did again
  };
  struct Event {
    bool recorded = false;
    Clock clock;
  };

  // Handlers; false: stop.
  virtual bool onConflicts(const ArenaItem &item, llvm::ArrayRef<Conflict> conflicts) = 0;
  /// `item` waits for what was not recorded.
  virtual bool onUnrecorded(const ArenaItem &item) = 0;
  /// `item` is on a stream that has not waited for stream 0.
  virtual bool onNotBegun(const ArenaItem &item) = 0;
  /// At the end stream 0 has not waited for the last thing that a counter counted.
  virtual bool onNotJoined(int counter) = 0;
  virtual void beforeItem(const ArenaItem &item) {}
  virtual void afterItem(const ArenaItem &item) {}
  virtual void atBegin() {}
  virtual void atEnd() {}

  Event &event(int number);
  void record(int number, int stream);
  /// Whether the stream learnt something. `tag`: of who waits.
  bool wait(int number, int stream, int tag);

  /// The loops around a round, outermost first; rounds the same way.
  llvm::SmallVector<const ArenaLoop *, 3> loopsOf(int round) const;
  llvm::SmallVector<int, 3> roundsAround(int round) const;
  /// How many rounds from the outside both have in common, and whether they are in different rounds of the
  /// next loop.
  std::pair<int, bool> relation(int before, int after) const;
  bool knows(int stream, const PastAccess &past) const {
    return clocks[size_t(stream)][past.counter] >= past.time;
  }

  /// Counts tasks of one stream, or its waits: those touch no memory, but somebody has to come after them.
  struct Counter {
    int stream;
    uint64_t time = 0;
    int tag = -1; ///< of the last one
  };

  const ArenaProgram &program;
  const int streams;
  std::vector<Clock> clocks; ///< by stream, those of work in flight included
  std::vector<Counter> counters;
  std::vector<Round> rounds;
  int round = -1; ///< where the run is
  /// Of work in flight that was waited for: by its counter and time, who waited.
  std::map<std::pair<int, uint64_t>, const ArenaItem *> ended;

private:
  /// Disjoint ranges by their first byte, each with the numbers of the accesses to it.
  struct Piece {
    int64_t end;
    llvm::SmallVector<int, 4> accesses;
  };
  using Pieces = std::map<int64_t, Piece>;
  struct State {
    std::vector<Clock> clocks;
    std::vector<Event> events;
  };

  bool runItems(const std::vector<ArenaItem> &items);
  bool runLoop(const ArenaItem &item);
  bool runOp(const ArenaItem &item);
  bool runTask(const ArenaItem &item);
  int newCounter(int stream);
  uint64_t count(int counter, int stream, int tag);
  bool isPassed(int round) const;
  int beginFlight(int stream);
  void collect(const PastAccess &made, llvm::SmallVectorImpl<Conflict> &conflicts);
  void insert(PastAccess made);
  bool replaces(const PastAccess &made, int number) const;
  void afterLoop(const State &fewest, int countersBefore);

  std::vector<int> taskCounter, waitCounter; ///< by stream: those that count now
  std::vector<Event> events;
  std::map<int, int> flights; ///< by token: the stream that stands for it
  std::vector<int> free;      ///< streams of flights that are over
  std::map<int, Pieces> memories;
  std::vector<PastAccess> past;
  int floor = 0; ///< accesses before it stay: what is run now may not run at all
  int executions = 0;
};

} // namespace tessera::order
#endif
