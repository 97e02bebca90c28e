#include "ActionGraph.h"
#include "RandomSchedules.h"

#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Text.h"
#include "tessera/runtime/schedule/Validate.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

// Their shadow memory takes terabytes of addresses.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
static constexpr bool isSanitized = true;
#else
static constexpr bool isSanitized = false;
#endif

using namespace tessera;
using namespace tessera::schedule;

static Schedule read(const std::string &text) {
  Result<Schedule> schedule = parseSchedule(text, "test");
  EXPECT_TRUE(schedule) << schedule.failure().message();
  return schedule.take();
}

// Two stages on two ranks, two micro-batches: the second rank runs `list`.
static std::string why(const std::string &list, const std::string &other = "0F0 0F1 0B0 0B1") {
  Schedule schedule = read("r0 " + other + "\nr1 " + list + "\n");
  schedule.microBatches = 2;
  schedule.rankOfStage = {0, 1};
  std::optional<Problem> problem = validate(schedule);
  return problem ? problem->why : "valid";
}

TEST(Validate, SaysWhichRankAndActionAndWhy) {
  EXPECT_EQ(why("1F0 1B0 1F1 1B1"), "valid");
  EXPECT_EQ(why("1F0 1I0 1F1 1I1 1W1 1W0"), "valid");
  EXPECT_EQ(why("1F0 1B0 1F1"), "r1 at 1B1: it, or an I with its W, is missing");
  EXPECT_EQ(why("1F0 1B0 1B1"), "r1 at 1B1: its forward 1F1 is missing");
  EXPECT_EQ(why("1F0 1B0 1B1 1F1"), "r1 at 1B1: its forward 1F1 comes later");
  EXPECT_EQ(why("1F0 1B0 (1F1;1B1)"), "r1 at 1B1: its forward 1F1 is in the same pair");
  EXPECT_EQ(why("1F0 1B0 1F1 1I1"), "r1 at 1W1: it is missing");
  EXPECT_EQ(why("1F0 1B0 1F1 1W1 1I1"), "r1 at 1W1: its input gradient 1I1 comes later");
  EXPECT_EQ(why("1F0 1B0 1F1 1W1"), "r1 at 1W1: its input gradient 1I1 is missing");
  EXPECT_EQ(why("1F0 1B0 1F1 1B1 1W1"), "r1 at 1B1: 1W1 stands in the list as well");
  EXPECT_EQ(why("1F0 1B0 1F1 1I1 1B1 1W1"), "r1 at 1B1: 1I1 stands in the list as well");
  EXPECT_EQ(why("1F0 1B0 1F0 1F1 1B1"), "r1 at 1F0: 1F0 stands in the list twice");
  EXPECT_EQ(why("1F0 1B0 1F1 1B1 1F2"), "r1 at 1F2: there is no micro-batch 2, they are 0 to 1");
  EXPECT_EQ(why("1F0 1B0 1F1 1B1 2F0"), "r1 at 2F0: there is no stage 2, stages are 0 to 1");
  EXPECT_EQ(why("1F0 1B0 1F1 1B1 0F0"), "r1 at 0F0: stage 0 is on r0");
  EXPECT_EQ(why("1F0 1F1 1B1 1B0", "0F0 0B0 0F1 0B1"), "deadlock: r0 at 0B0, r1 at 1F1");
}

TEST(Validate, StagesOnOneRankRunInOrder) {
  auto why = [](const std::string &text) {
    std::optional<Problem> problem = validate(read(text));
    return problem ? problem->why : "valid";
  };
  EXPECT_EQ(why("r0 0F0 1F0 1B0 0B0\n"), "valid");
  EXPECT_EQ(why("r0 1F0 0F0 1B0 0B0\n"), "r0 at 1F0: what it takes, 0F0 comes later");
  EXPECT_EQ(why("r0 0F0 1F0 0B0 1B0\n"), "r0 at 0B0: what it takes, 1B0 comes later");
  EXPECT_EQ(why("r0 0F0 1F0 0I0 1I0 0W0 1W0\n"), "r0 at 0I0: what it takes, 1I0 comes later");
}

TEST(Validate, MessagesAreWholeAndBetweenRanks) {
  const std::string first = "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1";
  EXPECT_EQ(why("1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1", first), "valid");
  EXPECT_EQ(why("1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1", first), "r1 at 1SEND_B1: it is missing");
  EXPECT_EQ(why("1RECV_F0 1F0 1B0 1SEND_B0 1F1 1B1 1SEND_B1", first),
            "r1 at 1F1: its message 1RECV_F1 is missing");
  EXPECT_EQ(why("1RECV_F0 1F0 1B0 1SEND_B0 1F1 1RECV_F1 1B1 1SEND_B1", first),
            "r1 at 1F1: its message 1RECV_F1 comes later");
  EXPECT_EQ(why("1RECV_F0 1F0 1SEND_B0 1B0 1RECV_F1 1F1 1B1 1SEND_B1", first),
            "r1 at 1SEND_B0: what it sends, 1B0 comes later");
  EXPECT_EQ(why("1RECV_F0 1F0 1W0 1SEND_B0 1I0 1RECV_F1 1F1 1B1 1SEND_B1", first),
            "r1 at 1W0: its input gradient 1I0 comes later");
  EXPECT_EQ(why("1RECV_F0 1F0 1SEND_F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1", first),
            "r1 at 1SEND_F0: there is no stage at its other end");
  EXPECT_EQ(why("1RECV_F0 1RECV_B0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1", first),
            "r1 at 1RECV_B0: there is no stage at its other end");
  EXPECT_EQ(why("1RECV_F0 1F0 1B0 1SEND_B0 1WAIT_SEND_B1 1RECV_F1 1F1 1B1 1SEND_B1", first),
            "r1 at 1WAIT_SEND_B1: its send 1SEND_B1 comes later");
  EXPECT_EQ(why("1F0 1B0 1SEND_B0 1F1 1B1 1SEND_B1"), "r0 at 0B0: its message 0RECV_B0 is missing");
  Schedule same = read("r0 0F0 0SEND_F0 1F0 1B0 0B0\n");
  EXPECT_EQ(validate(same)->why, "r0 at 0SEND_F0: stage 1 is on the same rank, nothing is sent");
}

TEST(Validate, WeightsAreHeldAndGradientsReducedOnce) {
  const std::string first =
      "0UNSHARD 0F0 0F1 0B0 0RESHARD 0UNSHARD 0B1 0REDUCE_GRAD 0WAIT_REDUCE_GRAD 0RESHARD";
  auto with = [&](const std::string &list) { return why(list, first); };
  EXPECT_EQ(with("1UNSHARD 1F0 1B0 1F1 1B1 1RESHARD 1REDUCE_GRAD 1WAIT_REDUCE_GRAD"), "valid");
  EXPECT_EQ(with("1F0 1UNSHARD 1B0 1F1 1B1 1RESHARD 1REDUCE_GRAD 1WAIT_REDUCE_GRAD"),
            "r1 at 1F0: the stage's weights are not gathered");
  EXPECT_EQ(with("1UNSHARD 1F0 1RESHARD 1B0 1F1 1B1 1REDUCE_GRAD 1WAIT_REDUCE_GRAD"),
            "r1 at 1B0: the stage's weights are not gathered");
  EXPECT_EQ(with("1UNSHARD 1F0 1UNSHARD 1B0 1F1 1B1 1RESHARD 1REDUCE_GRAD 1WAIT_REDUCE_GRAD"),
            "r1 at 1UNSHARD: the stage's weights are gathered already");
  EXPECT_EQ(with("1UNSHARD 1F0 1B0 1F1 1B1 1REDUCE_GRAD 1WAIT_REDUCE_GRAD"), "r1 at 1RESHARD: it is missing");
  EXPECT_EQ(with("1UNSHARD 1F0 1B0 1F1 1B1 1RESHARD"), "r1 at 1REDUCE_GRAD: it is missing");
  EXPECT_EQ(with("1UNSHARD 1F0 1B0 1F1 1REDUCE_GRAD 1WAIT_REDUCE_GRAD 1B1 1RESHARD"),
            "r1 at 1REDUCE_GRAD: gradients of micro-batch 1 come later");
  EXPECT_EQ(with("1UNSHARD 1F0 1B0 1F1 1B1 1WAIT_REDUCE_GRAD 1REDUCE_GRAD 1RESHARD"),
            "r1 at 1WAIT_REDUCE_GRAD: its begin 1REDUCE_GRAD comes later");
}

TEST(Validate, NothingIsNoSchedule) {
  EXPECT_NE(validate({}), std::nullopt);
  EXPECT_NE(validate({1, {3}, {{}}}), std::nullopt); // a stage on a rank that there is not
}

TEST(Validate, TheGridShowsWhere) {
  Schedule schedule =
      read("r0 0F0 0F1 0F2 0F3 0F4 0F5 0F6 0F7 0F8 0B0\nr1 1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3 1B4 1F4\n"
           "r2 2F0 2B0\n");
  std::optional<Problem> problem = validate(schedule);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->why, "r1 at 1B4: its forward 1F4 comes later");
  EXPECT_EQ(grid(schedule, *problem), "r0 ...    0F2 0F3 0F4 0F5 0F6 0F7 0F8 0B0\n"
                                      "r1 ...    1F1 1B1 1F2 1B2 1F3 1B3 1B4 <-- here\n"
                                      "r2        2F0 2B0\n");
}

TEST(Validate, TheGridMarksEveryRankOfADeadlock) {
  Schedule schedule = read("r0 0F0 0B0 0F1 0B1\nr1 1F0 1F1 1B1 1B0\n");
  std::optional<Problem> problem = validate(schedule);
  ASSERT_TRUE(problem);
  EXPECT_EQ(grid(schedule, *problem), "r0        0F0 0B0 <-- here\nr1        1F0 1F1 <-- here\n");
}

TEST(Validate, OfManyRanksTheGridShowsThoseBeside) {
  Schedule schedule = generate(Name::GPipe, 40, 2).take();
  schedule.ranks[20].pop_back();
  std::string text = grid(schedule, *validate(schedule));
  EXPECT_EQ(
      text,
      "r19       19F0 19F1 19B0 19B1\nr20       20F0 20F1 20B0 <-- here\nr21       21F0 21F1 21B0 21B1\n");
}

// A line can name 40,000 stages and as many micro-batches in 80,000 actions: memory does not grow with their
// product.
TEST(Validate, AFewActionsAreNoLargeTable) {
  std::string list = "r0";
  for (int i = 0; i < 40000; ++i)
    list += " 0F" + std::to_string(i) + " " + std::to_string(i) + "B0";
  Schedule schedule = read(list + "\n");
  ASSERT_EQ(schedule.numStages(), 40000);
  ASSERT_EQ(schedule.microBatches, 40000);
  rlimit before, little;
  getrlimit(RLIMIT_AS, &before);
  little = before;
  little.rlim_cur = rlim_t(8) << 30; // the table would take 90 GB
  bool isLimited = !isSanitized && setrlimit(RLIMIT_AS, &little) == 0;
  std::optional<Problem> problem = validate(schedule);
  if (isLimited)
    setrlimit(RLIMIT_AS, &before);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->why, "r0 at 1F0: it is missing");
}

TEST(Validate, TakesEverySchedule) {
  for (int name = 0; name < kNamedSchedules; ++name)
    for (int32_t p = 1; p <= 9; ++p)
      for (int32_t m = 1; m <= 3 * p + 1; ++m)
        for (int32_t v = 1; v <= (takesStagesPerRank(Name(name)) ? 3 : 1); ++v)
          if (Result<Schedule> schedule = generate(Name(name), p, m, isVShaped(Name(name)) ? 2 : v)) {
            std::optional<Problem> problem = validate(*schedule);
            EXPECT_FALSE(problem) << problem->why << "\n" << toString(*schedule);
          }
}

TEST(Validate, TakesRandomSchedules) {
  RandomSchedules random(1);
  for (int i = 0; i < 10000; ++i) {
    Schedule schedule = random.next();
    std::optional<Problem> problem = validate(schedule);
    ASSERT_FALSE(problem) << problem->why << "\n" << toString(schedule);
  }
}

namespace {
// A fault in a schedule, and the rank whose list it is in.
struct Fault {
  Schedule schedule;
  int32_t rank;
};
} // namespace

// Drops, doubles, moves or renames an action, or swaps two; it may leave the schedule valid.
static Fault spoil(const Schedule &schedule, RandomSchedules &random) {
  Fault fault{schedule, random.below(schedule.numRanks())};
  ActionList &list = fault.schedule.ranks[size_t(fault.rank)];
  auto any = [&] { return size_t(random.below(int32_t(list.size()))); };
  size_t at = any();
  switch (random.below(6)) {
  case 0:
    list.erase(list.begin() + long(at));
    break;
  case 1:
    list.insert(list.begin() + long(any()), Action(list[at]));
    break;
  case 2:
    std::swap(list[at], list[any()]);
    break;
  case 3:
    list[at].microBatch = random.below(schedule.microBatches + 1);
    break;
  case 4:
    list[at].stage = random.below(schedule.numStages() + 1);
    break;
  case 5:
    list[at].kind = list[at].isPair() ? list[at].kind : Kind(random.below(4));
    break;
  }
  return fault;
}

// By counting and by the graph alone.
static bool isValid(const Schedule &schedule) {
  std::map<std::tuple<Kind, int32_t, int32_t>, int> count;
  for (int32_t rank = 0; rank < schedule.numRanks(); ++rank)
    for (const Action &action : schedule.ranks[size_t(rank)])
      for (const Action &part : partsOf(action)) {
        if (!schedule.hasStage(part.stage) || part.microBatch >= schedule.microBatches ||
            schedule.rankOfStage[size_t(part.stage)] != rank)
          return false;
        ++count[{part.kind, part.stage, part.microBatch}];
      }
  for (int32_t stage = 0; stage < schedule.numStages(); ++stage)
    for (int32_t i = 0; i < schedule.microBatches; ++i) {
      auto of = [&](Kind kind) { return count[{kind, stage, i}]; };
      bool whole = of(Kind::Backward) == 1 && !of(Kind::BackwardInput) && !of(Kind::BackwardWeight);
      bool split = !of(Kind::Backward) && of(Kind::BackwardInput) == 1 && of(Kind::BackwardWeight) == 1;
      if (of(Kind::Forward) != 1 || (!whole && !split))
        return false;
    }
  return longestPath(schedule, {}).has_value();
}

TEST(Validate, RefusesBrokenSchedulesAndNamesTheRank) {
  RandomSchedules random(2);
  int broken = 0, still = 0, deadlocks = 0;
  while (broken < 10000) {
    auto [schedule, rank] = spoil(random.next(), random);
    std::optional<Problem> problem = validate(schedule);
    bool valid = isValid(schedule);
    ASSERT_EQ(!problem, valid) << (problem ? problem->why : "taken") << "\n" << toString(schedule);
    if (valid && ++still)
      continue;
    ++broken;
    // The rank that was spoiled is named, with an action, and the grid shows it.
    std::string named = "r" + std::to_string(rank) + " at ";
    ASSERT_NE(problem->why.find(named), std::string::npos) << named << problem->why << "\n"
                                                           << toString(schedule);
    ASSERT_NE(grid(schedule, *problem).find("<-- here"), std::string::npos);
    deadlocks += problem->why.rfind("deadlock: ", 0) == 0;
  }
  EXPECT_GT(still, 500);     // faults that change nothing are among them,
  EXPECT_GT(deadlocks, 100); // and those that only all ranks together show
}
