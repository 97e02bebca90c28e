//===- DrawRow.h - The code that draws one row ------------------*- C++ -*-===//
#ifndef TESSERA_LIB_TARGET_FORMS_DRAWROW_H
#define TESSERA_LIB_TARGET_FORMS_DRAWROW_H

#include "tessera/Target/Forms/Draw.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tessera {

/// Buffers of the kernel's arguments.
struct DrawArguments {
  mlir::Value logits, stream, count, seed, temperature, topK, topP, minP, ids, scratch;
};

/// A token's weight is an integer: exp((logit - largest) / temperature) in units that let the sum over the
/// vocabulary fit. Where a row is cut, ids are ordered by their *rank*: 32 bits that order like the logit and
/// below them the id, the lower the larger. Which rank holds what is searched for bit by bit: each bit takes
/// one sum over the candidates.
class DrawRow {
public:
  DrawRow(mlir::ImplicitLocOpBuilder &builder, const DrawShape &shape, const DrawArguments &arguments,
          DrawThreads &threads);
  /// Code that draws row number `row`.
  void emit(mlir::Value row);

private:
  using Value = mlir::Value;
  enum Plane { Weights, Ranks }; ///< of the scratch

  Value findLargest();
  Value weigh(Value largest, Value isFinite);
  Value weightOf(Value logit, Value largest, Value inverse);
  Value randomNumber();
  Value pickByOrder(Value total, Value number);
  Value pickByRank(Value total, Value number);
  Value keepLikely(Value least);
  Value rankOf(Value logit, Value id);
  Value sumFrom(Value candidates, Value limit, bool weights);
  Value sumOfLikely(Value candidates, Value least);
  Value search(Value candidates, Value wanted, bool weights);

  Value integer(int64_t value) { return mlir::arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); }
  Value real(double value) { return mlir::arith::ConstantOp::create(b, b.getF64FloatAttr(value)); }
  Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(b, value); }
  template <typename Op> Value binary(Value x, Value y) { return b.createOrFold<Op>(x, y); }
  Value compare(mlir::arith::CmpIPredicate predicate, Value x, Value y) {
    return mlir::arith::CmpIOp::create(b, predicate, x, y);
  }
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y) {
    return mlir::arith::CmpFOp::create(b, predicate, x, y);
  }
  Value select(Value c, Value x, Value y) { return mlir::arith::SelectOp::create(b, c, x, y); }
  Value toInteger(Value index) { return mlir::arith::IndexCastOp::create(b, b.getI64Type(), index); }
  Value toIndex(Value integer) { return mlir::arith::IndexCastOp::create(b, b.getIndexType(), integer); }
  /// The least integer that is at least `x`, which is not negative.
  Value roundUp(Value x);
  Value shareOf(Value mass, Value number);
  Value logitAt(Value id);
  Value load(Value buffer, mlir::ValueRange at = {});
  Value load(Plane plane, Value at);
  void store(Value value, Plane plane, Value at);
  /// Ids of this thread in [lower, upper), each with what the one before carried on.
  Value forOwn(Value lower, Value upper, Value carried, llvm::function_ref<Value(Value, Value)> body);
  Value loop(Value lower, Value upper, Value step, Value carried,
             llvm::function_ref<Value(Value, Value)> body);
  Value either(Value condition, llvm::function_ref<Value()> then, llvm::function_ref<Value()> otherwise);

  mlir::ImplicitLocOpBuilder &b;
  const DrawShape &shape;
  const DrawArguments &arguments;
  DrawThreads &threads;
  int64_t idBits; ///< that hold an id
  Value row, thread;
};

} // namespace tessera
#endif
