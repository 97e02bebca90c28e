// The rows of the placement facts (test/Facts), and what one op decides, in elements that the busiest device
// receives.
#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/AutoParallel/PlacementText.h"

#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

struct T {
  const char *shape, *sharding;
};

struct Decided : PlacementDecision {
  Mesh mesh;
  std::string operand(int i) const { return toString(operands[i], mesh); }
  std::string result(int i = 0) const { return toString(results[i], mesh); }
  double moved = 0; ///< elements that the busiest device receives
  double elements() const { return moved; }
};

/// One op as a program: its operands given, its results wanted.
Decided decide(const char *meshText, const char *ruleText, std::vector<T> operands, std::vector<T> results,
               double flops = 0) {
  Decided result;
  result.mesh = mesh(meshText);
  PlacementProgram program;
  ProgramOp op;
  std::vector<Shape> operandShapes, resultShapes;
  std::string error;
  auto add = [&](const T &t, bool fixed) {
    ProgramValue value;
    value.shape = *parseShape(t.shape, error);
    value.sharding = sharding(t.sharding, result.mesh);
    value.fixed = fixed;
    (fixed ? operandShapes : resultShapes).push_back(value.shape);
    (fixed ? op.operands : op.results).push_back(int(program.values.size()));
    if (!fixed)
      program.uses.push_back({int(program.values.size()), value.sharding});
    program.values.push_back(std::move(value));
  };
  for (const T &t : operands)
    add(t, true);
  for (const T &t : results)
    add(t, false);
  auto rule = parseShardingRule(ruleText, operandShapes, resultShapes, error);
  EXPECT_TRUE(rule) << error;
  op.rule = *rule;
  op.flops = flops ? flops : 1;
  program.ops.push_back(op);
  Machine machine;
  machine.link = {1e-9, 1e9}; // bytes decide
  machine.flops.fill(1e12);
  ReshardCosts costs(result.mesh, machine);
  static_cast<PlacementDecision &>(result) = placeProgram(program, costs).ops.front();
  auto move = [&](int value, const Sharding &from, const Sharding &to) {
    result.moved += costs.reshard(program.values[value].shape, 4, from, to).received;
  };
  for (auto [value, needed] : llvm::zip(op.operands, result.operands))
    move(value, program.values[value].sharding, needed);
  for (auto [value, made] : llvm::zip(op.results, result.results))
    move(value, made, program.values[value].sharding);
  return result;
}

const char *kAdd = "([i, j], [i, j]) -> ([i, j]) linear={0 1}";
} // namespace

static std::string fileText(const char *name) {
  auto file = llvm::MemoryBuffer::getFile(std::string(TESSERA_FACTS) + name);
  EXPECT_TRUE(file) << name;
  return file ? (*file)->getBuffer().str() : "";
}

// The rows of the placement page, placed as programs.
TEST(Placement, Facts) {
  std::string error;
  auto machine = parseMachine(fileText("bytes.json"), error);
  auto cases = parsePropagationCases(fileText("placement.facts"), error);
  ASSERT_TRUE(machine && cases) << error;
  for (PropagationCase &c : *cases) {
    EXPECT_TRUE(c.run().empty()) << c.name;
    auto placement = PlacementCase::parse(c, *machine, error);
    ASSERT_TRUE(placement) << c.name << ": " << error;
    for (const std::string &failure : placement->run())
      ADD_FAILURE() << c.name << ": " << failure;
  }
}

// Only one operand of a sum is partial: it is combined first, or the other would be added once per rank.
TEST(Placement, PartialPlusWholeIsCombinedFirst) {
  auto d = decide("x4", kAdd, {{"8x8", "[-/-] U{x}"}, {"8x8", "[-/-]"}}, {{"8x8", "[-/-]"}});
  EXPECT_EQ(d.operand(0), "[-/-]");
  EXPECT_EQ(d.result(), "[-/-]");
}

TEST(Placement, NonlinearOpsCombineFirst) {
  auto d = decide("x4", "([i, j]) -> ([i, j])", {{"8x8", "[-/-] U{x}"}}, {{"8x8", "[-/-]"}});
  EXPECT_EQ(d.operand(0), "[-/-]");
}

TEST(Placement, MaximaDoNotMixWithSums) {
  auto d = decide("x4 y2", "([i, k]) -> ([i]) max_reduction={k} linear={0} max_linear={0}",
                  {{"8x32", "[-/y] U{x}"}}, {{"8", "[-]"}});
  EXPECT_TRUE(d.results[0].partialKind != PartialKind::Sum || d.factorAxes[1].empty());
}

// A wide linear would make the sum larger: it is combined before.
TEST(Placement, SumsAreCombinedWhereTheyAreSmall) {
  auto d = decide("x4", "([b, h], [f, h]) -> ([b, f]) reduction={h} linear={0; 1}",
                  {{"8x16", "[-/-] U{x}"}, {"1024x16", "[-/-]"}}, {{"8x1024", "[-/-]"}});
  EXPECT_EQ(d.operand(0), "[-/-]");
}

// FSDP: the weight is gathered where activations are many; where there is one row, the row travels.
TEST(Placement, FsdpGathersWeights) {
  const char *linear = "([b, s, h], [f, h]) -> ([b, s, f]) reduction={h} linear={0; 1}";
  auto d = decide("fsdp4", linear, {{"4x512x64", "[fsdp/-/-]"}, {"256x64", "[-/fsdp]"}},
                  {{"4x512x256", "[fsdp/-/-]"}});
  EXPECT_EQ(d.operand(0), "[fsdp/-/-]");
  EXPECT_EQ(d.operand(1), "[-/-]");
  EXPECT_EQ(d.result(), "[fsdp/-/-]");
}

TEST(Placement, T1_RowParallelLinearLeavesOneSum) {
  const char *linear = "([b, s, h], [f, h]) -> ([b, s, f]) reduction={h} linear={0; 1}";
  auto up =
      decide("dp2 tp4", linear, {{"4x16x64", "[dp/-/-]"}, {"256x64", "[tp/-]"}}, {{"4x16x256", "[dp/-/tp]"}});
  EXPECT_EQ(up.elements(), 0);
  auto down =
      decide("dp2 tp4", linear, {{"4x16x256", "[dp/-/tp]"}, {"64x256", "[-/tp]"}}, {{"4x16x64", "[dp/-/-]"}});
  EXPECT_EQ(down.result(), "[dp/-/-] U{tp}");
}

TEST(Placement, T2_SequenceParallelResidual) {
  const char *linear = "([b, s, h], [f, h]) -> ([b, s, f]) reduction={h} linear={0; 1}";
  auto down = decide("dp2 tp4", linear, {{"4x16x256", "[dp/-/tp]"}, {"64x256", "[-/tp]"}},
                     {{"4x16x64", "[dp/tp/-]"}});
  EXPECT_EQ(down.result(), "[dp/-/-] U{tp}");
  EXPECT_EQ(down.elements(), 2 * 16 * 64 * 3 / 4); // reduce_scatter
  auto up = decide("dp2 tp4", linear, {{"4x16x64", "[dp/tp/-]"}, {"256x64", "[tp/-]"}},
                   {{"4x16x256", "[dp/-/tp]"}});
  EXPECT_EQ(up.operand(0), "[dp/-/-]");
  EXPECT_EQ(up.operand(1), "[tp/-]");
}

// Two KV heads over tp4: half the axis shards them, the queries keep all of it.
TEST(Placement, T4_FewKvHeads) {
  const char *attention = "([b, s, k, g, d], [b, c, k, d], [b, c, k, d]) -> ([b, s, k, g, d]) "
                          "need_replication={c, d}";
  auto d = decide("tp4", attention,
                  {{"4x16x2x4x8", "[-/-/tp:(1)2/tp:(2)2/-]"},
                   {"4x16x2x8", "[-/-/tp:(1)2/-]"},
                   {"4x16x2x8", "[-/-/tp:(1)2/-]"}},
                  {{"4x16x2x4x8", "[-/-/tp:(1)2/tp:(2)2/-]"}});
  EXPECT_EQ(d.elements(), 0);
  EXPECT_EQ(d.result(), "[-/-/tp:(1)2/tp:(2)2/-]");
}

TEST(Placement, T13_UlyssesExchangesHeadsForSequence) {
  const char *attention =
      "([b, s, k, d], [b, c, k, d], [b, c, k, d]) -> ([b, s, k, d]) need_replication={c, d}";
  auto d = decide("dp2 sp4", attention,
                  {{"4x16x8x8", "[dp/-/sp/-]"}, {"4x16x8x8", "[dp/sp/-/-]"}, {"4x16x8x8", "[dp/sp/-/-]"}},
                  {{"4x16x8x8", "[dp/-/sp/-]"}});
  EXPECT_EQ(d.operand(1), "[dp/-/sp/-]");
  EXPECT_EQ(d.result(), "[dp/-/sp/-]");
}

TEST(Placement, T16_PartialResultsAddUpFirst) {
  auto d = decide("tp4", "([b, s, h], [b, s, h]) -> ([b, s, h]) linear={0 1}",
                  {{"4x16x64", "[-/-/-] U{tp}"}, {"4x16x64", "[-/-/-] U{tp}"}}, {{"4x16x64", "[-/-/-]"}});
  EXPECT_EQ(d.operand(0), "[-/-/-] U{tp}");
  EXPECT_EQ(d.result(), "[-/-/-] U{tp}");
}

TEST(Placement, UnsummableWishIsStillDecided) {
  // No op makes a sum over y of this; it runs whole, and one rank contributes what comes out.
  auto d = decide("x4 y2", "([i, j]) -> ([i, j])", {{"8x8", "[x/-]"}}, {{"8x8", "[x/-] U{y}"}});
  EXPECT_EQ(d.operands.size(), 1u);
  EXPECT_EQ(d.result(), "[x/-]");
}

TEST(Placement, FactorsThatShareADimensionAreNotPadded) {
  // 6 = 3 * 2 over 9 shards is fine by itself; as a reshape to 3 x 2 only x divides its factor.
  auto d = decide("x3 y3", "([i*j, k]) -> ([i, j, k]) sizes={i=3, j=2} linear={0}", {{"6x2", "[x,y/-]"}},
                  {{"3x2x2", "[x/y/-]"}});
  EXPECT_EQ(d.operand(0), "[x/-]");
  EXPECT_EQ(d.result(), "[x/-/-]");
}

TEST(Placement, RanksComputeTheirPadding) {
  std::string error;
  auto rule = parseShardingRule("([i, j]) -> ([i, j])", {{5, 8}}, {{5, 8}}, error);
  ASSERT_TRUE(rule) << error;
  AxisList axes = {wholeAxis(mesh("x4"), 0)};
  EXPECT_EQ(workFraction(*rule, {axes, {}}), 2.0 / 5); // not a quarter
  EXPECT_EQ(workFraction(*rule, {{}, axes}), 2.0 / 8);
}

TEST(Placement, AnOpWithoutOperandsFollowsItsResult) {
  auto d = decide("x2", "() -> ([i, j])", {}, {{"4x4", "[x/-]"}});
  EXPECT_EQ(d.result(), "[x/-]");
}

// Numbers of tensors and shardings have no limit that would let one reshard be taken for another.
TEST(ReshardCosts, ReshardsAreToldApartByWholeNumbers) {
  llvm::DenseMap<ReshardId, int, ReshardIdInfo> known;
  int count = 0;
  for (int large : {0, 1, 1 << 21, 1 << 22, 1 << 30})
    for (ReshardId id : {ReshardId{large, 5, 7}, ReshardId{5, large, 7}, ReshardId{5, 7, large}})
      EXPECT_TRUE(known.try_emplace(id, count++).second) << id.tensor << " " << id.from << " " << id.to;
  EXPECT_TRUE(known.count({5, 1 << 21, 7}));
}

// Of 8 experts 2 are chosen: an exchange between tokens and experts sends a quarter, if it comes last and no
// token is padding; a gather sends all. What is a floor stays one.
TEST(ReshardCosts, ChosenRowsCostTheirShareWhereTheyAreExchanged) {
  Mesh x4 = mesh("x4");
  ReshardCosts costs(x4, Machine());
  ChosenRows chosen{1, 0.25};
  auto received = [&](std::vector<int64_t> shape, const char *from, const char *to) {
    auto cost = costs.reshard(shape, 4, sharding(from, x4), sharding(to, x4), chosen);
    EXPECT_LE(costs.floor(shape, 4, sharding(from, x4), sharding(to, x4), chosen), cost.time * (1 + 1e-9));
    return cost.received;
  };
  // [tokens, experts, d]: a rank has 4 x 8 x 6 elements, of which 3/4 would travel.
  EXPECT_EQ(received({16, 8, 6}, "[x/-/-]", "[-/x/-]"), 36);
  EXPECT_EQ(received({16, 8, 6}, "[-/x/-]", "[x/-/-]"), 36);
  EXPECT_EQ(received({16, 8, 6}, "[x/-/-]", "[-/-/-]"), 576);
  EXPECT_GT(received({16, 8, 8}, "[x/-/-]", "[-/-/x]"), 72); // not between tokens and experts
  EXPECT_EQ(received({16, 5, 6}, "[x/-/-]", "[-/x/-]") * 4,
            costs.reshard({16, 5, 6}, 4, sharding("[x/-/-]", x4), sharding("[-/x/-]", x4)).received);
  EXPECT_EQ(received({15, 8, 6}, "[x/-/-]", "[-/x/-]"),
            costs.reshard({15, 8, 6}, 4, sharding("[x/-/-]", x4), sharding("[-/x/-]", x4)).received);
}
