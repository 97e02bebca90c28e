// Sends and receives: what stands where, what it does to the times, and how many buffers it takes.
#include "RandomSchedules.h"
#include "TickRun.h"

#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Lower.h"
#include "tessera/runtime/schedule/Text.h"
#include "tessera/runtime/schedule/Validate.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace tessera;
using namespace tessera::schedule;

static constexpr Lowering kLowerings[] = {Lowering::Late, Lowering::Eager, Lowering::Full};

static Transport blocking() {
  Transport transport;
  transport.postedReceives = false;
  return transport;
}

static std::string problemOf(const Schedule &schedule, const Transport &transport = {}) {
  std::optional<Problem> problem = validate(schedule, transport);
  return problem ? problem->why : "";
}

// Whether anything is to be checked of `lowered` that its computing actions do not have.
static Schedule computingOnly(Schedule lowered) {
  for (ActionList &list : lowered.ranks)
    list.erase(
        std::remove_if(list.begin(), list.end(), [](const Action &action) { return !computes(action.kind); }),
        list.end());
  return lowered;
}

TEST(Lower, LateKeepsTheTimesOfRandomSchedules) {
  RandomSchedules random(1);
  for (int i = 0; i < 1000; ++i) {
    Schedule schedule = random.next(), lowered = lower(schedule, Lowering::Late);
    Costs costs = random.costs(schedule, random.below(2));
    ASSERT_EQ(problemOf(lowered, blocking()), "") << toString(lowered);
    ASSERT_EQ(computingOnly(lowered), schedule);
    ASSERT_EQ(simulate(lowered, costs, blocking()).makespan, simulate(schedule, costs).makespan)
        << toString(lowered);
  }
}

// Micro-batch by micro-batch, each through all stages of a rank, they would take v times as long: rank 0
// would wait for the first one to come back before it begins the second one.
TEST(Lower, ForwardsOfNamedSchedulesFollowEachOther) {
  for (int name = 0; name < kNamedSchedules; ++name)
    for (int32_t p = 2; p <= 8; ++p)
      for (int32_t v = 1; v <= 4; ++v)
        for (int32_t m = 1; m <= 4 * p; ++m) {
          const bool isV = isVShaped(Name(name));
          if (!takesStagesPerRank(Name(name)) && v != (isV ? 2 : 1))
            continue;
          Result<Schedule> schedule = generate(Name(name), p, m, v);
          if (!schedule) // dualpipev needs m >= 2p
            continue;
          Schedule forwards = lower(forwardsOf(*schedule), Lowering::Eager);
          const double makespan = simulate(forwards).makespan;
          const int32_t ideal = v * m + p - 1 + (v - 1) * std::max(0, p - m);
          if (!isV)
            ASSERT_EQ(makespan, ideal) << toString(forwards);
          else
            ASSERT_LE(makespan, ideal + p - 1) << toString(forwards);
          Transport oneBuffer;
          oneBuffer.sendBuffers = 1;
          ASSERT_EQ(simulate(forwards, {}, oneBuffer).makespan, makespan);
        }
}

TEST(Lower, ForwardsOfRandomSchedulesEnd) {
  RandomSchedules random(4);
  for (int i = 0; i < 1000; ++i) {
    Schedule schedule = random.next(), forwards = lower(forwardsOf(schedule), Lowering::Eager);
    Simulation run = simulate(forwards);
    ASSERT_TRUE(run.ended()) << toString(forwards);
    for (int32_t rank = 0; rank < schedule.numRanks(); ++rank)
      ASSERT_EQ(run.busy[size_t(rank)],
                double(std::count(schedule.rankOfStage.begin(), schedule.rankOfStage.end(), rank)) *
                    schedule.microBatches);
  }
}

TEST(Lower, EagerReceivesInTheOrderOfTheSendsAndIsNotSlower) {
  RandomSchedules random(2);
  for (int i = 0; i < 1000; ++i) {
    Schedule schedule = random.next();
    Costs costs = random.costs(schedule, random.below(2));
    for (Lowering lowering : {Lowering::Eager, Lowering::Full}) {
      Schedule lowered = lower(schedule, lowering, 2 + random.below(3));
      ASSERT_EQ(problemOf(lowered), "") << toString(lowered);
      ASSERT_FALSE(checkFirstInFirstOut(lowered)) << toString(lowered);
      ASSERT_EQ(computingOnly(lowered), schedule);
      ASSERT_EQ(simulate(lowered, costs).makespan, simulate(schedule, costs).makespan) << toString(lowered);
    }
  }
}

TEST(Lower, FullHoldsTheWeightsOfSoManyStages) {
  for (int32_t active : {1, 2, 3, 8}) {
    Schedule lowered = lower(generate(Name::LoopedBfs, 2, 4, 4).take(), Lowering::Full, active);
    EXPECT_EQ(problemOf(lowered), "");
    for (const ActionList &list : lowered.ranks) {
      std::set<int32_t> held;
      size_t most = 0;
      for (const Action &action : list) {
        if (action.kind == Kind::Unshard)
          held.insert(action.stage);
        if (action.kind == Kind::Reshard)
          held.erase(action.stage);
        most = std::max(most, held.size());
      }
      EXPECT_EQ(most, std::min<size_t>(size_t(active), 4));
      EXPECT_TRUE(held.empty());
    }
  }
  // Both stages of a pair are needed at once.
  Schedule pairs = generate(Name::DualPipeV, 2, 4).take();
  EXPECT_EQ(problemOf(lower(pairs, Lowering::Full, 2)), "");
  EXPECT_EQ(problemOf(lower(pairs, Lowering::Full, 1)), "r0 at 3B1: the stage's weights are not gathered");
}

TEST(Lower, LateOvertakesWhereStagesOfOneRankFollowEachOther) {
  auto overtakes = [](Name name, int32_t p, int32_t m, int32_t v) {
    std::optional<Problem> problem =
        checkFirstInFirstOut(lower(generate(name, p, m, v).take(), Lowering::Late));
    return problem ? problem->why : "";
  };
  EXPECT_EQ(overtakes(Name::GPipe, 4, 8, 1), "");
  EXPECT_EQ(overtakes(Name::OneForwardOneBackward, 4, 8, 1), "");
  EXPECT_EQ(overtakes(Name::LoopedBfs, 2, 8, 2), "");
  EXPECT_EQ(overtakes(Name::Interleaved, 2, 8, 2), "");
  EXPECT_EQ(overtakes(Name::ZeroBubble, 2, 8, 1), "");
  EXPECT_EQ(overtakes(Name::ZeroBubble, 2, 4, 2), "r0 at 0RECV_B0: r1 sends 1SEND_F2 first");
  EXPECT_NE(overtakes(Name::ZeroBubbleV, 4, 8, 2), "");
  EXPECT_NE(overtakes(Name::DualPipeV, 4, 8, 2), "");
}

TEST(Lower, OnlyGPipeSurvivesSynchronousSends) {
  Transport transport = blocking();
  transport.synchronousSends = true;
  for (int name = 0; name < kNamedSchedules; ++name) {
    Schedule lowered = lower(
        generate(Name(name), 4, 8, isVShaped(Name(name)) || takesStagesPerRank(Name(name)) ? 2 : 1).take(),
        Lowering::Late);
    EXPECT_EQ(problemOf(lowered, transport).empty(), Name(name) == Name::GPipe) << scheduleName(Name(name));
  }
}

TEST(Lower, EagerReceivesThatBlockCostTime) {
  auto times = [](Name name, int32_t p, int32_t m, int32_t v) {
    Schedule schedule = lower(generate(name, p, m, v).take(), Lowering::Eager);
    return std::pair(simulate(schedule).makespan, simulate(schedule, {}, blocking()).makespan);
  };
  EXPECT_EQ(times(Name::OneForwardOneBackward, 4, 8, 1), std::pair(33.0, 45.0));
  EXPECT_EQ(times(Name::Interleaved, 8, 32, 4), std::pair(405.0, 1115.0));
}

TEST(Lower, LeastSendBuffers) {
  auto least = [](Name name, int32_t p, int32_t m, int32_t v) {
    LeastBuffers buffers =
        leastSendBuffers(lower(generate(name, p, m, v).take(), Lowering::Late), {}, blocking());
    return std::pair(buffers.withoutDeadlock, buffers.withoutDelay);
  };
  for (Name name : {Name::GPipe, Name::OneForwardOneBackward, Name::ZeroBubble})
    for (int32_t p : {2, 4, 8})
      EXPECT_EQ(least(name, p, 2 * p, 1), std::pair(1, 1)) << scheduleName(name) << " p=" << p;
  for (Name name : {Name::Interleaved, Name::ZeroBubbleV, Name::DualPipeV})
    for (int32_t p : {2, 4, 8})
      EXPECT_EQ(least(name, p, 2 * p, 2), std::pair(2, 2)) << scheduleName(name) << " p=" << p;
  EXPECT_EQ(least(Name::LoopedBfs, 2, 4, 2), std::pair(2, 2));
  EXPECT_EQ(least(Name::LoopedBfs, 2, 8, 2), std::pair(4, 6));
  EXPECT_EQ(least(Name::ZeroBubble, 2, 4, 2), std::pair(2, 2));
  // The facts have 7 for the second; TickRun, which looks at the ranks at every time, needs 6 as well.
  EXPECT_EQ(least(Name::ZeroBubble, 8, 16, 2), std::pair(5, 6));
  Schedule schedule = lower(generate(Name::ZeroBubble, 8, 16, 2).take(), Lowering::Late);
  for (int32_t buffers : {5, 6, 7}) {
    Transport transport = blocking();
    transport.sendBuffers = buffers;
    Costs costs;
    EXPECT_EQ(simulate(schedule, costs, transport).makespan, TickRun(schedule, costs, transport).run());
  }
  EXPECT_EQ(least(Name::GPipe, 1, 4, 1), std::pair(0, 0)); // nothing is sent
}

TEST(Lower, OneBufferLessThanTheLeastStalls) {
  RandomSchedules random(3);
  int needed = 0;
  for (int i = 0; i < 1000; ++i) {
    Schedule lowered = lower(random.next(), kLowerings[random.below(3)]);
    Costs costs = random.costs(lowered, false);
    Transport transport;
    LeastBuffers least = leastSendBuffers(lowered, costs, transport);
    Simulation endless = simulate(lowered, costs, transport);
    auto with = [&](int32_t buffers) {
      transport.sendBuffers = buffers;
      return simulate(lowered, costs, transport);
    };
    for (int32_t guess : {0, least.withoutDelay, least.withoutDelay + 1, random.below(8), 1000})
      ASSERT_EQ(leastSendBuffersWithoutDelay(lowered, costs, guess), least.withoutDelay) << guess;
    ASSERT_TRUE(with(least.withoutDeadlock).ended());
    ASSERT_EQ(with(least.withoutDelay).makespan, endless.makespan);
    if (least.withoutDeadlock > 0) {
      ++needed;
      ASSERT_FALSE(with(least.withoutDeadlock - 1).ended()) << toString(lowered);
    }
    if (least.withoutDelay > least.withoutDeadlock) {
      ASSERT_GT(with(least.withoutDelay - 1).makespan, endless.makespan);
    }
  }
  EXPECT_GT(needed, 500);
}

TEST(Lower, MessagesTravelAsRanksThatLookAtEachOtherSay) {
  RandomSchedules random(4);
  int stalls = 0;
  for (int i = 0; i < 3000; ++i) {
    Schedule lowered = lower(random.next(), kLowerings[random.below(3)]);
    Costs costs = random.costs(lowered, random.below(2));
    if (random.below(2)) {
      costs.wire.clear();
      for (double link : costs.link)
        costs.wire.push_back(random.below(int32_t(link) + 1));
    }
    Transport transport;
    transport.postedReceives = random.below(2);
    transport.synchronousSends = random.below(4) == 0;
    transport.sendBuffers = random.below(3) ? random.below(4) : kEndless;
    Simulation run = simulate(lowered, costs, transport);
    std::optional<double> ticks = TickRun(lowered, costs, transport).run();
    ASSERT_EQ(run.ended(), ticks.has_value()) << toString(lowered);
    ASSERT_EQ(problemOf(lowered, transport).empty(), ticks.has_value()) << toString(lowered);
    if (ticks) {
      ASSERT_EQ(run.makespan, *ticks) << toString(lowered);
    }
    stalls += !ticks;
  }
  EXPECT_GT(stalls, 300);
  EXPECT_LT(stalls, 2700);
}

TEST(Lower, ReceivedMessagesAreCounted) {
  auto receives = [](Lowering lowering) {
    std::vector<int32_t> counts;
    for (const Held &held : heldAtMost(lower(generate(Name::GPipe, 3, 4).take(), lowering)))
      counts.push_back(held.receives);
    return counts;
  };
  EXPECT_EQ(receives(Lowering::Late), (std::vector<int32_t>{1, 1, 1}));
  EXPECT_EQ(receives(Lowering::Eager), (std::vector<int32_t>{1, 1, 1}));
  Schedule early = parseSchedule("r0 0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0RECV_B1 0B0 0B1\n"
                                 "r1 1RECV_F0 1RECV_F1 1F0 1B0 1SEND_B0 1F1 1B1 1SEND_B1\n",
                                 "test")
                       .take();
  EXPECT_EQ(heldAtMost(early)[1].receives, 2);
  EXPECT_EQ(heldAtMost(early)[0].receives, 2);
  EXPECT_EQ(simulate(early).sendsInFlight, (std::vector<int32_t>{1, 1}));
}

// A send, a receive or a computing action that is dropped or doubled in a lowered list.
TEST(Lower, BrokenListsAreRefused) {
  RandomSchedules random(5);
  for (int i = 0; i < 5000; ++i) {
    Schedule lowered = lower(random.next(), kLowerings[random.below(3)]);
    int32_t rank = random.below(lowered.numRanks());
    ActionList &list = lowered.ranks[size_t(rank)];
    size_t at = size_t(random.below(int32_t(list.size())));
    Action action = list[at];
    if (waitsForSend(action.kind)) // may be left out
      continue;
    if (random.below(2))
      list.erase(list.begin() + long(at));
    else
      list.insert(list.begin() + long(random.below(int32_t(list.size()))), action);
    std::string why = problemOf(lowered);
    bool weights = action.kind == Kind::Unshard || action.kind == Kind::Reshard; // may stand elsewhere
    ASSERT_TRUE(weights || !why.empty()) << toString(action) << "\n" << toString(lowered);
    if (!why.empty()) {
      ASSERT_NE(why.find("r" + std::to_string(rank) + " at "), std::string::npos) << why << "\n"
                                                                                  << toString(lowered);
    }
  }
}
