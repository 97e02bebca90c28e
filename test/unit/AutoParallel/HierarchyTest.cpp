#include "tessera/AutoParallel/Hierarchy.h"
#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/AutoParallel/Placement.h"
#include "tessera/AutoParallel/RandomReshards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace tessera;

namespace {
constexpr double kBytes = 4;

/// Nodes, and ranks on each.
struct Nodes {
  double count, ranks;
  Mesh mesh;
};
const Nodes &twoOfEight() {
  static const Nodes nodes = {2, 8, mesh("dp2 tp8")};
  return nodes;
}
/// Whose ranks in powers of two are more than those of both tiers: stages take a round more.
const Nodes &fiveOfThree() {
  static const Nodes nodes = {5, 3, mesh("dp5 tp3")};
  return nodes;
}

/// The closed forms, for n elements on all ranks together, or n on each that is partial.
struct ClosedForms {
  const Machine &m;
  const Nodes &nodes;
  double step(const Link &link, double ranks, double elements) const {
    return link.latency * std::ceil(std::log2(ranks)) + elements * kBytes / link.bandwidth +
           kBytes / m.memoryBandwidth;
  }
  double within(double elements) const { return step(m.link, nodes.ranks, elements); }
  double between(double elements) const { return step(m.betweenNodes, nodes.count, elements); }
  double whole(double elements) const { // a ring over both axes waits for the slower link
    return step({std::max(m.link.latency, m.betweenNodes.latency),
                 std::min(m.link.bandwidth, m.betweenNodes.bandwidth)},
                all(), elements);
  }
  double all() const { return nodes.count * nodes.ranks; }
  /// An all_gather, or a reduce_scatter.
  double piecewise(double n, bool isStaged) const {
    return isStaged ? within(n * (nodes.ranks - 1) / nodes.ranks) + between(n * (nodes.count - 1) / all())
                    : whole(n * (all() - 1) / all());
  }
  double reduce(double n, bool isStaged) const {
    return isStaged
               ? 2 * within(n * (nodes.ranks - 1) / nodes.ranks) + between(2 * n * (nodes.count - 1) / all())
               : whole(2 * n * (all() - 1) / all());
  }
  /// Where no dimension can be cut, or a message costs more than what it brings.
  double reduceTwice(double n) const {
    return within(2 * n * (nodes.ranks - 1) / nodes.ranks) + between(2 * n * (nodes.count - 1) / nodes.count);
  }
};

struct Decided {
  size_t steps;
  double time;
};

/// Of the one collective that takes `from` to `to`.
Decided decide(const Machine &machine, const Nodes &nodes, int64_t n, const char *fromText,
               const char *toText) {
  const Mesh &m = nodes.mesh;
  Sharding from = sharding(fromText, m), to = sharding(toText, m);
  auto plan = planReshard(m, {n}, from, to);
  EXPECT_EQ(plan->steps.size(), 1u);
  ReshardPlan staged = stageAtNodes(machine, m, {n}, kBytes, from, *plan);
  if (n <= 240)
    EXPECT_EQ(replayPlan(m, {n}, from, to, staged), "");
  if (plan->steps[0].kind != StepKind::AllReduce)
    EXPECT_DOUBLE_EQ(staged.received, plan->received); // not a byte more
  return {staged.steps.size(), planTime(machine, m, staged, kBytes)};
}

Machine nodesOf(int64_t gpus) {
  std::string error;
  return *namedMachine("h100:" + std::to_string(gpus), error);
}
} // namespace

// On machines of all kinds, latencies and bandwidths slower or faster between nodes: the time is the least of
// the closed forms, and the collective is in stages exactly where that is the least.
TEST(Hierarchy, IsTakenExactlyWhereItIsCheaper) {
  int staged = 0, whole = 0;
  for (const Nodes *nodes : {&twoOfEight(), &fiveOfThree()})
    for (double latency : {0.1, 1.0, 30.0})
      for (double bandwidth : {0.05, 0.5, 0.99, 1.0, 1.5})
        for (double message : {1e-7, 1e-5}) {
          Machine machine = nodesOf(int64_t(nodes->ranks));
          machine.link.latency = message;
          machine.betweenNodes = {message * latency, machine.link.bandwidth * bandwidth};
          const ClosedForms form{machine, *nodes};
          for (int64_t n : {240, 240 << 6, 240 << 12}) {
            auto check = [&](const char *from, const char *to, double flat, std::vector<double> stages) {
              const double least = *std::min_element(stages.begin(), stages.end());
              const Decided decided = decide(machine, *nodes, n, from, to);
              EXPECT_NEAR(decided.time, std::min(flat, least), 1e-9 * flat) << from << " " << n;
              if (std::abs(flat - least) < 1e-9 * flat)
                return;
              EXPECT_EQ(decided.steps > 1, least < flat) << from << " " << to << " " << n;
              (least < flat ? staged : whole) += 1;
            };
            const double all = double(n), flat = form.piecewise(all, false),
                         stages = form.piecewise(all, true);
            check("[dp,tp]", "[-]", flat, {stages});
            check("[-] U{dp,tp}", "[dp,tp]", flat, {stages});
            check("[-] U{dp,tp}", "[-]", form.reduce(all, false),
                  {form.reduce(all, true), form.reduceTwice(all)});
          }
        }
  EXPECT_GT(staged, 100);
  EXPECT_GT(whole, 50);
}

TEST(Hierarchy, SumsAreScatteredWithinNodes) {
  const Machine machine = nodesOf(8);
  const Mesh &m = twoOfEight().mesh;
  const ClosedForms form{machine, twoOfEight()};
  const Decided sum = decide(machine, twoOfEight(), 1 << 16, "[-] U{dp,tp}", "[-]");
  EXPECT_EQ(sum.steps, 3u);
  const Decided little = decide(machine, twoOfEight(), 16, "[-] U{dp,tp}", "[-]");
  EXPECT_EQ(little.steps, 2u);
  EXPECT_NEAR(little.time, form.reduceTwice(16), 1e-12);
  EXPECT_LT(little.time, form.reduce(16, true));
  // What placement pays.
  ReshardCosts costs(m, machine);
  EXPECT_DOUBLE_EQ(costs.reshard({1 << 16}, kBytes, sharding("[-] U{dp,tp}", m), sharding("[-]", m)).time,
                   sum.time);
  EXPECT_NEAR(sum.time, form.reduce(1 << 16, true), 1e-12);
  EXPECT_LT(sum.time, form.reduce(1 << 16, false));
}

// Pieces go straight to their readers, seven of fifteen over NVLink, and are not sent twice.
TEST(Hierarchy, ExchangesStayWhole) {
  const Machine machine = nodesOf(8);
  const Mesh &m = twoOfEight().mesh;
  const Shape shape = {64, 64};
  Sharding from = sharding("[dp,tp/-]", m), to = sharding("[-/dp,tp]", m);
  ReshardCosts costs(m, machine);
  ReshardPlan plan = *costs.plan(shape, kBytes, from, to);
  EXPECT_EQ(stageAtNodes(machine, m, shape, kBytes, from, plan).steps.size(), 1u);
  const double bytes = 64 * 64 / 16 * kBytes;
  EXPECT_NEAR(costs.reshard(shape, kBytes, from, to).time,
              4 * machine.betweenNodes.latency + bytes * 7 / 16 / machine.link.bandwidth +
                  bytes * 8 / 16 / machine.betweenNodes.bandwidth + kBytes / machine.memoryBandwidth,
              1e-15);
}

// Seven elements are cut by nothing, and neither are many that eight ranks do not divide: reduced within,
// then between, which sends more.
TEST(Hierarchy, WhatDoesNotDivideIsReducedTwice) {
  const Machine machine = nodesOf(8);
  const Mesh &m = twoOfEight().mesh;
  Sharding from = sharding("[-] U{dp,tp}", m), to = sharding("[-]", m);
  ReshardCosts costs(m, machine);
  for (int64_t n : {7, (1 << 16) + 1}) {
    EXPECT_NEAR(costs.reshard({n}, kBytes, from, to).time,
                (ClosedForms{machine, twoOfEight()}.reduceTwice(double(n))), 1e-12);
    EXPECT_EQ(decide(machine, twoOfEight(), n, "[-] U{dp,tp}", "[-]").steps, 2u) << n;
  }
}

// With padding, pieces of sixteen ranks do not line up with those of eight, or of two.
TEST(Hierarchy, WhatDoesNotDivideIsGatheredAtOnce) {
  for (int64_t n : {7, 24, (1 << 16) + 1})
    for (const char *from : {"[dp,tp]", "[tp,dp]"})
      EXPECT_EQ(decide(nodesOf(8), twoOfEight(), n, from, "[-]").steps, 1u) << n << " " << from;
}

// Stages that leave a maximum open say that it is one.
TEST(Hierarchy, MaximaStayMaxima) {
  const Mesh &m = twoOfEight().mesh;
  const Sharding from = sharding("[-] Umax{dp,tp}", m), to = sharding("[-]", m);
  for (int64_t n : {16, 1 << 16}) {
    ReshardPlan staged = stageAtNodes(nodesOf(8), m, {n}, kBytes, from, *planReshard(m, {n}, from, to));
    EXPECT_EQ(staged.steps.size(), n == 16 ? 2u : 3u);
    for (const ReshardStep &step : staged.steps)
      EXPECT_EQ(step.result.partialKind, step.result.partial.empty() ? PartialKind::None : PartialKind::Max)
          << toString(step.result, m);
    EXPECT_FALSE(staged.steps.front().result.partial.empty());
  }
}

// An axis that spans both tiers is cut; where all ranks share a node nothing is.
TEST(Hierarchy, AxesAreCutWhereNodesEnd) {
  std::string error;
  const Mesh m = mesh("x16");
  Sharding from = sharding("[x]", m), to = sharding("[-]", m);
  auto steps = [&](const char *name) {
    const Machine machine = *namedMachine(name, error);
    auto plan = planForMachine(machine, m, {64}, kBytes, from, to);
    ReshardPlan staged = stageAtNodes(machine, m, {64}, kBytes, from, *plan);
    EXPECT_EQ(replayPlan(m, {64}, from, to, staged), "");
    return toString(staged, m, {64});
  };
  EXPECT_EQ(steps("h100:8"), "0.9375\tAG [_2,x:(2)8]; AG [-]");
  EXPECT_EQ(steps("h100:16"), "0.9375\tAG [-]");
}

// Blocks of quantized weights are not cut.
TEST(Hierarchy, BlocksAreGatheredAtOnce) {
  const Machine machine = nodesOf(8);
  const Mesh &m = twoOfEight().mesh;
  Sharding from = sharding("[dp,tp]", m), to = sharding("[-]", m);
  auto plan = planForMachine(machine, m, {1 << 16}, 34.0 / 32, from, to);
  EXPECT_EQ(stageAtNodes(machine, m, {1 << 16}, 34.0 / 32, from, *plan).steps.size(), plan->steps.size());
}

// Random reshards on nodes of several sizes: stages do what the whole did, and never take longer.
TEST(Hierarchy, StagesDoTheSame) {
  RandomReshardLimits limits;
  limits.axes = 3;
  limits.axisSize = 6;
  limits.devices = 48;
  limits.dimSize = 4;
  RandomReshards cases(5, limits);
  int staged = 0;
  for (int i = 0; i < 400; ++i) {
    RandomReshard c = cases.next(/*divides=*/i % 4 != 0, /*partial=*/i % 2 == 0);
    std::string error;
    const Machine machine = *namedMachine(std::string("a100:") + std::to_string(2 + i % 5), error);
    auto plan = planForMachine(machine, c.mesh, c.shape, kBytes, c.from, c.to);
    ASSERT_TRUE(plan);
    ReshardPlan stages = stageAtNodes(machine, c.mesh, c.shape, kBytes, c.from, *plan);
    EXPECT_EQ(replayPlan(c.mesh, c.shape, c.from, c.to, stages), "") << toString(stages, c.mesh, c.shape);
    EXPECT_LE(planTime(machine, c.mesh, stages, kBytes), planTime(machine, c.mesh, *plan, kBytes));
    staged += stages.steps.size() > plan->steps.size();
  }
  EXPECT_GT(staged, 10);
}
