#include "AccessHistory.h"

#include <algorithm>

namespace tessera::runtime {

void merge(Clock &into, const Clock &from) {
  if (into.size() < from.size())
    into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

std::optional<AccessHistory::Conflict> AccessHistory::add(const TaskPlace &place,
                                                          const std::vector<TouchedBytes> &touched,
                                                          const std::string &task) {
  Record record{place, {}, UINTPTR_MAX, 0, task};
  for (const TouchedBytes &bytes : touched)
    if (bytes.begin < bytes.end) {
      record.touched.push_back(bytes);
      record.begin = std::min(record.begin, bytes.begin);
      record.end = std::max(record.end, bytes.end);
    }
  if (record.touched.empty())
    return std::nullopt;
  std::sort(record.touched.begin(), record.touched.end(),
            [](const TouchedBytes &a, const TouchedBytes &b) { return a.begin < b.begin; });
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (int64_t(lane) == place.lane)
      continue;
    for (const Record &other : lanes_[lane]) {
      if (other.end <= record.begin || record.end <= other.begin || place.comesAfter(other.place) ||
          other.place.comesAfter(place))
        continue;
      for (const TouchedBytes &theirs : other.touched)
        for (const TouchedBytes &mine : record.touched) {
          if (mine.begin >= theirs.end)
            break;
          if (theirs.begin < mine.end && (mine.writes || theirs.writes))
            return Conflict{other.task, theirs.writes, mine, std::max(mine.begin, theirs.begin),
                            std::min(mine.end, theirs.end)};
        }
    }
  }
  if (lanes_.size() <= size_t(place.lane))
    lanes_.resize(size_t(place.lane) + 1);
  lanes_[size_t(place.lane)].push_back(std::move(record));
  ++size_;
  return std::nullopt;
}

void AccessHistory::forget(const Clock &known) {
  size_ = 0;
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    auto &list = lanes_[lane];
    uint64_t done = timeOf(known, int64_t(lane));
    list.erase(
        std::remove_if(list.begin(), list.end(), [&](const Record &r) { return r.place.time <= done; }),
        list.end());
    size_ += list.size();
  }
}

} // namespace tessera::runtime
