#include "tessera/runtime/pipeline/SlotPlan.h"

#include <algorithm>

namespace tessera::runtime {

using schedule::Action;

// Whether a micro-batch takes its slot when `part` begins, and gives it back when it ends.
static bool begins(Slot slot, const Action &part) {
  return slot == Slot::FromInputGradient ? schedule::givesInputGradient(part.kind)
                                         : part.kind == schedule::Kind::Forward;
}
static bool ends(Slot slot, const Action &part) {
  return slot == Slot::UntilInputGradient ? schedule::givesInputGradient(part.kind)
                                          : schedule::givesWeightGradients(part.kind);
}

SlotPlan planSlots(const schedule::ActionList &list, int32_t stage, int32_t microBatches) {
  std::vector<Action> parts;
  for (const Action &action : list)
    if (schedule::computes(action.kind))
      for (const Action &part : schedule::partsOf(action))
        if (part.stage == stage)
          parts.push_back(part);
  SlotPlan plan;
  for (int number = 0; number < kSlots; ++number) {
    const Slot slot = Slot(number);
    SlotPlan::Kind &kind = plan.kinds[size_t(number)];
    kind.slotOf.assign(size_t(microBatches), 0);
    std::vector<bool> taken, isGivenBack(size_t(microBatches), false);
    for (const Action &part : parts)
      if (ends(slot, part))
        isGivenBack[size_t(part.microBatch)] = true;
    for (const Action &part : parts) {
      int32_t &of = kind.slotOf[size_t(part.microBatch)];
      if (begins(slot, part)) {
        of = int32_t(std::find(taken.begin(), taken.end(), false) - taken.begin());
        taken.resize(std::max(taken.size(), size_t(of) + 1));
        taken[size_t(of)] = isGivenBack[size_t(part.microBatch)];
      }
      if (ends(slot, part))
        taken[size_t(of)] = false;
    }
    kind.slots = std::max(1, int32_t(taken.size())); // the one in the arena
  }
  return plan;
}

int64_t bytesBesideArena(const SlotPlan &plan, const std::array<int64_t, kSlots> &slotBytes) {
  int64_t bytes = 0;
  for (size_t kind = 0; kind < kSlots; ++kind)
    bytes += int64_t(plan.kinds[kind].slots - 1) * slotBytes[kind];
  return bytes;
}

} // namespace tessera::runtime
