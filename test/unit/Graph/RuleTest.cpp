// The sharding rule of every op, as text, and sound at global sizes.
#include "Parse.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// The rule of the only op in a function with `arguments` (%a, %b, ...) whose body is `op`, with `results`.
static ShardingRule ruleOf(StringRef arguments, StringRef op, StringRef results = "%r") {
  Program program(("func.func @f(" + arguments + ") {\n  " + results + " = " + op + "\n  return\n}").str());
  if (!program.module)
    return {};
  auto rule = program.op<ShardingRuleOpInterface>();
  ShardingRule result = rule.getShardingRule();
  SmallVector<SmallVector<int64_t>> operands, resultShapes;
  for (Type type : rule->getOperandTypes())
    operands.push_back(dist::globalShape(cast<RankedTensorType>(type)));
  for (Type type : rule->getResultTypes())
    resultShapes.push_back(dist::globalShape(cast<RankedTensorType>(type)));
  EXPECT_EQ(result.verify(operands, resultShapes), "");
  return result;
}
static std::string textOf(StringRef arguments, StringRef op) { return ruleOf(arguments, op).toString(); }

using Groups = SmallVector<SmallVector<int, 2>, 2>;

TEST(GraphRule, ElementwiseHasAFactorPerDimension) {
  ShardingRule rule = ruleOf("%a: tensor<4x8xf32>, %b: tensor<4x8xf32>",
                             "graph.add %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>");
  EXPECT_EQ(rule.toString(), "([i, j], [i, j]) -> ([i, j])");
  EXPECT_EQ(rule.linear, (Groups{{0, 1}}));
}

TEST(GraphRule, BroadcastOperandHasNoFactorWhereItRepeats) {
  EXPECT_EQ(textOf("%a: tensor<2x4x8xf32>, %b: tensor<1x8xf32>",
                   "graph.mul %a, %b : (tensor<2x4x8xf32>, tensor<1x8xf32>) -> tensor<2x4x8xf32>"),
            "([i, j, k], [1, k]) -> ([i, j, k])");
}

TEST(GraphRule, BatchOfOneIsAFactor) {
  EXPECT_EQ(textOf("%a: tensor<1x8xf32>", "graph.silu %a : tensor<1x8xf32>"), "([i, j]) -> ([i, j])");
}

TEST(GraphRule, ProductIsLinearInEachOperandAlone) {
  ShardingRule rule = ruleOf("%a: tensor<8xf32>, %b: tensor<8xf32>",
                             "graph.mul %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>");
  EXPECT_EQ(rule.linear, (Groups{{0}, {1}}));
  EXPECT_EQ(ruleOf("%a: tensor<8xi32>, %b: tensor<8xi32>",
                   "graph.div %a, %b : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>")
                .linear,
            Groups{});
}

TEST(GraphRule, LocalTypesGiveTheRuleOfGlobalSizes) {
  // Locally both operands are 1x8; only one is a broadcast.
  Program program(R"(
    dist.mesh @mesh = <["x"=2]>
    func.func @f(%a: tensor<1x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[2, 8]>>,
                 %b: tensor<1x8xf32, #dist.sharding<@mesh, [{}, {}], global=[1, 8]>>) {
      %r = graph.add %a, %b : (tensor<1x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[2, 8]>>,
          tensor<1x8xf32, #dist.sharding<@mesh, [{}, {}], global=[1, 8]>>)
          -> tensor<1x8xf32, #dist.sharding<@mesh, [{"x"}, {}], global=[2, 8]>>
      return
    })");
  ASSERT_TRUE(program.module);
  ShardingRule rule = program.op<graph::AddOp>().getShardingRule();
  EXPECT_EQ(rule.toString(), "([i, j], [1, j]) -> ([i, j])");
  EXPECT_EQ(rule.factors[0].size, 2);
}

TEST(GraphRule, LinearReducesOverItsInputs) {
  ShardingRule rule =
      ruleOf("%a: tensor<2x16x8x4xf32>, %b: tensor<3x5x8x4xf32>",
             "graph.linear %a, %b contract = 2 : (tensor<2x16x8x4xf32>, tensor<3x5x8x4xf32>) -> "
             "tensor<2x16x3x5xf32>");
  EXPECT_EQ(rule.toString(), "([i, j, m, n], [k, l, m, n]) -> ([i, j, k, l]) reduction={m, n}");
  EXPECT_EQ(rule.linear, (Groups{{0}, {1}}));
}

TEST(GraphRule, EmbeddingReducesOverTheVocabulary) {
  ShardingRule rule =
      ruleOf("%a: tensor<32x8xf32>, %b: tensor<2x4xi32>",
             "graph.embedding %a, %b : (tensor<32x8xf32>, tensor<2x4xi32>) -> tensor<2x4x8xf32>");
  EXPECT_EQ(rule.toString(), "([i, l], [j, k]) -> ([j, k, l]) reduction={i}");
  EXPECT_EQ(rule.offsetAware, (SmallVector<int, 2>{0}));
}

TEST(GraphRule, ExpertOuterReducesOverTokens) {
  ShardingRule rule =
      ruleOf("%a: tensor<4x5x8xf32>, %b: tensor<4x5x7xf32>, %c: tensor<4x2xi32>",
             "graph.expert_outer %a, %b, %c : (tensor<4x5x8xf32>, tensor<4x5x7xf32>, tensor<4x2xi32>) -> "
             "tensor<5x8x7xf32>");
  EXPECT_EQ(rule.toString(),
            "([i, j, k], [i, j, l], [i, m]) -> ([j, k, l]) reduction={i} need_replication={m}");
  EXPECT_EQ(rule.linear, (Groups{{0}, {1}}));
}

// A rank says what its own experts say, zero for the others: no padding of experts is ever asked for.
TEST(GraphRule, ChosenDotLooksUpExperts) {
  ShardingRule rule =
      ruleOf("%a: tensor<4x8xf32>, %b: tensor<4x5x8xf32>, %c: tensor<4x2xi32>",
             "graph.chosen_dot %a, %b, %c : (tensor<4x8xf32>, tensor<4x5x8xf32>, tensor<4x2xi32>) -> "
             "tensor<4x2xf32>");
  EXPECT_EQ(rule.toString(), "([i, k], [i, j, k], [i, l]) -> ([i, l]) reduction={j, k} need_replication={l}");
  EXPECT_EQ(rule.lookedUp, (SmallVector<int, 1>{1}));
}

TEST(GraphRule, WeightsOfDispatchGoWithTheirTokens) {
  ShardingRule rule =
      ruleOf("%a: tensor<4x8xf32>, %b: tensor<4x2xi32>, %c: tensor<4x2xf32>",
             "graph.dispatch %a, %b weights %c : (tensor<4x8xf32>, tensor<4x2xi32>, tensor<4x2xf32>) -> "
             "tensor<4x5x8xf32>");
  EXPECT_EQ(rule.toString(), "([i, k], [i, l], [i, l]) -> ([i, j, k]) need_replication={l}");
  EXPECT_EQ(rule.linear, (Groups{{0}, {2}}));
}

TEST(GraphRule, ScatterAddReducesOverItsRows) {
  ShardingRule rule =
      ruleOf("%a: tensor<2x4x8xf32>, %b: tensor<2x4xi32>",
             "graph.scatter_add %a, %b : (tensor<2x4x8xf32>, tensor<2x4xi32>) -> tensor<32x8xf32>");
  EXPECT_EQ(rule.toString(), "([i, j, l], [i, j]) -> ([k, l]) reduction={i, j}");
  EXPECT_EQ(rule.linear, (Groups{{0}}));
  EXPECT_EQ(rule.offsetAware, (SmallVector<int, 2>{2}));
}

TEST(GraphRule, EinsumIsLinearInEachOperandAlone) {
  EXPECT_EQ(
      ruleOf("%a: tensor<4x3xf32>, %b: tensor<5x3xf32>",
             "graph.einsum \"qd,kd->qk\" %a, %b : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<4x5xf32>")
          .linear,
      (Groups{{0}, {1}}));
}

TEST(GraphRule, SelectIsLinearInBothValuesTogether) {
  ShardingRule rule =
      ruleOf("%c: tensor<8xi1>, %a: tensor<8xf32>, %b: tensor<8xf32>",
             "graph.select %c, %a, %b : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>");
  EXPECT_EQ(rule.linear, (Groups{{1, 2}}));
  EXPECT_EQ(rule.maxLinear, (Groups{{1, 2}}));
}

TEST(GraphRule, LayerNormIsLinearInScaleAndBiasTogether) {
  EXPECT_EQ(
      ruleOf("%a: tensor<2x8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>",
             "graph.layer_norm %a, %b, %c eps = 1.0e-05 : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> "
             "tensor<2x8xf32>")
          .linear,
      (Groups{{1, 2}}));
}

TEST(GraphRule, NormsAndSoftmaxNeedTheLastDimension) {
  EXPECT_EQ(
      textOf("%a: tensor<2x4x8xf32>, %b: tensor<8xf32>",
             "graph.rms_norm %a, %b eps = 1.0e-05 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>"),
      "([i, j, k], [k]) -> ([i, j, k]) need_replication={k}");
  EXPECT_EQ(textOf("%a: tensor<2x4x8xf32>, %b: tensor<4x8xf32>",
                   "graph.rms_norm %a, %b eps = 1.0e-05 : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> "
                   "tensor<2x4x8xf32>"),
            "([i, j, k], [j, k]) -> ([i, j, k]) need_replication={j, k}");
  EXPECT_EQ(
      textOf("%a: tensor<2x8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>",
             "graph.layer_norm %a, %b, %c eps = 1.0e-05 : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> "
             "tensor<2x8xf32>"),
      "([i, j], [j], [j]) -> ([i, j]) need_replication={j}");
  EXPECT_EQ(textOf("%a: tensor<2x8xf32>", "graph.softmax %a : tensor<2x8xf32>"),
            "([i, j]) -> ([i, j]) need_replication={j}");
}

TEST(GraphRule, RopeSharesBatchAndSequenceWithPositions) {
  EXPECT_EQ(textOf("%a: tensor<2x4x3x8xf32>, %b: tensor<2x4xi32>",
                   "graph.rope half %a, %b frequencies = [1.0, 0.5, 0.25, 0.125] : (tensor<2x4x3x8xf32>, "
                   "tensor<2x4xi32>) -> tensor<2x4x3x8xf32>"),
            "([i, j, k, l], [i, j]) -> ([i, j, k, l]) need_replication={l}");
}

TEST(GraphRule, AttentionPassesHeadsAndGroups) {
  ShardingRule rule = ruleOf(
      "%q: tensor<2x4x3x5x8xf32>, %k: tensor<2x16x3x8xf32>, %v: tensor<2x16x3x6xf32>, %p: tensor<2x4xi32>",
      "graph.attention %q, %k, %v, %p scale = 1.0 : (tensor<2x4x3x5x8xf32>, tensor<2x16x3x8xf32>, "
      "tensor<2x16x3x6xf32>, tensor<2x4xi32>) -> tensor<2x4x3x5x6xf32>");
  EXPECT_EQ(
      rule.toString(),
      "([i, j, k, l, m], [i, n, k, m], [i, n, k, o], [i, j]) -> ([i, j, k, l, o]) need_replication={m, n}");
  EXPECT_EQ(rule.linear, (Groups{{2}}));
}

// Sinks lie as the heads they belong to, before the keys of rows that weights are dropped by.
TEST(GraphRule, SinksLieAsTheirHeads) {
  ShardingRule rule = ruleOf(
      "%q: tensor<2x4x3x5x8xf32>, %k: tensor<2x16x3x8xf32>, %v: tensor<2x16x3x6xf32>, %p: tensor<2x4xi32>, "
      "%s: tensor<3x5xf32>, %d: tensor<2x4x3x5xi64>, %share: tensor<f32>",
      "graph.attention %q, %k, %v, %p sinks %s dropout %d, %share scale = 1.0 : (tensor<2x4x3x5x8xf32>, "
      "tensor<2x16x3x8xf32>, tensor<2x16x3x6xf32>, tensor<2x4xi32>, tensor<3x5xf32>, tensor<2x4x3x5xi64>, "
      "tensor<f32>) -> tensor<2x4x3x5x6xf32>");
  EXPECT_EQ(rule.toString(),
            "([i, j, k, l, m], [i, n, k, m], [i, n, k, o], [i, j], [k, l], [i, j, k, l], []) "
            "-> ([i, j, k, l, o]) need_replication={m, n}");
  EXPECT_EQ(rule.linear, (Groups{{2}}));
}

// A sum of log-sum-exps is none: with the second result nothing may be partial.
TEST(GraphRule, LogSumExpLiesAsItsQueries) {
  ShardingRule rule = ruleOf(
      "%q: tensor<2x4x3x5x8xf32>, %k: tensor<2x16x3x8xf32>, %v: tensor<2x16x3x6xf32>, %p: tensor<2x4xi32>",
      "graph.attention %q, %k, %v, %p scale = 1.0 : (tensor<2x4x3x5x8xf32>, tensor<2x16x3x8xf32>, "
      "tensor<2x16x3x6xf32>, tensor<2x4xi32>) -> (tensor<2x4x3x5x6xf32>, tensor<2x4x3x5xf32>)",
      "%r:2");
  EXPECT_EQ(rule.toString(),
            "([i, j, k, l, m], [i, n, k, m], [i, n, k, o], [i, j]) -> ([i, j, k, l, o], [i, j, k, l]) "
            "need_replication={m, n}");
  EXPECT_EQ(rule.linear, Groups());
  EXPECT_TRUE(rule.unbounded);
}

constexpr const char *kBackwardOfAttention =
    "%q: tensor<2x4x3x5x8xf32>, %k: tensor<2x16x3x8xf32>, %v: tensor<2x16x3x6xf32>, %p: tensor<2x4xi32>, "
    "%g: tensor<2x4x3x5x6xf32>, %r: tensor<2x4x3x5xf32>";
constexpr const char *kTypesOfBackward =
    " scale = 1.0 : (tensor<2x4x3x5x8xf32>, tensor<2x16x3x8xf32>, tensor<2x16x3x6xf32>, tensor<2x4xi32>, "
    "tensor<2x4x3x5x6xf32>, tensor<2x4x3x5xf32>, tensor<2x4x3x5xf32>) -> ";

TEST(GraphRule, QueryGradientPassesRowsThrough) {
  ShardingRule rule = ruleOf(kBackwardOfAttention,
                             std::string("graph.attention_query_gradient %q, %k, %v, %p, %g, %r, %r") +
                                 kTypesOfBackward + "tensor<2x4x3x5x8xf32>",
                             "%d");
  EXPECT_EQ(rule.toString(),
            "([i, j, k, l, m], [i, n, k, m], [i, n, k, o], [i, j], [i, j, k, l, o], [i, j, k, l], "
            "[i, j, k, l]) -> ([i, j, k, l, m]) need_replication={m, n, o}");
  EXPECT_EQ(rule.linear, (Groups{{4, 6}}));
}

// Queries and groups that share a key are summed over: partial sums where they are sharded.
TEST(GraphRule, KeyAndValueGradientsSumOverQueries) {
  ShardingRule rule = ruleOf(kBackwardOfAttention,
                             std::string("graph.attention_key_value_gradient %q, %k, %v, %p, %g, %r, %r") +
                                 kTypesOfBackward + "(tensor<2x16x3x8xf32>, tensor<2x16x3x6xf32>)",
                             "%d:2");
  EXPECT_EQ(
      rule.toString(),
      "([i, j, k, l, m], [i, n, k, m], [i, n, k, o], [i, j], [i, j, k, l, o], [i, j, k, l], [i, j, k, l]) -> "
      "([i, n, k, m], [i, n, k, o]) reduction={j, l} need_replication={m, n, o}");
  EXPECT_EQ(rule.linear, (Groups{{4, 6}}));
}

TEST(GraphRule, CacheUpdateKnowsWhereItsContextBegins) {
  ShardingRule rule =
      ruleOf("%c: tensor<2x3x16x4x8xf32>, %u: tensor<3x5x4x8xf32>, %i: tensor<i32>, %p: tensor<3x5xi32>",
             "graph.cache_update %c[%i], %u, %p : (tensor<2x3x16x4x8xf32>, tensor<3x5x4x8xf32>, tensor<i32>, "
             "tensor<3x5xi32>) -> tensor<2x3x16x4x8xf32>");
  EXPECT_EQ(rule.toString(),
            "([i, j, k, m, n], [j, l, m, n], [], [j, l]) -> ([i, j, k, m, n]) need_replication={i, l}");
  EXPECT_EQ(rule.offsetAware, (SmallVector<int, 2>{1, 2}));
}

/// A block's scale is that of all of its elements: no rank can write a part of a row.
TEST(GraphRule, CacheUpdateInBlocksWritesWholeRows) {
  ShardingRule rule =
      ruleOf("%c: tensor<2x3x16x4x64xf32>, %u: tensor<3x5x4x64xf32>, %i: tensor<i32>, %p: tensor<3x5xi32>",
             "graph.cache_update %c[%i], %u, %p {graph.held = \"Q8_0\"} : (tensor<2x3x16x4x64xf32>, "
             "tensor<3x5x4x64xf32>, tensor<i32>, tensor<3x5xi32>) -> tensor<2x3x16x4x64xf32>");
  EXPECT_EQ(rule.toString(),
            "([i, j, k, m, n], [j, l, m, n], [], [j, l]) -> ([i, j, k, m, n]) need_replication={i, l, n}");
}

/// Rows of a cache in blocks stay whole until a layer is expanded, wherever the cache comes from: given to
/// the entry, carried, written, given by a loop. Others may be cut; what a loop is handed first says which.
TEST(GraphRule, LayersOfCachesInBlocksHaveWholeRows) {
  Program program(R"(
    func.func @f(%c: tensor<2x3x8x4x32xf32> {graph.held = "Q8_0", graph.kind = #graph.kind<state>, graph.name = "c"}, %u: tensor<3x1x4x32xf32>,
                 %i: tensor<i32>, %p: tensor<3x1xi32>, %plain: tensor<2x3x8x4x32xf32>) -> tensor<3x8x4x32xf32> {
      %given = graph.layer_slice %c[%i] : (tensor<2x3x8x4x32xf32>, tensor<i32>) -> tensor<3x8x4x32xf32>
      %r:2 = graph.repeat 2 carry(%c, %plain : tensor<2x3x8x4x32xf32>, tensor<2x3x8x4x32xf32>) -> (tensor<2x3x8x4x32xf32>, tensor<2x3x8x4x32xf32>) {
      ^bb0(%n: tensor<i32>, %held: tensor<2x3x8x4x32xf32>, %floats: tensor<2x3x8x4x32xf32>):
        %carried = graph.layer_slice %held[%n] : (tensor<2x3x8x4x32xf32>, tensor<i32>) -> tensor<3x8x4x32xf32>
        %1 = graph.cache_update %held[%n], %u, %p {graph.held = "Q8_0"} : (tensor<2x3x8x4x32xf32>, tensor<3x1x4x32xf32>, tensor<i32>, tensor<3x1xi32>) -> tensor<2x3x8x4x32xf32>
        %written = graph.layer_slice %1[%n] : (tensor<2x3x8x4x32xf32>, tensor<i32>) -> tensor<3x8x4x32xf32>
        %2 = graph.cache_update %floats[%n], %u, %p : (tensor<2x3x8x4x32xf32>, tensor<3x1x4x32xf32>, tensor<i32>, tensor<3x1xi32>) -> tensor<2x3x8x4x32xf32>
        %of_floats = graph.layer_slice %2[%n] : (tensor<2x3x8x4x32xf32>, tensor<i32>) -> tensor<3x8x4x32xf32>
        graph.yield %1, %2 : tensor<2x3x8x4x32xf32>, tensor<2x3x8x4x32xf32>
      }
      %s:2 = graph.repeat 2 carry(%c, %plain : tensor<2x3x8x4x32xf32>, tensor<2x3x8x4x32xf32>) -> (tensor<2x3x8x4x32xf32>, tensor<2x3x8x4x32xf32>) {
      ^bb0(%n: tensor<i32>, %one: tensor<2x3x8x4x32xf32>, %other: tensor<2x3x8x4x32xf32>):
        %swapped = graph.layer_slice %other[%n] : (tensor<2x3x8x4x32xf32>, tensor<i32>) -> tensor<3x8x4x32xf32>
        graph.yield %other, %one : tensor<2x3x8x4x32xf32>, tensor<2x3x8x4x32xf32>
      }
      %last = graph.layer_slice %r#0[%i] : (tensor<2x3x8x4x32xf32>, tensor<i32>) -> tensor<3x8x4x32xf32>
      %last_floats = graph.layer_slice %r#1[%i] : (tensor<2x3x8x4x32xf32>, tensor<i32>) -> tensor<3x8x4x32xf32>
      return %last : tensor<3x8x4x32xf32>
    })");
  ASSERT_TRUE(program.module);
  SmallVector<std::string> rules;
  program.module->walk([&](graph::LayerSliceOp op) { rules.push_back(op.getShardingRule().toString()); });
  const std::string whole = "([i, j, k, l, m], []) -> ([j, k, l, m]) need_replication={i, m}",
                    cut = "([i, j, k, l, m], []) -> ([j, k, l, m]) need_replication={i}";
  EXPECT_EQ(rules, (SmallVector<std::string>{whole, whole, whole, cut, cut, whole, cut}));
}

/// Every rank of a row looks the row's pages up in the whole table: new ones may stand anywhere.
TEST(GraphRule, PagesFollowTheBatchAlone) {
  ShardingRule update = ruleOf("%c: tensor<2x3x16x4x8xf32>, %u: tensor<3x5x4x8xf32>, %i: tensor<i32>, %p: "
                               "tensor<3x5xi32>, %t: tensor<3x4xi32>",
                               "graph.cache_update %c[%i], %u, %p pages %t of 4 : (tensor<2x3x16x4x8xf32>, "
                               "tensor<3x5x4x8xf32>, tensor<i32>, "
                               "tensor<3x5xi32>, tensor<3x4xi32>) -> tensor<2x3x16x4x8xf32>");
  EXPECT_EQ(update.toString(), "([i, j, k, m, n], [j, l, m, n], [], [j, l], [j, o]) -> ([i, j, k, m, n]) "
                               "need_replication={i, l, o}");
  ShardingRule attention =
      ruleOf("%q: tensor<2x5x3x4x8xf32>, %k: tensor<2x16x3x8xf32>, %p: tensor<2x5xi32>, %t: tensor<2x4xi32>",
             "graph.attention %q, %k, %k, %p pages %t of 4 scale = 1.0 : (tensor<2x5x3x4x8xf32>, "
             "tensor<2x16x3x8xf32>, tensor<2x16x3x8xf32>, tensor<2x5xi32>, tensor<2x4xi32>) -> "
             "tensor<2x5x3x4x8xf32>");
  EXPECT_EQ(attention.toString(),
            "([i, j, k, l, m], [i, n, k, m], [i, n, k, o], [i, j], [i, p]) -> ([i, j, k, l, o]) "
            "need_replication={m, n, p}");
}

TEST(GraphRule, ArgMaxKeyIsAPartialMaximum) {
  ShardingRule rule =
      ruleOf("%a: tensor<2x8xf32>", "graph.arg_max_key %a : (tensor<2x8xf32>) -> tensor<2xi64>");
  EXPECT_EQ(rule.toString(), "([i, j]) -> ([i]) max_reduction={j}");
  EXPECT_EQ(rule.offsetAware, (SmallVector<int, 2>{1}));
}

TEST(GraphRule, ReduceDependsOnItsKind) {
  ShardingRule sum = ruleOf("%a: tensor<2x8x3xf32>",
                            "graph.reduce sum %a dims = [1] : (tensor<2x8x3xf32>) -> tensor<2x3xf32>");
  EXPECT_EQ(sum.toString(), "([i, j, k]) -> ([i, k]) reduction={j}");
  EXPECT_EQ(sum.linear, (Groups{{0}}));
  ShardingRule max = ruleOf("%a: tensor<2x8x3xf32>",
                            "graph.reduce max %a dims = [1] : (tensor<2x8x3xf32>) -> tensor<2x3xf32>");
  EXPECT_EQ(max.toString(), "([i, j, k]) -> ([i, k]) max_reduction={j}");
  EXPECT_EQ(max.linear, Groups{});
  EXPECT_EQ(max.maxLinear, (Groups{{0}}));
}

TEST(GraphRule, ReshapeSplitsAndMerges) {
  auto reshape = [](StringRef from, StringRef to) {
    return textOf(("%a: tensor<" + from + "xf32>").str(),
                  ("graph.reshape %a : (tensor<" + from + "xf32>) -> tensor<" + to + "xf32>").str());
  };
  EXPECT_EQ(reshape("2x48", "2x6x8"), "([i, j*k]) -> ([i, j, k])");
  EXPECT_EQ(reshape("2x6x8", "2x48"), "([i, j, k]) -> ([i, j*k])");
  EXPECT_EQ(reshape("8x4", "2x16"), "([i*j, k]) -> ([i, j*k])");
  EXPECT_EQ(reshape("1x16", "1x4x4"), "([i, j*k]) -> ([i, j, k])");
  EXPECT_EQ(reshape("4x1x8", "4x8"), "([i, 1, j]) -> ([i, j])");
  EXPECT_EQ(reshape("16", "1x16x1"), "([i]) -> ([1, i, 1])");
  // 6x4 and 4x6 share a major 2, then nothing.
  EXPECT_EQ(reshape("6x4", "4x6"), "([i*j, m]) -> ([i*k, l]) need_replication={j, k, l, m}");
}

TEST(GraphRule, TransposeAndBroadcastMapDimensions) {
  EXPECT_EQ(textOf("%a: tensor<2x3x4xf32>",
                   "graph.transpose %a [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>"),
            "([j, k, i]) -> ([i, j, k])");
  EXPECT_EQ(
      textOf("%a: tensor<3xf32>", "graph.broadcast %a dims = [1] : (tensor<3xf32>) -> tensor<2x3x4xf32>"),
      "([j]) -> ([i, j, k])");
  EXPECT_EQ(textOf("%a: tensor<2x4xf32>",
                   "graph.broadcast %a dims = [0, 2] : (tensor<2x4xf32>) -> tensor<2x3x4xf32>"),
            "([i, k]) -> ([i, j, k])");
}

TEST(GraphRule, CutDimensionsNeedReplication) {
  EXPECT_EQ(textOf("%a: tensor<2x8xf32>", "graph.slice %a at [0, 3] : (tensor<2x8xf32>) -> tensor<2x4xf32>"),
            "([i, j]) -> ([i, k]) need_replication={j, k} window={k of j at 3}");
  EXPECT_EQ(textOf("%a: tensor<2x3xf32>, %b: tensor<2x5xf32>",
                   "graph.concat %a, %b dim = 1 : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>"),
            "([i, k], [i, l]) -> ([i, j]) need_replication={j, k, l}");
  EXPECT_EQ(textOf("%a: tensor<2x8xf32>", "graph.reverse %a dim = 1 : tensor<2x8xf32>"),
            "([i, j]) -> ([i, j]) permutation={j}");
  EXPECT_EQ(textOf("%a: tensor<2x4x3xf32>, %b: tensor<2x5x3xf32>",
                   "graph.einsum \"bqd,bkd->bqk\" %a, %b : (tensor<2x4x3xf32>, tensor<2x5x3xf32>) -> "
                   "tensor<2x4x5xf32>"),
            "([i, j, l], [i, k, l]) -> ([i, j, k]) reduction={l}");
  EXPECT_EQ(textOf("%a: tensor<2x8x3xf32>, %b: tensor<2xi32>",
                   "graph.take %a, %b : (tensor<2x8x3xf32>, tensor<2xi32>) -> tensor<2x1x3xf32>"),
            "([i, j, l], [i]) -> ([i, k, l]) reduction={j} need_replication={k}");
  EXPECT_EQ(textOf("%a: tensor<4x2x3xf32>, %i: tensor<i32>",
                   "graph.layer_slice %a[%i] : (tensor<4x2x3xf32>, tensor<i32>) -> tensor<2x3xf32>"),
            "([i, j, k], []) -> ([j, k]) need_replication={i}");
}

TEST(GraphRule, SplatsMayBeShardedWrittenOutConstantsNot) {
  EXPECT_EQ(textOf("", "graph.constant dense<1.0> : tensor<2x2xf32> : tensor<2x2xf32>"), "() -> ([i, j])");
  EXPECT_EQ(textOf("", "graph.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>"),
            "() -> ([i]) need_replication={i}");
}

TEST(GraphRule, ConstantsMayBeNeutral) {
  auto neutral = [](StringRef value) {
    return ruleOf("", ("graph.constant dense<" + value + "> : tensor<2xf32> : tensor<2xf32>").str()).neutral;
  };
  EXPECT_EQ(neutral("0.0"), PartialKind::Sum);
  EXPECT_EQ(neutral("0xFF800000"), PartialKind::Max); // minus infinity
  EXPECT_EQ(neutral("0x7F800000"), PartialKind::None);
  EXPECT_EQ(neutral("1.0"), PartialKind::None);
}

TEST(GraphRule, MaskWithZeroIsLinear) {
  auto mask = [](StringRef value) {
    return ruleOf("%a: tensor<2x8xf32>",
                  ("graph.mask_padding %a dims = [1] value = " + value + " : tensor<2x8xf32>").str());
  };
  EXPECT_EQ(mask("0.0").linear, (Groups{{0}}));
  EXPECT_EQ(mask("1.0").linear, Groups{});
  EXPECT_EQ(mask("1.0").maxLinear, (Groups{{0}}));
  EXPECT_EQ(mask("0.0").offsetAware, (SmallVector<int, 2>{1}));
}

TEST(GraphRule, RepeatTiesCarriedValuesAndSlices) {
  Program program(R"(func.func @f(%x: tensor<2xf32>, %w: tensor<4x2xf32>) -> tensor<2xf32> {
    %r, %all = graph.repeat 4 reverse carry(%x : tensor<2xf32>) stack(%w : tensor<4x2xf32>) -> (tensor<2xf32>, tensor<4x2xf32>) {
    ^bb0(%i: tensor<i32>, %h: tensor<2xf32>, %wi: tensor<2xf32>):
      %y = graph.mul %h, %wi : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      graph.yield %y, %h : tensor<2xf32>, tensor<2xf32>
    }
    return %r : tensor<2xf32>
  })");
  ASSERT_TRUE(program.module);
  auto repeat = program.op<graph::RepeatOp>();
  auto edges = repeat.getDataFlowEdges();
  ASSERT_EQ(edges.size(), 1u);
  EXPECT_EQ(edges[0].values,
            (SmallVector<Value>{repeat.getInits()[0], repeat.getCarried(0)[0],
                                repeat.getBody(0).getTerminator()->getOperand(0), repeat.getResults()[0]}));
  EXPECT_EQ(ArrayRef(edges[0].places), ArrayRef<Value>({repeat.getCarried(0)[0], repeat.getResults()[0]}));
  auto stacks = repeat.getStackEdges();
  ASSERT_EQ(stacks.size(), 2u);
  EXPECT_EQ(stacks[0].stack, repeat.getStacks()[0]);
  EXPECT_EQ(stacks[0].slices, (SmallVector<Value>{repeat.getSlices(0)[0]}));
  EXPECT_FALSE(stacks[0].collected);
  EXPECT_EQ(stacks[1].stack, repeat.getResults()[1]);
  EXPECT_EQ(stacks[1].slices, (SmallVector<Value>{repeat.getCarried(0)[0]}));
  EXPECT_TRUE(stacks[1].collected);
  EXPECT_EQ(repeat.getLayer(0), 3);
  EXPECT_EQ(repeat.getCost().flops, 8);
}
