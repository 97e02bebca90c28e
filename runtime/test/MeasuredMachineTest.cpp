// What bench --machine makes of the times that it measures. test/Integration/bench-machine.test runs it.
#include "MeasuredMachine.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tessera::runtime;

// Eight ranks talk in three rounds, and each gets seven pieces.
TEST(MeasuredMachine, LinksAreThoseOfTheCostModel) {
  const MeasuredLink link = linkOf(8, 3e-6, 1e6, 3e-6 + 7e-3);
  EXPECT_NEAR(link.latency, 1e-6, 1e-12);
  EXPECT_NEAR(link.bandwidth, 1e9, 1);
}

// A busy machine may take longer for nothing than for much; the compiler reads no number but above 0.
TEST(MeasuredMachine, ClocksThatGoBackwardsGiveALink) {
  for (double empty : {0.0, 1e-3})
    for (double full : {0.0, 1e-6, 1e-3}) {
      const MeasuredLink link = linkOf(2, empty, 4096, full);
      EXPECT_TRUE(link.latency > 0 && std::isfinite(link.bandwidth) && link.bandwidth > 0);
    }
}

TEST(MeasuredMachine, NodesAreWrittenWhereThereAreSome) {
  MeasuredMachine machine;
  machine.name = "here";
  machine.cores = 1;
  EXPECT_EQ(toJson(machine).find("node"), std::string::npos);
  machine.ranksPerNode = 2;
  machine.betweenNodes = MeasuredLink{1, 2};
  EXPECT_NE(toJson(machine).find(R"("ranks_per_node":2,"between_nodes":{"latency":1.0,"bandwidth":2.0})"),
            std::string::npos)
      << toJson(machine);
}
