// Meanings of ops against values worked out by hand or by another formula.
#include "Parse.h"

#include "tessera/Reference/Judge.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// Runs `@f` on `inputs` given as flat lists.
static std::vector<double> run(Program &program, std::vector<std::vector<double>> inputs,
                               InterpreterOptions options = {}) {
  std::vector<ReferenceTensor> arguments;
  for (auto [type, list] : llvm::zip(program.func().getArgumentTypes(), inputs)) {
    ReferenceTensor tensor(cast<RankedTensorType>(type));
    for (auto [i, x] : llvm::enumerate(list))
      if (tensor.isFloat())
        tensor.f[i] = x;
      else
        tensor.i[i] = int64_t(x);
    arguments.push_back(tensor);
  }
  auto results = interpretGlobally(program.func(), arguments, options);
  if (failed(results)) {
    ADD_FAILURE() << "does not run";
    return {};
  }
  const ReferenceTensor &result = results->front();
  return result.isFloat() ? result.f : std::vector<double>(result.i.begin(), result.i.end());
}

static std::vector<double> run(StringRef arguments, StringRef op, StringRef type,
                               std::vector<std::vector<double>> inputs) {
  Program program(
      ("func.func @f(" + arguments + ") -> " + type + " {\n  %r = " + op + "\n  return %r : " + type + "\n}")
          .str());
  return program.module ? run(program, std::move(inputs)) : std::vector<double>();
}

static void expectNear(const std::vector<double> &have, const std::vector<double> &want,
                       double tolerance = 1e-12) {
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < have.size(); ++i)
    EXPECT_NEAR(have[i], want[i], tolerance) << "element " << i;
}

TEST(GraphReference, BroadcastAlignsLastDimensions) {
  expectNear(run("%a: tensor<2x3xf32>, %b: tensor<3xf32>",
                 "graph.sub %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>", "tensor<2x3xf32>",
                 {{1, 2, 3, 4, 5, 6}, {1, 1, 2}}),
             {0, 1, 1, 3, 4, 4});
  expectNear(run("%a: tensor<2x1xf32>, %b: tensor<1x2xf32>",
                 "graph.mul %a, %b : (tensor<2x1xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>",
                 "tensor<2x2xf32>", {{2, 3}, {5, 7}}),
             {10, 14, 15, 21});
}

TEST(GraphReference, ActivationsMatchTheirFormulas) {
  double x = 0.7;
  auto unary = [&](StringRef name) {
    return run("%a: tensor<1xf32>", ("graph." + name + " %a : tensor<1xf32>").str(), "tensor<1xf32>", {{x}});
  };
  expectNear(unary("silu"), {x / (1 + std::exp(-x))});
  expectNear(unary("gelu_erf"), {x * 0.5 * std::erfc(-x / std::sqrt(2.0))});
  expectNear(unary("gelu_tanh"), unary("gelu_erf"), 5e-4);
  expectNear(unary("rsqrt"), {1 / std::sqrt(x)});
}

TEST(GraphReference, LinearSumsOverTheLastDimensionsOfBoth) {
  expectNear(run("%a: tensor<2x3xf32>, %b: tensor<2x3xf32>",
                 "graph.linear %a, %b contract = 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>",
                 "tensor<2x2xf32>", {{1, 2, 3, 4, 5, 6}, {1, 0, 0, 1, 1, 1}}),
             {1, 6, 4, 15});
}

TEST(GraphReference, EmbeddingGivesZerosOutsideTheTable) {
  expectNear(run("%a: tensor<2x2xf32>, %b: tensor<3xi32>",
                 "graph.embedding %a, %b : (tensor<2x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>",
                 "tensor<3x2xf32>", {{1, 2, 3, 4}, {1, 7, 0}}),
             {3, 4, 0, 0, 1, 2});
}

TEST(GraphReference, NormsNormalise) {
  expectNear(run("%a: tensor<1x2xf32>, %b: tensor<2xf32>",
                 "graph.rms_norm %a, %b eps = 0.0 : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>",
                 "tensor<1x2xf32>", {{3, 4}, {1, 2}}),
             {3 / std::sqrt(12.5), 8 / std::sqrt(12.5)});
  expectNear(run("%a: tensor<1x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>",
                 "graph.layer_norm %a, %b, %c eps = 0.0 : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>) -> "
                 "tensor<1x2xf32>",
                 "tensor<1x2xf32>", {{1, 3}, {1, 2}, {5, 5}}),
             {4, 7});
  expectNear(
      run("%a: tensor<2xf32>", "graph.softmax %a : tensor<2xf32>", "tensor<2xf32>", {{0, std::log(3.0)}}),
      {0.25, 0.75});
}

TEST(GraphReference, RopeTurnsPairsOfEitherStyle) {
  double c = float(std::cos(double(float(2.0f * 0.5f)))), s = float(std::sin(double(1.0f)));
  auto rope = [&](StringRef style) {
    return run("%a: tensor<1x1x5xf32>, %p: tensor<1x1xi32>",
               ("graph.rope " + style +
                " %a, %p frequencies = [0.5, 0.0] : (tensor<1x1x5xf32>, tensor<1x1xi32>) -> "
                "tensor<1x1x5xf32>")
                   .str(),
               "tensor<1x1x5xf32>", {{1, 2, 3, 4, 5}, {2}});
  };
  expectNear(rope("half"), {c - 3 * s, 2, 3 * c + s, 4, 5}, 1e-7);
  expectNear(rope("adjacent"), {c - 2 * s, 2 * c + s, 3, 4, 5}, 1e-7);
}

TEST(GraphReference, AttentionSeesWhatPositionAndWindowAllow) {
  // Keys are zero: every visible value has the same weight.
  auto attend = [&](StringRef window) {
    return run(
        "%q: tensor<1x3x1x1x2xf32>, %k: tensor<1x4x1x2xf32>, %v: tensor<1x4x1x1xf32>, %p: tensor<1x3xi32>",
        ("graph.attention %q, %k, %v, %p scale = 1.0" + window +
         " : (tensor<1x3x1x1x2xf32>, tensor<1x4x1x2xf32>, tensor<1x4x1x1xf32>, tensor<1x3xi32>) -> "
         "tensor<1x3x1x1x1xf32>")
            .str(),
        "tensor<1x3x1x1x1xf32>", {{1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 0}, {1, 2, 4, 8}, {0, 2, -1}});
  };
  expectNear(attend(""), {1, 7.0 / 3, 0});
  expectNear(attend(" {window = 2 : i64}"), {1, 3, 0});
}

TEST(GraphReference, AttentionSoftcapsScores) {
  double score = 2 * std::tanh(3.0 / 2), w = std::exp(score) / (std::exp(score) + 1);
  expectNear(
      run("%q: tensor<1x1x1x1x1xf32>, %k: tensor<1x2x1x1xf32>, %v: tensor<1x2x1x1xf32>, %p: tensor<1x1xi32>",
          "graph.attention %q, %k, %v, %p scale = 1.0 {softcap = 2.0 : f64} : (tensor<1x1x1x1x1xf32>, "
          "tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x1xi32>) -> tensor<1x1x1x1x1xf32>",
          "tensor<1x1x1x1x1xf32>", {{3}, {1, 0}, {1, 0}, {1}}),
      {w});
}

/// A sink is a key more of its head, without a value. Keys are zero, and so their scores; sinks are log(2)
/// and log(6) for the two heads of the group.
TEST(GraphReference, SinksTakeWeightFromKeys) {
  Program program(
      R"(func.func @f(%q: tensor<1x3x1x2x1xf32>, %k: tensor<1x4x1x1xf32>, %v: tensor<1x4x1x1xf32>, %p: tensor<1x3xi32>, %s: tensor<1x2xf32>)
      -> tensor<12xf32> {
    %r, %l = graph.attention %q, %k, %v, %p sinks %s scale = 1.0 {softcap = 0.5 : f64}
        : (tensor<1x3x1x2x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x3xi32>, tensor<1x2xf32>) -> (tensor<1x3x1x2x1xf32>, tensor<1x3x1x2xf32>)
    %weighed = graph.reshape %r : (tensor<1x3x1x2x1xf32>) -> tensor<6xf32>
    %sums = graph.reshape %l : (tensor<1x3x1x2xf32>) -> tensor<6xf32>
    %both = graph.concat %weighed, %sums dim = 0 : (tensor<6xf32>, tensor<6xf32>) -> tensor<12xf32>
    return %both : tensor<12xf32>
  })");
  double two = std::log(2), six = std::log(6);
  std::vector<double> all =
      run(program, {{1, 1, 1, 1, 1, 1}, {0, 0, 0, 0}, {1, 2, 4, 8}, {0, 2, -1}, {two, six}});
  expectNear(all, {1.0 / 3, 1.0 / 7, 7.0 / 5, 7.0 / 9, 0, 0, std::log(3), std::log(7), std::log(5),
                   std::log(9), two, six});
}

TEST(GraphReference, CacheUpdateSkipsInertAndOutsidePositions) {
  expectNear(
      run("%c: tensor<2x1x2x1x1xf32>, %u: tensor<1x3x1x1xf32>, %i: tensor<i32>, %p: tensor<1x3xi32>",
          "graph.cache_update %c[%i], %u, %p : (tensor<2x1x2x1x1xf32>, tensor<1x3x1x1xf32>, tensor<i32>, "
          "tensor<1x3xi32>) -> tensor<2x1x2x1x1xf32>",
          "tensor<2x1x2x1x1xf32>", {{1, 2, 3, 4}, {7, 8, 9}, {1}, {1, -1, 2}}),
      {1, 2, 3, 7});
}

/// Two rows of two pages of two: those of the second row have changed places. Position 4 is none of the
/// context.
TEST(GraphReference, CacheUpdateGoesByTheTableOfPages) {
  expectNear(
      run("%c: tensor<1x2x4x1x1xf32>, %u: tensor<2x3x1x1xf32>, %i: tensor<i32>, %p: tensor<2x3xi32>, "
          "%t: tensor<2x2xi32>",
          "graph.cache_update %c[%i], %u, %p pages %t of 2 : (tensor<1x2x4x1x1xf32>, tensor<2x3x1x1xf32>, "
          "tensor<i32>, tensor<2x3xi32>, tensor<2x2xi32>) -> tensor<1x2x4x1x1xf32>",
          "tensor<1x2x4x1x1xf32>",
          {{0, 0, 0, 0, 0, 0, 0, 0}, {1, 2, 3, 4, 5, 6}, {0}, {1, 2, -1, 1, 2, 4}, {0, 0, 1, -1}}),
      {0, 1, 2, 0, 5, 0, 0, 4});
}

/// Position 1 sees keys 0 and 1, which stand at places 2 and 3: the mean of their values.
TEST(GraphReference, AttentionFindsKeysByTheTableOfPages) {
  expectNear(
      run("%q: tensor<1x1x1x1x1xf32>, %k: tensor<1x4x1x1xf32>, %p: tensor<1x1xi32>, %t: tensor<1x2xi32>",
          "graph.attention %q, %k, %k, %p pages %t of 2 scale = 1.0 : (tensor<1x1x1x1x1xf32>, "
          "tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x1xi32>, tensor<1x2xi32>) -> "
          "tensor<1x1x1x1x1xf32>",
          "tensor<1x1x1x1x1xf32>", {{0}, {7, 9, 2, 4}, {1}, {1, -1}}),
      {3});
}

/// Position 9 goes to place 1 of 4 as position 5 does, and -1 nowhere.
TEST(GraphReference, CacheUpdateGoesRoundARing) {
  expectNear(run("%c: tensor<1x2x4x1x1xf32>, %u: tensor<2x3x1x1xf32>, %i: tensor<i32>, %p: tensor<2x3xi32>",
                 "graph.cache_update %c[%i], %u, %p ring : (tensor<1x2x4x1x1xf32>, tensor<2x3x1x1xf32>, "
                 "tensor<i32>, tensor<2x3xi32>) -> tensor<1x2x4x1x1xf32>",
                 "tensor<1x2x4x1x1xf32>",
                 {{0, 0, 0, 0, 0, 0, 0, 0}, {1, 2, 3, 4, 5, 6}, {0}, {3, 4, 9, 7, -1, 2}}),
             {2, 3, 0, 1, 0, 0, 6, 4});
}

/// In a cache in blocks: the largest of the 32 is 127 times the scale of 0.5, and what lies between two codes
/// goes to the even one. Of the second block, of small numbers, the scale is rounded to f16.
TEST(GraphReference, CacheUpdateRoundsToBlocks) {
  std::vector<double> row(64, 0.0), want = row;
  const double given[] = {-63.5, 0.3, 0.25, 0.75, -0.74, 50.1}, codes[] = {-127, 1, 0, 2, -1, 100};
  for (size_t i = 0; i < std::size(given); ++i) {
    row[i] = given[i];
    want[i] = 0.5 * codes[i];
  }
  row[40] = 0.1;
  row[41] = 0.05;
  const double scale = double(_Float16(0.1 / 127));
  want[40] = 127 * scale;
  want[41] = std::nearbyint(0.05 / scale) * scale;
  auto written = [&](const char *held) {
    return run("%c: tensor<1x1x1x1x64xf32>, %u: tensor<1x1x1x64xf32>, %i: tensor<i32>, %p: tensor<1x1xi32>",
               std::string("graph.cache_update %c[%i], %u, %p ") + held +
                   " : (tensor<1x1x1x1x64xf32>, tensor<1x1x1x64xf32>, tensor<i32>, tensor<1x1xi32>) -> "
                   "tensor<1x1x1x1x64xf32>",
               "tensor<1x1x1x1x64xf32>", {std::vector<double>(64, 9.0), row, {0}, {0}});
  };
  expectNear(written("{graph.held = \"Q8_0\"}"), want);
  expectNear(written(""), row);
}

/// Position 5 sees keys 4 and 5, at places 0 and 1; position 0 sees itself alone, whatever stands behind it.
TEST(GraphReference, AttentionFindsKeysInARing) {
  auto at = [](double position) {
    return run("%q: tensor<1x1x1x1x1xf32>, %k: tensor<1x4x1x1xf32>, %p: tensor<1x1xi32>",
               "graph.attention %q, %k, %k, %p ring scale = 1.0 {window = 2 : i64} : "
               "(tensor<1x1x1x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x1xi32>) -> "
               "tensor<1x1x1x1x1xf32>",
               "tensor<1x1x1x1x1xf32>", {{0}, {7, 9, 2, 4}, {position}});
  };
  expectNear(at(5), {8});
  expectNear(at(4), {5.5});
  expectNear(at(0), {7});
  expectNear(at(-1), {0});
}

/// The second of the two layers of a third period, in a stack that holds two of three.
TEST(GraphReference, StackLayerCountsTheLayersOfAStack) {
  expectNear(run("%i: tensor<i32>", "graph.stack_layer %i period = 3 held = 2 before = 1 : tensor<i32>",
                 "tensor<i32>", {{8}}),
             {5});
}

TEST(GraphReference, ArgMaxTakesTheLowestIndexOfATie) {
  Program program(R"(func.func @f(%a: tensor<3x4xf32>) -> tensor<3xi32> {
    %k = graph.arg_max_key %a : (tensor<3x4xf32>) -> tensor<3xi64>
    %r = graph.arg_max_index %k : (tensor<3xi64>) -> tensor<3xi32>
    return %r : tensor<3xi32>
  })");
  expectNear(run(program, {{1, 5, 5, 2, -3, -2, -2, -9, 0, 0, 0, 0.5}}), {1, 1, 3});
}

TEST(GraphReference, ArgMaxOfWhatIsNotFiniteIsNoIndex) {
  Program program(R"(func.func @f(%a: tensor<4x3xf32>) -> tensor<4xi32> {
    %k = graph.arg_max_key %a : (tensor<4x3xf32>) -> tensor<4xi64>
    %r = graph.arg_max_index %k : (tensor<4xi64>) -> tensor<4xi32>
    return %r : tensor<4xi32>
  })");
  expectNear(run(program, {{1, NAN, 5, 1, -NAN, 5, 3, 1, INFINITY, -INFINITY, 1, 0}}), {-1, -1, -1, 1});
}

TEST(GraphReference, ShapeOpsMoveElements) {
  expectNear(run("%a: tensor<2x3xf32>", "graph.transpose %a [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
                 "tensor<3x2xf32>", {{1, 2, 3, 4, 5, 6}}),
             {1, 4, 2, 5, 3, 6});
  expectNear(run("%a: tensor<2xf32>", "graph.broadcast %a dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>",
                 "tensor<2x2xf32>", {{1, 2}}),
             {1, 1, 2, 2});
  expectNear(run("%a: tensor<2x3xf32>", "graph.slice %a at [0, 1] : (tensor<2x3xf32>) -> tensor<2x2xf32>",
                 "tensor<2x2xf32>", {{1, 2, 3, 4, 5, 6}}),
             {2, 3, 5, 6});
  expectNear(run("%a: tensor<2x1xf32>, %b: tensor<2x2xf32>",
                 "graph.concat %a, %b dim = 1 : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x3xf32>",
                 "tensor<2x3xf32>", {{1, 2}, {3, 4, 5, 6}}),
             {1, 3, 4, 2, 5, 6});
  expectNear(run("%a: tensor<2x3xf32>", "graph.reverse %a dim = 1 : tensor<2x3xf32>", "tensor<2x3xf32>",
                 {{1, 2, 3, 4, 5, 6}}),
             {3, 2, 1, 6, 5, 4});
  // By batches: [1 2; 3 4] with [5 6], and [7 8; 9 10] with [11 12].
  expectNear(run("%a: tensor<2x2x2xf32>, %b: tensor<2x1x2xf32>",
                 "graph.einsum \"bqd,bkd->bkq\" %a, %b : (tensor<2x2x2xf32>, tensor<2x1x2xf32>) -> "
                 "tensor<2x1x2xf32>",
                 "tensor<2x1x2xf32>", {{1, 2, 3, 4, 7, 8, 9, 10}, {5, 6, 11, 12}}),
             {17, 39, 173, 219});
  expectNear(run("%a: tensor<2x2x2xf32>, %i: tensor<2xi32>",
                 "graph.take %a, %i : (tensor<2x2x2xf32>, tensor<2xi32>) -> tensor<2x1x2xf32>",
                 "tensor<2x1x2xf32>", {{1, 2, 3, 4, 5, 6, 7, 8}, {1, -1}}),
             {3, 4, 0, 0});
  expectNear(run("%a: tensor<2x2xi32>", "graph.reduce max %a dims = [0] : (tensor<2x2xi32>) -> tensor<2xi32>",
                 "tensor<2xi32>", {{1, -4, 0, -3}}),
             {1, -3});
  expectNear(run("", "graph.iota dim = 1 : tensor<2x3xi32>", "tensor<2x3xi32>", {}), {0, 1, 2, 0, 1, 2});
}

TEST(GraphReference, CompareSelectAndCast) {
  expectNear(run("%a: tensor<3xi32>, %b: tensor<i32>",
                 "graph.compare ge %a, %b : (tensor<3xi32>, tensor<i32>) -> tensor<3xi1>", "tensor<3xi1>",
                 {{1, 2, 3}, {2}}),
             {0, 1, 1});
  expectNear(run("%c: tensor<2xi1>, %a: tensor<2xf32>, %b: tensor<f32>",
                 "graph.select %c, %a, %b : (tensor<2xi1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>",
                 "tensor<2xf32>", {{1, 0}, {5, 6}, {9}}),
             {5, 9});
  expectNear(run("%a: tensor<2xf32>", "graph.cast %a : (tensor<2xf32>) -> tensor<2xi32>", "tensor<2xi32>",
                 {{2.9, -2.9}}),
             {2, -2});
}

TEST(GraphReference, RepeatAlternatesItsBodies) {
  Program program(R"(func.func @f(%x: tensor<f32>, %w: tensor<3xf32>) -> tensor<f32> {
    %r = graph.repeat 3 carry(%x : tensor<f32>) stack(%w : tensor<3xf32>) -> (tensor<f32>) {
    ^bb0(%i: tensor<i32>, %h: tensor<f32>, %wi: tensor<f32>):
      %y = graph.mul %h, %wi : (tensor<f32>, tensor<f32>) -> tensor<f32>
      graph.yield %y : tensor<f32>
    }, {
    ^bb0(%i: tensor<i32>, %h: tensor<f32>, %wi: tensor<f32>):
      %f = graph.cast %i : (tensor<i32>) -> tensor<f32>
      %y = graph.add %h, %f : (tensor<f32>, tensor<f32>) -> tensor<f32>
      graph.yield %y : tensor<f32>
    }
    return %r : tensor<f32>
  })");
  expectNear(run(program, {{2}, {3, 100, 5}}), {(2 * 3 + 1) * 5});
}

TEST(GraphReference, ProgramRoundingRoundsEveryResult) {
  Program program(R"(func.func @f(%a: tensor<2xbf16>) -> tensor<2xbf16> {
    %r = graph.add %a, %a : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
    return %r : tensor<2xbf16>
  })");
  expectNear(run(program, {{1.001, 1.00390625}}), {2.002, 2.0078125});
  // bf16 keeps 8 bits: 2.002 and the tie 2.0078125 go to 2.
  expectNear(run(program, {{1.001, 1.00390625}}, {true}), {2, 2});
}
