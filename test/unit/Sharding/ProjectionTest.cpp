// How shardings of tensors become shardings of factors.
#include "tessera/Analysis/Sharding/Projection.h"
#include "tessera/Analysis/Sharding/Notation.h"

#include <gtest/gtest.h>

using namespace tessera;

TEST(Projection, AxesOfDimensionsWithoutAFactorAreBlocked) {
  // A reshape that drops a dimension of 1 does not see it, but axis y shards it: another dimension may not
  // take y.
  Mesh m = mesh("x2 y2");
  std::string error;
  auto rule = parseShardingRule("([i, 1, j]) -> ([i, j])", {{4, 1, 6}}, {{4, 6}}, error);
  ASSERT_TRUE(rule) << error;
  TensorProjection projection = project(rule->operands[0], sharding("[x/y/?]", m), rule->factors);
  EXPECT_EQ(projection.blocked, (AxisList{wholeAxis(m, 1)}));
  EXPECT_EQ(project(rule->operands[0], sharding("[x/-/?]", m), rule->factors).blocked, AxisList());
}
