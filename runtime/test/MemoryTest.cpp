// Memory taken straight from the system.
#include "tessera/runtime/core/Memory.h"
#include "ErrorLine.h"

#include <gtest/gtest.h>

namespace tessera::runtime {

// No page is touched. The system would promise more than it has.
TEST(Memory, WhatIsUsedToTheLastByteHasToFitTheMachine) {
  std::string line = errorOf([] { Memory(machineBytes() + 1, "the weights of rank 0", /*dense=*/true); });
  EXPECT_NE(line.find("the weights of rank 0"), std::string::npos) << line;
  EXPECT_NE(line.find("this machine has " + std::to_string(machineBytes())), std::string::npos) << line;
  EXPECT_EQ(errorOf([] { Memory(4096, "little", /*dense=*/true); }), "");
}

} // namespace tessera::runtime
