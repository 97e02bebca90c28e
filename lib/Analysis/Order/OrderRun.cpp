//===- OrderRun.cpp - Following what streams know ---------------------------===//

#include "OrderRun.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace tessera::order {

bool Clock::merge(const Clock &other) {
  bool news = false;
  for (int counter = 0; counter < other.size(); ++counter)
    if (other[counter] > (*this)[counter]) {
      set(counter, other[counter]);
      news = true;
    }
  return news;
}

OrderRun::OrderRun(const ArenaProgram &program, int streams)
    : program(program), streams(streams), clocks(size_t(streams)) {
  for (int stream = 0; stream < streams; ++stream)
    taskCounter.push_back(newCounter(stream));
  for (int stream = 0; stream < streams; ++stream)
    waitCounter.push_back(newCounter(stream));
  // What came before the call is one task of stream 0.
  count(taskCounter[0], 0, -1);
}

int OrderRun::newCounter(int stream) {
  counters.push_back({stream});
  return int(counters.size()) - 1;
}

uint64_t OrderRun::count(int counter, int stream, int tag) {
  Counter &counting = counters[size_t(counter)];
  counting.tag = tag;
  clocks[size_t(stream)].set(counter, ++counting.time);
  return counting.time;
}

bool OrderRun::run() {
  atBegin();
  if (!runItems(program.items))
    return false;
  atEnd();
  for (int counter = 0; counter < int(counters.size()); ++counter)
    if (counters[size_t(counter)].time > clocks[0][counter] && !onNotJoined(counter))
      return false;
  return true;
}

bool OrderRun::runItems(const std::vector<ArenaItem> &items) {
  for (const ArenaItem &item : items) {
    beforeItem(item);
    if (!(item.loop ? runLoop(item) : runOp(item)))
      return false;
    afterItem(item);
  }
  return true;
}

//===- Events ---------------------------------------------------------------===//

OrderRun::Event &OrderRun::event(int number) {
  if (size_t(number) >= events.size())
    events.resize(size_t(number) + 1);
  return events[size_t(number)];
}

void OrderRun::record(int number, int stream) { event(number) = {true, clocks[size_t(stream)]}; }

bool OrderRun::wait(int number, int stream, int tag) {
  bool news = clocks[size_t(stream)].merge(event(number).clock);
  count(waitCounter[size_t(stream)], stream, tag);
  return news;
}

//===- Loops ----------------------------------------------------------------===//

llvm::SmallVector<int, 3> OrderRun::roundsAround(int round) const {
  llvm::SmallVector<int, 3> around;
  for (; round >= 0; round = rounds[size_t(round)].parent)
    around.push_back(round);
  std::reverse(around.begin(), around.end());
  return around;
}

llvm::SmallVector<const ArenaLoop *, 3> OrderRun::loopsOf(int round) const {
  llvm::SmallVector<const ArenaLoop *, 3> loops;
  for (int r : roundsAround(round))
    loops.push_back(rounds[size_t(r)].loop->loop.get());
  return loops;
}

std::pair<int, bool> OrderRun::relation(int before, int after) const {
  llvm::SmallVector<int, 3> a = roundsAround(before), b = roundsAround(after);
  size_t same = 0;
  while (same < a.size() && same < b.size() && a[same] == b[same])
    ++same;
  bool later = same < a.size() && same < b.size() &&
               rounds[size_t(a[same])].execution == rounds[size_t(b[same])].execution;
  return {int(same), later};
}

bool OrderRun::isPassed(int round) const {
  for (; round >= 0; round = rounds[size_t(round)].parent)
    if (rounds[size_t(round)].passed)
      return true;
  return false;
}

bool OrderRun::runLoop(const ArenaItem &item) {
  const ArenaLoop &loop = *item.loop;
  int64_t most = roundsOf(loop);
  int64_t least = std::max<int64_t>(0, (loop.least + loop.step - 1) / loop.step);
  bool runsLess = least < std::min<int64_t>(most, 2); // than it is run here
  State fewest;
  int floorAround = floor, countersBefore = int(counters.size());
  std::vector<int> tasksAround = taskCounter, waitsAround = waitCounter, freeAround;
  if (runsLess) {
    for (int stream = 0; stream < streams; ++stream) {
      taskCounter[size_t(stream)] = newCounter(stream);
      waitCounter[size_t(stream)] = newCounter(stream);
    }
    std::swap(free, freeAround);
  }
  if (least == 0) {
    fewest = State{clocks, events};
    floor = int(past.size());
  }
  int around = round, execution = executions++, first = -1;
  for (int number = 0; number < 2 && number < most; ++number) {
    round = int(rounds.size());
    rounds.push_back({around, &item, execution, number});
    if (number == 0)
      first = round;
    if (!runItems(loop.body))
      return false;
    if (number == 0 && least == 1 && runsLess)
      fewest = State{clocks, events};
  }
  round = around;
  floor = floorAround;
  if (most > 1)
    rounds[size_t(first)].passed = true;
  if (runsLess) {
    afterLoop(fewest, countersBefore);
    std::copy(tasksAround.begin(), tasksAround.end(), taskCounter.begin());
    waitCounter = std::move(waitsAround);
    free.insert(free.end(), freeAround.begin(), freeAround.end());
  }
  return true;
}

/// What is known after a loop, whether it ran as often as `last` says or as seldom as `fewest`: of tasks
/// before it what both know; of those in it what is known of the last round, whichever that is.
static Clock common(const Clock &fewest, const Clock &last, int countersBefore) {
  Clock clock;
  for (int counter = 0; counter < last.size(); ++counter)
    clock.set(counter, counter < countersBefore ? std::min(fewest[counter], last[counter]) : last[counter]);
  return clock;
}

void OrderRun::afterLoop(const State &fewest, int countersBefore) {
  for (size_t stream = 0; stream < fewest.clocks.size(); ++stream)
    clocks[stream] = common(fewest.clocks[stream], clocks[stream], countersBefore);
  for (size_t number = 0; number < events.size(); ++number) {
    Event before = number < fewest.events.size() ? fewest.events[number] : Event();
    events[number] = {events[number].recorded && before.recorded,
                      common(before.clock, events[number].clock, countersBefore)};
  }
}

//===- Ops ------------------------------------------------------------------===//

bool OrderRun::runOp(const ArenaItem &item) {
  const ArenaOp &op = item.op;
  Clock &clock = clocks[size_t(op.stream)];
  if (op.awaits >= 0) {
    if (!event(op.awaits).recorded && !onUnrecorded(item))
      return false;
    wait(op.awaits, op.stream, item.tag);
  }
  if (op.records >= 0)
    record(op.records, op.stream);
  for (int token : op.waitsFor)
    if (auto flight = flights.find(token); flight != flights.end()) {
      int stream = flight->second;
      clock.merge(clocks[size_t(stream)]);
      int counter = taskCounter[size_t(stream)];
      ended[{counter, counters[size_t(counter)].time}] = &item;
      free.push_back(stream);
      flights.erase(flight);
      count(waitCounter[size_t(op.stream)], op.stream, item.tag);
    }
  return (op.accesses.empty() && !op.communicates) || runTask(item);
}

/// A stream for work that `stream` starts: a new one, or one whose work `stream` knows to be over.
int OrderRun::beginFlight(int stream) {
  auto known = llvm::find_if(free, [&](int flight) {
    int counter = taskCounter[size_t(flight)];
    return clocks[size_t(stream)][counter] >= counters[size_t(counter)].time;
  });
  int flight = int(clocks.size());
  if (known != free.end()) {
    flight = *known;
    free.erase(known);
  } else {
    clocks.emplace_back();
    taskCounter.push_back(newCounter(flight));
  }
  clocks[size_t(flight)] = clocks[size_t(stream)];
  return flight;
}

bool OrderRun::runTask(const ArenaItem &item) {
  const ArenaOp &op = item.op;
  auto accesses = [&](int stream, uint64_t time, bool meets, bool touches) {
    llvm::SmallVector<PastAccess, 4> made;
    int counter = taskCounter[size_t(stream)];
    if (meets)
      made.push_back({stream, counter, time, item.tag, -1, true, Region{kMeeting, 0, 1, {}}, round});
    for (int i = 0; touches && i < int(op.accesses.size()); ++i)
      made.push_back({stream, counter, time, item.tag, i, op.accesses[size_t(i)].mode != AccessMode::Read,
                      regionOf(program, op.accesses[size_t(i)]), round});
    return made;
  };
  bool flies = op.starts >= 0;
  // Before it takes place, so that handlers may make the stream wait.
  llvm::SmallVector<Conflict> conflicts;
  for (const PastAccess &access : accesses(op.stream, 0, op.communicates, true))
    collect(access, conflicts);
  if (!conflicts.empty() && !onConflicts(item, conflicts))
    return false;
  if (clocks[size_t(op.stream)][0] < 1 && !onNotBegun(item))
    return false;
  uint64_t time = count(taskCounter[size_t(op.stream)], op.stream, item.tag);
  for (PastAccess &access : accesses(op.stream, time, op.communicates, !flies))
    insert(std::move(access));
  if (flies) {
    int flight = beginFlight(op.stream);
    flights[op.starts] = flight;
    time = count(taskCounter[size_t(flight)], flight, item.tag);
    for (PastAccess &access : accesses(flight, time, false, true))
      insert(std::move(access));
  }
  return true;
}

//===- Accesses -------------------------------------------------------------===//

void OrderRun::collect(const PastAccess &made, llvm::SmallVectorImpl<Conflict> &conflicts) {
  llvm::SmallVector<const ArenaLoop *, 3> loops = loopsOf(made.round);
  Span span = spanOf(made.region, loops);
  Pieces &pieces = memories[made.region.memory];
  auto it = pieces.upper_bound(span.begin);
  if (it != pieces.begin())
    --it;
  for (; it != pieces.end() && it->first < span.end; ++it) {
    if (it->second.end <= span.begin)
      continue;
    for (int number : it->second.accesses) {
      const PastAccess &other = past[size_t(number)];
      if ((!made.writes && !other.writes) || knows(made.stream, other) || isPassed(other.round))
        continue;
      auto [same, later] = relation(other.round, made.round);
      if (!mayMeet(other.region, loopsOf(other.round), made.region, loops, same, later))
        continue;
      if (llvm::none_of(conflicts,
                        [&](const Conflict &c) { return c.past == &other && c.access == made.access; }))
        conflicts.push_back({made.access, &other});
    }
  }
}

/// Whoever meets past[number] in the bytes that `made` covers meets `made`, and is ordered with both or with
/// none.
bool OrderRun::replaces(const PastAccess &made, int number) const {
  const PastAccess &old = past[size_t(number)];
  if (isPassed(old.round))
    return true;
  if (number < floor || (old.writes && !made.writes) || !knows(made.stream, old))
    return false;
  return made.region.factors.empty() || (old.round == made.round && old.region.sameForm(made.region));
}

void OrderRun::insert(PastAccess made) {
  Span span = spanOf(made.region, loopsOf(made.round));
  if (span.begin >= span.end)
    return;
  int number = int(past.size());
  past.push_back(std::move(made));
  const PastAccess &access = past.back();
  Pieces &pieces = memories[access.region.memory];
  auto split = [&](int64_t at) {
    auto it = pieces.upper_bound(at);
    if (it == pieces.begin())
      return;
    auto &[begin, piece] = *std::prev(it);
    if (begin < at && at < piece.end)
      piece.end = pieces.emplace_hint(it, at, Piece{piece.end, piece.accesses})->first;
  };
  split(span.begin);
  split(span.end);
  auto it = pieces.lower_bound(span.begin);
  for (int64_t at = span.begin; at < span.end;) {
    if (it == pieces.end() || it->first > at) { // nobody was here before
      int64_t end = it == pieces.end() ? span.end : std::min(span.end, it->first);
      it = pieces.emplace_hint(it, at, Piece{end, {}});
    }
    llvm::erase_if(it->second.accesses, [&](int old) { return replaces(access, old); });
    it->second.accesses.push_back(number);
    at = it->second.end;
    // Pieces that tell nothing apart any more are one.
    if (it != pieces.begin())
      if (auto before = std::prev(it);
          before->second.end == it->first && before->second.accesses == it->second.accesses) {
        before->second.end = at;
        it = std::prev(pieces.erase(it));
      }
    ++it;
  }
}

} // namespace tessera::order
