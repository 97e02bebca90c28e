// Which memory the micro-batches of a stage are kept in between their forward and the end of their backward.
#ifndef TESSERA_RUNTIME_PIPELINE_SLOTPLAN_H
#define TESSERA_RUNTIME_PIPELINE_SLOTPLAN_H

#include "tessera/runtime/core/Manifest.h"
#include "tessera/runtime/schedule/Schedule.h"

namespace tessera::runtime {

// Of one stage, and of one kind of slot (Manifest.h): Whole, from a micro-batch's F to the end of its
// backward (B, or W); UntilInputGradient, from its F to the end of I or B; FromInputGradient, from the
// beginning of that to the end of W or B. Where the list has no backward, during its F alone.
struct SlotPlan {
  struct Kind {
    std::vector<int32_t> slotOf; // by micro-batch
    int32_t slots = 0;           // as many as there are at once: each takes the lowest that is free
  };
  std::array<Kind, kSlots> kinds;
  const Kind &of(Slot slot) const { return kinds[size_t(slot)]; }
};

// What slots of so many bytes take beside the arena, in which the first of each kind lies.
int64_t bytesBesideArena(const SlotPlan &plan, const std::array<int64_t, kSlots> &slotBytes);

// `list` is that of the stage's rank, of a valid schedule.
SlotPlan planSlots(const schedule::ActionList &list, int32_t stage, int32_t microBatches);

} // namespace tessera::runtime
#endif
