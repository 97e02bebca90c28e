// Which ops are moved together, along which dimensions and axes; and options kept by numbers.
#include "MoveGroups.h"

#include "NumberedOption.h"
#include "ProgramBuilder.h"

using namespace tessera;

namespace {
using Ops = llvm::SmallVector<int, 16>;

/// How `op` of the program runs if its factors lie over these axes.
PlacementDecision over(const Builder &p, size_t op, std::vector<AxisList> axes = {}) {
  PlacementDecision decision;
  decision.factorAxes.assign(axes.begin(), axes.end());
  decision.factorAxes.resize(p.program.ops[op].rule.factors.size());
  return decision;
}

MoveGroup groupOf(const Builder &p, const Ops &ops, const std::vector<PlacementDecision> &decisions) {
  std::vector<const PlacementDecision *> chosen;
  for (const PlacementDecision &decision : decisions)
    chosen.push_back(&decision);
  return makeGroup(p.program, endsOf(p.program), ops, chosen);
}
} // namespace

// Up to the ops that reduce, and beyond; never through what is given.
TEST(MoveGroups, ReachTheirNeighbours) {
  Builder p("x4");
  int x = p.input("4x16x64", "[-/-/-]"), up = p.input("256x64", "[x/-]"), down = p.input("64x256", "[-/x]");
  int h = p.op(kLinear, {x, up}, "4x16x256");  // 0
  h = p.op(kUnary, {h}, "4x16x256");           // 1
  h = p.op(kUnary, {h}, "4x16x256");           // 2
  int y = p.op(kLinear, {h, down}, "4x16x64"); // 3
  p.op(kUnary, {y}, "4x16x64");                // 4
  p.op(kUnary, {x}, "4x16x64");                // 5
  auto groups = [&](int op) { return groupsAround(p.program, endsOf(p.program), op); };
  const Ops all = {0, 1, 2, 3, 4};
  EXPECT_EQ(groups(0), (std::vector<Ops>{{0}, {0, 1, 2, 3}, all}));
  EXPECT_EQ(groups(1), (std::vector<Ops>{{1}, {0, 1, 2, 3}, all}));
  EXPECT_EQ(groups(4), (std::vector<Ops>{{4}, {3, 4}, all}));
  EXPECT_EQ(groups(5), (std::vector<Ops>{{5}}));
}

// Factors that meet in a value are one dimension, as large as the smallest of them.
TEST(MoveGroups, DimensionsGoThroughValues) {
  Builder p("x4");
  int x = p.input("1x16x64", "[-/-/-]"), w = p.input("32x64", "[x/-]");
  int h = p.op(kLinear, {x, w}, "1x16x32");
  p.op("([b, s, k*d]) -> ([b, s, k, d]) need_replication={s}", {h}, "1x16x8x4");
  MoveGroup group = groupOf(p, {0, 1}, {over(p, 0), over(p, 1)});
  auto dimensionOf = [&](size_t op, const TensorFactors &tensor, size_t d, size_t f = 0) {
    return group.dimensions[op][size_t(tensor.dims[d][f])];
  };
  const ShardingRule &product = p.program.ops[0].rule, &split = p.program.ops[1].rule;
  const int tokens = dimensionOf(0, product.results[0], 1), inner = dimensionOf(0, product.operands[0], 2),
            outer = dimensionOf(0, product.results[0], 2), minor = dimensionOf(1, split.results[0], 3);
  EXPECT_EQ(dimensionOf(0, product.results[0], 0), -1); // one row
  EXPECT_EQ(dimensionOf(1, split.results[0], 1), -1);   // needed whole
  EXPECT_EQ(dimensionOf(1, split.results[0], 2), outer);
  ASSERT_EQ(group.sizes.size(), 4u);
  EXPECT_EQ(group.sizes[size_t(tokens)], 16);
  EXPECT_EQ(group.sizes[size_t(inner)], 64);
  EXPECT_EQ(group.sizes[size_t(outer)], 8);
  EXPECT_EQ(group.sizes[size_t(minor)], 4);
}

// Axes of values, of their uses, and of how ops run now: of all that the group reaches.
TEST(MoveGroups, HaveTheAxesOfAllTheyReach) {
  Builder p("a2 b2 c2 d8 e2");
  auto axis = [&](int index) { return wholeAxis(p.mesh, index); };
  int x = p.input("16x16", "[a/-]");
  int y = p.op("([i, j]) -> ([i, j])", {x}, "16x16");
  int z = p.op("([i, j]) -> ([i, j])", {y}, "16x16", "[-/d:(1)2]");
  p.need(z, "[b/-]");
  std::vector<PlacementDecision> decisions = {over(p, 0), over(p, 1, {{axis(2)}, {AxisRef{3, 2, 2}}})};
  const AxisList all = {axis(0), axis(1), axis(2), AxisRef{3, 1, 2}, AxisRef{3, 2, 2}};
  EXPECT_EQ(groupOf(p, {0}, decisions).axes, all);
  EXPECT_EQ(groupOf(p, {0, 1}, decisions).axes, all);
}

// By numbers an option is what it was; one that is handed back as it is keeps all that it said.
TEST(NumberedOption, IsTheOptionThatItWasMadeOf) {
  const Mesh m = mesh("x4 y2");
  ReshardCosts costs(m, Machine());
  PlacementDecision option;
  option.factorAxes = {{wholeAxis(m, 0)}, {}, {wholeAxis(m, 1)}};
  option.operands = {sharding("[x/y]", m), sharding("[y/-]", m)};
  option.results = {sharding("[x/-] U{y}", m)};
  option.workTime = 1e-3;
  option.decomposed = true;
  const NumberedOption made(option, costs), handedBack(option, costs, &option);
  for (const NumberedOption *numbered : {&made, &handedBack}) {
    PlacementDecision decision = numbered->decision(costs);
    EXPECT_EQ(decision.factorAxes, option.factorAxes);
    EXPECT_EQ(decision.operands, option.operands);
    EXPECT_EQ(decision.results, option.results);
    EXPECT_EQ(decision.workTime, option.workTime);
    EXPECT_EQ(decision.decomposed, numbered == &handedBack);
  }
}
