// Pieces of global values, and what collectives may and may not do with them.
#include "tessera/Reference/ShardedShape.h"
#include "tessera/Analysis/Sharding/Notation.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {
struct ShardedShapeTest : ::testing::Test {
  MLIRContext context;
  Type f64 = Float64Type::get(&context);

  ShardedShape sharded(StringRef meshText, StringRef shardingText, ArrayRef<int64_t> global) {
    Mesh m = tessera::mesh(meshText);
    return {m, sharding(shardingText, m), SmallVector<int64_t>(global), f64};
  }
  ReferenceTensor iota(ArrayRef<int64_t> shape) {
    ReferenceTensor tensor(f64, shape);
    for (size_t i = 0; i < tensor.f.size(); ++i)
      tensor.f[i] = 100 + double(i);
    return tensor;
  }
  /// Shards, exchanges and puts together again; the error, or "" and the numbers are those of before.
  std::string roundTrip(StringRef meshText, StringRef from, StringRef to, StringRef axes,
                        ArrayRef<int64_t> shape) {
    ShardedShape a = sharded(meshText, from, shape), b = sharded(meshText, to, shape);
    std::string error;
    AxisList list = *parseAxes(axes, a.mesh, error);
    ReferenceTensor value = iota(shape);
    auto moved = exchange(shard(value, a, Padding::Poison), a, b, list, error);
    if (failed(moved))
      return error;
    auto back = unshard(*moved, b, 0, error);
    if (failed(back))
      return error;
    return back->f == value.f ? "" : "other numbers";
  }
};
} // namespace

TEST_F(ShardedShapeTest, UnevenPiecesArePaddedAtTheEnd) {
  ShardedShape l = sharded("x3", "[x]", {4});
  auto zero = shard(iota({4}), l, Padding::Zero);
  EXPECT_EQ(zero[0].f, (std::vector<double>{100, 101}));
  EXPECT_EQ(zero[1].f, (std::vector<double>{102, 103}));
  EXPECT_EQ(zero[2].f, (std::vector<double>{0, 0}));
  auto poisoned = shard(iota({4}), l, Padding::Poison);
  for (double x : poisoned[2].f)
    EXPECT_TRUE(std::isfinite(x) && std::abs(x) >= 3 && std::abs(x) < 7) << x;
  std::string error;
  EXPECT_EQ(unshard(poisoned, l, 0, error)->f, iota({4}).f);
}

TEST_F(ShardedShapeTest, CopiesThatDisagreeAreReported) {
  ShardedShape l = sharded("x2", "[-]", {2});
  auto pieces = shard(iota({2}), l, Padding::Zero);
  pieces[1].f[1] = 7;
  std::string error;
  EXPECT_TRUE(failed(unshard(pieces, l, 1e-9, error)));
  EXPECT_NE(error.find("element [1] is 101"), std::string::npos) << error;
}

TEST_F(ShardedShapeTest, PartialPiecesAddUp) {
  ShardedShape l = sharded("x2 y2", "[y] U{x}", {4});
  auto pieces = shard(iota({4}), l, Padding::Zero);
  EXPECT_EQ(pieces[0].f, (std::vector<double>{100, 101}));
  EXPECT_EQ(pieces[2].f, (std::vector<double>{0, 0}));
  pieces[2].f = {1, 2};
  std::string error;
  EXPECT_EQ(unshard(pieces, l, 0, error)->f, (std::vector<double>{101, 103, 102, 103}));
}

TEST_F(ShardedShapeTest, CollectivesKeepTheValue) {
  EXPECT_EQ(roundTrip("x2 y2", "[x,y/-]", "[x/-]", "y", {8, 3}), "");    // all_gather
  EXPECT_EQ(roundTrip("x2 y2", "[x/-]", "[x,y/-]", "", {8, 3}), "");     // all_slice
  EXPECT_EQ(roundTrip("x2 y2", "[y/-] U{x}", "[y/-]", "x", {8, 3}), ""); // all_reduce
  EXPECT_EQ(roundTrip("x2 y2", "[y/-] U{x}", "[y/x]", "x", {8, 4}), ""); // reduce_scatter
  EXPECT_EQ(roundTrip("x2 y3", "[y/-]", "[y/-] U{x}", "", {8, 3}), "");  // contribute
  EXPECT_EQ(roundTrip("x4 y3", "[-/-] U{x:(1)2}", "[-/-] U{x,y}", "", {8, 3}), "");
  EXPECT_EQ(roundTrip("x2 y2", "[x,y/-]", "[x/y]", "y", {8, 4}), "");            // all_to_all
  EXPECT_EQ(roundTrip("x2 y2", "[x,y/-]", "[y,x/-]", "x,y", {8, 3}), "");        // collective_permute
  EXPECT_EQ(roundTrip("x4", "[x:(1)2]", "[x]", "", {8}), "");                    // sub-axes
  EXPECT_EQ(roundTrip("x4 y3", "[y] U{x}", "[y] U{x:(2)2}", "x:(1)2", {6}), ""); // part of a sum
}

TEST_F(ShardedShapeTest, UnevenGatherToWholeIsFine) {
  EXPECT_EQ(roundTrip("x3", "[x]", "[-]", "x", {4}), "");
}

TEST_F(ShardedShapeTest, PiecesThatDoNotLineUpNeedMoreThanTheGroup) {
  // 10 over 4 are pieces of 3, over 2 pieces of 5: element 5 lies with the other half.
  EXPECT_NE(roundTrip("x2 y2", "[x,y]", "[x]", "y", {10}).find("not in its group"), std::string::npos);
  EXPECT_NE(roundTrip("x2 y2", "[x]", "[x,y]", "", {10}).find("not in its group"), std::string::npos);
  // 12 over 4 and over 2 line up although 12 rows of 11 are padded.
  EXPECT_EQ(roundTrip("x2 y2", "[x,y]", "[x]", "y", {11}), "");
}

TEST_F(ShardedShapeTest, PaddingOfADimensionThatStaysIsKept) {
  // A parameter's zero padding survives the gather of another dimension.
  ShardedShape from = sharded("x2 y2", "[x/y]", {3, 2}), to = sharded("x2 y2", "[x/-]", {3, 2});
  std::string error;
  auto pieces = shard(iota({3, 2}), from, Padding::Zero);
  auto moved = exchange(pieces, from, to, *parseAxes("y", from.mesh, error), error);
  ASSERT_TRUE(succeeded(moved)) << error;
  EXPECT_EQ((*moved)[2].f, (std::vector<double>{104, 105, 0, 0}));
}
