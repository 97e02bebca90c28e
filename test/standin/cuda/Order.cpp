// Which units are ordered, and whether those that touch the same memory are.
#include "Machine.h"
#include "Report.h"

#include <algorithm>

namespace standin {

int64_t Machine::addLane() {
  // A lane is used again once the host has seen the end of all that ran there.
  for (size_t i = 0; i < freeLanes_.size(); ++i) {
    int64_t lane = freeLanes_[i];
    if (timeOf(seen_[lane], lane) > timeOf(host_, lane))
      continue;
    uint64_t time = timeOf(seen_[lane], lane);
    seen_[lane] = host_;
    seen_[lane].resize(std::max(seen_[lane].size(), size_t(lane) + 1));
    seen_[lane][lane] = time;
    laneUsed_[lane] = 1;
    freeLanes_.erase(freeLanes_.begin() + i);
    return lane;
  }
  seen_.emplace_back(seen_.size() + 1);
  laneUsed_.push_back(1);
  return int64_t(seen_.size()) - 1;
}

void Machine::releaseLane(int64_t lane) {
  laneUsed_[lane] = 0;
  freeLanes_.push_back(lane);
}

TaskPlace Machine::nextPlace(int64_t lane, const std::vector<UnitRef> &after) {
  Clock &now = seen_[lane];
  merge(now, host_);
  for (const UnitRef &unit : after) {
    merge(now, *unit->place.after);
    int64_t other = unit->place.lane;
    if (now.size() <= size_t(other))
      now.resize(size_t(other) + 1);
    now[other] = std::max(now[other], unit->place.time);
  }
  TaskPlace place;
  place.lane = lane;
  place.after = std::make_shared<const Clock>(now);
  place.time = ++now[lane];
  return place;
}

void Machine::hostKnows(const Unit &unit) {
  merge(host_, *unit.place.after);
  if (host_.size() <= size_t(unit.place.lane))
    host_.resize(size_t(unit.place.lane) + 1);
  host_[unit.place.lane] = std::max(host_[unit.place.lane], unit.place.time);
}

void Machine::noteUses(const Unit &unit) {
  const Operation &operation = *unit.operation;
  auto note = [&](uint64_t used) {
    LastUse &last = uses_[used][unit.place.lane];
    last.time = unit.place.time;
    last.what = operation.what;
  };
  if (unit.place.lane == unit.context->lane)
    return;
  for (const AllocationRef &used : operation.uses)
    note(used->id);
  if (operation.function)
    note(reinterpret_cast<uint64_t>(operation.function));
}

std::string Machine::notWaitedFor(uint64_t used) const {
  auto found = uses_.find(used);
  if (found != uses_.end())
    for (const auto &[lane, last] : found->second)
      if (last.time > timeOf(host_, lane))
        return last.what;
  return "";
}

void Machine::check(const Unit &unit, const std::vector<TouchedBytes> &touched) {
  const std::string &what = unit.operation->what;
  if (auto conflict = history_.add(unit.place, touched, what)) {
    violation("unordered access to memory (" + what + "): it " + (conflict->writes ? "writes " : "reads ") +
              countOf(conflict->end - conflict->begin, "byte") + " from " + memory.place(conflict->begin) +
              ", which " + conflict->task + (conflict->otherWrites ? " writes" : " reads") +
              " on another stream, and nothing orders the two; record an event behind the one and let the "
              "other's stream wait for it");
  }
  if (++checks_ % 64 == 0)
    forget();
}

void Machine::forget() {
  Clock known(seen_.size(), UINT64_MAX);
  auto hold = [&](const Clock &clock, size_t except) {
    for (size_t lane = 0; lane < known.size(); ++lane)
      if (lane != except)
        known[lane] =
            std::min(known[lane], std::max(timeOf(clock, int64_t(lane)), timeOf(host_, int64_t(lane))));
  };
  size_t used = 0;
  for (size_t lane = 0; lane < seen_.size(); ++lane)
    if (laneUsed_[lane]) {
      hold(seen_[lane], lane);
      ++used;
    }
  if (used < 2)
    hold(host_, SIZE_MAX); // with one lane alone a second one may still come
  for (const auto &[unit, reference] : pending_)
    if (unit->reports)
      for (size_t lane = 0; lane < known.size(); ++lane)
        known[lane] = std::min(known[lane], timeOf(*unit->place.after, int64_t(lane)));
  history_.forget(known);
}

void Machine::report(Unit &unit, const std::vector<TouchedBytes> &touched) {
  std::lock_guard<std::mutex> lock(mutex);
  check(unit, touched);
}

} // namespace standin
