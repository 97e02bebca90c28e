#include "Async.h"
#include "Functions.h"
#include "Races.h"

#include <cstring>

namespace standin {

static AsyncCopies &copiesOf(Thread &thread) {
  std::vector<std::unique_ptr<AsyncCopies>> &all = thread.owner()->asyncCopies;
  if (all.size() <= thread.index())
    all.resize(thread.index() + 1);
  std::unique_ptr<AsyncCopies> &copies = all[thread.index()];
  if (!copies)
    copies = std::make_unique<AsyncCopies>();
  return *copies;
}

static void land(Thread &thread, const std::vector<AsyncCopies::Copy> &group) {
  for (const AsyncCopies::Copy &copy : group) {
    if (Races *races = thread.owner()->races)
      races->landed(thread, reinterpret_cast<uintptr_t>(copy.to), copy.bytes,
                    reinterpret_cast<uintptr_t>(copy.from), copy.taken, copy.site);
    std::memcpy(copy.to, copy.from, copy.taken);
    std::memset(copy.to + copy.taken, 0, copy.bytes - copy.taken);
  }
}

extern "C" {
void standin_cp_async(Thread *thread, char *to, const char *from, uint32_t taken, uint32_t site) {
  const Site &what = thread->owner()->launch->sites[site];
  uint32_t bytes = what.bytes;
  taken = taken < bytes ? taken : bytes;
  checkAccess(*thread, reinterpret_cast<uintptr_t>(to), bytes, bytes, kWrite, site);
  if (taken)
    checkAccess(*thread, reinterpret_cast<uintptr_t>(from), taken, bytes, kRead, site);
  if (Races *races = thread->owner()->races)
    races->started(*thread, reinterpret_cast<uintptr_t>(to), bytes, site);
  for (uint32_t i = 0; i + 2 <= bytes; i += 2)
    std::memcpy(to + i, "\xf7\x7f", 2);
  copiesOf(*thread).open.push_back({to, from, bytes, taken, site});
}

void standin_cp_async_commit(Thread *thread) {
  AsyncCopies &copies = copiesOf(*thread);
  copies.groups.push_back(std::move(copies.open));
  copies.open.clear();
}

void standin_cp_async_wait(Thread *thread, uint32_t pending) {
  AsyncCopies &copies = copiesOf(*thread);
  while (copies.groups.size() > pending) {
    std::vector<AsyncCopies::Copy> group = std::move(copies.groups.front());
    copies.groups.pop_front();
    land(*thread, group);
  }
}

void standin_cp_async_wait_all(Thread *thread) {
  standin_cp_async_commit(thread);
  standin_cp_async_wait(thread, 0);
}
}

} // namespace standin
