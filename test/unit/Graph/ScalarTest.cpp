// The scalar form of every elementwise op computes what the reference computes: constants in, folded by
// evaluation of arith and math.
#include "Parse.h"

#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// Folds `value` as far as its ops know constants.
static std::optional<double> folded(Value value) {
  if (auto *op = value.getDefiningOp()) {
    // Not folded by their dialects: inexact truncation, rsqrt.
    if (isa<arith::TruncFOp, math::RsqrtOp>(op)) {
      std::optional<double> inner = folded(op->getOperand(0));
      if (!inner)
        return std::nullopt;
      ReferenceTensor rounded(value.getType(), {1});
      rounded.f[0] = isa<arith::TruncFOp>(op) ? *inner : 1 / std::sqrt(*inner);
      rounded.roundToType();
      return rounded.f[0];
    }
    SmallVector<Attribute> constants;
    for (Value operand : op->getOperands()) {
      std::optional<double> inner = folded(operand);
      if (!inner)
        return std::nullopt;
      Attribute attr;
      if (auto type = dyn_cast<FloatType>(operand.getType()))
        attr = FloatAttr::get(type, *inner);
      else
        attr = IntegerAttr::get(operand.getType(), int64_t(*inner));
      constants.push_back(attr);
    }
    SmallVector<OpFoldResult> results;
    if (failed(op->fold(constants, results)) || results.empty())
      return std::nullopt;
    if (auto other = dyn_cast<Value>(results[0]))
      return folded(other);
    auto attr = cast<Attribute>(results[0]);
    if (auto number = dyn_cast<FloatAttr>(attr))
      return number.getValueAsDouble();
    if (auto number = dyn_cast<IntegerAttr>(attr))
      return number.getType().isInteger(1) ? double(number.getValue().getZExtValue())
                                           : double(number.getInt());
  }
  return std::nullopt;
}

/// Scalar form and reference of the op that `text` makes of %a, %b, ... (one element each).
static void expectSame(StringRef arguments, StringRef text, std::vector<double> inputs) {
  Program program(("func.func @f(" + arguments + ") {\n  %r = " + text + "\n  return\n}").str());
  ASSERT_TRUE(program.module);
  auto scalar = program.op<ElementwiseScalarOpInterface>();
  OpBuilder builder(program.func().getBody().front().getTerminator());
  SmallVector<Value> operands;
  SmallVector<ReferenceTensor> tensors;
  for (auto [operand, x] : llvm::zip(scalar->getOperands(), inputs)) {
    auto type = cast<RankedTensorType>(operand.getType());
    ReferenceTensor tensor(type);
    TypedAttr attr;
    if (auto number = dyn_cast<FloatType>(type.getElementType())) {
      attr = FloatAttr::get(number, x);
      tensor.f[0] = cast<FloatAttr>(attr).getValueAsDouble();
    } else {
      attr = IntegerAttr::get(type.getElementType(), int64_t(x));
      tensor.i[0] = int64_t(x);
    }
    operands.push_back(arith::ConstantOp::create(builder, builder.getUnknownLoc(), attr));
    tensors.push_back(tensor);
  }
  Value value = scalar.emitScalar(builder, builder.getUnknownLoc(), operands);
  EXPECT_EQ(value.getType(), cast<RankedTensorType>(scalar->getResult(0).getType()).getElementType());
  SmallVector<ReferenceTensor> results;
  ASSERT_TRUE(succeeded(
      cast<ReferenceOpInterface>(scalar.getOperation()).evaluate(tensors, ReferenceContext(), results)));
  results[0].roundToType();
  double want = results[0].isFloat() ? results[0].f[0] : double(results[0].i[0]);
  std::optional<double> have = folded(value);
  ASSERT_TRUE(have) << "does not fold: " << text.str();
  EXPECT_NEAR(*have, want, 2e-6 * std::max(1.0, std::fabs(want))) << text.str();
}

TEST(GraphScalar, UnaryOpsMatchTheReference) {
  for (StringRef name : {"neg", "abs", "exp", "log", "sqrt", "rsqrt", "tanh", "sin", "cos", "erf", "sigmoid",
                         "silu", "relu", "gelu_erf", "gelu_tanh"})
    for (StringRef type : {"f32", "f64"})
      expectSame(("%a: tensor<1x" + type + ">").str(),
                 ("graph." + name + " %a : tensor<1x" + type + ">").str(), {0.625});
  expectSame("%a: tensor<1xf32>", "graph.relu %a : tensor<1xf32>", {-0.5});
}

TEST(GraphScalar, HalfIsComputedInSingle) {
  expectSame("%a: tensor<1xbf16>", "graph.neg %a : tensor<1xbf16>", {1.7});
  expectSame("%a: tensor<1xf16>, %b: tensor<1xf16>",
             "graph.mul %a, %b : (tensor<1xf16>, tensor<1xf16>) -> tensor<1xf16>", {1.7, 3.3});
}

TEST(GraphScalar, BinaryOpsMatchTheReference) {
  for (StringRef name : {"add", "sub", "mul", "div", "maximum", "minimum"})
    for (StringRef type : {"f32", "i32"})
      expectSame(("%a: tensor<1x" + type + ">, %b: tensor<1x" + type + ">").str(),
                 ("graph." + name + " %a, %b : (tensor<1x" + type + ">, tensor<1x" + type +
                  ">) -> tensor<1x" + type + ">")
                     .str(),
                 {-7, 2});
}

TEST(GraphScalar, CompareSelectAndCastMatchTheReference) {
  for (StringRef kind : {"lt", "le", "gt", "ge", "eq", "ne"})
    for (StringRef type : {"f32", "i32"})
      for (double y : {1.0, 2.0, 3.0})
        expectSame(("%a: tensor<1x" + type + ">, %b: tensor<1x" + type + ">").str(),
                   ("graph.compare " + kind + " %a, %b : (tensor<1x" + type + ">, tensor<1x" + type +
                    ">) -> tensor<1xi1>")
                       .str(),
                   {2, y});
  expectSame("%a: tensor<1xf32>", "graph.cast %a : (tensor<1xf32>) -> tensor<1xi32>", {-2.7});
  expectSame("%a: tensor<1xi1>", "graph.cast %a : (tensor<1xi1>) -> tensor<1xf32>", {1});
  expectSame("%a: tensor<1xi32>", "graph.cast %a : (tensor<1xi32>) -> tensor<1xf32>", {-3});
  expectSame("%a: tensor<1xf16>", "graph.cast %a : (tensor<1xf16>) -> tensor<1xbf16>", {1.7});
  expectSame("%c: tensor<1xi1>, %a: tensor<1xf32>, %b: tensor<1xf32>",
             "graph.select %c, %a, %b : (tensor<1xi1>, tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>",
             {0, 1, 2});
}
