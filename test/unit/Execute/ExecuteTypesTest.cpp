//===- ExecuteTypesTest.cpp - Programs that mix element types, as machine code ----------===//
//
// Operands are cast to a 16-bit type, results back to float32: what is compiled stays near the judge's
// float64. A program that takes 16-bit numbers for float32 gives garbage, or writes past its buffers.
//
//===----------------------------------------------------------------------===//
#include "ExecuteHarness.h"

#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::test;

/// `text` with every `$` made the type, run with two threads; `roundings` deep.
static void expectNear(std::string text, double roundings = 4) {
  for (auto [type, step] :
       {std::pair("bf16", 0x1p-8), std::pair("f16", 0x1p-11), std::pair("f32", 0x1p-20)}) {
    std::string program;
    for (char c : text)
      program += c == '$' ? type : std::string(1, c);
    ExecuteResult result = execute(program, 1, 2);
    ASSERT_EQ(result.error, "") << type;
    EXPECT_LT(result.worst, roundings * step) << type;
  }
}

TEST(ExecuteTypes, ProductsOfNarrowOperandsGiveFloat32) {
  for (std::string rows : {"1", "5", "160"})
    expectNear(R"(func.func @f(%x: tensor<)" + rows + R"(x83xf32>, %w: tensor<40x83xf32>) -> tensor<)" +
               rows + R"(x40xf32> {
      %0 = graph.cast %x : (tensor<)" +
               rows + R"(x83xf32>) -> tensor<)" + rows + R"(x83x$>
      %1 = graph.cast %w : (tensor<40x83xf32>) -> tensor<40x83x$>
      %2 = graph.linear %0, %1 contract = 1 : (tensor<)" +
               rows + R"(x83x$>, tensor<40x83x$>) -> tensor<)" + rows + R"(x40xf32>
      return %2 : tensor<)" +
               rows + R"(x40xf32>
    })");
}

TEST(ExecuteTypes, ProductsMixTypes) {
  expectNear(
      R"(func.func @f(%x: tensor<9x50xf32>, %w: tensor<33x50xf32>) -> (tensor<9x33xf32>, tensor<9x33xf32>) {
    %0 = graph.cast %x : (tensor<9x50xf32>) -> tensor<9x50x$>
    %1 = graph.cast %w : (tensor<33x50xf32>) -> tensor<33x50x$>
    %2 = graph.linear %0, %w contract = 1 : (tensor<9x50x$>, tensor<33x50xf32>) -> tensor<9x33x$>
    %3 = graph.linear %x, %1 contract = 1 : (tensor<9x50xf32>, tensor<33x50x$>) -> tensor<9x33xf32>
    %4 = graph.cast %2 : (tensor<9x33x$>) -> tensor<9x33xf32>
    return %4, %3 : tensor<9x33xf32>, tensor<9x33xf32>
  })");
}

TEST(ExecuteTypes, RowOpsKeepTheirStatisticsInFloat32) {
  expectNear(
      R"(func.func @f(%a: tensor<2x70x333xf32>, %c: tensor<333xf32>, %d: tensor<333xf32>) -> (tensor<2x70x333xf32>, tensor<2x70x333xf32>, tensor<2x70x333xf32>, tensor<2x70xf32>) {
    %x = graph.cast %a : (tensor<2x70x333xf32>) -> tensor<2x70x333x$>
    %w = graph.cast %c : (tensor<333xf32>) -> tensor<333x$>
    %b = graph.cast %d : (tensor<333xf32>) -> tensor<333x$>
    %0 = graph.rms_norm %x, %w eps = 1.0e-5 : (tensor<2x70x333x$>, tensor<333x$>) -> tensor<2x70x333x$>
    %1 = graph.layer_norm %x, %w, %b eps = 1.0e-5 : (tensor<2x70x333x$>, tensor<333x$>, tensor<333x$>) -> tensor<2x70x333x$>
    %2 = graph.softmax %x : tensor<2x70x333x$>
    %3 = graph.reduce max %x dims = [2] : (tensor<2x70x333x$>) -> tensor<2x70x$>
    %4 = graph.cast %0 : (tensor<2x70x333x$>) -> tensor<2x70x333xf32>
    %5 = graph.cast %1 : (tensor<2x70x333x$>) -> tensor<2x70x333xf32>
    %6 = graph.cast %2 : (tensor<2x70x333x$>) -> tensor<2x70x333xf32>
    %7 = graph.cast %3 : (tensor<2x70x$>) -> tensor<2x70xf32>
    return %4, %5, %6, %7 : tensor<2x70x333xf32>, tensor<2x70x333xf32>, tensor<2x70x333xf32>, tensor<2x70xf32>
  })",
      8);
}

TEST(ExecuteTypes, ShapesAndLookupsMoveNarrowElements) {
  expectNear(
      R"(func.func @f(%a: tensor<6x7x10xf32>, %c: tensor<6x4x10xf32>, %ids: tensor<2x6xi32>) -> (tensor<10x6x11xf32>, tensor<6x3x4xf32>, tensor<2x6x10xf32>) {
    %x = graph.cast %a : (tensor<6x7x10xf32>) -> tensor<6x7x10x$>
    %y = graph.cast %c : (tensor<6x4x10xf32>) -> tensor<6x4x10x$>
    %0 = graph.concat %x, %y dim = 1 : (tensor<6x7x10x$>, tensor<6x4x10x$>) -> tensor<6x11x10x$>
    %1 = graph.transpose %0 [2, 0, 1] : (tensor<6x11x10x$>) -> tensor<10x6x11x$>
    %2 = graph.slice %x at [0, 4, 5] : (tensor<6x7x10x$>) -> tensor<6x3x4x$>
    %t = graph.reshape %x : (tensor<6x7x10x$>) -> tensor<42x10x$>
    %3 = graph.embedding %t, %ids : (tensor<42x10x$>, tensor<2x6xi32>) -> tensor<2x6x10x$>
    %4 = graph.cast %1 : (tensor<10x6x11x$>) -> tensor<10x6x11xf32>
    %5 = graph.cast %2 : (tensor<6x3x4x$>) -> tensor<6x3x4xf32>
    %6 = graph.cast %3 : (tensor<2x6x10x$>) -> tensor<2x6x10xf32>
    return %4, %5, %6 : tensor<10x6x11xf32>, tensor<6x3x4xf32>, tensor<2x6x10xf32>
  })");
}
