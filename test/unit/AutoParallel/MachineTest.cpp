#include "tessera/AutoParallel/Machine.h"
#include "tessera/Analysis/Sharding/Notation.h"

#include <gtest/gtest.h>

using namespace tessera;

TEST(Machine, ReadsJson) {
  std::string error;
  auto machine = parseMachine(
      R"({"name": "two hosts", "cores": 4, "flops": {"f32": 1e12, "bf16": 3e12}, "link": {"latency": 1e-6},
          "ranks_per_node": 2, "between_nodes": {"bandwidth": 1e7}, "axes": {"tp": {"bandwidth": 1e11}}})",
      error);
  ASSERT_TRUE(machine) << error;
  EXPECT_EQ(machine->name, "two hosts");
  EXPECT_EQ(machine->cores, 4);
  EXPECT_EQ(machine->flopsOf(ComputeType::BF16), 3e12);
  EXPECT_EQ(machine->flopsOf(ComputeType::F16), 1e12); // as float32
  Mesh m = mesh("dp2 tp2");
  EXPECT_EQ(machine->linkOf(m, wholeAxis(m, 0)).latency, 1e-6);
  EXPECT_EQ(machine->linkOf(m, wholeAxis(m, 0)).bandwidth, 1e7);
  EXPECT_EQ(machine->linkOf(m, wholeAxis(m, 1)).bandwidth, 1e11);
}

TEST(Machine, WrongJsonIsAnError) {
  for (const char *text :
       {"", "[]", R"({"flop": 1})", R"({"flops": 0})", R"({"flops": "fast"})", R"({"flops": {"f64": 1}})",
        R"({"link": 3})", R"({"axes": {"tp": {"speed": 1}}})", R"({"axes": []})", R"({"name": ""})",
        R"({"name": "a\nb"})", R"({"cores": 1.5})", R"({"ranks_per_node": 0})",
        R"({"ranks_per_node": 2000000})", R"({"between_nodes": {"latency": 1}})", R"({"within": {"tp": 2}})",
        R"({"ranks_per_node": 2, "within": {"tp": 0}})", R"({"ranks_per_node": 2, "within": 3})"}) {
    std::string error;
    EXPECT_FALSE(parseMachine(text, error)) << text;
    EXPECT_NE(error, "") << text;
  }
}

TEST(Machine, IsReadBackAsItWasWritten) {
  std::string error;
  Machine machine = *namedMachine("h200:4", error);
  machine.cores = 7;
  machine.axes["tp"] = {1.0 / 3e6, 1e10 / 3};
  machine.lieOn(mesh("dp4 tp=2"));
  EXPECT_EQ(machine.within["dp"], 2);
  auto read = parseMachine(toJson(machine), error);
  ASSERT_TRUE(read) << error;
  EXPECT_TRUE(*read == machine) << toJson(*read);
}

TEST(Machine, NamesSayHowManyGpusANodeHas) {
  std::string error;
  EXPECT_EQ(namedMachine("h100", error)->ranksPerNode, 8);
  EXPECT_EQ(namedMachine("b200:72", error)->name, "b200:72");
  EXPECT_FALSE(namedMachine("machine.json", error));
  EXPECT_EQ(error, "");
  for (const char *text : {"h100:", "h100:0", "h100:x", "h100:4:4", "h100:2000000"}) {
    error.clear();
    EXPECT_FALSE(namedMachine(text, error)) << text;
    EXPECT_NE(error, "") << text;
  }
}

// Which link a digit of an axis takes, from where all ranks of its groups are.
TEST(Machine, GroupsAreWithinNodesOrNot) {
  int crossing = 0, digits = 0;
  for (const char *text : {"a2 b8", "a16", "a3 b4", "a4 b3 c2", "a12 b2", "a6 b6", "a2 b3 c4"}) {
    Mesh m = mesh(text);
    for (int64_t node : {1, 2, 3, 4, 6, 8, 12, 64}) {
      Machine machine;
      machine.ranksPerNode = node;
      for (int axis = 0; axis < int(m.axes.size()); ++axis)
        for (int64_t pre = 1; pre <= m.axes[axis].size; ++pre)
          for (int64_t size = 2; pre * size <= m.axes[axis].size; ++size) {
            if (m.axes[axis].size % (pre * size))
              continue;
            const AxisRef digit = {axis, pre, size};
            auto isOnOne = [&](const AxisRef &ref) {
              for (int64_t a = 0; a < m.numDevices(); ++a)
                for (int64_t b = 0; b < m.numDevices(); ++b) {
                  bool isGroup = true;
                  auto ca = m.coordinates(a), cb = m.coordinates(b);
                  for (int other = 0; other < int(m.axes.size()); ++other)
                    isGroup &= other == axis || ca[other] == cb[other];
                  // All but the digit is equal.
                  const int64_t apart = m.axes[axis].size / (ref.pre * ref.size);
                  isGroup &= ca[axis] % apart == cb[axis] % apart &&
                             ca[axis] / (apart * ref.size) == cb[axis] / (apart * ref.size);
                  if (isGroup && a / node != b / node)
                    return false;
                }
              return true;
            };
            ++digits;
            crossing += !isOnOne(digit);
            EXPECT_EQ(machine.crossesNodes(m, digit), !isOnOne(digit)) << text << " nodes of " << node;
            auto [minor, major] = machine.cutAtNodes(m, digit);
            EXPECT_EQ(minor.size * major.size, size);
            EXPECT_TRUE(minor.size == 1 || isOnOne(minor));
          }
    }
  }
  EXPECT_GT(crossing, digits / 4);
  EXPECT_LT(crossing, digits * 3 / 4);
}

// A stage's mesh has one rank along pp; how far apart its ranks are the whole mesh has said.
TEST(Machine, PartsOfAMeshLieAsTheWhole) {
  Machine machine;
  machine.ranksPerNode = 4;
  Mesh stage = mesh("dp2 pp=1 tp2");
  EXPECT_FALSE(machine.crossesNodes(stage, wholeAxis(stage, 0)));
  machine.lieOn(mesh("dp2 pp4 tp2"));
  EXPECT_TRUE(machine.crossesNodes(stage, wholeAxis(stage, 0)));
  EXPECT_FALSE(machine.crossesNodes(stage, wholeAxis(stage, 2)));
  EXPECT_EQ(describeMachine(machine, stage), "nominal, of which dp goes between nodes");
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
