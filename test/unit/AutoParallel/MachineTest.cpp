#include "tessera/AutoParallel/Machine.h"
#include "tessera/Analysis/Sharding/Notation.h"

#include <gtest/gtest.h>

using namespace tessera;

TEST(Machine, ReadsJson) {
  std::string error;
  auto machine = parseMachine(
      R"({"flops": 1e12, "link": {"latency": 1e-6}, "axes": {"tp": {"bandwidth": 1e11}}})", error);
  ASSERT_TRUE(machine) << error;
  EXPECT_EQ(machine->flops, 1e12);
  EXPECT_EQ(machine->linkOf("dp").latency, 1e-6);
  EXPECT_EQ(machine->linkOf("tp").bandwidth, 1e11);
}

TEST(Machine, WrongJsonIsAnError) {
  for (const char *text : {"", "[]", R"({"flop": 1})", R"({"flops": 0})", R"({"flops": "fast"})",
                           R"({"link": 3})", R"({"axes": {"tp": {"speed": 1}}})", R"({"axes": []})"}) {
    std::string error;
    EXPECT_FALSE(parseMachine(text, error)) << text;
    EXPECT_NE(error, "") << text;
  }
}

TEST(Machine, DeepJsonIsRefusedBeforeItIsParsed) {
  // Brackets in a text close nothing, nor do quotes behind a backslash end it.
  const std::string closing(100000, ']'), opening(100000, '[');
  for (const std::string &text : {opening, "{\"a\": \"" + closing + "\", \"b\": " + opening,
                                  "{\"a\": \"\\\"" + closing + "\", \"b\": " + opening}) {
    std::string error;
    EXPECT_FALSE(parseMachine(text, error));
    EXPECT_NE(error.find("nested"), std::string::npos) << error;
  }
}

TEST(Machine, StepsCostLatencyAndBytes) {
  Machine machine;
  machine.link = {1e-6, 1e9};
  machine.axes["slow"] = {1e-3, 1e6};
  Mesh m = mesh("fast4 slow2");
  auto time = [&](const char *from, const char *to) {
    return planTime(machine, m, *planReshard(m, {16, 8}, sharding(from, m), sharding(to, m)), 4);
  };
  EXPECT_DOUBLE_EQ(time("[-/-]", "[fast/-]"), 0);
  EXPECT_DOUBLE_EQ(time("[fast/-]", "[-/-]"), 2e-6 + 96 * 4 / 1e9 + 4 / 1e11);
  EXPECT_DOUBLE_EQ(time("[slow/-]", "[-/-]"), 1e-3 + 64 * 4 / 1e6 + 4 / 1e11);
}
