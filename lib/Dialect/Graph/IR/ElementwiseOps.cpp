//===- ElementwiseOps.cpp - Ops that treat every element alike ------------===//
//
// Verifiers, the shared sharding rule and the shared reference meaning. Costs and meanings of single ops are
// generated from their definitions in GraphElementwiseOps.td; scalar forms for code generation are in
// ElementwiseScalar.cpp.
//
//===----------------------------------------------------------------------===//
#include "Detail.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphElementwiseOps.cpp.inc"

double graph::numElements(Value value) { return double(typeOf(value).getNumElements()); }

ShardingRule graph::elementwiseRule(Operation *op, OperandGroups linear, OperandGroups maxLinear,
                                    bool unbounded) {
  RuleBuilder builder(op);
  int rank = int(rankOf(op->getResult(0)));
  for (int d = 0; d < rank; ++d) {
    SmallVector<TensorDim> places = {resultDim(0, d)};
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      int aligned = d - (rank - int(rankOf(operand)));
      // Where sizes differ the operand repeats along this dimension and has no part in the factor.
      if (aligned >= 0 && builder.size(operandDim(int(i), aligned)) == builder.size(resultDim(0, d)))
        places.push_back(operandDim(int(i), aligned));
    }
    builder.add(places);
  }
  // An integer quotient is truncated and does not distribute over sums; integer products are not worth
  // telling apart.
  bool floats = isa<FloatType>(typeOf(op->getResult(0)).getElementType());
  if (floats || llvm::all_of(linear, [&](const auto &group) { return group.size() == op->getNumOperands(); }))
    builder.rule.linear = std::move(linear);
  builder.rule.maxLinear = std::move(maxLinear);
  builder.rule.unbounded = unbounded;
  return builder.rule;
}

void inner::forEachBroadcast(ArrayRef<int64_t> shape, Tensors operands,
                             function_ref<void(ArrayRef<int64_t>, int64_t)> visit) {
  size_t rank = shape.size(), arity = operands.size();
  // Strides of every operand along the result's dimensions; 0 where it repeats.
  SmallVector<SmallVector<int64_t>, 3> strides(arity, SmallVector<int64_t>(rank, 0));
  for (size_t k = 0; k < arity; ++k) {
    SmallVector<int64_t> own = operands[k].strides();
    size_t shift = rank - own.size();
    for (size_t d = 0; d < own.size(); ++d)
      strides[k][shift + d] = operands[k].shape[d] == 1 ? 0 : own[d];
  }
  SmallVector<int64_t, 3> at(arity);
  int64_t inner = rank ? shape.back() : 1, j = 0;
  Odometer outer(shape.drop_back(rank ? 1 : 0));
  do {
    for (size_t k = 0; k < arity; ++k) {
      at[k] = 0;
      for (size_t d = 0; d + 1 < rank; ++d)
        at[k] += outer.index[d] * strides[k][d];
    }
    for (int64_t i = 0; i < inner; ++i, ++j) {
      visit(at, j);
      for (size_t k = 0; rank && k < arity; ++k)
        at[k] += strides[k][rank - 1];
    }
  } while (outer.next());
}

LogicalResult graph::evaluateElementwise(Operation *op, ArrayRef<ReferenceTensor> operands,
                                         SmallVectorImpl<ReferenceTensor> &results,
                                         function_ref<double(ArrayRef<double>)> fn) {
  ReferenceTensor result(typeOf(op->getResult(0)));
  size_t arity = operands.size();
  bool toBool = result.elementType.isInteger(1);
  SmallVector<double, 3> arguments(arity);
  std::optional<int64_t> overflow;
  forEachBroadcast(result.shape, operands, [&](ArrayRef<int64_t> at, int64_t j) {
    for (size_t k = 0; k < arity; ++k)
      arguments[k] = operands[k].isFloat() ? operands[k].f[at[k]] : double(operands[k].i[at[k]]);
    double value = fn(arguments);
    if (result.isFloat())
      result.f[j] = value;
    else if (toBool)
      result.i[j] = value != 0;
    else if (value >= -0x1p63 && value < 0x1p63)
      result.i[j] = int64_t(value);
    else if (!overflow)
      overflow = j;
  });
  if (overflow)
    return op->emitOpError() << "result element " << *overflow << " is no integer (overflow)";
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

#define TESSERA_VERIFY_UNARY(OP)                                                                             \
  LogicalResult OP::verify() { return verifyTensors(*this); }
TESSERA_VERIFY_UNARY(NegOp)
TESSERA_VERIFY_UNARY(AbsOp)
TESSERA_VERIFY_UNARY(ExpOp)
TESSERA_VERIFY_UNARY(LogOp)
TESSERA_VERIFY_UNARY(SqrtOp)
TESSERA_VERIFY_UNARY(RsqrtOp)
TESSERA_VERIFY_UNARY(TanhOp)
TESSERA_VERIFY_UNARY(SinOp)
TESSERA_VERIFY_UNARY(CosOp)
TESSERA_VERIFY_UNARY(ErfOp)
TESSERA_VERIFY_UNARY(SigmoidOp)
TESSERA_VERIFY_UNARY(SiluOp)
TESSERA_VERIFY_UNARY(ReluOp)
TESSERA_VERIFY_UNARY(GeluErfOp)
TESSERA_VERIFY_UNARY(GeluTanhOp)

static LogicalResult verifyBinary(Operation *op, Value lhs, Value rhs) {
  Value result = op->getResult(0);
  if (failed(verifyTensors(op)) || failed(expectSameElements(op, {"lhs", lhs}, {"result", result})) ||
      failed(expectSameElements(op, {"rhs", rhs}, {"result", result})))
    return failure();
  if (typeOf(result).getElementType().isInteger(1))
    return op->emitOpError() << "does not compute on i1";
  return verifyBroadcast(op, op->getOperands(), result);
}
LogicalResult AddOp::verify() { return verifyBinary(*this, getLhs(), getRhs()); }
LogicalResult SubOp::verify() { return verifyBinary(*this, getLhs(), getRhs()); }
LogicalResult MulOp::verify() { return verifyBinary(*this, getLhs(), getRhs()); }
LogicalResult DivOp::verify() { return verifyBinary(*this, getLhs(), getRhs()); }
LogicalResult MaximumOp::verify() { return verifyBinary(*this, getLhs(), getRhs()); }
LogicalResult MinimumOp::verify() { return verifyBinary(*this, getLhs(), getRhs()); }

LogicalResult CastOp::verify() {
  if (failed(verifyTensors(*this)) ||
      failed(expectRank(*this, {"result", getResult()}, rankOf(getInput()))) ||
      failed(
          expectSameSizes(*this, {"input", getInput()}, 0, {"result", getResult()}, 0, rankOf(getInput()))))
    return failure();
  if (getResult().getType().getElementType().isInteger(1) &&
      !getInput().getType().getElementType().isInteger(1))
    return emitOpError() << "to i1 would lose numbers; use graph.compare ne";
  return success();
}

/// The op that makes `value`, or a layer of it: what a loop returns its bodies make. Null: the caller gives
/// it.
static Operation *makerOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      value = repeat.getBody(0).getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
    else if (isa<NameOp>(op))
      value = op->getOperand(0);
    else
      return op;
  }
  return nullptr;
}

bool CastOp::castsTerms() {
  auto from = dyn_cast<FloatType>(getInput().getType().getElementType()),
       to = dyn_cast<FloatType>(getResult().getType().getElementType());
  if (!from || !to)
    return false;
  if ((*this)->hasAttr(kTermsAttr))
    return true;
  bool losesNothing = APFloat::semanticsPrecision(to.getFloatSemantics()) >=
                          APFloat::semanticsPrecision(from.getFloatSemantics()) &&
                      APFloat::semanticsMaxExponent(to.getFloatSemantics()) >=
                          APFloat::semanticsMaxExponent(from.getFloatSemantics());
  if (!losesNothing)
    return false;
  // Any such cast could hand terms on. That it may is offered where it saves something: to terms that are
  // narrow by choice, and are added up in a wider type. Each sum that may stay open is priced in all loops
  // around it.
  auto sharding = dist::getShardingAttr(getInput().getType());
  if (sharding && sharding.getPartialKind() != dist::PartialKindEnum::none)
    return true;
  Operation *maker = makerOf(getInput());
  return maker && maker->hasAttr(kTermsAttr);
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  return {};
}
