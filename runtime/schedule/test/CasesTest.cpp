#include "tessera/runtime/schedule/Cases.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace tessera;
using namespace tessera::schedule;

static std::string reportOf(const std::string &text) {
  Result<std::vector<Case>> cases = parseCases(text, "file");
  EXPECT_TRUE(cases) << cases.failure().message();
  std::string report;
  for (const Case &c : *cases) {
    Case::Report one = c.run();
    report += one.text;
    for (const std::string &failure : one.failures)
      report += "FAILED: " + failure + "\n";
  }
  return report;
}

// What a case says behind its own line.
static std::string answer(const std::string &line) {
  std::string report = reportOf("case " + line + "\n");
  return report.substr(report.find('\n') + 1);
}

TEST(Cases, EveryVectorOfTheFactsHolds) {
  std::ifstream file(SCHEDULE_FACTS);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  Result<std::vector<Case>> cases = parseCases(text, SCHEDULE_FACTS);
  ASSERT_TRUE(cases) << cases.failure().message();
  EXPECT_EQ(cases->size(), 30u);
  for (const Case &c : *cases) {
    EXPECT_FALSE(c.expected.empty()) << c.line;
    for (const std::string &failure : c.run().failures)
      ADD_FAILURE() << failure;
  }
}

TEST(Cases, WhatIsPrintedIsReadAgain) {
  std::string report = reportOf("# comment\ncase 1f1b p=2  m=2 lower=late # comment\n\n");
  EXPECT_EQ(report, "case 1f1b p=2  m=2 lower=late\n"
                    "r0 0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1\n"
                    "r1 1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1\n"
                    "makespan 9 busy 6 6 peak 2 1\n");
  EXPECT_EQ(reportOf(report), report);
}

TEST(Cases, ExpectationsThatDoNotHoldAreNamed) {
  EXPECT_EQ(reportOf("case gpipe p=1 m=1\nmakespan 4 busy 3 peak 1\n"),
            "case gpipe p=1 m=1\nr0 0F0 0B0\nmakespan 3 busy 3 peak 1\n"
            "FAILED: file:1: \"makespan 3 busy 3 peak 1\", expected \"makespan 4 busy 3 peak 1\"\n");
  EXPECT_EQ(reportOf("case gpipe p=1 m=1\nr0 0F0 0I0 0W0\n"),
            "case gpipe p=1 m=1\nr0 0F0 0B0\nmakespan 3 busy 3 peak 1\n"
            "FAILED: file:1: the lists differ from those expected\n");
  EXPECT_NE(reportOf("case gpipe p=0 m=1\nmakespan 3 busy 3 peak 1\n").find("FAILED: "), std::string::npos);
}

TEST(Cases, FilesAreCheckedAndLowered) {
  EXPECT_EQ(reportOf("case file p=2 m=1 lower=late\nr0 0F0 2F0 2B0 0B0\nr1 1F0 1I0 1W0\n"),
            "case file p=2 m=1 lower=late\nr0 0F0 0SEND_F0 2RECV_F0 2F0 2B0 2SEND_B0 0RECV_B0 0B0\n"
            "r1 1RECV_F0 1F0 1SEND_F0 1RECV_B0 1I0 1SEND_B0 1W0\nmakespan 8 busy 6 3 peak 2 1\n");
  EXPECT_EQ(reportOf("case file p=2 m=1\nr0 0F0 0B0\nr1 1B0 1F0\n"),
            "case file p=2 m=1\nerror r1 at 1B0: its forward 1F0 comes later\n# r0        0F0 0B0\n"
            "# r1        1B0 <-- here\n");
  EXPECT_EQ(reportOf("case file p=2 m=1\nr0 0F0 0B0\nr1 1F0 1X0\n").substr(18),
            "error r1: \"1X0\" is no action; a stage, a kind and a micro-batch, as 0F1, 2B0, 1SEND_F3 or "
            "0UNSHARD\n");
  EXPECT_EQ(reportOf("case file p=2 m=1\nr0 0F0 0B0\n").substr(18),
            "error there are lines of 1 ranks, p is 2; one line a rank\n");
  // With a number of stages a rank, all of them have to be there.
  EXPECT_EQ(reportOf("case file p=1 m=1 v=2\nr0 0F0 0B0\n").substr(22),
            "error r0 at 0B0: what it takes, 1B0 is missing\n# r0        0F0 0B0 <-- here\n");
  EXPECT_EQ(
      reportOf("case file p=1 m=9999999\nr0 0F0 0B0\n").substr(24),
      "error the lists have 2 actions, far fewer than stages and micro-batches; smaller numbers, or longer "
      "lists\n");
  EXPECT_EQ(reportOf("case file p=1 m=1 v=9999999\nr0 0F0 0B0\n").substr(28, 35),
            "error the lists have 2 actions, far");
  EXPECT_EQ(reportOf("case file p=1 m=1 lower=late\nr0 0UNSHARD 0F0 0B0 0RESHARD\n").substr(29),
            "error the lists have more than computing actions, and are lowered already\n");
}

TEST(Cases, ReceivesOfLateListsBlockUnlessSaidOtherwise) {
  EXPECT_EQ(answer("1f1b p=2 m=2 lower=late sends=sync"), "error deadlock: r0 at 0SEND_F1, r1 at 1SEND_B0\n");
  EXPECT_EQ(answer("dualpipev p=3 m=6 lower=late sends=1"),
            "error deadlock: r0 at 5SEND_B0, r1 at 4RECV_B0, r2 at 3RECV_B0\n");
  EXPECT_EQ(answer("dualpipev p=3 m=6 lower=late sends=1 recv=posted"),
            "error deadlock: r0 at 5SEND_B0, r1 at 4I0, r2 at 3B0\n");
  EXPECT_NE(answer("1f1b p=4 m=8 lower=eager").find("makespan 33 "), std::string::npos);
  EXPECT_NE(answer("1f1b p=4 m=8 lower=eager recv=blocking").find("makespan 45 "), std::string::npos);
  EXPECT_NE(answer("gpipe p=2 m=4 lower=late sends=0").find("error deadlock: r0 at 0SEND_F0"),
            std::string::npos);
}

TEST(Cases, WordsThatAreWrongAreErrorsOfTheirCase) {
  for (auto [line, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "a case has no name; case 1f1b p=4 m=8"},
           {"gpip p=2 m=2", "no schedule is called \"gpip\"; file, gpipe, 1f1b, looped-bfs, interleaved, "
                            "zb1p, zbv, dualpipev"},
           {"gpipe p=2", "p and m are needed; p=4 m=8"},
           {"gpipe p=x m=2", "p=x is no number from 1 on; p=4"},
           {"gpipe p=2 m=0", "m=0 is no number from 1 on; m=4"},
           {"gpipe p=2 m=2 m=3", "m is given twice; give it once"},
           {"gpipe p=2 m=2 q=3",
            "a case has no \"q\"; p, m, v, lower, active, F, I, W, pair, link, wire, sends, "
            "recv, hold, free or made"},
           {"gpipe p=2 m=2 lower=early", "lower=early is no lowering; late, eager or full"},
           {"gpipe p=2 m=2 recv=never", "recv=never is no way to receive; blocking or posted"},
           {"gpipe p=2 m=2 F=1,2,3", "F has 3 numbers; one, or 2"},
           {"gpipe p=3 m=2 link=1,2,3", "link has 3 numbers; one, or 2"},
           {"gpipe p=2 m=2 W=1,",
            "W=1,: \"\" is no number from 0 on; one number, or one a stage with commas between"},
           {"gpipe p=2 m=2 W=-1",
            "W=-1: \"-1\" is no number from 0 on; one number, or one a stage with commas between"},
           {"gpipe p=2 m=2 W=nan",
            "W=nan: \"nan\" is no number from 0 on; one number, or one a stage with commas between"},
           {"gpipe p=2 m=2 free=2",
            "free=2: \"2\" is no number from 0 to 1; one number, or one a stage with commas between"},
           {"dualpipev p=4 m=7", "dualpipev on 4 ranks needs at least 8 micro-batches, not 7; 8 "
                                 "micro-batches, or zbv, which takes any number"}})
    EXPECT_EQ(answer(line), "error " + why + "\n") << line;
}

TEST(Cases, LinesOfNoCaseAreRefused) {
  for (const char *text : {"r0 0F0\n", "makespan 3\n", "case gpipe p=1 m=1\nhello\n",
                           "case gpipe p=1 m=1\nmakespan 3\nr0 0F0\n", "cases p=1\n"})
    EXPECT_FALSE(parseCases(text, "file")) << text;
  EXPECT_EQ(parseCases("case gpipe p=1 m=1\nhello\n", "file").failure().message(),
            "cannot read the cases (file:2): \"hello\" belongs to no case; \"case NAME p=P m=M\", then lines "
            "of ranks, "
            "then the numbers or the error expected");
}
