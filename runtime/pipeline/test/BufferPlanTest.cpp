#include "../../schedule/test/RandomSchedules.h"
#include "tessera/runtime/pipeline/Executor.h"
#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Lower.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;
using schedule::Action;
using schedule::Kind;

static ValueSizes equalSizes(const schedule::Schedule &schedule, size_t bytes) {
  size_t count = size_t(schedule.numStages()) - 1;
  return {std::vector<size_t>(count, bytes), std::vector<size_t>(count, bytes)};
}

// Rank 1 of two under 1f1b receives one value at a time, and makes one gradient: two buffers, and those of
// sends.
TEST(BufferPlan, OneForwardOneBackwardNeedsFewBuffers) {
  schedule::Schedule lists =
      lower(schedule::generate(schedule::Name::OneForwardOneBackward, 2, 8).take(), schedule::Lowering::Late);
  BufferPlan plan = planBuffers(lists, 1, equalSizes(lists, 1024), 1);
  EXPECT_EQ(plan.sendSlots.size(), 1u);
  EXPECT_EQ(plan.sendBytes, 1024u);
  EXPECT_EQ(plan.bytes, 2 * 1024u);
}

// Of gpipe, whose backwards begin when all forwards are over, no value waits between ranks under `late`.
TEST(BufferPlan, WhoSendsNothingHasNoBufferForIt) {
  schedule::Schedule lists =
      lower(schedule::generate(schedule::Name::GPipe, 1, 4).take(), schedule::Lowering::Late);
  BufferPlan plan = planBuffers(lists, 0, {}, 3);
  EXPECT_TRUE(plan.sendSlots.empty());
  EXPECT_EQ(plan.bytes, 0u);
}

// No two values that are there at once share a byte: checked by a walk of the list that keeps them by name.
TEST(BufferPlan, ValuesThatAreThereAtOnceAreApart) {
  schedule::RandomSchedules random(3);
  for (int round = 0; round < 500; ++round) {
    schedule::Schedule lists =
        lower(random.next(), round % 2 ? schedule::Lowering::Eager : schedule::Lowering::Late);
    ValueSizes sizes;
    for (int32_t s = 0; s + 1 < lists.numStages(); ++s) {
      sizes.forward.push_back(8 + size_t(random.below(1000)));
      sizes.backward.push_back(8 + size_t(random.below(1000)));
    }
    for (int32_t rank = 0; rank < lists.numRanks(); ++rank) {
      BufferPlan plan = planBuffers(lists, rank, sizes, 2);
      struct Live {
        std::string name;
        int64_t begin, end;
      };
      std::vector<Live> live;
      auto name = [](bool forward, int32_t maker, int32_t microBatch) {
        return (forward ? "f" : "b") + std::to_string(maker) + "." + std::to_string(microBatch);
      };
      auto begin = [&](const std::string &value, int64_t at, size_t bytes) {
        ASSERT_GE(at, 0);
        ASSERT_LE(at + int64_t(bytes), int64_t(plan.bytes));
        for (const Live &other : live)
          EXPECT_TRUE(at + int64_t(bytes) <= other.begin || at >= other.end)
              << value << " on " << other.name << ", rank " << rank << ", round " << round;
        for (int64_t slot : plan.sendSlots)
          EXPECT_LE(at + int64_t(bytes), slot);
        live.push_back({value, at, at + int64_t(bytes)});
      };
      auto end = [&](const std::string &value, int64_t at) {
        auto found =
            std::find_if(live.begin(), live.end(), [&](const Live &other) { return other.name == value; });
        ASSERT_NE(found, live.end()) << value;
        EXPECT_EQ(found->begin, at) << value;
        live.erase(found);
      };
      auto bytes = [&](bool forward, int32_t maker) {
        return forward ? sizes.forward[size_t(maker)] : sizes.backward[size_t(maker) - 1];
      };
      const schedule::ActionList &list = lists.ranks[size_t(rank)];
      for (size_t i = 0; i < list.size(); ++i) {
        const Action &action = list[i];
        if (schedule::receives(action.kind)) {
          bool forward = action.kind == Kind::ReceiveForward;
          int32_t maker = schedule::otherEnd(action);
          begin(name(forward, maker, action.microBatch), plan.uses[i].in[0], bytes(forward, maker));
        } else if (schedule::sends(action.kind)) {
          end(name(action.kind == Kind::SendForward, action.stage, action.microBatch), plan.uses[i].out[0]);
        } else if (schedule::computes(action.kind)) {
          schedule::Parts parts = schedule::partsOf(action);
          for (int p = 0; p < parts.count; ++p) {
            const Action &part = parts.part[p];
            bool forward = part.kind == Kind::Forward;
            int32_t next = part.stage + (forward ? 1 : -1);
            if ((forward || schedule::givesInputGradient(part.kind)) && lists.hasStage(next))
              begin(name(forward, part.stage, part.microBatch), plan.uses[i].out[p],
                    bytes(forward, part.stage));
          }
          for (int p = 0; p < parts.count; ++p) {
            const Action &part = parts.part[p];
            bool forward = part.kind == Kind::Forward;
            int32_t before = part.stage + (forward ? -1 : 1);
            if ((forward || schedule::givesInputGradient(part.kind)) && lists.hasStage(before))
              end(name(forward, before, part.microBatch), plan.uses[i].in[p]);
          }
        }
      }
      EXPECT_TRUE(live.empty());
    }
  }
}
