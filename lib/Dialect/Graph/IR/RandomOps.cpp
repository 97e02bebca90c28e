//===- RandomOps.cpp - Random numbers of rows, and dropout ----------------===//
//
// What is drawn is a function of operands alone (runtime/core/CountedRandom), which this file has twice: as
// the interpreter computes it, and as code of one element.
//
//===----------------------------------------------------------------------===//
#include "GradientProgram.h"

#include "tessera/runtime/core/CountedRandom.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphRandomOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Verifiers, rules, costs
//===----------------------------------------------------------------------===//

LogicalResult RandomKeyOp::verify() {
  if (failed(verifyTensors(*this)))
    return failure();
  return verifyBroadcast(*this, getOperation()->getOperands(), getResult());
}

LogicalResult DropoutOp::verify() {
  if (failed(verifyTensors(*this)) ||
      failed(expectSameElements(*this, {"input", getInput()}, {"result", getResult()})) ||
      failed(expectRank(*this, {"input", getInput()}, rankOf(getResult()))) ||
      failed(
          expectSameSizes(*this, {"input", getInput()}, 0, {"result", getResult()}, 0, rankOf(getResult()))))
    return failure();
  return verifyBroadcast(*this, getOperation()->getOperands(), getResult());
}

ShardingRule RandomKeyOp::getShardingRule() { return elementwiseRule(*this, {}, {}); }
// What is dropped is the same on all ranks, so that of a sum may be dropped from its terms.
ShardingRule DropoutOp::getShardingRule() { return elementwiseRule(*this, {{0}}, {}); }

OpCost RandomKeyOp::getCost() { return streamingCost(*this, 24 * numElements(getResult())); }
OpCost DropoutOp::getCost() { return streamingCost(*this, 14 * numElements(getResult())); }

//===----------------------------------------------------------------------===//
// Meaning
//===----------------------------------------------------------------------===//

LogicalResult RandomKeyOp::evaluate(Tensors operands, const ReferenceContext &, Results &results) {
  ReferenceTensor result(getResult().getType());
  forEachBroadcast(result.shape, operands, [&](ArrayRef<int64_t> at, int64_t j) {
    auto number = [&](size_t operand) { return uint64_t(operands[operand].i[at[operand]]); };
    result.i[j] = int64_t(runtime::randomBits(number(0), number(1), number(2)));
  });
  results.push_back(std::move(result));
  return success();
}

LogicalResult DropoutOp::evaluate(Tensors operands, const ReferenceContext &, Results &results) {
  ReferenceTensor result(getResult().getType());
  for (double p : operands[3].f)
    if (!(float(p) >= 0 && float(p) < 1))
      return emitOpError() << "drops a share of " << p << "; it is at least 0 and less than 1";
  forEachBroadcast(result.shape, operands, [&](ArrayRef<int64_t> at, int64_t j) {
    auto p = float(operands[3].f[at[3]]);
    uint32_t word = runtime::randomWord(uint64_t(operands[1].i[at[1]]), uint32_t(operands[2].i[at[2]]));
    result.f[j] = word < runtime::dropThreshold(p) ? 0 : operands[0].f[at[0]] / (1 - double(p));
  });
  results.push_back(std::move(result));
  return success();
}

SmallVector<Value> DropoutOp::differentiate(OpBuilder &builder, Known gradients, Wanted wanted) {
  Gradients result(4);
  Value g = gradients[0];
  if (wanted[0])
    result[0] = GradientProgram(builder, *this)
                    .given(DropoutOp::create(builder, getLoc(), typeOf(g), g, getKeys(), getColumns(),
                                             getProbability()),
                           getInput());
  return result;
}

//===----------------------------------------------------------------------===//
// Code of one element
//===----------------------------------------------------------------------===//

namespace {
/// Short names for scalar code.
struct Words {
  ImplicitLocOpBuilder b;

  Value constant(Type type, uint64_t value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, APInt(type.getIntOrFloatBitWidth(), value)));
  }
  template <typename Op> Value with(Value x, uint64_t y) {
    return Op::create(b, x, constant(x.getType(), y));
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value exclusiveOr(Value x, Value y) { return arith::XOrIOp::create(b, x, y); }
  /// x ^ x >> shift
  Value folded(Value x, int shift) { return exclusiveOr(x, with<arith::ShRUIOp>(x, uint64_t(shift))); }

  Value mixBits(Value z) {
    for (auto [shift, factor] : runtime::kMixRounds)
      z = with<arith::MulIOp>(folded(z, shift), factor);
    return folded(z, runtime::kLastMixShift);
  }
};
} // namespace

Value RandomKeyOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  Words w{ImplicitLocOpBuilder(loc, builder)};
  Value z = w.mixBits(w.with<arith::AddIOp>(operands[0], runtime::kCountStep));
  z = w.mixBits(w.exclusiveOr(z, w.with<arith::AddIOp>(operands[1], runtime::kCountStep)));
  return w.mixBits(w.add(z, w.with<arith::MulIOp>(operands[2], runtime::kCountStep)));
}

Value DropoutOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  Words w{ImplicitLocOpBuilder(loc, builder)};
  ImplicitLocOpBuilder &b = w.b;
  Value x = operands[0], key = operands[1], p = operands[3];
  Type type = x.getType(), word = b.getI32Type();
  Value low = arith::TruncIOp::create(b, word, key);
  Value high = arith::TruncIOp::create(b, word, w.with<arith::ShRUIOp>(key, 32));
  Value z = w.add(low, w.with<arith::MulIOp>(operands[2], runtime::kColumnStep));
  z = w.with<arith::MulIOp>(w.folded(z, runtime::kFirstWordShift), runtime::kFirstWordFactor);
  z = w.with<arith::MulIOp>(w.folded(w.exclusiveOr(z, high), runtime::kWordShift),
                            runtime::kSecondWordFactor);
  z = w.folded(z, runtime::kWordShift);

  auto real = [&](Type of, double value) -> Value {
    return arith::ConstantOp::create(b, b.getFloatAttr(of, value));
  };
  Value threshold =
      arith::FPToUIOp::create(b, word, arith::MulFOp::create(b, p, real(b.getF32Type(), 0x1p32)));
  Value dropped = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, z, threshold);
  bool narrow = type.getIntOrFloatBitWidth() < 32;
  Type wide = narrow ? Type(b.getF32Type()) : type;
  if (narrow)
    x = arith::ExtFOp::create(b, wide, x);
  if (wide.isF64())
    p = arith::ExtFOp::create(b, wide, p);
  // A product: the share that is kept is the same for all elements, and its inverse is taken once.
  Value scale = arith::DivFOp::create(b, real(wide, 1), arith::SubFOp::create(b, real(wide, 1), p));
  Value result = arith::SelectOp::create(b, dropped, real(wide, 0), arith::MulFOp::create(b, x, scale));
  return narrow ? arith::TruncFOp::create(b, type, result).getResult() : result;
}
