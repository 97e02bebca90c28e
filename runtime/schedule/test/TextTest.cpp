#include "tessera/runtime/schedule/Text.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::schedule;

static std::string refused(std::string_view text) {
  Result<Schedule> schedule = parseSchedule(text, "file");
  return schedule ? "nothing" : schedule.failure().message();
}

TEST(ScheduleText, EveryActionIsReadAsItIsPrinted) {
  const std::string line = "0F0 12B3 2I0 2W0 (2F3;1B0) 2SEND_F0 3RECV_F0 3SEND_B0 2RECV_B0 2WAIT_SEND_F0 "
                           "2WAIT_SEND_B0 2UNSHARD 2RESHARD 2REDUCE_GRAD 2WAIT_REDUCE_GRAD";
  Result<ActionList> actions = parseActions(line);
  ASSERT_TRUE(actions) << actions.failure().message();
  ASSERT_EQ(actions->size(), 15u);
  EXPECT_EQ((*actions)[1], (Action{Kind::Backward, 12, 3}));
  EXPECT_EQ((*actions)[4], (Action{Kind::Forward, 2, 3, 1, 0}));
  EXPECT_EQ((*actions)[11], (Action{Kind::Unshard, 2, kNone}));
  EXPECT_EQ(toString(*actions), line);
}

TEST(ScheduleText, MessagesAreNamedByTheStageThatSendsOrGetsThem) {
  for (auto [send, receive] : {std::pair("2SEND_F0", "3RECV_F0"), std::pair("3SEND_B5", "2RECV_B5")}) {
    EXPECT_EQ(toString(matching(*parseAction(send))), receive);
    EXPECT_EQ(toString(matching(*parseAction(receive))), send);
  }
}

TEST(ScheduleText, LinesHaveCommentsAndStagesTheRankThatRunsThem) {
  Result<Schedule> schedule = parseSchedule("# V\n\nr0 0F0  3F0 # both ends\r\nr1\t1F0 2F0\n", "file");
  ASSERT_TRUE(schedule) << schedule.failure().message();
  EXPECT_EQ(schedule->microBatches, 1);
  EXPECT_EQ(schedule->rankOfStage, (std::vector<int32_t>{0, 1, 1, 0}));
  EXPECT_EQ(toString(*schedule), "r0 0F0 3F0\nr1 1F0 2F0\n");
}

TEST(ScheduleText, OneActionOnTheWrongRankDoesNotMoveItsStage) {
  Schedule schedule = parseSchedule("r0 1F0 0F0 0F1\nr1 1F1 1B1 1B0\n", "file").take();
  EXPECT_EQ(schedule.rankOfStage, (std::vector<int32_t>{0, 1}));
}

TEST(ScheduleText, StagesEndAtTheFirstThatNobodyRuns) {
  Schedule schedule = parseSchedule("r0 0F0 0F1 0F7\nr1 1F0 9F0\n", "file").take();
  EXPECT_EQ(schedule.numStages(), 2);
  EXPECT_EQ(schedule.microBatches, 2);
}

TEST(ScheduleText, RanksStandInAnyOrder) {
  EXPECT_EQ(parseSchedule("r1 1F0 1B0\nr0 0F0 0B0\n", "file").take(),
            parseSchedule("r0 0F0 0B0\nr1 1F0 1B0\n", "file").take());
}

TEST(ScheduleText, PyTorchsCsvIsRead) {
  const std::string csv = "0F0,0F1,,(0F2;3B0)OVERLAP_F_B,3I1,3W1\r\n,,1F0,,,\r\n";
  Result<Schedule> schedule = parseSchedule(csv, "file");
  ASSERT_TRUE(schedule) << schedule.failure().message();
  EXPECT_EQ(toString(*schedule), "r0 0F0 0F1 (0F2;3B0) 3I1 3W1\nr1 1F0\n");
}

TEST(ScheduleText, WhatIsNoScheduleIsRefusedWithItsLine) {
  EXPECT_EQ(refused("r0 0F0 0X0\n"),
            "cannot read the schedule (file:1): \"0X0\" is no action; a stage, a kind and a micro-batch, as "
            "0F1, 2B0, 1SEND_F3 or 0UNSHARD");
  for (const char *text :
       {"0F", "F0", "0UNSHARD1", "-1F0", "0F-1", "0F0x", "0f0", "0F1000000", "0F99999999999999", "(0F0;1F0)",
        "(1B0;0F0)", "(0F0;1B0", "(0F0 1B0)", "(0F0;1B0)x", "0F0;1B0", "(0F0;1I0)"})
    EXPECT_NE(refused("r0 0F0\nr1 " + std::string(text))
                  .find("(file:2): \"" + std::string(text) + "\" is no action"),
              std::string::npos)
        << text << ": " << refused("r0 0F0\nr1 " + std::string(text));
  EXPECT_NE(refused("r0 0F0\nr2 0F0\n").find("(file): the line of r1 is missing"), std::string::npos);
  EXPECT_NE(refused("r1 0F0\n").find("(file): the line of r0 is missing"), std::string::npos);
  EXPECT_NE(refused("r0 0F0\n0F1\n").find("(file:2): \"0F1\" is no line of a rank"), std::string::npos);
  EXPECT_NE(refused("r0 0F0\nr0x 0F1\n").find("(file:2): \"r0x 0F1\" is no line of a rank"),
            std::string::npos);
  EXPECT_NE(refused("r0 0F0\nr1 1F0\nr0 0B0\n").find("(file:3): r0 has a line already"), std::string::npos);
  EXPECT_NE(refused("0F0,1F0\n0F1,hello\n").find("(file:2): \"hello\" is no action"), std::string::npos);
  EXPECT_NE(refused("# nothing\n\n").find("no line of a rank"), std::string::npos);
}
