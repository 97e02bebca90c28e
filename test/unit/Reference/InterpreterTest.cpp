// Programs of rung spmd, written by hand, against the same program on one device.
#include "Parse.h"

#include "tessera/Reference/Judge.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// Largest relative error of `@f` in `spmd` against `@f` in `global` on the same inputs; infinite if one does
/// not run.
static double errorOf(StringRef global, StringRef spmd) {
  Program one(global), many(spmd);
  if (!one.module || !many.module)
    return INFINITY;
  auto inputs = randomInputs(one.func(), 3);
  auto want = interpretGlobally(one.func(), inputs), have = interpretGlobally(many.func(), inputs);
  if (failed(want) || failed(have))
    return INFINITY;
  double worst = 0;
  for (auto [a, b] : llvm::zip_equal(*want, *have))
    worst = std::max(worst, relativeError(a, b));
  return worst;
}

// x [2, 6] . w1 [5, 6] -> relu -> . w2 [3, 5]: the inner 5 is split over 2 ranks, 3 places each, one of them
// padding.
static const char *mlp = R"(
  func.func @f(%x: tensor<2x6xf32>, %w1: tensor<5x6xf32> {graph.kind = #graph.kind<parameter>},
               %w2: tensor<3x5xf32> {graph.kind = #graph.kind<parameter>}) -> tensor<2x3xf32> {
    %0 = graph.linear %x, %w1 contract = 1 : (tensor<2x6xf32>, tensor<5x6xf32>) -> tensor<2x5xf32>
    %1 = graph.relu %0 : tensor<2x5xf32>
    %2 = graph.linear %1, %w2 contract = 1 : (tensor<2x5xf32>, tensor<3x5xf32>) -> tensor<2x3xf32>
    return %2 : tensor<2x3xf32>
  })";
static std::string mlpOnTwo(StringRef kindOfW2, StringRef last) {
  return (R"(
  !x = tensor<2x6xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 6]>>
  !w1 = tensor<3x6xf32, #dist.sharding<@mesh, [{"tp"}, {}], global=[5, 6]>>
  !h = tensor<2x3xf32, #dist.sharding<@mesh, [{}, {"tp"}], global=[2, 5]>>
  !w2 = tensor<3x3xf32, #dist.sharding<@mesh, [{}, {"tp"}], global=[3, 5]>>
  !p = tensor<2x3xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"tp"}, global=[2, 3]>>
  !y = tensor<2x3xf32, #dist.sharding<@mesh, [{}, {}], global=[2, 3]>>
  dist.mesh @mesh = <["tp"=2]>
  func.func @f(%x: !x, %w1: !w1 {graph.kind = #graph.kind<parameter>}, %w2: !w2 {graph.kind = #graph.kind<)" +
          kindOfW2 + R"(>}) -> !y {
    %0 = graph.linear %x, %w1 contract = 1 : (!x, !w1) -> !h
    %1 = graph.relu %0 : !h
    )" + last +
          R"(
    %3 = dist.all_reduce %2 axes = {"tp"} : !p -> !y
    return %3 : !y
  })")
      .str();
}

TEST(Interpreter, TensorParallelMlpGivesTheSameNumbers) {
  EXPECT_LT(errorOf(mlp, mlpOnTwo("parameter", "%2 = graph.linear %1, %w2 contract = 1 : (!h, !w2) -> !p")),
            1e-12);
}

TEST(Interpreter, PaddingThatIsReadShows) {
  // w2 as an input: its padding is poisoned, as that of the hidden layer is zero only by relu of zero rows of
  // w1.
  const char *sum = R"(func.func @f(%x: tensor<5xf32>) -> tensor<f32> {
    %0 = graph.reduce sum %x dims = [0] : (tensor<5xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  })";
  auto onTwo = [](StringRef mask) {
    return (R"(
    !x = tensor<3xf32, #dist.sharding<@mesh, [{"tp"}], global=[5]>>
    !p = tensor<f32, #dist.sharding<@mesh, [], partial=sum{"tp"}, global=[]>>
    !y = tensor<f32, #dist.sharding<@mesh, [], global=[]>>
    dist.mesh @mesh = <["tp"=2]>
    func.func @f(%a: !x) -> !y {
      )" + mask +
            R"(
      %0 = graph.reduce sum %x dims = [0] : (!x) -> !p
      %1 = dist.all_reduce %0 axes = {"tp"} : !p -> !y
      return %1 : !y
    })")
        .str();
  };
  EXPECT_GT(errorOf(sum, onTwo("%x = graph.abs %a : !x")), 0.1);
  const char *plain = R"(func.func @f(%x: tensor<5xf32>) -> tensor<f32> {
    %1 = graph.neg %x : tensor<5xf32>
    %0 = graph.reduce sum %1 dims = [0] : (tensor<5xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  })";
  EXPECT_GT(errorOf(plain, onTwo("%x = graph.neg %a : !x")), 0.1);
  EXPECT_LT(errorOf(plain,
                    onTwo("%n = graph.neg %a : !x\n %x = graph.mask_padding %n dims = [0] value = 0.0 : !x")),
            1e-12);
}

TEST(Interpreter, ShardedVocabularyKnowsItsRows) {
  EXPECT_LT(errorOf(R"(
    func.func @f(%t: tensor<7x2xf32>, %i: tensor<4xi32>) -> tensor<4x2xf32> {
      %0 = graph.embedding %t, %i : (tensor<7x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
      return %0 : tensor<4x2xf32>
    })",
                    R"(
    !t = tensor<3x2xf32, #dist.sharding<@mesh, [{"tp"}, {}], global=[7, 2]>>
    !i = tensor<4xi32, #dist.sharding<@mesh, [{}], global=[4]>>
    !p = tensor<4x2xf32, #dist.sharding<@mesh, [{}, {}], partial=sum{"tp"}, global=[4, 2]>>
    !y = tensor<2x2xf32, #dist.sharding<@mesh, [{"tp"}, {}], global=[4, 2]>>
    dist.mesh @mesh = <["tp"=3]>
    func.func @f(%t: !t, %i: !i) -> !y {
      %0 = graph.embedding %t, %i : (!t, !i) -> !p
      %1 = dist.reduce_scatter %0 dim = 0 axes = {"tp"} : !p -> !y
      return %1 : !y
    })"),
            1e-12);
}

TEST(Interpreter, ArgMaxOverShardsTakesTheGlobalIndex) {
  EXPECT_EQ(errorOf(R"(
    func.func @f(%x: tensor<4x7xf32>) -> tensor<4xi32> {
      %0 = graph.arg_max_key %x : (tensor<4x7xf32>) -> tensor<4xi64>
      %1 = graph.arg_max_index %0 : (tensor<4xi64>) -> tensor<4xi32>
      return %1 : tensor<4xi32>
    })",
                    R"(
    !x = tensor<4x3xf32, #dist.sharding<@mesh, [{}, {"tp"}], global=[4, 7]>>
    !p = tensor<4xi64, #dist.sharding<@mesh, [{}], partial=max{"tp"}, global=[4]>>
    !k = tensor<4xi64, #dist.sharding<@mesh, [{}], global=[4]>>
    !y = tensor<4xi32, #dist.sharding<@mesh, [{}], global=[4]>>
    dist.mesh @mesh = <["tp"=3]>
    func.func @f(%x: !x) -> !y {
      %m = graph.mask_padding %x dims = [1] value = -3.0e38 : !x
      %0 = graph.arg_max_key %m : (!x) -> !p
      %1 = dist.all_reduce %0 axes = {"tp"} : !p -> !k
      %2 = graph.arg_max_index %1 : (!k) -> !y
      return %2 : !y
    })"),
            0);
}

TEST(Interpreter, CallsRunTheirCallee) {
  EXPECT_LT(errorOf(R"(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = graph.neg %x : tensor<2xf32>
      return %0 : tensor<2xf32>
    })",
                    R"(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = func.call @g(%x) : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    func.func private @g(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = graph.neg %x : tensor<2xf32>
      return %0 : tensor<2xf32>
    })"),
            1e-15);
}

TEST(Interpreter, EndlessRecursionAndUnknownOpsAreErrors) {
  Program loop(R"(func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = func.call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  })");
  ScopedDiagnosticHandler quiet(&loop.context, [](Diagnostic &) { return success(); });
  EXPECT_TRUE(failed(interpretGlobally(loop.func(), randomInputs(loop.func(), 1))));
  Program unknown(R"(func.func @f(%x: f32) -> f32 {
    %0 = arith.addf %x, %x : f32
    return %0 : f32
  })");
  ScopedDiagnosticHandler quietToo(&unknown.context, [](Diagnostic &) { return success(); });
  EXPECT_TRUE(failed(interpretGlobally(unknown.func(), randomInputs(unknown.func(), 1))));
}

// 1 + erf(-5) in float32 is nothing or 2^-24: what rounding does inside of an op counts too.
TEST(Interpreter, RoundingAtRandomReachesInsideOfGelu) {
  Program one(R"(func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = graph.gelu_erf %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  })");
  ASSERT_TRUE(one.module);
  auto inputs = randomInputs(one.func(), 3);
  for (double &x : inputs[0].f)
    x = -7;
  InterpreterOptions options;
  options.randomRounding = 1;
  auto exact = interpretGlobally(one.func(), inputs),
       rounded = interpretGlobally(one.func(), inputs, options);
  ASSERT_TRUE(succeeded(exact) && succeeded(rounded));
  EXPECT_LT(std::fabs((*exact)[0].f[0]), 1e-10);
  EXPECT_TRUE(llvm::any_of((*rounded)[0].f, [](double y) { return std::fabs(y) > 1e-8; }));
}
