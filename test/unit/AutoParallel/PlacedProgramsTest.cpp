#include "AllAssignments.h"
#include "ProgramBuilder.h"

#include "tessera/AutoParallel/PlacedPrograms.h"
#include "tessera/AutoParallel/SearchWork.h"

#include <functional>
#include <limits>

using namespace tessera;

namespace {
class PlacedProgramsTest : public testing::Test {
protected:
  /// Whether it searched for the decision, which is that of placeProgram.
  bool searches() {
    const SearchWork before = searchWork();
    ProgramDecision decision = costs.placed->place(p.program, costs, settings);
    const bool searched = searchWork().since(before).tableEntries > 0;
    ProgramDecision anew = placeProgram(p.program, costs, settings);
    EXPECT_EQ(decision.time, anew.time);
    EXPECT_EQ(decision.sent, anew.sent);
    EXPECT_EQ(decision.boundsAll, anew.boundsAll);
    EXPECT_EQ(decision.widened, anew.widened);
    EXPECT_EQ(decision.ops.size(), anew.ops.size());
    for (auto [one, other] : llvm::zip(decision.ops, anew.ops)) {
      EXPECT_EQ(one.operands, other.operands);
      EXPECT_EQ(one.results, other.results);
    }
    return searched;
  }

  Builder p =
      layer("dp2 tp4", "[dp/-/-]", "[tp/-/-]", "[dp/-/tp/-]", "[-/tp/-]", "[tp/-]", "[-/tp]", "4", "16");
  ReshardCosts costs{p.mesh, fastLinks()};
  ProgramPlacementOptions settings;
};
} // namespace

TEST_F(PlacedProgramsTest, TheSameProgramIsSearchedOnce) {
  EXPECT_TRUE(searches());
  EXPECT_FALSE(searches());
  for (DimSharding &dim : p.program.values.front().sharding.dims) { // propagation's own affairs
    dim.open = true;
    dim.priority = 3;
  }
  p.program.ops.front().at = 7; // where nobody counts bytes
  EXPECT_FALSE(searches());
}

TEST_F(PlacedProgramsTest, WhatDiffersIsSearched) {
  auto decomposition = std::make_shared<Decomposition>();
  decomposition->program = p.program;
  decomposition->operands = p.program.ops[0].operands;
  decomposition->results = p.program.ops[0].results;
  std::vector<std::function<void()>> changes = {
      [&] { p.program.values[0].sharding = sharding("[-/dp/-]", p.mesh); },
      [&] { p.program.values[1].elementBytes = 2; },
      [&] { p.program.values[1].plainBytes = 8; },
      [&] { p.program.values[1].isWeight = true; },
      [&] { p.program.values[2].fixed = false; },
      [&] { p.program.values[3].chosen = {0, 0.5}; },
      [&] { p.program.values[3].chosen.share = 0.25; },
      [&] { p.program.values[3].chosen.dim = 1; },
      [&] { p.program.uses.back().sharding = sharding("[-/dp/-]", p.mesh); },
      [&] { p.program.uses.pop_back(); },
      [&] { p.program.uses.back().value -= 2; },
      [&] { p.program.ops[1].flops *= 2; },
      [&] { p.program.ops[1].bytes += 1e6; },
      [&] { p.program.ops[1].type = ComputeType::BF16; },
      [&] { p.program.ops[1].rule.factors[0].kind = FactorKind::NeedReplication; },
      [&] { p.program.ops[1].rule.linear.clear(); },
      [&] { p.program.ops[1].rule.factors[3].combine = PartialKind::Max; },
      [&] { p.program.ops[2].rule.lookedUp.push_back(0); },
      [&] { p.program.ops[6].rule.maxLinear.push_back({0}); },
      [&] { p.program.ops[6].rule.maxLinear = {{0}, {1}}; },
      [&] { p.program.ops[6].rule.maxLinear = {{0, 1}, {}}; },
      [&] { p.program.ops[1].rule.windows = {{0, 1, 0}}; }, // factor 0 has no axes
      [&] { p.program.ops[1].rule.windows[0].begin = 1; },
      [&] { p.program.ops[2].rule.offsetAware = {0}; },
      [&] { p.program.ops[2].rule.offsetAware = {1}; },
      [&] { p.program.ops[2].rule.neutral = PartialKind::Sum; },
      [&] { p.program.ops[2].rule.unbounded = true; },
      [&] { std::swap(p.program.ops[6].operands[0], p.program.ops[6].operands[1]); },
      [&] { p.program.ops[0].decomposition = decomposition; },
      [&] { decomposition->name = "one"; },
      [&] { decomposition->name = "another"; },
      [&] { settings.maxOptions = 20; },
      [&] { settings.anyGain = true; },
      [&] { settings.all = false; },
      [&] { settings.leastGain = 0.1; },
      [&] { settings.idleAxes = {AxisRef{0, 1, 2}}; },
      [&] { settings.idleAxes = {AxisRef{1, 1, 2}}; },
      [&] { settings.idleAxes = {AxisRef{1, 2, 2}}; },
      [&] { settings.idleAxes = {AxisRef{1, 1, 4}}; },
  };
  ASSERT_TRUE(searches());
  for (auto [i, change] : llvm::enumerate(changes)) {
    change();
    EXPECT_TRUE(searches()) << "change " << i;
    EXPECT_FALSE(searches()) << "change " << i;
  }
  p.program.ops[0].decomposition = std::make_shared<Decomposition>(*decomposition);
  EXPECT_FALSE(searches()); // of the same name
  decomposition->name.clear();
  p.program.ops[0].decomposition = decomposition;
  EXPECT_TRUE(searches());
  p.program.ops[0].decomposition = std::make_shared<Decomposition>(*decomposition);
  EXPECT_TRUE(searches()); // without a name two are two
}

// Its decision hangs on more than the program says; and prices of hints alone are many.
TEST_F(PlacedProgramsTest, ADecisionWithinALimitIsKnownToNobody) {
  p = Builder("x2 y2");
  for (int i = 0; i < 2; ++i) {
    int a = p.input("64x64", "[-/x,y]"), b = p.input("64x64", "[x,y/-]");
    p.need(p.op("([i, k], [k, j]) -> ([i, j]) reduction={k} linear={0; 1}", {a, b}, "64x64"), "[x,y/-]");
  }
  ReshardCosts costs(p.mesh, Machine());
  auto timeOf = [&] { return costs.placed->place(p.program, costs, settings).time; };
  const double free = placeProgram(p.program, costs, settings).time;
  for (int time = 0; time < 2; ++time) {
    settings.liveBytes = 64 * 64 * 4 * 9 / 4; // a rank's terms of both sums, and a piece of one
    EXPECT_GT(timeOf(), free);
    settings.liveBytes = std::numeric_limits<double>::infinity();
    EXPECT_EQ(timeOf(), free);
  }
}

// Everybody looks at first what hints alone lead to.
TEST_F(PlacedProgramsTest, HintsAreSearchedOnce) {
  EXPECT_TRUE(searches());
  settings.widen = false;
  EXPECT_FALSE(searches());
}

TEST_F(PlacedProgramsTest, KeptDecisionsAreKnown) {
  settings.largestTable = 1 << 10;
  ProgramDecision decision = placeProgram(p.program, costs, settings);
  costs.placed->keep(p.program, costs, settings, decision);
  EXPECT_FALSE(searches());
  // It left no gap, so that larger tables find nothing better.
  ASSERT_NEAR(decision.lowerBound, decision.time, 1e-9 * decision.time);
  settings.largestTable = 1 << 20;
  EXPECT_FALSE(searches());
}

// A program whose assignments are all searched, as the decision says.
TEST_F(PlacedProgramsTest, KeptDecisionsSayWhatTheyBound) {
  p = Builder("x4");
  p.need(p.op("([i, j]) -> ([i, j])", {p.input("64x64", "[x/-]")}, "64x64"), "[-/x]");
  ReshardCosts own(p.mesh, fastLinks());
  ProgramDecision decision = placeProgram(p.program, own, settings);
  EXPECT_TRUE(decision.boundsAll);
  own.placed->keep(p.program, own, settings, decision);
  EXPECT_TRUE(own.placed->place(p.program, own, settings).boundsAll);
}

// A decision that may not be the best is made again with larger tables, and not with smaller ones.
TEST_F(PlacedProgramsTest, GapsAreSearchedAgain) {
  settings.largestTable = 1 << 10;
  ProgramDecision decision = placeProgram(p.program, costs, settings);
  decision.lowerBound *= 0.9;
  costs.placed->keep(p.program, costs, settings, decision);
  EXPECT_FALSE(searches());
  settings.largestTable = 1 << 9;
  EXPECT_FALSE(searches());
  settings.largestTable = 1 << 20;
  EXPECT_TRUE(searches());
  EXPECT_FALSE(searches());
}

// Sixty-four are kept, those that were asked for last.
TEST_F(PlacedProgramsTest, WhatNobodyAsksForIsForgotten) {
  auto program = [&](int number) { p.program.ops[0].flops = 1e6 * (number + 1); };
  for (int number = 0; number < 64; ++number) {
    program(number);
    (void)costs.placed->place(p.program, costs, settings);
  }
  program(0);
  EXPECT_FALSE(searches());
  program(64);
  EXPECT_TRUE(searches());
  for (int known : {0, 2, 63, 64}) {
    program(known);
    EXPECT_FALSE(searches()) << known;
  }
  program(1);
  EXPECT_TRUE(searches());
}

// With hints alone it is soon known whether a layout is any good; where it is, it is placed with all that ops
// are offered, beginning there.
TEST_F(PlacedProgramsTest, ALookIsWhereTheSearchBegins) {
  settings.widen = false;
  const double time = costs.placed->place(p.program, costs, settings).time;
  auto entriesOf = [](auto work) {
    const SearchWork before = searchWork();
    work();
    return searchWork().since(before).tableEntries;
  };
  for (double part : {0.9, 1.1}) { // the look says it
    settings.below = part * time;
    ProgramDecision again;
    EXPECT_EQ(entriesOf([&] { again = costs.placed->place(p.program, costs, settings); }), 0);
    EXPECT_EQ(again.time, part < 1 ? std::numeric_limits<double>::infinity() : time);
    EXPECT_EQ(again.ops.size(), part < 1 ? 0u : p.program.ops.size());
    EXPECT_LE(again.lowerBound, settings.below);
  }
  settings.below = std::numeric_limits<double>::infinity();
  settings.widen = true;
  const int64_t anew = entriesOf([&] { placeProgram(p.program, costs, settings); });
  ProgramDecision decision;
  EXPECT_LT(entriesOf([&] { decision = costs.placed->place(p.program, costs, settings); }), anew);
  ReshardCosts others(p.mesh, fastLinks());
  const ProgramDecision apart = placeProgram(p.program, others, settings);
  EXPECT_EQ(decision.time, apart.time);
  EXPECT_EQ(decision.lowerBound, apart.lowerBound);
  for (auto [one, other] : llvm::zip_equal(decision.ops, apart.ops)) {
    EXPECT_EQ(one.operands, other.operands);
    EXPECT_EQ(one.results, other.results);
  }
}

// A look that is of something else is not believed.
TEST_F(PlacedProgramsTest, ALookThatDoesNotFitIsOfNoUse) {
  settings.widen = false;
  const ProgramDecision good = placeProgram(p.program, costs, settings);
  ASSERT_TRUE(good.look);
  std::vector<FirstLook> wrong(3, *good.look);
  wrong[0].time *= 0.5;
  wrong[1].choice.pop_back();
  wrong[2].choice.front() = 1 << 20;
  for (const FirstLook &look : wrong)
    EXPECT_EQ(placeProgram(p.program, costs, settings, &look).time, good.time);
}

// As of decisions, but for all settings save how many options an op has.
TEST_F(PlacedProgramsTest, ALookIsAtOneProgram) {
  settings.widen = false;
  EXPECT_TRUE(searches());
  settings.anyGain = true;
  EXPECT_FALSE(searches());
  settings.maxOptions = 20;
  EXPECT_TRUE(searches());
  for (int i = 0; i < 2; ++i) { // nameless ones are two
    auto decomposition = std::make_shared<Decomposition>();
    decomposition->program = p.program;
    decomposition->operands = p.program.ops[0].operands;
    decomposition->results = p.program.ops[0].results;
    p.program.ops[0].decomposition = decomposition;
    EXPECT_TRUE(searches());
    EXPECT_FALSE(searches());
    p.program.ops[0].decomposition = nullptr;
  }
}

TEST_F(PlacedProgramsTest, TheLookThatNobodyAsksForGoesFirst) {
  settings.widen = false;
  EXPECT_TRUE(searches());
  const double bytes = p.program.values[0].elementBytes;
  for (int other = 0; other < 40; ++other) {
    p.program.values[0].elementBytes = bytes + 1 + other;
    EXPECT_TRUE(searches());
    p.program.values[0].elementBytes = bytes;
    EXPECT_FALSE(searches());
  }
  p.program.values[0].elementBytes = bytes + 1;
  EXPECT_TRUE(searches());
}

// What is resharded inside of an op is part of the time that a look says.
TEST_F(PlacedProgramsTest, ALookKnowsWhatIsInsideOfOps) {
  p = Builder("x4");
  p.need(softmax(p, p.input("64x64", "[-/x]")), "[-/x]");
  auto named = std::make_shared<Decomposition>(*p.program.ops.front().decomposition);
  named->name = "softmax"; // by which what it takes is known
  p.program.ops.front().decomposition = named;
  ReshardCosts costs(p.mesh, fastLinks());
  settings.widen = false;
  const ProgramDecision first = costs.placed->place(p.program, costs, settings);
  ASSERT_TRUE(first.ops.front().decomposed);
  const SearchWork before = searchWork();
  const ProgramDecision again = costs.placed->place(p.program, costs, settings);
  EXPECT_EQ(searchWork().since(before).tableEntries, 0);
  EXPECT_EQ(again.time, first.time);
}

// A choice that tables were too small to prove is no look: what begins there would take it for the best.
TEST(PlacedPrograms, ALookIsProven) {
  int unproven = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    RandomProgram random("x2 y4", 8, seed);
    ReshardCosts costs(random.mesh, Machine());
    ProgramPlacementOptions settings;
    settings.widen = false;
    settings.largestTable = 4;
    const ProgramDecision decision = placeProgram(random.program, costs, settings);
    if (!decision.look) {
      ++unproven;
      continue;
    }
    settings.largestTable = ProgramPlacementOptions().largestTable;
    EXPECT_NEAR(decision.look->time, placeProgram(random.program, costs, settings).time,
                1e-8 * decision.time);
  }
  EXPECT_GT(unproven, 0);
}
