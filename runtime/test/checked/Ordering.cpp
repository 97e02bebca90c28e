#include "Ordering.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>

namespace tessera::runtime::checked {

void Ordering::merge(Clock &into, const Clock &from) {
  into.resize(std::max(into.size(), from.size()));
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

int64_t Ordering::addStream() {
  seen_.emplace_back();
  access_.emplace_back();
  for (Clock &clock : seen_)
    clock.resize(seen_.size());
  return int64_t(seen_.size()) - 1;
}

void Ordering::task(int64_t stream, const std::vector<MemoryAccess> &accesses, const std::string &what) {
  Clock &now = seen_[stream];
  merge(now, host_);
  now.resize(seen_.size());
  for (const MemoryAccess &access : accesses) {
    uintptr_t begin = reinterpret_cast<uintptr_t>(access.address), end = begin + access.bytes;
    for (int64_t other = 0; other < int64_t(seen_.size()); ++other)
      for (const Access &before : access_[other])
        if (other != stream && before.time > now[other] && before.begin < end && begin < before.end &&
            (before.writes || access.writes()))
          throw Error("unordered access to device memory", what,
                      std::string(access.writes() ? "it writes " : "it reads ") +
                          std::to_string(access.bytes) + " bytes of " + space_.describe(begin) + ", which " +
                          before.task + (before.writes ? " writes" : " reads") + " on another stream",
                      "wait for an event recorded after it");
  }
  uint64_t time = ++now[stream];
  for (const MemoryAccess &access : accesses) {
    uintptr_t begin = reinterpret_cast<uintptr_t>(access.address);
    if (access.bytes)
      access_[stream].push_back({time, begin, begin + access.bytes, access.writes(), what});
  }
  if (access_[stream].size() % 64 == 0)
    forget();
}

void Ordering::hostWait(const Clock &clock) {
  merge(host_, clock);
  forget();
}

void Ordering::forget() {
  for (size_t stream = 0; stream < access_.size(); ++stream) {
    auto known = [&](const Clock &clock) { return stream < clock.size() ? clock[stream] : 0; };
    // With one stream alone a second one may still be created.
    uint64_t least = seen_.size() == 1 ? known(host_) : UINT64_MAX;
    for (size_t other = 0; other < seen_.size(); ++other)
      if (other != stream)
        least = std::min(least, std::max(known(seen_[other]), known(host_)));
    auto &list = access_[stream];
    list.erase(std::remove_if(list.begin(), list.end(), [&](const Access &a) { return a.time <= least; }),
               list.end());
  }
}

} // namespace tessera::runtime::checked
