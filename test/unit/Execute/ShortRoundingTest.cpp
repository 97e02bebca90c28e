//===- ShortRoundingTest.cpp - Bounds that follow from a program's types --===//
#include "ExecuteHarness.h"

#include "tessera/Execution/ShortRounding.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {
struct ShortRoundingTest : ::testing::Test {
  std::unique_ptr<MLIRContext> context = test::createContext();

  ShortRounding of(const std::string &text) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
    EXPECT_TRUE(module);
    return module ? shortRounding(*module) : ShortRounding();
  }
  /// `count` layers of two roundings in `type`.
  ShortRounding layers(const std::string &type, int count) {
    std::string tensor = "tensor<4x" + type + ">";
    return of("func.func @f(%x: " + tensor + ") -> " + tensor + " {\n  %y = graph.repeat " +
              std::to_string(count) + " carry(%x : " + tensor + ") -> (" + tensor +
              ") {\n  ^bb0(%i: tensor<i32>, %h: " + tensor + "):\n    %0 = graph.neg %h : " + tensor +
              "\n    %1 = graph.reshape %0 : (" + tensor + ") -> " + tensor + "\n    %2 = graph.silu %1 : " +
              tensor + "\n    graph.yield %2 : " + tensor + "\n  }\n  return %y : " + tensor + "\n}\n");
  }
};
} // namespace

TEST_F(ShortRoundingTest, TheUnitIsThatOfTheType) {
  EXPECT_EQ(layers("bf16", 1).unit, 0x1p-8);
  EXPECT_EQ(layers("f16", 1).unit, 0x1p-11);
  EXPECT_FALSE(layers("f32", 1));
}

// A view of the same elements rounds nothing.
TEST_F(ShortRoundingTest, LayersRoundAsOftenAsTheyRun) {
  EXPECT_EQ(layers("bf16", 1).most, 2);
  EXPECT_EQ(layers("bf16", 30).most, 60);
  EXPECT_EQ(layers("bf16", 32).error(), 4 * layers("bf16", 2).error());
  EXPECT_EQ(layers("bf16", 9).error(), 8 * layers("f16", 9).error());
}

// float32 all through, but what is written to a cache is rounded to codes of 8 bits.
TEST_F(ShortRoundingTest, CachesInBlocksRound) {
  ShortRounding found = of(R"(
func.func @f(%k: tensor<1x2x3x64xf32>, %c: tensor<2x1x12x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q8_0"}, %p: tensor<1x2xi32>)
    -> (tensor<2x1x12x3x64xf32> {graph.kind = #graph.kind<state>, graph.name = "c", graph.held = "Q8_0"}) {
  %i = graph.constant dense<1> : tensor<i32> : tensor<i32>
  %n = graph.cache_update %c[%i], %k, %p {graph.held = "Q8_0"} : (tensor<2x1x12x3x64xf32>, tensor<1x2x3x64xf32>, tensor<i32>, tensor<1x2xi32>) -> tensor<2x1x12x3x64xf32>
  return %n : tensor<2x1x12x3x64xf32>
})");
  EXPECT_NEAR(found.unit, 1.0 / 254, 1e-9);
  EXPECT_EQ(found.most, 1);
}
