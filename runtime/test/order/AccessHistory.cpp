#include "AccessHistory.h"

#include <algorithm>

namespace tessera::runtime {

void merge(Clock &into, const Clock &from) {
  if (into.size() < from.size())
    into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

namespace {

// Sorted, and each range once: lists of a strided kernel are long, and two of them are gone through side by
// side.
void normalize(std::vector<TouchedBytes> &list) {
  std::sort(list.begin(), list.end(),
            [](const TouchedBytes &a, const TouchedBytes &b) { return a.begin < b.begin; });
  size_t kept = 0;
  for (const TouchedBytes &bytes : list)
    if (kept && bytes.begin <= list[kept - 1].end)
      list[kept - 1].end = std::max(list[kept - 1].end, bytes.end);
    else
      list[kept++] = bytes;
  list.resize(kept);
}

// Bytes that are in both, if any.
std::optional<TouchedBytes> common(const std::vector<TouchedBytes> &a, const std::vector<TouchedBytes> &b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    uintptr_t begin = std::max(a[i].begin, b[j].begin), end = std::min(a[i].end, b[j].end);
    if (begin < end)
      return TouchedBytes{begin, end, false};
    a[i].end <= b[j].end ? ++i : ++j;
  }
  return std::nullopt;
}

} // namespace

std::optional<AccessHistory::Conflict> AccessHistory::add(const TaskPlace &place,
                                                          const std::vector<TouchedBytes> &touched,
                                                          const std::string &task) {
  Record record{place, {}, {}, UINTPTR_MAX, 0, task};
  for (const TouchedBytes &bytes : touched)
    if (bytes.begin < bytes.end) {
      (bytes.writes ? record.written : record.read).push_back(bytes);
      record.begin = std::min(record.begin, bytes.begin);
      record.end = std::max(record.end, bytes.end);
    }
  if (record.begin >= record.end)
    return std::nullopt;
  normalize(record.read);
  normalize(record.written);
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (int64_t(lane) == place.lane)
      continue;
    for (const Record &other : lanes_[lane]) {
      if (other.end <= record.begin || record.end <= other.begin || place.comesAfter(other.place) ||
          other.place.comesAfter(place))
        continue;
      if (auto both = common(record.written, other.written))
        return Conflict{other.task, true, true, both->begin, both->end};
      if (auto both = common(record.read, other.written))
        return Conflict{other.task, true, false, both->begin, both->end};
      if (auto both = common(record.written, other.read))
        return Conflict{other.task, false, true, both->begin, both->end};
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
