//===- ExecuteTest.cpp - Programs of all kinds, as machine code -------------===//
//
// The compiled program gives the judge's numbers: all ops of dialect graph, random programs on random meshes,
// any number of threads.
//
//===----------------------------------------------------------------------===//
#include "ExecuteHarness.h"

#include "tessera/Reference/RandomProgram.h"

#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::test;

static void expectSame(const std::string &body, int threads = 1) {
  ExecuteResult result = execute(body, 1, threads);
  ASSERT_EQ(result.error, "");
  EXPECT_LT(result.worst, 2e-5);
}

TEST(Execute, RowOpsAndTheirStatistics) {
  expectSame(
      R"(func.func @f(%x: tensor<2x70x33xf32>, %w: tensor<33xf32>, %b: tensor<33xf32>) -> (tensor<2x70x33xf32>, tensor<2x70x33xf32>, tensor<2x70x33xf32>) {
    %0 = graph.rms_norm %x, %w eps = 1.0e-5 : (tensor<2x70x33xf32>, tensor<33xf32>) -> tensor<2x70x33xf32>
    %1 = graph.layer_norm %0, %w, %b eps = 1.0e-5 : (tensor<2x70x33xf32>, tensor<33xf32>, tensor<33xf32>) -> tensor<2x70x33xf32>
    %2 = graph.softmax %1 : tensor<2x70x33xf32>
    return %0, %1, %2 : tensor<2x70x33xf32>, tensor<2x70x33xf32>, tensor<2x70x33xf32>
  })",
      2);
}

// Exponentials of 128 do not fit float32.
TEST(Execute, SoftmaxAndCrossEntropyOfLargeElements) {
  expectSame(
      R"(func.func @f(%x: tensor<7x33xf32>, %l: tensor<7xi32>) -> (tensor<7x33xf32>, tensor<7xf32>, tensor<7xf32>) {
    %c = graph.constant dense<128.0> : tensor<f32> : tensor<f32>
    %0 = graph.mul %x, %c : (tensor<7x33xf32>, tensor<f32>) -> tensor<7x33xf32>
    %1 = graph.softmax %0 : tensor<7x33xf32>
    %2:2 = graph.cross_entropy %0, %l : (tensor<7x33xf32>, tensor<7xi32>) -> (tensor<7xf32>, tensor<7xf32>)
    return %1, %2#0, %2#1 : tensor<7x33xf32>, tensor<7xf32>, tensor<7xf32>
  })");
}

TEST(Execute, RotaryEmbeddingsOfBothStylesLeaveTheRestAlone) {
  for (std::string style : {"half", "adjacent"})
    expectSame(
        R"(func.func @f(%x: tensor<2x40x3x10xf32>, %p: tensor<2x40xi32> {graph.name = "positions"}) -> tensor<2x40x3x10xf32> {
      %0 = graph.rope )" +
            style +
            R"( %x, %p frequencies = [1.0, 0.1, 0.01, 0.001] {magnitude = 1.25 : f64} : (tensor<2x40x3x10xf32>, tensor<2x40xi32>) -> tensor<2x40x3x10xf32>
      return %0 : tensor<2x40x3x10xf32>
    })",
        2);
}

TEST(Execute, ShapeOpsMoveWhatTheyShould) {
  expectSame(
      R"(func.func @f(%x: tensor<6x8x10xf32>, %y: tensor<6x4x10xf32>) -> (tensor<10x6x20xf32>, tensor<6x8x5x10xf32>, tensor<48x10xf32>, tensor<6x3x4xf32>) {
    %0 = graph.concat %x, %y, %x dim = 1 : (tensor<6x8x10xf32>, tensor<6x4x10xf32>, tensor<6x8x10xf32>) -> tensor<6x20x10xf32>
    %1 = graph.transpose %0 [2, 0, 1] : (tensor<6x20x10xf32>) -> tensor<10x6x20xf32>
    %2 = graph.broadcast %x dims = [0, 1, 3] : (tensor<6x8x10xf32>) -> tensor<6x8x5x10xf32>
    %3 = graph.reshape %x : (tensor<6x8x10xf32>) -> tensor<48x10xf32>
    %4 = graph.slice %x at [0, 4, 5] : (tensor<6x8x10xf32>) -> tensor<6x3x4xf32>
    return %1, %2, %3, %4 : tensor<10x6x20xf32>, tensor<6x8x5x10xf32>, tensor<48x10xf32>, tensor<6x3x4xf32>
  })",
      2);
}

// Also of queries behind the last key, which see what there is.
TEST(Execute, AttentionWithACapOrAWindow) {
  for (std::string limit : {"", " {softcap = 0.5 : f64}", " {window = 2 : i64}"})
    expectSame(
        R"(func.func @f(%q: tensor<2x3x2x2x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x7x2x8xf32>) -> tensor<2x3x2x2x8xf32> {
    %p = graph.constant dense<[[2, 5, 7], [0, 6, 12]]> : tensor<2x3xi32> : tensor<2x3xi32>
    %0 = graph.attention %q, %k, %v, %p scale = 1.0)" +
        limit +
        R"( : (tensor<2x3x2x2x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x8xf32>, tensor<2x3xi32>) -> tensor<2x3x2x2x8xf32>
    return %0 : tensor<2x3x2x2x8xf32>
  })");
}

TEST(Execute, ProductsSumOverWhatTheResultLacks) {
  expectSame(
      R"(func.func @f(%q: tensor<2x5x3x2x24xf32>, %k: tensor<2x67x3x24xf32>, %v: tensor<2x67x3x20xf32>, %n: tensor<67x3xf32>)
      -> (tensor<2x5x3x2x67xf32>, tensor<2x5x3x2x20xf32>, tensor<2x24xf32>) {
    %0 = graph.einsum "bshgd,bchd->bshgc" %q, %k : (tensor<2x5x3x2x24xf32>, tensor<2x67x3x24xf32>) -> tensor<2x5x3x2x67xf32>
    %1 = graph.exp %0 : tensor<2x5x3x2x67xf32>
    %2 = graph.einsum "bshgc,bchv->bshgv" %1, %v : (tensor<2x5x3x2x67xf32>, tensor<2x67x3x20xf32>) -> tensor<2x5x3x2x20xf32>
    %3 = graph.einsum "bchd,ch->bd" %k, %n : (tensor<2x67x3x24xf32>, tensor<67x3xf32>) -> tensor<2x24xf32>
    return %0, %2, %3 : tensor<2x5x3x2x67xf32>, tensor<2x5x3x2x20xf32>, tensor<2x24xf32>
  })",
      2);
}

TEST(Execute, ReversedDimensions) {
  expectSame(
      R"(func.func @f(%x: tensor<6x8x10xf32>) -> (tensor<6x8x10xf32>, tensor<6x8x10xf32>, tensor<6x8x10xf32>) {
    %0 = graph.reverse %x dim = 0 : tensor<6x8x10xf32>
    %1 = graph.reverse %x dim = 1 : tensor<6x8x10xf32>
    %2 = graph.reverse %x dim = 2 : tensor<6x8x10xf32>
    return %0, %1, %2 : tensor<6x8x10xf32>, tensor<6x8x10xf32>, tensor<6x8x10xf32>
  })",
      2);
}

TEST(Execute, ConstantsAndComparisonsWithinAKernel) {
  expectSame(
      R"(func.func @f(%x: tensor<5x300xf32>) -> (tensor<5x300xf32>, tensor<5xf32>, tensor<5xf32>, tensor<i32>) {
    %i = graph.iota dim = 1 : tensor<5x300xi32>
    %d = graph.constant dense<[301, 302, 303, 304, 305]> : tensor<5xi32> : tensor<5xi32>
    %c = graph.constant dense<[3, 100, 7, 299, 0]> : tensor<5xi32> : tensor<5xi32>
    %b = graph.broadcast %c dims = [0] : (tensor<5xi32>) -> tensor<5x300xi32>
    %m = graph.compare le %i, %b : (tensor<5x300xi32>, tensor<5x300xi32>) -> tensor<5x300xi1>
    %z = graph.constant dense<-2.0> : tensor<f32> : tensor<f32>
    %0 = graph.select %m, %x, %z : (tensor<5x300xi1>, tensor<5x300xf32>, tensor<f32>) -> tensor<5x300xf32>
    %1 = graph.reduce max %0 dims = [1] : (tensor<5x300xf32>) -> tensor<5xf32>
    %2 = graph.reduce sum %0 dims = [1] : (tensor<5x300xf32>) -> tensor<5xf32>
    %n = graph.sub %c, %d : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
    %3 = graph.reduce max %n dims = [0] : (tensor<5xi32>) -> tensor<i32>
    return %0, %1, %2, %3 : tensor<5x300xf32>, tensor<5xf32>, tensor<5xf32>, tensor<i32>
  })");
}

TEST(Execute, OperandsOfLowerRankAreAlignedAtTheLastDimension) {
  expectSame(
      R"(func.func @f(%x: tensor<6x6x6xf32>, %y: tensor<6x6xf32>, %z: tensor<6xf32>, %u: tensor<6x1xf32>, %v: tensor<3x5xf32>, %w: tensor<5xf32>) -> (tensor<6x6x6xf32>, tensor<6x6x6xf32>, tensor<6x6x6xf32>, tensor<3x5xf32>) {
    %0 = graph.add %x, %y : (tensor<6x6x6xf32>, tensor<6x6xf32>) -> tensor<6x6x6xf32>
    %1 = graph.mul %x, %z : (tensor<6x6x6xf32>, tensor<6xf32>) -> tensor<6x6x6xf32>
    %2 = graph.sub %u, %x : (tensor<6x1xf32>, tensor<6x6x6xf32>) -> tensor<6x6x6xf32>
    %3 = graph.add %v, %w : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
    return %0, %1, %2, %3 : tensor<6x6x6xf32>, tensor<6x6x6xf32>, tensor<6x6x6xf32>, tensor<3x5xf32>
  })");
}

// What a reshape shows lives as long as its readers.
TEST(Execute, ValuesAreReadThroughViews) {
  expectSame(
      R"(func.func @f(%x: tensor<4x6x8xf32>, %y: tensor<24x8xf32>, %w: tensor<8x8xf32>) -> (tensor<24x8xf32>, tensor<24x8xf32>) {
    %0 = graph.silu %x : tensor<4x6x8xf32>
    %view = graph.reshape %0 : (tensor<4x6x8xf32>) -> tensor<24x8xf32>
    %1 = graph.linear %y, %w contract = 1 : (tensor<24x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
    %2 = graph.linear %1, %w contract = 1 : (tensor<24x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
    %3 = graph.linear %2, %w contract = 1 : (tensor<24x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
    %4 = graph.linear %view, %w contract = 1 : (tensor<24x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
    return %3, %4 : tensor<24x8xf32>, tensor<24x8xf32>
  })");
}

// A value from outside of a loop is there in every iteration, whatever the first one makes after its use.
TEST(Execute, LoopsReadValuesFromOutsideEveryTime) {
  expectSame(
      R"(func.func @f(%x: tensor<24x8xf32>, %w: tensor<4x8x8xf32>) -> tensor<24x8xf32> {
    %o = graph.silu %x : tensor<24x8xf32>
    %0 = graph.repeat 4 carry(%x : tensor<24x8xf32>) stack(%w : tensor<4x8x8xf32>) -> (tensor<24x8xf32>) {
    ^bb0(%i: tensor<i32>, %h: tensor<24x8xf32>, %wi: tensor<8x8xf32>):
      %1 = graph.add %h, %o : (tensor<24x8xf32>, tensor<24x8xf32>) -> tensor<24x8xf32>
      %2 = graph.linear %1, %wi contract = 1 : (tensor<24x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
      %3 = graph.linear %2, %wi contract = 1 : (tensor<24x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
      %4 = graph.linear %3, %wi contract = 1 : (tensor<24x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
      graph.yield %4 : tensor<24x8xf32>
    }
    return %0 : tensor<24x8xf32>
  })");
}

// Rows and columns are alike by their size only: a transpose shares no rows with what makes its operand.
TEST(Execute, SquaresAreTransposedAcrossKernels) {
  expectSame(
      R"(func.func @f(%x: tensor<70x70xf32>, %y: tensor<3x40x40xf32>) -> (tensor<70x70xf32>, tensor<40x40x3xf32>) {
    %0 = graph.exp %x : tensor<70x70xf32>
    %1 = graph.transpose %0 [1, 0] : (tensor<70x70xf32>) -> tensor<70x70xf32>
    %2 = graph.mul %1, %x : (tensor<70x70xf32>, tensor<70x70xf32>) -> tensor<70x70xf32>
    %3 = graph.silu %y : tensor<3x40x40xf32>
    %4 = graph.transpose %3 [2, 1, 0] : (tensor<3x40x40xf32>) -> tensor<40x40x3xf32>
    return %2, %4 : tensor<70x70xf32>, tensor<40x40x3xf32>
  })",
      2);
}

TEST(Execute, LookupsOutsideTheTableGiveZeros) {
  expectSame(
      R"(func.func @f(%t: tensor<9x20xf32>, %ids: tensor<2x33xi32>, %x: tensor<2x5x7xf32>, %i: tensor<2xi32> {graph.name = "index"}) -> (tensor<2x33x20xf32>, tensor<2x1x7xf32>, tensor<2xi32>) {
    %s = graph.constant dense<4> : tensor<i32> : tensor<i32>
    %0 = graph.add %ids, %s : (tensor<2x33xi32>, tensor<i32>) -> tensor<2x33xi32>
    %1 = graph.embedding %t, %0 : (tensor<9x20xf32>, tensor<2x33xi32>) -> tensor<2x33x20xf32>
    %2 = graph.take %x, %i : (tensor<2x5x7xf32>, tensor<2xi32>) -> tensor<2x1x7xf32>
    %f = graph.reshape %x : (tensor<2x5x7xf32>) -> tensor<2x35xf32>
    %k = graph.arg_max_key %f : (tensor<2x35xf32>) -> tensor<2xi64>
    %3 = graph.arg_max_index %k : (tensor<2xi64>) -> tensor<2xi32>
    return %1, %2, %3 : tensor<2x33x20xf32>, tensor<2x1x7xf32>, tensor<2xi32>
  })");
}

// Of equal elements the first counts, negative ones too.
TEST(Execute, ArgMaxOfManyThatAreEqual) {
  expectSame(R"(func.func @f(%x: tensor<64x35xf32>) -> tensor<64xi32> {
    %z = graph.constant dense<0.0> : tensor<f32> : tensor<f32>
    %b = graph.compare lt %x, %z : (tensor<64x35xf32>, tensor<f32>) -> tensor<64x35xi1>
    %f = graph.cast %b : (tensor<64x35xi1>) -> tensor<64x35xf32>
    %n = graph.neg %f : tensor<64x35xf32>
    %k = graph.arg_max_key %n : (tensor<64x35xf32>) -> tensor<64xi64>
    %0 = graph.arg_max_index %k : (tensor<64xi64>) -> tensor<64xi32>
    return %0 : tensor<64xi32>
  })");
}

TEST(Execute, APeriodOfTwoBodiesWithARemainder) {
  expectSame(
      R"(func.func @f(%x: tensor<3x16xf32>, %w: tensor<5x16x16xf32>, %n: tensor<5x16xf32>) -> tensor<3x16xf32> {
    %0 = graph.repeat 5 carry(%x : tensor<3x16xf32>) stack(%w, %n : tensor<5x16x16xf32>, tensor<5x16xf32>) -> (tensor<3x16xf32>) {
    ^bb0(%i: tensor<i32>, %h: tensor<3x16xf32>, %wi: tensor<16x16xf32>, %ni: tensor<16xf32>):
      %1 = graph.linear %h, %wi contract = 1 : (tensor<3x16xf32>, tensor<16x16xf32>) -> tensor<3x16xf32>
      %2 = graph.add %1, %h : (tensor<3x16xf32>, tensor<3x16xf32>) -> tensor<3x16xf32>
      graph.yield %2 : tensor<3x16xf32>
    }, {
    ^bb0(%i: tensor<i32>, %h: tensor<3x16xf32>, %wi: tensor<16x16xf32>, %ni: tensor<16xf32>):
      %3 = graph.rms_norm %h, %ni eps = 1.0e-5 : (tensor<3x16xf32>, tensor<16xf32>) -> tensor<3x16xf32>
      %4 = graph.cast %i : (tensor<i32>) -> tensor<f32>
      %5 = graph.add %3, %4 : (tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
      graph.yield %5 : tensor<3x16xf32>
    }
    return %0 : tensor<3x16xf32>
  })");
}

// In reverse what is left of the period comes first, its last layer before the others.
TEST(Execute, APeriodOfThreeBodiesInReverse) {
  expectSame(
      R"(func.func @f(%x: tensor<3x16xf32>, %w: tensor<5x16x16xf32>) -> tensor<3x16xf32> {
    %0 = graph.repeat 5 reverse carry(%x : tensor<3x16xf32>) stack(%w : tensor<5x16x16xf32>) -> (tensor<3x16xf32>) {
    ^bb0(%i: tensor<i32>, %h: tensor<3x16xf32>, %wi: tensor<16x16xf32>):
      %1 = graph.linear %h, %wi contract = 1 : (tensor<3x16xf32>, tensor<16x16xf32>) -> tensor<3x16xf32>
      graph.yield %1 : tensor<3x16xf32>
    }, {
    ^bb0(%i: tensor<i32>, %h: tensor<3x16xf32>, %wi: tensor<16x16xf32>):
      %2 = graph.linear %h, %wi contract = 1 : (tensor<3x16xf32>, tensor<16x16xf32>) -> tensor<3x16xf32>
      %3 = graph.cast %i : (tensor<i32>) -> tensor<f32>
      %4 = graph.add %2, %3 : (tensor<3x16xf32>, tensor<f32>) -> tensor<3x16xf32>
      graph.yield %4 : tensor<3x16xf32>
    }, {
    ^bb0(%i: tensor<i32>, %h: tensor<3x16xf32>, %wi: tensor<16x16xf32>):
      %5 = graph.linear %h, %wi contract = 1 : (tensor<3x16xf32>, tensor<16x16xf32>) -> tensor<3x16xf32>
      %6 = graph.silu %5 : tensor<3x16xf32>
      graph.yield %6 : tensor<3x16xf32>
    }
    return %0 : tensor<3x16xf32>
  })");
}

TEST(Execute, LoopsReturnStacksAndRunInReverse) {
  for (std::string reverse : {"", "reverse "})
    expectSame(
        R"(func.func @f(%x: tensor<3x16xf32>, %w: tensor<5x3x16xf32>) -> (tensor<3x16xf32>, tensor<5x3x16xf32>, tensor<5xf32>, tensor<5x3x16xf32>) {
      %0, %1, %2, %3 = graph.repeat 5 )" +
            reverse +
            R"(carry(%x : tensor<3x16xf32>) stack(%w : tensor<5x3x16xf32>) -> (tensor<3x16xf32>, tensor<5x3x16xf32>, tensor<5xf32>, tensor<5x3x16xf32>) {
      ^bb0(%i: tensor<i32>, %h: tensor<3x16xf32>, %wi: tensor<3x16xf32>):
        %4 = graph.mul %wi, %h : (tensor<3x16xf32>, tensor<3x16xf32>) -> tensor<3x16xf32>
        %5 = graph.cast %i : (tensor<i32>) -> tensor<f32>
        graph.yield %4, %h, %5, %wi : tensor<3x16xf32>, tensor<3x16xf32>, tensor<f32>, tensor<3x16xf32>
      }, {
      ^bb0(%i: tensor<i32>, %h: tensor<3x16xf32>, %wi: tensor<3x16xf32>):
        %6 = graph.add %wi, %h : (tensor<3x16xf32>, tensor<3x16xf32>) -> tensor<3x16xf32>
        %7 = graph.reduce sum %6 dims = [0, 1] : (tensor<3x16xf32>) -> tensor<f32>
        graph.yield %6, %6, %7, %h : tensor<3x16xf32>, tensor<3x16xf32>, tensor<f32>, tensor<3x16xf32>
      }
      return %0, %1, %2, %3 : tensor<3x16xf32>, tensor<5x3x16xf32>, tensor<5xf32>, tensor<5x3x16xf32>
    })",
        2);
}

// T7: labels outside are ignored; rows that are added up meet in the order of ids.
TEST(Execute, CrossEntropyAndScatterAdd) {
  expectSame(
      R"(func.func @f(%x: tensor<3x37x45xf32>, %ids: tensor<3x37xi32>) -> (tensor<3x37xf32>, tensor<3x37xf32>, tensor<6x45xf32>) {
    %s = graph.constant dense<1> : tensor<i32> : tensor<i32>
    %0 = graph.sub %ids, %s : (tensor<3x37xi32>, tensor<i32>) -> tensor<3x37xi32>
    %1, %2 = graph.cross_entropy %x, %0 : (tensor<3x37x45xf32>, tensor<3x37xi32>) -> (tensor<3x37xf32>, tensor<3x37xf32>)
    %3 = graph.scatter_add %x, %0 : (tensor<3x37x45xf32>, tensor<3x37xi32>) -> tensor<6x45xf32>
    return %1, %2, %3 : tensor<3x37xf32>, tensor<3x37xf32>, tensor<6x45xf32>
  })",
      2);
}

// Two sums in one kernel begin with the same zeros; each has a place of its own.
TEST(Execute, TwoSumsInOneKernelKeepApart) {
  expectSame(R"(func.func @f(%x: tensor<3x5xf32>, %l: tensor<3xi32>) -> (tensor<f32>, tensor<f32>) {
    %0 = graph.silu %x : tensor<3x5xf32>
    %1 = graph.reduce sum %0 dims = [0, 1] : (tensor<3x5xf32>) -> tensor<f32>
    %2 = graph.sub %0, %x : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    %loss, %lse = graph.cross_entropy %2, %l : (tensor<3x5xf32>, tensor<3xi32>) -> (tensor<3xf32>, tensor<3xf32>)
    %3 = graph.reduce sum %loss dims = [0] : (tensor<3xf32>) -> tensor<f32>
    return %1, %3 : tensor<f32>, tensor<f32>
  })");
}

// A weight that is one array in the checkpoint and read layer by layer is held plain: only stacks are packed
// layer by layer.
TEST(Execute, LayersOfOneArray) {
  expectSame(R"(graph.parameter @w : tensor<2x16x16xf32> from [#graph.source<"w", file = [2, 16, 16]>]
  func.func @f(%x: tensor<3x16xf32>, %w: tensor<2x16x16xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"}) -> tensor<3x16xf32> {
    %0 = graph.repeat 2 carry(%x : tensor<3x16xf32>) stack(%w : tensor<2x16x16xf32>) -> (tensor<3x16xf32>) {
    ^bb0(%i: tensor<i32>, %h: tensor<3x16xf32>, %wi: tensor<16x16xf32>):
      %1 = graph.linear %h, %wi contract = 1 : (tensor<3x16xf32>, tensor<16x16xf32>) -> tensor<3x16xf32>
      graph.yield %1 : tensor<3x16xf32>
    }
    return %0 : tensor<3x16xf32>
  })");
}

// A packed table of every layer, read by rows and as a matrix.
TEST(Execute, LayersOfPackedTables) {
  expectSame(R"(graph.parameter @t : tensor<3x9x8xf32> stacked from [#graph.source<"t.{}", file = [9, 8]>]
  func.func @f(%ids: tensor<5xi32>, %x: tensor<5x8xf32>, %t: tensor<3x9x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "t"}) -> tensor<5x8xf32> {
    %0 = graph.repeat 3 carry(%x : tensor<5x8xf32>) stack(%t : tensor<3x9x8xf32>) -> (tensor<5x8xf32>) {
    ^bb0(%i: tensor<i32>, %h: tensor<5x8xf32>, %ti: tensor<9x8xf32>):
      %1 = graph.embedding %ti, %ids : (tensor<9x8xf32>, tensor<5xi32>) -> tensor<5x8xf32>
      %2 = graph.add %h, %1 : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
      %3 = graph.linear %2, %ti contract = 1 : (tensor<5x8xf32>, tensor<9x8xf32>) -> tensor<5x9xf32>
      %4 = graph.reduce max %3 dims = [1] : (tensor<5x9xf32>) -> tensor<5xf32>
      %5 = graph.reshape %4 : (tensor<5xf32>) -> tensor<5x1xf32>
      %6 = graph.mul %2, %5 : (tensor<5x8xf32>, tensor<5x1xf32>) -> tensor<5x8xf32>
      graph.yield %6 : tensor<5x8xf32>
    }
    return %0 : tensor<5x8xf32>
  })");
}

// One weight that is a matrix in two ways is packed in neither.
TEST(Execute, AWeightThatIsReadAsTwoMatrices) {
  expectSame(R"(graph.parameter @w : tensor<4x6x8xf32> from [#graph.source<"w", file = [4, 6, 8]>]
  func.func @f(%x: tensor<3x8xf32>, %y: tensor<3x6x8xf32>, %w: tensor<4x6x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"}) -> (tensor<3x4x6xf32>, tensor<3x4xf32>) {
    %0 = graph.linear %x, %w contract = 1 : (tensor<3x8xf32>, tensor<4x6x8xf32>) -> tensor<3x4x6xf32>
    %1 = graph.linear %y, %w contract = 2 : (tensor<3x6x8xf32>, tensor<4x6x8xf32>) -> tensor<3x4xf32>
    return %0, %1 : tensor<3x4x6xf32>, tensor<3x4xf32>
  })");
}

/// Random programs on random meshes. `least` of them must be runnable: outputs of types that no entry may
/// have are left out.
static void runRandom(uint64_t first, uint64_t count, bool shardings, int threads) {
  auto context = createContext();
  RandomProgramOptions options;
  options.shardings = shardings;
  options.maxRanks = 6;
  options.shardedLayers = !shardings;
  options.functions = 1;
  int64_t ranks = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    mlir::OwningOpRef<mlir::ModuleOp> module = randomProgram(*context, seed, options);
    ASSERT_TRUE(module);
    ExecuteResult result = execute(*module, seed, threads);
    EXPECT_EQ(result.error, "") << "seed " << seed;
    EXPECT_LT(result.worst, 1e-4) << "seed " << seed;
    if (!result.error.empty() || result.worst >= 1e-4)
      module->dump();
    ranks = std::max(ranks, result.ranks);
  }
  EXPECT_EQ(ranks > 1, shardings);
}

TEST(Execute, RandomProgramsOnOneRank) { runRandom(1, 12, /*shardings=*/false, 2); }
TEST(Execute, RandomProgramsOnRandomMeshes) { runRandom(1000, 16, /*shardings=*/true, 1); }

// R8 on the machine: what goes to one rank is brought together, exchanged once, and put in its places; sizes
// that do not divide too.
TEST(Execute, SeveralAxesMoveInOneExchange) {
  for (std::string type : {"tensor<16x16x1024xf32>", "tensor<15x13x1023xf32>"})
    expectSame(R"(dist.mesh @mesh = <["x"=4, "y"=2]>
    func.func @f(%x: )" +
               type + R"() -> )" + type + R"( {
      %0 = dist.constraint %x <@mesh, [{"y"}, {}, {"x"}]> : )" +
               type + R"(
      %1 = graph.silu %0 : )" +
               type + R"(
      %2 = dist.constraint %1 <@mesh, [{}, {"x", "y"}, {}]> : )" +
               type + R"(
      %3 = graph.mul %2, %2 : ()" +
               type + ", " + type + ") -> " + type + R"(
      return %3 : )" +
               type + R"(
    })");
}

// The same program as test/Semantics/grouped-sends.mlir, which checks that it sends: pieces of 2 and of 3,
// padded ones in two dimensions, integers.
TEST(Execute, GroupedSends) {
  expectSame(R"(dist.mesh @mesh = <["x"=2, "z"=6]>
    func.func @f(%x: tensor<1001xf32> {dist.sharding = #dist.sharding<@mesh, [{"z":(1)2}]>},
                 %y: tensor<25x13x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"z":(1)2}, {}, {"z":(2)3}]>},
                 %i: tensor<7x50xi32> {dist.sharding = #dist.sharding<@mesh, [{"z":(1)3}, {"x"}]>})
        -> (tensor<1001xf32> {dist.sharding = #dist.sharding<@mesh, [{"z":(1)3}]>},
            tensor<25x13x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"z":(1)3}, {"x"}]>},
            tensor<7x50xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"z":(1)2}]>}) {
      %0 = graph.silu %x : tensor<1001xf32>
      return %0, %y, %i : tensor<1001xf32>, tensor<25x13x6xf32>, tensor<7x50xi32>
    })");
}

// T17: x is contributed by one rank of each group, so that both products and x are summed up at once; T9: the
// loop carries an open sum.
TEST(Execute, WholeValuesJoinOpenSums) {
  for (std::string mesh : {"2", "3"})
    expectSame(R"(dist.mesh @mesh = <["tp"=)" + mesh + R"(]>
    func.func @f(%x: tensor<3x7xf32>, %a: tensor<3x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
        %b: tensor<3x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
        %v: tensor<7x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
        %w: tensor<7x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<3x7xf32> {
      %0 = graph.linear %a, %v contract = 1 : (tensor<3x6xf32>, tensor<7x6xf32>) -> tensor<3x7xf32>
      %1 = graph.add %x, %0 : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xf32>
      %2 = graph.linear %b, %w contract = 1 : (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<3x7xf32>
      %3 = graph.add %1, %2 : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xf32>
      %4 = graph.repeat 3 carry(%x : tensor<3x7xf32>) -> (tensor<3x7xf32>) {
      ^bb0(%i: tensor<i32>, %sum: tensor<3x7xf32>):
        %5 = graph.linear %a, %v contract = 1 : (tensor<3x6xf32>, tensor<7x6xf32>) -> tensor<3x7xf32>
        %6 = graph.add %sum, %5 : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xf32>
        graph.yield %6 : tensor<3x7xf32>
      }
      %7 = graph.silu %3 : tensor<3x7xf32>
      %8 = graph.mul %7, %4 : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xf32>
      return %8 : tensor<3x7xf32>
    })");
}

// A context over two ranks: each writes the positions that it holds, in the layer that is asked for.
TEST(Execute, CachesOfPartsOfTheContext) {
  for (std::string layer : {"0", "1"})
    expectSame(R"(dist.mesh @mesh = <["cp"=2]>
    func.func @f(%c: tensor<2x3x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"cp"}, {}, {}]>},
        %u: tensor<3x2x2x4xf32>) -> (tensor<2x3x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"cp"}, {}, {}]>}) {
      %p = graph.constant dense<[[3, 4], [4, 5], [0, 7]]> : tensor<3x2xi32> : tensor<3x2xi32>
      %l = graph.constant dense<)" +
               layer + R"(> : tensor<i32> : tensor<i32>
      %0 = graph.cache_update %c[%l], %u, %p : (tensor<2x3x8x2x4xf32>, tensor<3x2x2x4xf32>, tensor<i32>, tensor<3x2xi32>) -> tensor<2x3x8x2x4xf32>
      return %0 : tensor<2x3x8x2x4xf32>
    })");
}

// The same where the rows of a kernel run along what is sharded.
TEST(Execute, RowsOfAShardAreCountedFromItsBegin) {
  expectSame(R"(dist.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<901x1000xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
        -> (tensor<901x1000xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>}, tensor<1000xf32>) {
      %n = graph.iota dim = 0 : tensor<901x1000xi32>
      %c = graph.cast %n : (tensor<901x1000xi32>) -> tensor<901x1000xf32>
      %sum = graph.add %x, %c : (tensor<901x1000xf32>, tensor<901x1000xf32>) -> tensor<901x1000xf32>
      %e = graph.exp %x : tensor<901x1000xf32>
      %all = graph.reduce sum %e dims = [0] : (tensor<901x1000xf32>) -> tensor<1000xf32>
      return %sum, %all : tensor<901x1000xf32>, tensor<1000xf32>
    })");
}

// Nine and 901 of something over two and four ranks: what lies behind the end is not looked up, counted, or
// the largest, and every shard knows where it begins.
TEST(Execute, OpsThatKnowTheirPlaceOnShardsThatDoNotDivide) {
  for (std::string ranks : {"2", "4"})
    expectSame(R"(dist.mesh @mesh = <["tp"=)" + ranks + R"(]>
    func.func @f(%t: tensor<9x20xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
        %x: tensor<4x901xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
        %y: tensor<2x9x7xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}, {}]>}, %i: tensor<2xi32> {graph.name = "index"})
        -> (tensor<3x20xf32>, tensor<4x901xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}, tensor<4xf32>, tensor<4xf32>,
            tensor<4xi32>, tensor<2x1x7xf32>) {
      %ids = graph.constant dense<[8, 9, 3]> : tensor<3xi32> : tensor<3xi32>
      %rows = graph.embedding %t, %ids : (tensor<9x20xf32>, tensor<3xi32>) -> tensor<3x20xf32>
      %n = graph.iota dim = 1 : tensor<4x901xi32>
      %c = graph.cast %n : (tensor<4x901xi32>) -> tensor<4x901xf32>
      %sum = graph.add %x, %c : (tensor<4x901xf32>, tensor<4x901xf32>) -> tensor<4x901xf32>
      %square = graph.mul %x, %x : (tensor<4x901xf32>, tensor<4x901xf32>) -> tensor<4x901xf32>
      %negative = graph.neg %square : tensor<4x901xf32>
      %most = graph.reduce max %negative dims = [1] : (tensor<4x901xf32>) -> tensor<4xf32>
      %e = graph.exp %x : tensor<4x901xf32>
      %all = graph.reduce sum %e dims = [1] : (tensor<4x901xf32>) -> tensor<4xf32>
      %key = graph.arg_max_key %negative : (tensor<4x901xf32>) -> tensor<4xi64>
      %first = graph.arg_max_index %key : (tensor<4xi64>) -> tensor<4xi32>
      %taken = graph.take %y, %i : (tensor<2x9x7xf32>, tensor<2xi32>) -> tensor<2x1x7xf32>
      return %rows, %sum, %most, %all, %first, %taken : tensor<3x20xf32>, tensor<4x901xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<2x1x7xf32>
    })");
}
