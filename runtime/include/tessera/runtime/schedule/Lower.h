// From computing actions alone to lists with their sends and receives, and with what sharded weights need.
#ifndef TESSERA_RUNTIME_SCHEDULE_LOWER_H
#define TESSERA_RUNTIME_SCHEDULE_LOWER_H

#include "tessera/runtime/schedule/Schedule.h"

#include <string_view>

namespace tessera::schedule {

enum class Lowering {
  // A receive stands right before the action that needs it, a send right after its maker. Receives wait,
  // sends do not. The times stay what they were, always; messages of two ranks may overtake each other.
  Late,
  // Receives are posted as early as their message is sent. Between any two ranks they stand in the order
  // of the sends.
  Eager,
  // Eager, with weights gathered and freed, gradients reduced, and waits for the buffers of sends.
  Full,
};
std::optional<Lowering> loweringFromName(std::string_view text); // late, eager, full

// `schedule` is valid (Validate.h) and has computing actions alone. `active`: with Full, of how many of the
// stages that a rank computes next the weights are held at once, at least 1 (a pair needs both of its stages
// at once, so with pairs at least 2).
Schedule lower(const Schedule &schedule, Lowering lowering, int32_t active = 3);

} // namespace tessera::schedule
#endif
