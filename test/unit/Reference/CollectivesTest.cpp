// A collective means what its attributes say: one that says something else than its types is found.
#include "Parse.h"

#include "tessera/Reference/Judge.h"
#include "tessera/Reference/TensorRounding.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// The error of running `op` from `from` to `to` on a mesh x=2, y=2, with `op`'s attributes changed by
/// `change` past the verifier.
static std::string errorOf(StringRef from, StringRef to, StringRef op,
                           llvm::function_ref<void(Operation *)> change = nullptr) {
  Program program(("dist.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n!a = " + from + "\n!b = " + to +
                   "\nfunc.func @f(%x: !a) -> !b {\n  %0 = " + op + " : !a -> !b\n  return %0 : !b\n}")
                      .str());
  if (!program.module)
    return "does not parse";
  if (change)
    change(&program.func().getBody().front().front());
  std::string error;
  ScopedDiagnosticHandler handler(program.module->getContext(), [&](Diagnostic &diagnostic) {
    error = diagnostic.str();
    return success();
  });
  auto inputs = randomInputs(program.func(), 3);
  auto outputs = interpretGlobally(program.func(), inputs);
  if (failed(outputs))
    return error.empty() ? "fails silently" : error;
  return relativeError(inputs[0], (*outputs)[0]) == 0 ? "" : "other numbers";
}

static const char *kSplitX = "tensor<2x4xf32, #dist.sharding<@mesh, [{\"x\"}, {}], global=[4, 4]>>";
static const char *kSplitY = "tensor<2x4xf32, #dist.sharding<@mesh, [{\"y\"}, {}], global=[4, 4]>>";
static const char *kWhole = "tensor<4x4xf32, #dist.sharding<@mesh, [{}, {}], global=[4, 4]>>";

TEST(Collectives, RightAttributesKeepTheValue) {
  EXPECT_EQ(errorOf(kSplitX, kWhole, "dist.all_gather %x dim = 0 axes = {\"x\"}"), "");
  EXPECT_EQ(errorOf(kWhole, kSplitY, "dist.all_slice %x dim = 0 axes = {\"y\"}"), "");
}

TEST(Collectives, AnotherDimensionIsFound) {
  auto dim = [](Operation *op) {
    op->setAttr("dim", IntegerAttr::get(IntegerType::get(op->getContext(), 64), 1));
  };
  EXPECT_NE(errorOf(kSplitX, kWhole, "dist.all_gather %x dim = 0 axes = {\"x\"}", dim)
                .find("the types of operand and result say"),
            std::string::npos);
  EXPECT_NE(errorOf(kWhole, kSplitY, "dist.all_slice %x dim = 0 axes = {\"y\"}", dim)
                .find("the types of operand and result say"),
            std::string::npos);
}

TEST(Collectives, OtherAxesAreFound) {
  // Slices by x what the type says lies over y.
  std::string error = errorOf(kWhole, kSplitY, "dist.all_slice %x dim = 0 axes = {\"y\"}", [](Operation *op) {
    OpBuilder b(op->getContext());
    b.setInsertionPoint(op);
    // The axes of a slice over x, taken from an op that the parser made.
    OwningOpRef<ModuleOp> other = parseSourceString<ModuleOp>(
        std::string("dist.mesh @mesh = <[\"x\"=2, \"y\"=2]>\nfunc.func @f(%x: ") + kWhole + ") -> " +
            kSplitX + " {\n  %0 = dist.all_slice %x dim = 0 axes = {\"x\"} : " + kWhole + " -> " + kSplitX +
            "\n  return %0 : " + kSplitX + "\n}",
        op->getContext());
    other->walk([&](Operation *slice) {
      if (slice->getName() == op->getName())
        op->setAttr("axes", slice->getAttr("axes"));
    });
  });
  EXPECT_NE(error, "");
}

/// Four tokens of ranks 0 and 1 go to five experts, two each. Choices are given for both sides.
static std::vector<ReferenceTensor> exchanged(ArrayRef<int64_t> own, ArrayRef<int64_t> all,
                                              std::string &error) {
  Program program(R"(
    !few = tensor<2x5x6xf32, #dist.sharding<@mesh, [{"ep"}, {}, {}], global=[4, 5, 6]>>
    !many = tensor<4x3x6xf32, #dist.sharding<@mesh, [{}, {"ep"}, {}], global=[4, 5, 6]>>
    !own = tensor<2x2xi32, #dist.sharding<@mesh, [{"ep"}, {}], global=[4, 2]>>
    !all = tensor<4x2xi32, #dist.sharding<@mesh, [{}, {}], global=[4, 2]>>
    dist.mesh @mesh = <["ep"=2]>
    func.func @f(%x: !few, %own: !own, %all: !all) -> !many {
      %0 = dist.exchange_rows %x, %own, %all dim = 0 axes = {"ep"} to_experts : (!few, !own, !all) -> !many
      return %0 : !many
    })");
  EXPECT_TRUE(program.module);
  ScopedDiagnosticHandler handler(program.module->getContext(), [&](Diagnostic &diagnostic) {
    error = diagnostic.str();
    return success();
  });
  auto values = randomInputs(program.func(), 3);
  values[1].i.assign(own.begin(), own.end());
  values[2].i.assign(all.begin(), all.end());
  auto outputs = interpretGlobally(program.func(), values);
  if (failed(outputs))
    return {};
  return {values[0], (*outputs)[0]};
}

// What no choice names does not travel: who reads it finds something else.
TEST(Collectives, RowsThatNobodyChoseAreNone) {
  const std::vector<int64_t> chosen = {0, 1, 2, 4, 3, 0, -1, 4}; // an id outside counts for nobody
  std::string error;
  auto values = exchanged(chosen, chosen, error);
  ASSERT_EQ(values.size(), 2u) << error;
  for (int64_t token = 0; token < 4; ++token)
    for (int64_t expert = 0; expert < 5; ++expert)
      for (int64_t d = 0; d < 6; ++d) {
        size_t at = size_t((token * 5 + expert) * 6 + d);
        if (chosen[size_t(2 * token)] == expert || chosen[size_t(2 * token + 1)] == expert)
          EXPECT_EQ(values[1].f[at], values[0].f[at]) << token << " " << expert;
        else
          EXPECT_NE(values[1].f[at], values[0].f[at]) << token << " " << expert;
      }
}

TEST(Collectives, BothSidesOfAnExchangeHaveTheSameChoices) {
  std::string error;
  EXPECT_TRUE(exchanged({0, 1, 2, 4, 3, 0, 1, 4}, {0, 1, 2, 4, 3, 0, 1, 3}, error).empty());
  EXPECT_NE(error.find("both sides have other choices"), std::string::npos) << error;
}

TEST(RelativeError, NothingEqualsANaNButOneInItsPlace) {
  MLIRContext context;
  ReferenceTensor a(Float64Type::get(&context), {3}), b = a;
  a.f = {1, NAN, 2};
  b.f = {1, NAN, 2};
  EXPECT_EQ(relativeError(a, b), 0);
  b.f = {NAN, 1, 2};
  EXPECT_EQ(relativeError(a, b), INFINITY);
  b.f = {1, 1, 2};
  EXPECT_EQ(relativeError(a, b), INFINITY);
  EXPECT_EQ(relativeError(b, a), INFINITY);
  a.f = {INFINITY, 1, 2};
  b.f = {-INFINITY, 1, 2};
  EXPECT_EQ(relativeError(a, b), INFINITY);
  b.f = {INFINITY, 1, 2};
  EXPECT_EQ(relativeError(a, b), 0);
}

TEST(Rounding, AtRandomGivesBothNeighbours) {
  MLIRContext context;
  std::mt19937_64 dice(1);
  ReferenceTensor a(BFloat16Type::get(&context), {1000});
  a.f.assign(1000, 1.001);
  roundAtRandom(a, dice);
  int64_t low = std::count(a.f.begin(), a.f.end(), 1.0), high = std::count(a.f.begin(), a.f.end(), 1.0078125);
  EXPECT_EQ(low + high, 1000);
  EXPECT_GT(low, 400);
  EXPECT_GT(high, 400);
  a.f.assign(1000, 0.5);
  roundAtRandom(a, dice);
  EXPECT_EQ(std::count(a.f.begin(), a.f.end(), 0.5), 1000);
}
