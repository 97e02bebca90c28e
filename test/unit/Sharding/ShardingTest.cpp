#include "tessera/Analysis/Sharding/Notation.h"

#include <gtest/gtest.h>

using namespace tessera;

TEST(Sharding, TextRoundTrips) {
  Mesh m = mesh("a2 b4 c16 d2 e2");
  for (const char *text :
       {"[a,b?/-/?]", "[b:(1)2? p0/-]", "[c:(2)4,a/b p1] R{d} U{e}", "[?/-] Umax{a,e}", "[]"}) {
    EXPECT_EQ(toString(sharding(text, m), m), text);
  }
  // A sub-axis that is the whole axis prints as one.
  EXPECT_EQ(toString(sharding("[a:(1)2?/-] U max{b}", m), m), "[a?/-] Umax{b}");
}

TEST(Sharding, LocalShapeIsTheCeiling) {
  Mesh m = mesh("a2 b4");
  Sharding s = sharding("[a,b/b2]", mesh("a2 b4 b2=3"));
  EXPECT_EQ(s.localShape({9, 9}), (llvm::SmallVector<int64_t>{2, 3}));
  EXPECT_EQ(sharding("[a/b]", m).localShape({1, 2}), (llvm::SmallVector<int64_t>{1, 1}));
}

TEST(Sharding, PlacementIgnoresOpenPriorityAndReplicated) {
  Mesh m = mesh("a2 b4");
  EXPECT_TRUE(sharding("[a? p1/-] R{b}", m).samePlacement(sharding("[a/?]", m)));
  EXPECT_FALSE(sharding("[a/-]", m).samePlacement(sharding("[a/-] U{b}", m)));
  EXPECT_TRUE(sharding("[-/?]", m).isReplicated());
  EXPECT_FALSE(sharding("[-/-] U{a}", m).isReplicated());
  EXPECT_EQ(sharding("[b/-] U{a}", m).usedAxes(), (AxisList{{0, 1, 2}, {1, 1, 4}}));
}

// Row N1 of the facts: wrong shardings are errors that name dimension and axis.
TEST(Sharding, N1_WrongShardingsAreErrors) {
  Mesh m = mesh("a2 b4 c16 n6");
  struct {
    const char *text, *part;
  } cases[] = {
      {"[a/a]", "axis a is used twice"},
      {"[a,a]", "used twice"},
      {"[a] R{a}", "used twice"},
      {"[a] U{a}", "used twice"},
      {"[z]", "'z' is not in the mesh"},
      {"[b:(1)3]", "does not divide"},
      {"[b:(3)2]", "does not divide"},
      {"[b:(1)8]", "does not divide"},
      {"[b:(0)2]", "below 1"},
      {"[b:(2)1]", "size 1"},
      {"[b:(1)2/b]", "overlap"},
      {"[c:(2)4/c:(4)4]", "overlap"},
      {"[n:(1)2/n:(3)2]", "overlap"},
      {"[b:(1)2,b:(2)2]", "written as one"},
      {"[-] R{b:(1)2,b:(2)2}", "written as one"},
      {"[/a]", "is empty"},
      {"[a", "lacks ']'"},
      {"a", "does not start"},
      {"[a] X{b}", "expected R{..}"},
      {"[a] R{b", "expected R{..}"},
      {"[b:(1]", "name:(pre)size"},
      {"[- p1]", "no priority"},
  };
  for (auto &c : cases) {
    std::string error;
    EXPECT_FALSE(parseSharding(c.text, m, error)) << c.text;
    EXPECT_NE(error.find(c.part), std::string::npos) << c.text << ": " << error;
  }
  EXPECT_NE(verifySharding(Sharding(2), m, 3), "");
  Sharding noKind(1);
  noKind.partial = {wholeAxis(m, 0)};
  EXPECT_NE(verifySharding(noKind, m, 1), "");
}

TEST(Shape, WrongTextIsAnError) {
  for (const char *text : {"8x", "x8", "-1", "8 x 4", "99999999999999999999", "9223372036854775807"}) {
    std::string error;
    EXPECT_FALSE(parseShape(text, error)) << text;
    EXPECT_NE(error, "") << text;
  }
}

TEST(ShardingRule, TextRoundTripsAndSizesAreDerived) {
  std::string error;
  auto rule = parseShardingRule("([b, s, h], [f, h]) -> ([b, s, f]) reduction={h} linear={0; 1}",
                                {{2, 3, 4}, {5, 4}}, {{2, 3, 5}}, error);
  ASSERT_TRUE(rule) << error;
  EXPECT_EQ(rule->toString(), "([i, j, k], [l, k]) -> ([i, j, l]) reduction={k}");
  EXPECT_EQ(rule->factors[3].size, 5);
  EXPECT_EQ(rule->linear.size(), 2u);
  auto reshape = parseShardingRule("([i*j, 1]) -> ([i, j])", {{8, 1}}, {{2, 4}}, error);
  ASSERT_TRUE(reshape) << error;
  EXPECT_EQ(reshape->factors[1].size, 4);
}

// What a slice is like is said in one way, whether it may run on pieces or not.
TEST(ShardingRule, WindowsAreRead) {
  const char *text = "([i, j]) -> ([k, j]) need_replication={i, k} window={k of i at 3}";
  std::string error;
  auto rule = parseShardingRule("([a, b]) -> ([c, b]) need_replication={a, c} window={c of a at 3}", {{8, 2}},
                                {{4, 2}}, error);
  ASSERT_TRUE(rule) << error;
  ASSERT_EQ(rule->windows.size(), 1u);
  EXPECT_EQ(rule->windows[0].begin, 3);
  const ShardingRule sent = rule->withWindows();
  EXPECT_EQ(sent.factors[sent.windows[0].whole].kind, FactorKind::Window);
  for (const ShardingRule &one : {*rule, sent}) {
    auto again = parseShardingRule(one.toString(), {{8, 2}}, {{4, 2}}, error);
    ASSERT_TRUE(again) << error;
    EXPECT_EQ(again->windows.size(), 1u);
  }
  // Factors are numbered as they come: i, j, k.
  auto numbered = parseShardingRule(text, {{8, 2}}, {{4, 2}}, error);
  ASSERT_TRUE(numbered) << error;
  EXPECT_EQ(numbered->toString(), text);
  EXPECT_EQ(numbered->withWindows().toString(), text);
  for (const char *wrong :
       {"window={k of i at 5}", "window={k of x at 0}", "window={k at 3}", "window={k of i at -1}"}) {
    EXPECT_FALSE(parseShardingRule(std::string("([i, j]) -> ([k, j]) need_replication={i, k} ") + wrong,
                                   {{8, 2}}, {{4, 2}}, error))
        << wrong;
    EXPECT_NE(error, "");
  }
}

TEST(ShardingRule, WrongRulesAreErrors) {
  std::string error;
  EXPECT_FALSE(parseShardingRule("([i, i]) -> ([i])", {{2, 2}}, {{2}}, error));
  EXPECT_NE(error.find("stands twice"), std::string::npos);
  EXPECT_FALSE(parseShardingRule("([i]) -> ([i])", {{2}}, {{3}}, error));
  EXPECT_FALSE(parseShardingRule("([i]) -> ([i]) reduction={i}", {{2}}, {{2}}, error));
  EXPECT_FALSE(parseShardingRule("([i*j]) -> ([i*j])", {{6}}, {{6}}, error));
  EXPECT_NE(error.find("sizes="), std::string::npos);
  EXPECT_FALSE(parseShardingRule("([i]) ([i])", {{6}}, {{6}}, error));
}
