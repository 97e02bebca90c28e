#include "Ordering.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>

namespace tessera::runtime::checked {

int64_t Ordering::addStream() {
  seen_.emplace_back();
  for (Clock &clock : seen_)
    clock.resize(seen_.size());
  return int64_t(seen_.size()) - 1;
}

void Ordering::task(int64_t stream, const std::vector<MemoryAccess> &accesses, const std::string &what) {
  Clock &now = seen_[stream];
  merge(now, host_);
  now.resize(seen_.size());
  std::vector<TouchedBytes> touched;
  for (const MemoryAccess &access : accesses) {
    uintptr_t begin = reinterpret_cast<uintptr_t>(access.address);
    touched.push_back({begin, begin + access.bytes, access.writes()});
  }
  TaskPlace place{stream, now[stream] + 1, std::make_shared<const Clock>(now)};
  if (auto conflict = history_.add(place, touched, what))
    throw Error("unordered access to device memory", what,
                std::string(conflict->writes ? "it writes " : "it reads ") +
                    std::to_string(conflict->end - conflict->begin) + " bytes of " +
                    space_.describe(conflict->begin) + ", which " + conflict->task +
                    (conflict->otherWrites ? " writes" : " reads") + " on another stream",
                "wait for an event recorded after it");
  now[stream] = place.time;
  if (++tasks_ % 64 == 0)
    forget();
}

void Ordering::hostWait(const Clock &clock) {
  merge(host_, clock);
  forget();
}

void Ordering::forget() {
  Clock known(seen_.size());
  for (size_t stream = 0; stream < known.size(); ++stream) {
    // With one stream alone a second one may still be created.
    known[stream] = seen_.size() == 1 ? timeOf(host_, int64_t(stream)) : UINT64_MAX;
    for (size_t other = 0; other < seen_.size(); ++other)
      if (other != stream)
        known[stream] = std::min(
            known[stream], std::max(timeOf(seen_[other], int64_t(stream)), timeOf(host_, int64_t(stream))));
  }
  history_.forget(known);
}

} // namespace tessera::runtime::checked
