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
