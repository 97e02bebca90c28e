// Which memory the micro-batches of a stage are kept in between their forward and the end of their backward.
#ifndef TESSERA_RUNTIME_PIPELINE_SLOTPLAN_H
#define TESSERA_RUNTIME_PIPELINE_SLOTPLAN_H

#include "tessera/runtime/schedule/Schedule.h"

namespace tessera::runtime {

// Of one stage: a micro-batch has its slot from its F to the end of its backward (B, or the later of I and
// W); where the list has no backward, during its F alone.
struct SlotPlan {
  std::vector<int32_t> slotOf; // by micro-batch
  int32_t slots = 0;           // as many as there are at once: each takes the lowest that is free
};

// `list` is that of the stage's rank, of a valid schedule.
SlotPlan planSlots(const schedule::ActionList &list, int32_t stage, int32_t microBatches);

} // namespace tessera::runtime
#endif
