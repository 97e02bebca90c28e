#include "tessera/runtime/pipeline/SlotPlan.h"
#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Simulate.h"
#include "tessera/runtime/schedule/Text.h"

#include "../../schedule/test/RandomSchedules.h"

#include <gtest/gtest.h>
#include <map>

using namespace tessera;
using namespace tessera::runtime;

static SlotPlan slotsOf(const std::string &list, int32_t stage, int32_t microBatches) {
  return planSlots(schedule::parseActions(list).take(), stage, microBatches);
}

using Numbers = std::vector<int32_t>;

TEST(SlotPlan, AMicroBatchTakesTheLowestFreeSlot) {
  SlotPlan plan = slotsOf("0F0 0F1 0F2 0B1 0F3 0B0 0B2 0B3", 0, 4);
  for (Slot slot : {Slot::Whole, Slot::UntilInputGradient}) {
    EXPECT_EQ(plan.of(slot).slots, 3);
    EXPECT_EQ(plan.of(slot).slotOf, (Numbers{0, 1, 2, 1}));
  }
  EXPECT_EQ(plan.of(Slot::FromInputGradient).slots, 1);
  EXPECT_EQ(plan.of(Slot::FromInputGradient).slotOf, (Numbers{0, 0, 0, 0}));
}

// I is not the end: weights are still to come. What they do not read is free.
TEST(SlotPlan, EachKindHasItsOwnLifetime) {
  SlotPlan plan = slotsOf("0F0 0I0 0F1 0W0 0F2 0I1 0I2 0W1 0W2", 0, 3);
  EXPECT_EQ(plan.of(Slot::Whole).slotOf, (Numbers{0, 1, 0}));
  EXPECT_EQ(plan.of(Slot::Whole).slots, 2);
  EXPECT_EQ(plan.of(Slot::UntilInputGradient).slotOf, (Numbers{0, 0, 1}));
  EXPECT_EQ(plan.of(Slot::UntilInputGradient).slots, 2);
  EXPECT_EQ(plan.of(Slot::FromInputGradient).slotOf, (Numbers{0, 0, 1}));
  EXPECT_EQ(plan.of(Slot::FromInputGradient).slots, 2);
}

TEST(SlotPlan, BytesBesideTheArenaAreThoseOfAllButTheFirst) {
  const std::array<int64_t, kSlots> slots{64, 256, 1024};
  EXPECT_EQ(bytesBesideArena(slotsOf("0F0 0F1 0I0 0F2 0I1 0W0 0I2 0W1 0W2", 0, 3), slots),
            2 * 64 + 1 * 256 + 1 * 1024);
  EXPECT_EQ(bytesBesideArena(slotsOf("0F0 0B0", 0, 1), slots), 0);
}

// The forward of a pair comes first.
TEST(SlotPlan, PairsHoldBoth) {
  SlotPlan plan = slotsOf("0F0 (0F1;0B0) 1F0 (0F2;0B1) 0B2 1B0", 0, 3);
  EXPECT_EQ(plan.of(Slot::Whole).slotOf, (Numbers{0, 1, 0}));
}

// Where nothing goes back nothing is kept.
TEST(SlotPlan, ForwardsAloneTakeOneSlot) {
  SlotPlan plan = slotsOf("0F0 1F0 0F1 1F1 0F2 1F2", 1, 3);
  for (const SlotPlan::Kind &kind : plan.kinds) {
    EXPECT_EQ(kind.slots, 1);
    EXPECT_EQ(kind.slotOf, (Numbers{0, 0, 0}));
  }
}

// Of any schedule: no two micro-batches have one slot at once, and slots of a rank are as many as the
// simulator says that it holds, where it has one stage.
TEST(SlotPlan, NoTwoAtOnce) {
  schedule::RandomSchedules random(5);
  for (int i = 0; i < 300; ++i) {
    const schedule::Schedule lists = random.next(4);
    const std::vector<schedule::Held> held = schedule::heldAtMost(lists);
    for (int32_t stage = 0; stage < lists.numStages(); ++stage) {
      const int32_t rank = lists.rankOfStage[size_t(stage)];
      const schedule::ActionList &list = lists.ranks[size_t(rank)];
      const SlotPlan plan = planSlots(list, stage, lists.microBatches);
      for (int number = 0; number < kSlots; ++number) {
        const SlotPlan::Kind &kind = plan.kinds[size_t(number)];
        std::map<int32_t, int32_t> busy; // slot to micro-batch
        for (const schedule::Action &action : list)
          for (const schedule::Action &part : schedule::partsOf(action)) {
            if (part.stage != stage)
              continue;
            const bool isForward = part.kind == schedule::Kind::Forward,
                       givesInput = schedule::givesInputGradient(part.kind),
                       givesWeights = schedule::givesWeightGradients(part.kind);
            const int32_t slot = kind.slotOf[size_t(part.microBatch)];
            if (Slot(number) == Slot::FromInputGradient ? givesInput : isForward)
              EXPECT_TRUE(busy.emplace(slot, part.microBatch).second) << i;
            if (Slot(number) == Slot::Whole || (Slot(number) == Slot::UntilInputGradient && !givesWeights) ||
                (Slot(number) == Slot::FromInputGradient && !isForward))
              EXPECT_EQ(busy[slot], part.microBatch) << i;
            if (Slot(number) == Slot::UntilInputGradient ? givesInput : givesWeights)
              busy.erase(slot);
          }
      }
      EXPECT_LE(plan.of(Slot::Whole).slots, held[size_t(rank)].activations) << i;
    }
  }
}
