//===- PlanEvents.cpp - Where streams have to wait for each other -----------===//
//
// Runs the program; where an access is not ordered, an event is planned from the latest task that it needs to
// the op itself, both seen from the innermost block that holds them, and the run goes on as if it were there.
// Runs again with what is planned, until nothing is missing. At last waits go that told nobody anything new
// and, in and around loops, where a wait may be planned before a later round's makes it needless, those that
// can.
//
//===----------------------------------------------------------------------===//

#include "OrderRun.h"

#include "tessera/Analysis/Order/Order.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace tessera {

namespace {

using order::PastAccess;

/// Of the plan: the beginning and the end of the entry stand where items have tags.
constexpr int kBegin = -1, kEnd = -2;

struct PlannedEvent {
  int after; ///< the item after which it is recorded, or kBegin
  int stream;
  std::set<int> alsoBefore; ///< loops whose first round waits for what the round before did
  /// By the item before which (or kEnd) and the stream: whether it tells the stream something, in some round.
  std::map<std::pair<int, int>, bool> waits;
};

/// What stands where in the program, by tag.
struct Places {
  struct Place {
    int parent;     ///< the loop around it; -1: none
    int begin, end; ///< in the order of the text
    bool isLoop;
  };
  llvm::DenseMap<int, Place> of;
  int last = 0;
  int events = 0; ///< that the program has itself

  explicit Places(const ArenaProgram &program) { add(program.items, -1); }
  void add(const std::vector<ArenaItem> &items, int parent) {
    for (const ArenaItem &item : items) {
      int begin = ++last;
      events = std::max({events, item.op.records + 1, item.op.awaits + 1});
      if (item.loop)
        add(item.loop->body, item.tag);
      of[item.tag] = {parent, begin, ++last, bool(item.loop)};
    }
  }
  const Place &at(int tag) const { return of.find(tag)->second; }
  int beginOf(int tag) const { return tag == kBegin ? 0 : tag == kEnd ? last + 1 : at(tag).begin; }
  int endOf(int tag) const { return tag == kBegin ? 0 : tag == kEnd ? last + 1 : at(tag).end; }
  /// The item of the block that `loops` loops are around which holds `tag`.
  int heldAt(int tag, size_t loops) const {
    llvm::SmallVector<int, 4> chain{tag};
    while (at(chain.back()).parent >= 0)
      chain.push_back(at(chain.back()).parent);
    return chain[chain.size() - 1 - loops];
  }
};

class Planner : public order::OrderRun {
public:
  /// `mayPlan`: or else the run ends where something is missing.
  Planner(const ArenaProgram &program, int streams, const Places &places, std::vector<PlannedEvent> &planned,
          bool mayPlan)
      : OrderRun(program, streams), places(places), planned(planned), mayPlan(mayPlan) {
    for (auto [number, event] : llvm::enumerate(planned))
      index(int(number));
  }
  bool changed = false;

private:
  int numberOf(int number) const { return places.events + number; }

  void index(int number) {
    const PlannedEvent &event = planned[size_t(number)];
    recordsAfter[event.after].push_back(number);
    for (int loop : event.alsoBefore)
      recordsBefore[loop].push_back(number);
    for (auto &[where, news] : event.waits)
      waitsBefore[where.first].push_back({number, where.second});
  }

  //===- What is planned ----------------------------------------------------===//

  void recordAll(const std::map<int, llvm::SmallVector<int, 2>> &table, int tag) {
    if (auto numbers = table.find(tag); numbers != table.end())
      for (int number : numbers->second)
        record(numberOf(number), planned[size_t(number)].stream);
  }
  void waitAll(int tag) {
    auto waits = waitsBefore.find(tag);
    if (waits == waitsBefore.end())
      return;
    for (auto [number, stream] : waits->second)
      planned[size_t(number)].waits[{tag, stream}] |= wait(numberOf(number), stream, tag);
  }
  void atBegin() override { recordAll(recordsAfter, kBegin); }
  void atEnd() override {
    recordAll(recordsAfter, kEnd);
    waitAll(kEnd);
  }
  void beforeItem(const ArenaItem &item) override {
    waitAll(item.tag);
    recordAll(recordsBefore, item.tag);
  }
  void afterItem(const ArenaItem &item) override {
    clocksAfter[item.tag] = clocks;
    recordAll(recordsAfter, item.tag);
  }

  //===- What is missing ----------------------------------------------------===//

  /// `stream` waits before `before` for what `source` has done up to the end of `after`; with `loop`, in the
  /// round before. Goes on as if it did now.
  void plan(int after, int source, int before, int stream, int loop = -1) {
    auto event =
        llvm::find_if(planned, [&](const PlannedEvent &e) { return e.after == after && e.stream == source; });
    if (event == planned.end())
      event = planned.insert(event, {after, source, {}, {}});
    if (loop >= 0)
      changed |= event->alsoBefore.insert(loop).second;
    changed |= event->waits.insert({{before, stream}, false}).second;
    auto known = clocksAfter.find(after);
    order::Clock begin;
    begin.set(0, 1);
    clocks[size_t(stream)].merge(after == kBegin              ? begin
                                 : known == clocksAfter.end() ? clocks[size_t(source)]
                                                              : known->second[size_t(source)]);
  }

  bool onConflicts(const ArenaItem &item, llvm::ArrayRef<order::Conflict> conflicts) override {
    // The last one of each stream is after its others.
    std::map<int, const PastAccess *> last;
    for (const order::Conflict &conflict : conflicts) {
      const PastAccess *&latest = last[conflict.past->stream];
      if (!latest || latest->time < conflict.past->time)
        latest = conflict.past;
    }
    for (auto &[stream, past] : last) {
      const PastAccess &needed = *past;
      // Who waits for what came after it need not wait for it.
      bool follows = llvm::any_of(last, [&](auto &other) {
        auto after = clocksAfter.find(other.second->tag);
        return other.second != &needed && other.first < streams && after != clocksAfter.end() &&
               after->second[size_t(other.first)][needed.counter] >= needed.time;
      });
      if (!follows && !knows(item.op.stream, needed) && mayPlan)
        planFrom(needed, item);
    }
    return mayPlan;
  }

  void planFrom(const PastAccess &past, const ArenaItem &item) {
    int tag = past.tag, source = past.stream;
    if (source >= streams) {
      auto over = ended.find({past.counter, past.time});
      if (over == ended.end())
        return; // still in flight: no event can stand for its end
      tag = over->second->tag;
      source = over->second->op.stream;
      if (source == item.op.stream)
        return;
    }
    auto [same, later] = relation(past.round, round);
    size_t around = size_t(same) + (later ? 1 : 0);
    int loop = later ? rounds[size_t(roundsAround(round)[size_t(same)])].loop->tag : -1;
    plan(places.heldAt(tag, around), source, places.heldAt(item.tag, around), item.op.stream, loop);
  }

  bool onUnrecorded(const ArenaItem &) override { return true; } // the check says so
  bool onNotBegun(const ArenaItem &item) override {
    if (mayPlan)
      plan(kBegin, 0, places.heldAt(item.tag, 0), item.op.stream);
    return mayPlan;
  }
  bool onNotJoined(int counter) override {
    int stream = counters[size_t(counter)].stream;
    bool follows = false; // another stream, which is not waited for either, has waited for it
    for (int other = 1; other < streams; ++other)
      follows |= other != stream && clocks[size_t(other)][counter] >= counters[size_t(counter)].time;
    if (stream < streams && !follows && mayPlan)
      plan(kEnd, stream, kEnd, 0);
    return mayPlan;
  }

  const Places &places;
  std::vector<PlannedEvent> &planned;
  bool mayPlan;
  std::map<int, llvm::SmallVector<int, 2>> recordsAfter, recordsBefore;
  std::map<int, llvm::SmallVector<std::pair<int, int>, 2>> waitsBefore; ///< by item: event and stream
  llvm::DenseMap<int, std::vector<order::Clock>> clocksAfter;           ///< by item, as it was left last
};

/// Takes out what is not needed. Streams learn nothing from some waits; of those in and around loops each is
/// tried.
void dropNeedless(const ArenaProgram &program, int streams, const Places &places,
                  std::vector<PlannedEvent> &planned) {
  for (PlannedEvent &event : planned)
    for (auto it = event.waits.begin(); it != event.waits.end();)
      it = it->second ? std::next(it) : event.waits.erase(it);
  for (PlannedEvent &event : planned) {
    auto isLooped = [&](int tag) {
      return tag >= 0 && (places.at(tag).parent >= 0 || places.at(tag).isLoop);
    };
    for (auto [where, news] : std::map(event.waits)) {
      if (!isLooped(where.first) && !isLooped(event.after))
        continue;
      event.waits.erase(where);
      if (!Planner(program, streams, places, planned, /*mayPlan=*/false).run())
        event.waits[where] = true;
    }
  }
  llvm::erase_if(planned, [](const PlannedEvent &event) { return event.waits.empty(); });
}

/// Numbers for events: two that never stand for something at the same place share one.
std::vector<int> numberEvents(const std::vector<PlannedEvent> &planned, const Places &places, int &count) {
  struct Extent {
    int begin, end;
    size_t event;
  };
  std::vector<Extent> extents;
  for (auto [i, event] : llvm::enumerate(planned)) {
    Extent extent{places.endOf(event.after), places.endOf(event.after), i};
    for (auto &[where, news] : event.waits)
      extent.end = std::max(extent.end, places.beginOf(where.first));
    for (int loop : event.alsoBefore) { // from round to round
      extent.begin = std::min(extent.begin, places.beginOf(loop) - 1);
      extent.end = std::max(extent.end, places.endOf(loop));
    }
    extents.push_back(extent);
  }
  llvm::sort(extents, [](const Extent &a, const Extent &b) {
    return std::tie(a.begin, a.end, a.event) < std::tie(b.begin, b.end, b.event);
  });
  std::vector<int> numbers(planned.size()), ends; // ends: by number
  for (const Extent &extent : extents) {
    size_t number = 0;
    while (number < ends.size() && ends[number] >= extent.begin)
      ++number;
    if (number == ends.size())
      ends.push_back(0);
    ends[number] = extent.end;
    numbers[extent.event] = places.events + int(number);
  }
  count = places.events + int(ends.size());
  return numbers;
}

} // namespace

EventPlan planEvents(const ArenaProgram &program, int streams) {
  Places places(program);
  std::vector<PlannedEvent> planned;
  for (bool changed = true; changed;) {
    for (PlannedEvent &event : planned)
      for (auto &[where, news] : event.waits)
        news = false;
    Planner planner(program, streams, places, planned, /*mayPlan=*/true);
    planner.run();
    changed = planner.changed;
  }
  dropNeedless(program, streams, places, planned);

  EventPlan plan;
  std::vector<int> numbers = numberEvents(planned, places, plan.events);
  for (auto [event, number] : llvm::zip(planned, numbers)) {
    auto add = [&, number = number](bool records, int tag, bool after, int stream) {
      bool whole = tag == kBegin || tag == kEnd;
      plan.actions.push_back({records, whole ? -1 : tag, whole ? tag == kEnd : after, stream, number});
    };
    add(true, event.after, true, event.stream);
    for (int loop : event.alsoBefore)
      add(true, loop, false, event.stream);
    for (auto &[where, news] : event.waits)
      add(false, where.first, false, where.second);
  }
  // Beside one item: after it, records; before it, waits and then records. At the end records come first.
  llvm::sort(plan.actions, [](const EventPlan::Action &a, const EventPlan::Action &b) {
    auto key = [](const EventPlan::Action &x) {
      return std::tuple(x.tag, x.after, x.after ? !x.records : x.records, x.event, x.stream);
    };
    return key(a) < key(b);
  });
  return plan;
}

} // namespace tessera
