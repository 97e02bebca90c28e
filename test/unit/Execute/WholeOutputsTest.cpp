// A kernel that is said to write its output whole and forgets elements: on the CPU they keep what lay there,
// which may be right by accident; the driver `checked` fills the output with NaNs before.
#include "ExecuteHarness.h"

#include "CheckedDriver.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace tessera;
using namespace tessera::test;

/// @copy_row copies a row of 8; as a kernel of the output's both rows it forgets the second.
static const char *text = R"(
module attributes {exec.arena_bytes = 128 : i64, exec.states = []} {
  func.func private @copy_row(%a: tensor<2x8xf32>, %out: tensor<2x8xf32>, %begin: index, %end: index) -> tensor<2x8xf32> attributes {tessera.kernel} {
    %s = tensor.extract_slice %a[0, 0] [1, 8] [1, 1] : tensor<2x8xf32> to tensor<1x8xf32>
    %r = tensor.insert_slice %s into %out[0, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<2x8xf32>
    return %r : tensor<2x8xf32>
  }
  func.func @f() attributes {exec.entry, exec.inputs = [{name = "a", offset = 0 : i64, type = tensor<2x8xf32>}],
      exec.outputs = [{name = "y", offset = 64 : i64, type = tensor<2x8xf32>}]} {
    %a = exec.buffer at 0 : memref<2x8xf32>
    %y = exec.buffer at 64 : memref<2x8xf32>
    exec.copy %a to %y : memref<2x8xf32>, memref<2x8xf32>
    exec.launch @copy_row ins(%a : memref<2x8xf32>) outs(%y : memref<2x8xf32>) count = 1 grain = 1 modes(MODE)
    return
  }
}
)";

/// The output on a driver (null: the CPU's), for inputs that are all 3.
static std::vector<float> outputOf(const std::string &mode, const runtime::Driver *driver) {
  std::string program = text;
  program.replace(program.find("MODE"), 4, mode);
  auto compiled = compileExec(program);
  EXPECT_TRUE(compiled) << compiled.failure().message();
  std::vector<float> values(16, 3);
  runtime::RunOptions options;
  options.driver = driver;
  Status status = runtime::runOnRanks(compiled->program(), options, [&](runtime::Rank &rank) {
    rank.write(rank.arena(), values.data(), 64);
    rank.call(0);
    rank.read(values.data(), rank.arena() + 64, 64);
  });
  EXPECT_TRUE(status) << status.failure().message();
  return values;
}

TEST(WholeOutputs, ForgottenElementsAreNaNsOnChecked) {
  std::vector<float> cpu = outputOf("write", nullptr), checked = outputOf("write", &runtime::checkedDriver());
  EXPECT_EQ(cpu, std::vector<float>(16, 3)); // right by accident
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(checked[size_t(i)], 3);
    EXPECT_TRUE(std::isnan(checked[size_t(8 + i)])) << i;
  }
}

TEST(WholeOutputs, WhatIsUpdatedStays) {
  EXPECT_EQ(outputOf("update", &runtime::checkedDriver()), std::vector<float>(16, 3));
}
