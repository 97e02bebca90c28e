// The cases of the reshard placement facts, each named by its id: what one op decides, in elements that the busiest device receives.
#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/AutoParallel/Placement.h"

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
  double elements() const { return reshardBytes / 4; }
};

Decided decide(const char *meshText, const char *ruleText, std::vector<T> operands, std::vector<T> results,
               double flops = 0) {
  Mesh m = mesh(meshText);
  PlacementOp op;
  std::vector<Shape> operandShapes, resultShapes;
  std::string error;
  auto add = [&](const T &t, std::vector<PlacementTensor> &into, std::vector<Shape> &shapes) {
    shapes.push_back(*parseShape(t.shape, error));
    PlacementTensor tensor;
    tensor.shape = shapes.back();
    tensor.sharding = sharding(t.sharding, m);
    into.push_back(std::move(tensor));
  };
  for (const T &t : operands)
    add(t, op.operands, operandShapes);
  for (const T &t : results)
    add(t, op.results, resultShapes);
  auto rule = parseShardingRule(ruleText, operandShapes, resultShapes, error);
  EXPECT_TRUE(rule) << error;
  op.rule = *rule;
  op.flops = flops ? flops : 1;
  Machine machine;
  machine.link = {1e-9, 1e9}; // bytes decide
  machine.flops = 1e12;
  ReshardCosts costs(m, machine);
  Decided result;
  static_cast<PlacementDecision &>(result) = chooseFactorShardings(op, costs);
  result.mesh = m;
  return result;
}

const char *kDot = "([i, k], [k, j]) -> ([i, j]) reduction={k} linear={0; 1}";
const char *kAdd = "([i, j], [i, j]) -> ([i, j]) linear={0 1}";
const char *kMultiply = "([i, j], [i, j]) -> ([i, j]) linear={0; 1}";
} // namespace

TEST(Placement, E1) {
  auto d = decide("x4 y2", kDot, {{"8x32", "[x/y]"}, {"32x16", "[y/-]"}}, {{"8x16", "[x/-]"}});
  EXPECT_EQ(d.operand(0), "[x/y]");
  EXPECT_EQ(d.operand(1), "[y/-]");
  EXPECT_EQ(d.result(), "[x/-] U{y}");
  EXPECT_EQ(d.elements(), 32); // the all_reduce
}

TEST(Placement, E2) {
  auto d = decide("x4 y2", kDot, {{"8x32", "[x/y]"}, {"32x16", "[y/-]"}}, {{"8x16", "[x/y]"}});
  EXPECT_EQ(d.result(), "[x/-] U{y}");
  EXPECT_EQ(d.elements(), 16); // reduce_scatter
}

TEST(Placement, E3) {
  auto d = decide("x4 y2", kDot, {{"8x32", "[x/y]"}, {"32x16", "[-/y]"}}, {{"8x16", "[x/y]"}});
  EXPECT_EQ(d.operand(0), "[x/-]");
  EXPECT_EQ(d.operand(1), "[-/y]");
  EXPECT_EQ(d.result(), "[x/y]");
  EXPECT_EQ(d.elements(), 32);
}

TEST(Placement, E5) {
  auto d = decide("x4 y2", kDot, {{"16x16", "[x/y]"}, {"16x16", "[x/y]"}}, {{"16x16", "[x/y]"}});
  EXPECT_EQ(d.operand(0), "[x/-]");
  EXPECT_EQ(d.operand(1), "[-/y]");
  EXPECT_LE(d.elements(), 32 + 96);
}

TEST(Placement, E6) {
  auto d = decide("x4 y2", kDot, {{"4x4096", "[x/-]"}, {"4096x4096", "[x/-]"}}, {{"4x4096", "[x/-]"}});
  EXPECT_EQ(d.operand(0), "[-/x]");
  EXPECT_EQ(d.operand(1), "[x/-]"); // the big operand stays
  EXPECT_EQ(d.result(), "[-/-] U{x}");
  EXPECT_LE(d.elements(), 11264);
}

TEST(Placement, E7b) {
  auto small = decide("x4 y2", kDot, {{"8x4", "[x/y]"}, {"4x16", "[y/-]"}}, {{"8x16", "[-/x]"}});
  EXPECT_LE(small.elements(), 44);
  auto large = decide("x4 y2", kDot, {{"8x32", "[x/y]"}, {"32x16", "[y/-]"}}, {{"8x16", "[-/x]"}});
  EXPECT_EQ(large.operand(0), "[x/y]");
  EXPECT_EQ(large.operand(1), "[y/-]");
  EXPECT_EQ(large.result(), "[x/-] U{y}");
}

// Work decides where bytes are alike: on a slow machine the op is not run twice to save a few elements.
TEST(Placement, E7bWorkCounts) {
  auto d = decide("x4 y2", kDot, {{"8x4", "[x/y]"}, {"4x16", "[y/-]"}}, {{"8x16", "[-/x]"}}, /*flops=*/1e9);
  EXPECT_EQ(d.operand(0), "[-/y]");
  EXPECT_EQ(d.operand(1), "[y/x]");
  EXPECT_EQ(d.elements(), 44);
}

TEST(Placement, E7c) {
  const char *batched = "([b, i, k], [b, k, j]) -> ([b, i, j]) reduction={k}";
  auto d = decide("x4 y2", batched, {{"4x8x32", "[x/y/-]"}, {"4x32x16", "[x/-/y]"}}, {{"4x8x16", "[-/x/y]"}});
  EXPECT_EQ(d.operand(0), "[x/-/-]");
  EXPECT_EQ(d.operand(1), "[x/-/y]");
  EXPECT_EQ(d.result(), "[x/-/y]");
  auto three = decide("x4 y4 z4", batched, {{"4x8x32", "[x/-/-]"}, {"4x32x16", "[y/-/-]"}}, {{"4x8x16", "[z/-/-]"}});
  EXPECT_EQ(three.result(), "[y/-/-]"); // the largest tensor's
}

TEST(Placement, E8) {
  auto d = decide("x4 y2 z4", "([b, i, k], [b, k, j]) -> ([b, i, j]) reduction={k}",
                  {{"4x8x32", "[y/-/x,z]"}, {"4x32x16", "[y/x,z/-]"}}, {{"4x8x16", "[y/-/-]"}});
  EXPECT_EQ(d.result(), "[y/-/-] U{x,z}");
  auto two = decide("x4 y2 z4", "([i, k, l], [k, l, j]) -> ([i, j]) reduction={k, l}",
                    {{"8x4x32", "[-/y/x,z]"}, {"4x32x16", "[y/x,z/-]"}}, {{"8x16", "[-/-]"}});
  EXPECT_EQ(two.result(), "[-/-] U{x,y,z}");
}

TEST(Placement, E9) {
  auto d = decide("x4 y2", kDot, {{"8x32", "[x:(1)2/y]"}, {"32x16", "[y/-]"}}, {{"8x16", "[-/x:(2)2]"}});
  EXPECT_EQ(d.operand(0), "[x:(1)2/y]");
  EXPECT_EQ(d.operand(1), "[y/x:(2)2]");
  EXPECT_EQ(d.result(), "[x:(1)2/x:(2)2] U{y}");
}

// The op runs where it is sharded most, and the smaller shard travels.
TEST(Placement, E11) {
  const char *negate = "([i, j]) -> ([i, j]) linear={0}";
  auto first = decide("x4 y2", negate, {{"8x8", "[x/-]"}}, {{"8x8", "[y/-]"}});
  EXPECT_EQ(first.result(), "[x/-]");
  auto after = decide("x4 y2", negate, {{"8x8", "[y/-]"}}, {{"8x8", "[x/-]"}});
  EXPECT_EQ(after.operand(0), "[x/-]");
}

TEST(Placement, E12) {
  auto d = decide("x4 y2", kAdd, {{"8x8", "[x/-]"}, {"8x8", "[x/-]"}}, {{"8x8", "[-/y]"}});
  EXPECT_EQ(d.operand(0), "[x/y]");
  EXPECT_EQ(d.operand(1), "[x/y]");
  EXPECT_EQ(d.result(), "[x/y]");
}

TEST(Placement, E13) {
  auto d = decide("x4 y2", "([k, i, l], [k, i, l]) -> ([i], [i]) reduction={k, l}",
                  {{"8x6x8", "[x/-/-]"}, {"8x6x8", "[-/-/-]"}}, {{"6", "[-]"}, {"6", "[-]"}});
  EXPECT_EQ(d.operand(1), "[x/-/-]");
  EXPECT_EQ(d.result(0), "[-] U{x}");
  EXPECT_EQ(d.result(1), "[-] U{x}");
}

TEST(Placement, E14) {
  const char *reshape = "([i, j]) -> ([i*j]) linear={0}";
  auto same = decide("x4 y2", reshape, {{"4x8", "[x/y]"}}, {{"32", "[x,y]"}});
  EXPECT_EQ(same.elements(), 0);
  auto swapped = decide("x4 y2", reshape, {{"4x8", "[x/y]"}}, {{"32", "[y,x]"}});
  EXPECT_LE(swapped.elements(), 4 + 2); // what the input's reshard to [y,x:(1)2/x:(2)2] takes
}

TEST(Placement, E16) {
  auto d = decide("x4 y2", "([i*j]) -> ([i, j]) linear={0}", {{"32", "[y,x]"}}, {{"4x8", "[y/x]"}});
  EXPECT_LE(d.elements(), 4 + 2);
  EXPECT_EQ(d.result(), "[y,x:(1)2/x:(2)2]");
}

// Strided on both sides: no assignment says either sharding, so the op runs whole.
TEST(Placement, E17) {
  auto d = decide("x4 y2", "([i, j, k*l]) -> ([i*j, k, l]) linear={0}", {{"2x2x4", "[-/y/-]"}}, {{"4x2x2", "[-/-/y]"}});
  EXPECT_EQ(d.operand(0), "[-/-/-]");
  EXPECT_EQ(d.result(), "[-/-/-]");
  EXPECT_EQ(d.elements(), 8);
}

TEST(Placement, E18) {
  auto d = decide("x4 y2", "([i*j, k]) -> ([i, j*k]) linear={0}", {{"8x8", "[x,y/-]"}}, {{"4x16", "[-/x,y]"}});
  EXPECT_EQ(d.operand(0), "[x,y/-]");
  EXPECT_EQ(d.result(), "[x/y]");
}

// A lookup in a table whose rows are sharded: what a rank has not, it adds as zero.
TEST(Placement, E19) {
  const char *lookup = "([b], [v, h]) -> ([b, h]) reduction={v} linear={1}";
  auto d = decide("x4 y2", lookup, {{"16", "[x]"}, {"1024x64", "[y/-]"}}, {{"16x64", "[x/-]"}});
  EXPECT_EQ(d.operand(1), "[y/-]");
  EXPECT_EQ(d.result(), "[x/-] U{y}");
  auto whole = decide("x4 y2", "([b], [v, h]) -> ([b, h]) reduction={v} need_replication={h}",
                      {{"16", "[x]"}, {"1024x64", "[-/y]"}}, {{"16x64", "[x/-]"}});
  EXPECT_EQ(whole.operand(1), "[-/-]");
}

TEST(Placement, E20) {
  // Updates are summed into the accumulator over two batch dimensions; it comes in whole, once.
  const char *scatter = "([b, c], [b, c, h]) -> ([h]) reduction={b, c} linear={1}";
  auto d = decide("x4 y4 z4 t8 p4", scatter, {{"8x8", "[z:(2)2/t:(2)2]"}, {"8x8x16", "[z:(2)2/t:(2)2/-]"}}, {{"16", "[-]"}});
  EXPECT_EQ(d.result(), "[-] U{z:(2)2,t:(2)2}");
  auto whole = decide("x4 y4 z4 t8 p4", "([b, c], [b, c, h]) -> ([h]) need_replication={b, c}",
                      {{"8x8", "[z:(2)2/t:(2)2]"}, {"8x8x16", "[z:(2)2/t:(2)2/-]"}}, {{"16", "[-]"}});
  EXPECT_EQ(whole.operand(0), "[-/-]");
  EXPECT_EQ(whole.operand(1), "[-/-/-]");
}

TEST(Placement, E22) {
  auto reduce = decide("x4 y2", "([i, k]) -> ([i]) reduction={k} linear={0}", {{"8x32", "[-/-] U{x}"}}, {{"8", "[-]"}});
  EXPECT_EQ(reduce.operand(0), "[-/-] U{x}");
  EXPECT_EQ(reduce.result(), "[-] U{x}");
  auto add = decide("x4 y2", kAdd, {{"8x8", "[-/-] U{x}"}, {"8x8", "[-/-] U{x}"}}, {{"8x8", "[-/-]"}});
  EXPECT_EQ(add.result(), "[-/-] U{x}");
  EXPECT_LE(add.elements(), 2 * 64 * 3 / 4); // one all_reduce, not two; y shares it
}

TEST(Placement, E24) {
  auto dot = decide("a2 b2 c2", kDot, {{"8x32", "[-/b,c]"}, {"32x16", "[b,c/-]"}}, {{"8x16", "[-/-] U{c}"}});
  EXPECT_EQ(dot.result(), "[-/-] U{b,c}");
  auto add = decide("a2 b2 c2", kAdd, {{"8x16", "[-/-] U{c}"}, {"8x16", "[-/-] U{c}"}}, {{"8x16", "[-/-]"}});
  EXPECT_EQ(add.result(), "[-/-] U{c}");
}

TEST(Placement, E25) {
  auto one = decide("x4", kMultiply, {{"8x8", "[-/-] U{x}"}, {"8x8", "[-/-]"}}, {{"8x8", "[-/-]"}});
  EXPECT_EQ(one.operand(0), "[-/-] U{x}");
  EXPECT_EQ(one.result(), "[-/-] U{x}");
  // A product of two sums is not the sum of products: one factor at most stays partial.
  auto both = decide("x4", kMultiply, {{"8x8", "[-/-] U{x}"}, {"8x8", "[-/-] U{x}"}}, {{"8x8", "[-/-]"}});
  int partial = both.operands[0].partial.size() + both.operands[1].partial.size();
  EXPECT_LE(partial, 1);
  EXPECT_EQ(both.results[0].partial.size(), size_t(partial));
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
  auto d = decide("x4 y2", "([i, k]) -> ([i]) max_reduction={k} linear={0} max_linear={0}", {{"8x32", "[-/y] U{x}"}},
                  {{"8", "[-]"}});
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
  auto d = decide("fsdp4", linear, {{"4x512x64", "[fsdp/-/-]"}, {"256x64", "[-/fsdp]"}}, {{"4x512x256", "[fsdp/-/-]"}});
  EXPECT_EQ(d.operand(0), "[fsdp/-/-]");
  EXPECT_EQ(d.operand(1), "[-/-]");
  EXPECT_EQ(d.result(), "[fsdp/-/-]");
}

TEST(Placement, T1_RowParallelLinearLeavesOneSum) {
  const char *linear = "([b, s, h], [f, h]) -> ([b, s, f]) reduction={h} linear={0; 1}";
  auto up = decide("dp2 tp4", linear, {{"4x16x64", "[dp/-/-]"}, {"256x64", "[tp/-]"}}, {{"4x16x256", "[dp/-/tp]"}});
  EXPECT_EQ(up.elements(), 0);
  auto down = decide("dp2 tp4", linear, {{"4x16x256", "[dp/-/tp]"}, {"64x256", "[-/tp]"}}, {{"4x16x64", "[dp/-/-]"}});
  EXPECT_EQ(down.result(), "[dp/-/-] U{tp}");
}

TEST(Placement, T2_SequenceParallelResidual) {
  const char *linear = "([b, s, h], [f, h]) -> ([b, s, f]) reduction={h} linear={0; 1}";
  auto down = decide("dp2 tp4", linear, {{"4x16x256", "[dp/-/tp]"}, {"64x256", "[-/tp]"}}, {{"4x16x64", "[dp/tp/-]"}});
  EXPECT_EQ(down.result(), "[dp/-/-] U{tp}");
  EXPECT_EQ(down.elements(), 2 * 16 * 64 * 3 / 4); // reduce_scatter
  auto up = decide("dp2 tp4", linear, {{"4x16x64", "[dp/tp/-]"}, {"256x64", "[tp/-]"}}, {{"4x16x256", "[dp/-/tp]"}});
  EXPECT_EQ(up.operand(0), "[dp/-/-]");
  EXPECT_EQ(up.operand(1), "[tp/-]");
}

// Two KV heads over tp4: half the axis shards them, the queries keep all of it.
TEST(Placement, T4_FewKvHeads) {
  const char *attention = "([b, s, k, g, d], [b, c, k, d], [b, c, k, d]) -> ([b, s, k, g, d]) "
                          "need_replication={c, d}";
  auto d = decide("tp4", attention,
                  {{"4x16x2x4x8", "[-/-/tp:(1)2/tp:(2)2/-]"}, {"4x16x2x8", "[-/-/tp:(1)2/-]"}, {"4x16x2x8", "[-/-/tp:(1)2/-]"}},
                  {{"4x16x2x4x8", "[-/-/tp:(1)2/tp:(2)2/-]"}});
  EXPECT_EQ(d.elements(), 0);
  EXPECT_EQ(d.result(), "[-/-/tp:(1)2/tp:(2)2/-]");
}

TEST(Placement, T13_UlyssesExchangesHeadsForSequence) {
  const char *attention = "([b, s, k, d], [b, c, k, d], [b, c, k, d]) -> ([b, s, k, d]) need_replication={c, d}";
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
  // Nobody can make a sum over y of this; the op runs, and the caller sees what comes out.
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

TEST(Placement, AnOpWithoutOperandsFollowsItsResult) {
  auto d = decide("x2", "() -> ([i, j])", {}, {{"4x4", "[x/-]"}});
  EXPECT_EQ(d.result(), "[x/-]");
}
