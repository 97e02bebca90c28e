// Traces of steps: rows, names and times of slices.
#include "TraceFile.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace tessera;
using namespace tessera::runtime;

namespace {

// The only rank.
class OnePlane final : public HostPlane {
public:
  void barrier() override {}
  void broadcast(void *, size_t, int64_t) override {}
  void gather(const void *src, size_t bytes, void *dst, int64_t) override { memcpy(dst, src, bytes); }
};

// Two gathers that begin in turn and go on together, a product beside them, and a sum that is waited for.
struct Program {
  Manifest manifest;
  EntrySpec entry;
  Program() {
    manifest.groups.push_back({});
    for (CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::AllReduce}) {
      CollectiveSpec spec;
      spec.kind = kind;
      spec.elements = 4;
      spec.why = "a test";
      manifest.collectives.push_back(spec);
    }
    auto add = [&](CallKind kind, int64_t id, const char *value) {
      CallSpec call;
      call.kind = kind;
      call.id = id;
      call.value = value;
      call.at = {{"layer", 0, int64_t(entry.calls.size())}};
      entry.calls.push_back(call);
    };
    add(CallKind::Start, 0, "first");
    add(CallKind::Start, 0, "second");
    add(CallKind::Matmul, 0, "product");
    add(CallKind::Wait, -1, "");
    add(CallKind::Wait, -1, "");
    add(CallKind::Collective, 1, "sum");
  }
};

struct StepTraceTest : ::testing::Test {
  Program program;
  StepTrace trace;
  void call(CallKind kind, int64_t token = -1) {
    ObservedCall call{kind};
    if (kind == CallKind::Wait)
      call.token = token;
    trace.begin(call);
    usleep(50);
    call.token = token;
    trace.end(call);
  }
  void step(int64_t number, bool seen) {
    trace.beginStep(number);
    trace.entered(program.manifest, program.entry, {});
    call(CallKind::Start, 7);
    call(CallKind::Start, 8);
    call(CallKind::Matmul);
    if (seen)
      trace.ended(8);
    trace.ended(99); // begun and waited for at once: the call says enough
    call(CallKind::Wait, 7);
    call(CallKind::Wait, 8);
    call(CallKind::Collective);
    trace.endStep();
  }
  nlohmann::json written() {
    OnePlane plane;
    char name[] = "/tmp/tessera-trace-XXXXXX";
    ::close(mkstemp(name));
    io::OutputFile file(name, "cannot write trace");
    EXPECT_TRUE(bool(file.open()));
    EXPECT_TRUE(writeTrace(plane, trace, TraceClock(plane), &file).empty());
    std::ifstream in(name);
    nlohmann::json json = nlohmann::json::parse(in);
    unlink(name);
    return json["traceEvents"];
  }
};

using Named = std::map<std::string, nlohmann::json>;
Named byName(const nlohmann::json &events) {
  Named named;
  for (const nlohmann::json &event : events)
    if (event["ph"] == "X")
      named[event["name"]] = event;
  return named;
}
double endOf(const nlohmann::json &event) { return event["ts"].get<double>() + event["dur"].get<double>(); }

} // namespace

TEST_F(StepTraceTest, NamesAreThoseOfCalls) {
  step(3, true);
  Named slices = byName(written());
  std::vector<std::string> names;
  for (auto &[name, slice] : slices)
    names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"all_gather first", "all_gather second", "all_reduce sum",
                                             "in all_reduce sum", "matmul product", "start all_gather first",
                                             "start all_gather second", "step 3", "wait for all_gather first",
                                             "wait for all_gather second"}));
  EXPECT_EQ(slices["matmul product"]["args"]["at"], "layer 2");
  EXPECT_EQ(slices["matmul product"]["args"]["step"], 3);
  EXPECT_EQ(slices["wait for all_gather second"]["args"]["at"], "layer 1");
  EXPECT_EQ(slices["all_reduce sum"]["args"]["why"], "a test");
}

TEST_F(StepTraceTest, WhatGoesOnTogetherHasRowsOfItsOwn) {
  step(1, true);
  Named slices = byName(written());
  const nlohmann::json &first = slices["all_gather first"], &second = slices["all_gather second"],
                       &sum = slices["all_reduce sum"];
  EXPECT_NE(first["tid"], second["tid"]);
  EXPECT_EQ(first["tid"], sum["tid"]); // free again
  EXPECT_EQ(first["cat"], "collective");
  // From its start on, which the product is beside, to its end: where it was seen, or else to the wait's.
  EXPECT_EQ(first["ts"], slices["start all_gather first"]["ts"]);
  EXPECT_GT(first["ts"].get<double>() + first["dur"].get<double>(), endOf(slices["matmul product"]));
  EXPECT_NEAR(endOf(first), endOf(slices["wait for all_gather first"]), 1e-3);
  EXPECT_GE(endOf(second), endOf(slices["matmul product"]));
  EXPECT_LT(endOf(second), slices["wait for all_gather first"]["ts"].get<double>());
}

TEST_F(StepTraceTest, AnEndThatNobodySawIsThatOfTheWait) {
  step(1, false);
  Named slices = byName(written());
  EXPECT_NEAR(endOf(slices["all_gather second"]), endOf(slices["wait for all_gather second"]), 1e-3);
}

TEST_F(StepTraceTest, WhatIsBeyondTheLimitIsLeftOutAndSaid) {
  EXPECT_TRUE(trace.isWhole());
  for (size_t i = 0; i < StepTrace::kMostSlices; ++i)
    trace.endStep();
  EXPECT_TRUE(trace.isWhole());
  trace.endStep();
  EXPECT_FALSE(trace.isWhole());
  EXPECT_EQ(trace.slices().size(), StepTrace::kMostSlices);
}

// A rank of a pipeline: a forward whose value comes from another rank and goes on to the next one, then what
// is once a step.
TEST_F(StepTraceTest, PartsAndMessagesOfAPipelineHaveRows) {
  using schedule::Action;
  using schedule::Kind;
  const Action receive{Kind::ReceiveForward, 1, 3}, forward{Kind::Forward, 1, 3},
      send{Kind::SendForward, 1, 3};
  trace.beginStep(2);
  trace.begins(receive);
  trace.travels(receive, 5);
  trace.ends(receive);
  trace.begins(forward);
  usleep(50);
  trace.arrived(5);
  trace.computes(forward);
  trace.entered(program.manifest, program.entry, {"1F3", 4});
  call(CallKind::Start, 7);
  trace.left();
  trace.ends(forward);
  trace.begins(send);
  trace.travels(send, 6);
  trace.ends(send);
  trace.entered(program.manifest, program.entry, {"update of stage 1", 9});
  call(CallKind::Start, 8);
  trace.left();
  trace.ended(6);
  trace.arrived(6);
  trace.endStep();
  const nlohmann::json events = written();
  Named slices = byName(events);
  // The receive's and the send's names are those of their messages, and of what the rank does for them.
  std::map<std::string, int> count;
  for (const nlohmann::json &event : events)
    if (event["ph"] == "X")
      ++count[std::string(event["cat"]) + " " + std::string(event["name"])];
  EXPECT_EQ(count, (std::map<std::string, int>{{"step step 2", 1},
                                               {"part 1F3", 1},
                                               {"part update of stage 1", 1},
                                               {"wait start all_gather first", 2},
                                               {"wait wait for 1F3", 1},
                                               {"wait 1RECV_F3", 1},
                                               {"wait 1SEND_F3", 1},
                                               {"message 1RECV_F3", 1},
                                               {"message 1SEND_F3", 1}}));
  // Computing begins where the wait ends.
  EXPECT_NEAR(endOf(slices["wait for 1F3"]), slices["1F3"]["ts"].get<double>(), 1e-3);
  for (const nlohmann::json &event : events)
    if (event["ph"] == "X" && event["name"] == "start all_gather first")
      EXPECT_TRUE(event["args"]["at"] == "1F3, layer 0" ||
                  event["args"]["at"] == "update of stage 1, layer 0");
}
