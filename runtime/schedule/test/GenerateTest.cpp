#include "tessera/runtime/schedule/Generate.h"

#include "tessera/runtime/schedule/Text.h"

#include <gtest/gtest.h>
#include <map>

using namespace tessera;
using namespace tessera::schedule;

static std::string refused(Name name, int32_t p, int32_t m, int32_t v = 0) {
  Result<Schedule> schedule = generate(name, p, m, v);
  return schedule ? "nothing" : schedule.failure().why + "; " + schedule.failure().hint;
}

TEST(Generate, NamesAreThoseOfTheFlag) {
  EXPECT_EQ(scheduleNames(), "gpipe, 1f1b, looped-bfs, interleaved, zb1p, zbv, dualpipev");
  for (int name = 0; name < kNamedSchedules; ++name)
    EXPECT_EQ(scheduleFromName(scheduleName(Name(name))), Name(name));
  EXPECT_EQ(scheduleFromName("gpip"), std::nullopt);
}

TEST(Generate, EveryRankComputesItsStagesOnceForEachMicroBatch) {
  for (int name = 0; name < kNamedSchedules; ++name)
    for (int32_t p : {1, 2, 3, 5, 8})
      for (int32_t m = 1; m <= 4 * p + 1; ++m)
        for (int32_t v = 1; v <= (takesStagesPerRank(Name(name)) ? 3 : 1); ++v) {
          if (Name(name) == Name::DualPipeV && m < 2 * p)
            continue;
          Result<Schedule> made = generate(Name(name), p, m, takesStagesPerRank(Name(name)) ? v : 0);
          ASSERT_TRUE(made) << made.failure().message();
          std::map<std::tuple<Kind, int32_t, int32_t>, int> count;
          for (int32_t rank = 0; rank < p; ++rank)
            for (const Action &action : made->ranks[size_t(rank)])
              for (const Action &part : partsOf(action)) {
                EXPECT_EQ(made->rankOfStage[size_t(part.stage)], rank);
                ++count[{part.kind, part.stage, part.microBatch}];
                if (part.kind == Kind::Backward)
                  ++count[{Kind::BackwardInput, part.stage, part.microBatch}],
                      ++count[{Kind::BackwardWeight, part.stage, part.microBatch}];
              }
          EXPECT_EQ(made->numStages(), p * (isVShaped(Name(name)) ? 2 : v));
          for (int32_t stage = 0; stage < made->numStages(); ++stage)
            for (int32_t i = 0; i < m; ++i)
              for (Kind kind : {Kind::Forward, Kind::BackwardInput, Kind::BackwardWeight})
                EXPECT_EQ((count[{kind, stage, i}]), 1)
                    << scheduleName(Name(name)) << " p=" << p << " m=" << m << " v=" << v << ": "
                    << toString(Action{kind, stage, i});
        }
}

TEST(Generate, RoundsThatAreLargerComeFirst) {
  Schedule schedule = generate(Name::Interleaved, 2, 5, 2).take();
  EXPECT_EQ(toString(schedule.ranks[1]),
            "1F0 1F1 1F2 3F0 3B0 3F1 3B1 3F2 3B2 1F3 1B0 1F4 1B1 3F3 1B2 3F4 3B3 3B4 1B3 1B4");
}

TEST(Generate, SizesThatAScheduleDoesNotHaveAreRefused) {
  EXPECT_EQ(refused(Name::DualPipeV, 4, 7), "dualpipev on 4 ranks needs at least 8 micro-batches, not 7; 8 "
                                            "micro-batches, or zbv, which takes any number");
  EXPECT_EQ(refused(Name::DualPipeV, 4, 8), "nothing");
  EXPECT_EQ(refused(Name::ZeroBubbleV, 4, 8, 3), "zbv has 2 stages a rank, not 3; no number of stages");
  EXPECT_EQ(refused(Name::OneForwardOneBackward, 4, 8, 2),
            "1f1b has 1 stage a rank, not 2; looped-bfs, interleaved or zb1p, which have any number");
  EXPECT_NE(refused(Name::GPipe, 0, 8), "nothing");
  EXPECT_NE(refused(Name::GPipe, 2, 0), "nothing");
  EXPECT_NE(refused(Name::Interleaved, 2, 2, -1), "nothing");
  EXPECT_NE(refused(Name::Interleaved, 1 << 30, 1 << 30, 1 << 30).find("more than 16777216 actions"),
            std::string::npos);
  EXPECT_NE(refused(Name::ZeroBubbleV, 1 << 20, 1).find("more than 16777216 actions"), std::string::npos);
}

TEST(Generate, TheFlagNamesAScheduleAFileOrNeither) {
  EXPECT_TRUE(parsePipelineChoice("auto")->isAuto());
  EXPECT_EQ(parsePipelineChoice("interleaved:3")->name, Name::Interleaved);
  EXPECT_EQ(parsePipelineChoice("interleaved:3")->stagesPerRank, 3);
  EXPECT_EQ(parsePipelineChoice("1f1b")->stagesPerRank, 0);
  EXPECT_EQ(parsePipelineChoice("./mine")->file, "./mine");
  EXPECT_EQ(parsePipelineChoice("mine.csv")->file, "mine.csv");
  for (const char *text :
       {"", "gpip", "gpip:2", "zb1p:", "zb1p:x", "zb1p:0", "zb1p:-1", "zb1p:99999999999", "auto:2"})
    EXPECT_FALSE(parsePipelineChoice(text)) << text;
  EXPECT_EQ(parsePipelineChoice("interleaved:256")->stagesPerRank, 256);
  EXPECT_EQ(
      parsePipelineChoice("interleaved:257").failure().message(),
      "cannot read the flag (--pipeline=interleaved:257): \"257\" is no number of stages a rank from 1 to "
      "256; --pipeline=interleaved:2");
  EXPECT_EQ(parsePipelineChoice("1f1b:0").failure().message(),
            "cannot read the flag (--pipeline=1f1b:0): \"0\" is no number of stages a rank from 1 to 256; "
            "--pipeline=1f1b");
  EXPECT_EQ(
      parsePipelineChoice("auto:2").failure().message(),
      "cannot read the flag (--pipeline=auto:2): auto chooses the stages of a rank, too; --pipeline=auto, or "
      "interleaved:2");
  EXPECT_EQ(parsePipelineChoice("zb2p").failure().message(),
            "cannot read the flag (--pipeline=zb2p): no schedule is called \"zb2p\"; auto, gpipe, 1f1b, "
            "looped-bfs, "
            "interleaved, zb1p, zbv, dualpipev, or a file as ./NAME");
}
