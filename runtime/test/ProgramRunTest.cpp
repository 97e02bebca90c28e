// Calls of a program that is loaded: what does not fit it is refused before any rank runs.
#include "tessera/runtime/run/ProgramRun.h"

#include <gtest/gtest.h>

namespace tessera::runtime {
namespace {

// @one gives what @two takes as "v"; @three takes as many bytes of another type, @four on other ranks; @five
// gives what nobody wrote.
void copies(ts_rank *rank, const ts_call *call) { ts_copy(rank, 0, call->base + 64, call->base, 16); }
const ts_entry_fn entries[] = {copies, copies, copies, copies, copies};

std::string port(const char *name, const char *dtype, const char *shape, const char *sharding, int offset) {
  return std::string("{\"name\": \"") + name + "\", \"dtype\": \"" + dtype + "\", \"shape\": " + shape +
         ", \"local\": [4], \"sharding\": " + sharding + ", \"offset\": " + std::to_string(offset) + "}";
}

const std::string manifestText = [] {
  std::string text;
  auto entry = [&](const char *name, const std::string &input, const std::string &output) {
    text += std::string(text.empty() ? "" : ", ") + "{\"name\": \"" + name + "\", \"inputs\": [" + input +
            "], \"outputs\": [" + output + "]}";
  };
  entry("one", port("x", "f32", "[4]", "[[]]", 0), port("v", "f32", "[4]", "[[]]", 64));
  entry("two", port("v", "f32", "[4]", "[[]]", 0), port("y", "f32", "[4]", "[[]]", 64));
  entry("three", port("v", "i32", "[4]", "[[]]", 0), "");
  entry("four", port("v", "f32", "[8]", "[[[\"tp\", 1, 2]]]", 0), "");
  entry("five", "", port("y", "f32", "[4]", "[[]]", 64));
  return R"({"version": 2, "task": "", "dtype": "f32", "target": "cpu", "model": "/m", "mesh": [["tp", 2]], "arena_bytes": 128,
    "params": [], "states": [], "matmuls": [], "groups": [], "collectives": [], "entries": [)" +
         text + "]}";
}();
const ts_program program = {TESSERA_ABI_VERSION, 5,       0,      manifestText.data(),
                            manifestText.size(), entries, nullptr};

ProgramCall first(size_t ranks, size_t bytes = 16) {
  ProgramCall call;
  call.entry = "one";
  call.inputs["x"] = RankBytes(ranks, std::vector<char>(bytes, 5));
  return call;
}
ProgramCall second(const char *entry) {
  ProgramCall call;
  call.entry = entry;
  call.reused["v"] = 0;
  return call;
}
std::string problem(std::vector<ProgramCall> calls) {
  Status status = runCalls(program, {}, calls);
  return status ? "" : status.failure().message();
}

TEST(ProgramRun, WhatACallGivesALaterOneTakes) {
  std::vector<ProgramCall> calls = {first(2), second("two")};
  ASSERT_TRUE(runCalls(program, {}, calls));
  EXPECT_EQ(calls[1].outputs.at("y"), calls[0].inputs.at("x"));
}

// Neither zeros nor what an earlier call left: every byte of a NaN.
TEST(ProgramRun, WhatNobodyWroteIsPoison) {
  ProgramCall five;
  five.entry = "five";
  std::vector<ProgramCall> calls = {first(2), five, five};
  ASSERT_TRUE(runCalls(program, {}, calls));
  for (size_t call : {1, 2})
    EXPECT_EQ(calls[call].outputs.at("y"), RankBytes(2, std::vector<char>(16, char(0xFF))));
}

TEST(ProgramRun, InputsAreCountedBeforeTheyAreRead) {
  EXPECT_NE(problem({first(0)}).find("input x is given for 0 of 2 ranks"), std::string::npos);
  EXPECT_NE(problem({first(1)}).find("input x is given for 1 of 2 ranks"), std::string::npos);
  EXPECT_NE(problem({first(3)}).find("input x is given for 3 of 2 ranks"), std::string::npos);
  EXPECT_NE(problem({first(2, 12)}).find("input x is 16 bytes, 12 are given"), std::string::npos);
}

TEST(ProgramRun, ALaterCallTakesWhatIsOfItsKind) {
  for (const char *entry : {"three", "four"})
    EXPECT_NE(problem({first(2), second(entry)}).find("has another type, shape or sharding"),
              std::string::npos);
  EXPECT_NE(problem({second("two")}).find("no earlier call gives input v"), std::string::npos);
}

} // namespace
} // namespace tessera::runtime
