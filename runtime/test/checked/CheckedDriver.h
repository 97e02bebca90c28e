// The driver `checked`: runs CPU programs the way a device would that is as unlike the CPU as the contract of
// runtime/device allows.
//   - Device memory cannot be touched by the host: addresses carry a tag that no pointer may have; it is
//   taken off when a task runs.
//   - Streams run late, on a thread of their own, in an order drawn from a seed among those that events and
//   the order of each stream allow.
//     Loops run in random pieces in random order.
//   - Before a call the arena holds NaNs wherever the plan says that nothing lives; so does an output that a
//   kernel writes whole, before the kernel.
//   - Two tasks of different streams that touch the same bytes, one of them writing, must be ordered by an
//   event: otherwise the call that gives the
//     second one fails, whatever the order in which they would run.
// The seed is TESSERA_CHECKED_SEED or setCheckedSeed().
#ifndef TESSERA_RUNTIME_TEST_CHECKED_CHECKEDDRIVER_H
#define TESSERA_RUNTIME_TEST_CHECKED_CHECKEDDRIVER_H

#include "tessera/runtime/device/Device.h"

#include <cstdint>

namespace tessera::runtime {

const Driver &checkedDriver();

// The number in an environment variable, or `otherwise` without one. Throws Error of what is no number.
uint64_t checkedSetting(const char *name, uint64_t otherwise);

// For devices opened from now on, of this process. Before the first call: TESSERA_CHECKED_SEED, or 0.
void setCheckedSeed(uint64_t seed);

} // namespace tessera::runtime
#endif
