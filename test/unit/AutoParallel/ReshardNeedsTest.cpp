#include "ReshardCase.h"

#include "tessera/AutoParallel/Machine.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

namespace {
/// Rounds of messages that a plan takes.
double roundsOf(const Case &c, const ReshardPlan &plan) {
  Machine machine;
  machine.link = {/*latency=*/1, /*bandwidth=*/1e30};
  machine.memoryBandwidth = 1e30;
  return planTime(machine, c.mesh, plan, 4);
}
} // namespace

// No plan of collectives does with less than what is said without searching.
TEST(ReshardNeeds, NeedsAreNeeded) {
  RandomReshardLimits limits;
  limits.axes = 4;
  limits.axisSize = 16;
  limits.devices = 4096;
  limits.dimSize = 5;
  RandomReshards cases(3, limits);
  int sums = 0, met = 0;
  for (int i = 0; i < 600; ++i) {
    Case c = cases.next(/*divides=*/i % 4 != 0, /*partial=*/i % 2 == 0);
    ReshardNeeds needs = reshardNeeds(c.mesh, c.shape, c.from, c.to);
    ASSERT_TRUE(needs.possible) << c.text();
    for (bool wide : {false, true}) {
      auto plan = planReshard(c.mesh, c.shape, c.from, c.to, wide ? strided() : ReshardOptions());
      ASSERT_TRUE(plan) << c.text();
      if (llvm::any_of(plan->steps,
                       [](const ReshardStep &step) { return step.kind == StepKind::GroupedSend; }))
        continue;
      EXPECT_LE(needs.received, plan->received * (1 + 1e-9)) << c.text() << toString(*plan, c.mesh, c.shape);
      EXPECT_LE(needs.rounds, roundsOf(c, *plan) + 1e-6) << c.text() << toString(*plan, c.mesh, c.shape);
      bool isMet = plan->received <= needs.received * (1 + 1e-9);
      met += wide && isMet;
      sums += wide && isMet && !c.from.partial.empty();
    }
  }
  EXPECT_GT(met, 240); // the floor is not far below
  EXPECT_GT(sums, 20);
}

// Half of the sums that a rank wants are of terms that neither it nor its copy has: they are combined
// elsewhere, and both receive them.
TEST(ReshardNeeds, SumsOfTermsElsewhereAreReceivedByAll) {
  struct {
    Case c;
    double received;
  } list[] = {
      {{"x2 y2", "8x8", "[-/y] U{x}", "[y/-]"}, 64 * 2.5 / 4},
      {{"x2 y4", "8x8", "[-/y] U{x}", "[y/-]"}, 64 * 2.75 / 8},
      // Both exchanges want the same digits of an element to be equal.
      {{"x2 y2 z2", "8x8", "[z/y] U{x}", "[y/z]"}, 64 * 2.5 / 8},
      {{"x2 y2 z2", "8x8x8", "[-/z/y] U{x}", "[y/-/z]"}, 512 * 2.75 / 8},
      // Which of the pieces of 5 a rank has says little about its piece of 2.
      {{"x2 y2", "5x8", "[-/y] U{x}", "[y/-]"}, 24},
      {{"x2 y2 z2", "6x8", "[x,y/-] U{z}", "[-/x]"}, 24},
      // Axes that stay where they are ask for nothing.
      {{"x2 y2", "8x8", "[y/-] U{x}", "[y/-]"}, 32},
  };
  for (const auto &[c, received] : list) {
    const double needed = reshardNeeds(c.mesh, c.shape, c.from, c.to).received;
    EXPECT_EQ(needed, received) << c.text();
    EXPECT_LE(needed, c.plan().received) << c.text();
  }
  const Case &first = list[0].c;
  EXPECT_EQ(planReshard(first.mesh, first.shape, first.from, first.to, strided())->received,
            list[0].received);
}

// Where one step does it, what is needed is what it takes.
TEST(ReshardNeeds, OneStepTakesWhatIsNeeded) {
  Case list[] = {
      {"x4 y2", "8x8", "[x/-]", "[-/-]"},   {"x4 y2", "8x8", "[x,y/-]", "[x/-]"},
      {"x4 y2", "8x8", "[x/-]", "[-/x]"},   {"x4 y2", "8x8", "[x/y]", "[x/y]"},
      {"x4", "8x8", "[-/-] U{x}", "[x/-]"}, {"x4", "8x8", "[-/-] U{x}", "[-/-]"},
      {"x4 y4", "8x8", "[x/-]", "[y/-]"},   {"x4 y2", "8x8", "[-/y] U{x}", "[x/y]"},
      {"x4 y2", "8x8", "[x/-]", "[x/y]"},   {"x2 y4 z2", "8x16", "[-/-] U{x,y,z}", "[-/x,y,z]"},
  };
  for (const Case &c : list) {
    ReshardNeeds needs = reshardNeeds(c.mesh, c.shape, c.from, c.to);
    ReshardPlan plan = c.plan();
    EXPECT_EQ(needs.received, plan.received) << c.text();
    EXPECT_EQ(needs.rounds, roundsOf(c, plan)) << c.text();
  }
  Case free("x2", "8", "[-]", "[-] U{x}"); // one rank contributes it
  EXPECT_TRUE(reshardNeeds(free.mesh, free.shape, free.from, free.to).possible);
  EXPECT_EQ(reshardNeeds(free.mesh, free.shape, free.from, free.to).received, 0);
  EXPECT_EQ(reshardNeeds(free.mesh, free.shape, free.from, free.to).rounds, 0);
  Case none("x2", "8", "[x]", "[x]"); // no tensor is split and partial over one axis
  none.to.partial = {wholeAxis(none.mesh, 0)};
  none.to.partialKind = PartialKind::Sum;
  EXPECT_FALSE(reshardNeeds(none.mesh, none.shape, none.from, none.to).possible);
}
