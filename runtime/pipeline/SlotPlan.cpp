#include "tessera/runtime/pipeline/SlotPlan.h"

#include <algorithm>

namespace tessera::runtime {

using schedule::Action;
using schedule::Kind;

SlotPlan planSlots(const schedule::ActionList &list, int32_t stage, int32_t microBatches) {
  // How many actions of its backward a micro-batch still waits for.
  std::vector<int32_t> left(size_t(microBatches), 0);
  auto ofStage = [&](const auto &visit) {
    for (const Action &action : list)
      if (schedule::computes(action.kind))
        for (const Action &part : schedule::partsOf(action))
          if (part.stage == stage)
            visit(part);
  };
  ofStage([&](const Action &part) { left[size_t(part.microBatch)] += part.kind != Kind::Forward; });
  SlotPlan plan;
  plan.slotOf.assign(size_t(microBatches), 0);
  std::vector<bool> taken;
  ofStage([&](const Action &part) {
    int32_t &slot = plan.slotOf[size_t(part.microBatch)];
    if (part.kind == Kind::Forward) {
      slot = int32_t(std::find(taken.begin(), taken.end(), false) - taken.begin());
      taken.resize(std::max(taken.size(), size_t(slot) + 1));
      taken[size_t(slot)] = left[size_t(part.microBatch)] > 0;
    } else if (--left[size_t(part.microBatch)] == 0) {
      taken[size_t(slot)] = false;
    }
  });
  plan.slots = int32_t(taken.size());
  return plan;
}

} // namespace tessera::runtime
