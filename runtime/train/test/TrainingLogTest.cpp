// The log: lines, what of it a run that goes on keeps, and what is no log.
#include "tessera/runtime/train/TrainingLog.h"
#include "TestFiles.h"

using namespace tessera;
using namespace tessera::train;

namespace {

class TrainingLogTest : public io::test::ScratchFolder {
protected:
  static LogLine line(int64_t step, double loss) { return {step, loss, 2 * loss, 1e-3, 5000, NAN}; }
  void append(const std::string &name, int64_t after, const std::vector<LogLine> &lines) {
    auto log = TrainingLog::open(path(name), after);
    ASSERT_TRUE(log) << log.failure().message();
    for (const LogLine &l : lines)
      ASSERT_TRUE(log->write(l));
  }
  std::vector<int64_t> steps(const std::string &name) {
    auto lines = readLog(path(name));
    EXPECT_TRUE(lines) << lines.failure().message();
    std::vector<int64_t> steps;
    for (const LogLine &l : *lines)
      steps.push_back(l.step);
    return steps;
  }
  using Steps = std::vector<int64_t>;
};

TEST_F(TrainingLogTest, ALineIsOneObject) {
  EXPECT_EQ(logText({3, 6.5, 3.25, 0.00075, 12000.5, NAN}),
            "{\"step\":3,\"loss\":6.5,\"grad_norm\":3.25,\"lr\":0.00075,\"tokens_per_s\":12000.5}\n");
  EXPECT_EQ(
      logText({1, NAN, INFINITY, 0, 1, 2.5}),
      "{\"step\":1,\"loss\":null,\"grad_norm\":null,\"lr\":0.0,\"tokens_per_s\":1.0,\"eval_loss\":2.5}\n");
  EXPECT_EQ(logText({2, 1, 1, 1, 1, NAN, NAN, 0.375, 5e9}),
            "{\"step\":2,\"loss\":1.0,\"grad_norm\":1.0,\"lr\":1.0,\"tokens_per_s\":1.0,\"mfu\":0.375,"
            "\"memory_bytes\":5000000000}\n");
}

TEST_F(TrainingLogTest, NumbersComeBackToTheBit) {
  const double loss = 6.598401926232504, norm = 0.1 + 0.2, rate = 3e-4 / 7;
  append("l.jsonl", 0, {{1, loss, norm, rate, 1e5 / 3, -loss}});
  auto lines = readLog(path("l.jsonl"));
  ASSERT_TRUE(lines);
  EXPECT_EQ((*lines)[0].loss, loss);
  EXPECT_EQ((*lines)[0].gradNorm, norm);
  EXPECT_EQ((*lines)[0].learningRate, rate);
  EXPECT_EQ((*lines)[0].tokensPerSecond, 1e5 / 3);
  EXPECT_EQ((*lines)[0].evalLoss, -loss);
}

TEST_F(TrainingLogTest, ARunThatGoesOnCutsItBack) {
  append("l.jsonl", 0, {line(1, 5), line(2, 4), line(3, 3), line(4, 2)});
  append("l.jsonl", 2, {line(3, 9)});
  // Of the file itself: who reads it passes over lines that came again.
  EXPECT_EQ(io::test::readBytes(path("l.jsonl")),
            logText(line(1, 5)) + logText(line(2, 4)) + logText(line(3, 9)));
  append("l.jsonl", 7, {line(8, 1)}); // nothing to cut
  EXPECT_EQ(steps("l.jsonl"), (Steps{1, 2, 3, 8}));
  append("l.jsonl", 0, {line(1, 1)}); // a new run
  EXPECT_EQ(io::test::readBytes(path("l.jsonl")), logText(line(1, 1)));
  append("new.jsonl", 5, {line(6, 1)});
  EXPECT_EQ(steps("new.jsonl"), (Steps{6}));
}

TEST_F(TrainingLogTest, HalfALineAtTheEndGoes) {
  write("l.jsonl", logText(line(1, 5)) + logText(line(2, 4)) + "{\"step\":3,\"lo");
  EXPECT_EQ(steps("l.jsonl"), (Steps{1, 2}));
  append("l.jsonl", 2, {line(3, 3)});
  EXPECT_EQ(io::test::readBytes(path("l.jsonl")),
            logText(line(1, 5)) + logText(line(2, 4)) + logText(line(3, 3)));
}

TEST_F(TrainingLogTest, AnotherFileIsLeftAlone) {
  for (const std::string text : {"my notes\n", "notes without an end", "{\"loss\":3}\n", "[1]\n"}) {
    write("notes.txt", text);
    for (int64_t after : {0, 3}) {
      auto log = TrainingLog::open(path("notes.txt"), after);
      ASSERT_FALSE(log);
      EXPECT_EQ(log.failure().message(),
                "cannot write log (" + path("notes.txt") +
                    "): line 1 of it is no line of a log; name another file with --log=");
    }
    EXPECT_EQ(io::test::readBytes(path("notes.txt")), text);
  }
  auto log = TrainingLog::open(path("no/folder/l.jsonl"), 0);
  ASSERT_FALSE(log);
  EXPECT_NE(log.failure().message().find("No such file or directory; check the path"), std::string::npos);
}

TEST_F(TrainingLogTest, AFullDiskIsAFailure) {
  auto log = TrainingLog::open("/dev/full", 0);
  ASSERT_TRUE(log) << log.failure().message();
  Status status = log->write(line(1, 1));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().message(),
            "cannot write log (/dev/full): No space left on device; free some space");
}

TEST_F(TrainingLogTest, LogsOfOthersAreRead) {
  write("l.jsonl",
        "{\"step\": 1, \"loss\": 3, \"epoch\": 0.5, \"note\": \"x\"}\r\n\n{\"step\":2,\"lr\":null}\n"
        "{\"step\":3}\n{\"step\":2,\"loss\":1}\n{\"step\":5}\n");
  EXPECT_EQ(steps("l.jsonl"), (Steps{1, 2, 5})); // it went on from step 1
  auto lines = readLog(path("l.jsonl"));
  EXPECT_EQ((*lines)[0].loss, 3);
  EXPECT_TRUE(std::isnan((*lines)[0].gradNorm));
  EXPECT_EQ((*lines)[1].loss, 1);
  EXPECT_TRUE(std::isnan((*lines)[2].loss));
}

TEST_F(TrainingLogTest, WhatIsNoLogIsNamed) {
  auto why = [&](const std::string &file) {
    auto lines = readLog(file);
    return lines ? "" : lines.failure().message();
  };
  EXPECT_EQ(
      why(write("a", "{\"step\":1}\nwhat?\n")),
      "cannot read log (" + path("a") +
          ", line 2): it is no JSON object with \"step\"; give a file that --log wrote: a JSON object with "
          "\"step\" in each line");
  EXPECT_NE(why(write("b", "{\"step\":\"one\"}\n")).find("line 1"), std::string::npos);
  EXPECT_NE(why(write("c", "")).find("it has no line"), std::string::npos);
  EXPECT_NE(why(path("none")).find("No such file"), std::string::npos);
  EXPECT_NE(why(folder).find("not a regular file"), std::string::npos);
}

} // namespace
