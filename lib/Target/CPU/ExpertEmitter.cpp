//===- ExpertEmitter.cpp - what kernels of ops by expert are written with -===//

#include "ExpertEmitter.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>

using namespace mlir;

namespace tessera::experts {

static Value asBuffer(ImplicitLocOpBuilder &b, Value array, bool readOnly) {
  auto type = cast<RankedTensorType>(array.getType());
  auto op =
      bufferization::ToBufferOp::create(b, MemRefType::get(type.getShape(), type.getElementType()), array);
  op.setReadOnly(readOnly);
  return op;
}

static Value firstLanes(ImplicitLocOpBuilder &b, int64_t lanes, int64_t active) {
  SmallVector<bool> bits(size_t(lanes), false);
  std::fill_n(bits.begin(), active, true);
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(VectorType::get({lanes}, b.getI1Type()), ArrayRef<bool>(bits)));
}

/// `x`'s type with other elements.
static Type withElements(Value x, Type element) {
  auto vector = dyn_cast<VectorType>(x.getType());
  return vector ? VectorType::get(vector.getShape(), element) : element;
}

Kernel::Kernel(Location loc, StringRef name, ArrayRef<Type> inputs, ArrayRef<Type> outputs, unsigned scalars)
    : shell(loc, name, inputs, outputs, scalars), b(loc, shell.builder) {
  for (Value input : shell.inputs)
    in.push_back(asBuffer(b, input, /*readOnly=*/true));
  for (Value output : shell.outputs)
    out.push_back(asBuffer(b, output, /*readOnly=*/false));
}

func::FuncOp Kernel::overIterations(llvm::function_ref<void(Value)> body) {
  loop(shell.begin, shell.end, 1, body);
  func::ReturnOp::create(b, shell.outputs);
  return shell.func;
}

Value Kernel::widened(Value x) {
  if (getElementTypeOrSelf(x).isF32())
    return x;
  return arith::ExtFOp::create(b, withElements(x, b.getF32Type()), x);
}

Value Kernel::narrowed(Value x, Type element) {
  if (element.isF32())
    return x;
  return arith::TruncFOp::create(b, withElements(x, element), x);
}

Value Kernel::loadVector(Value buffer, ValueRange at, int64_t lanes, int64_t active) {
  auto type = VectorType::get({lanes}, cast<MemRefType>(buffer.getType()).getElementType());
  if (active == lanes)
    return vector::LoadOp::create(b, type, buffer, at);
  return vector::MaskedLoadOp::create(b, type, buffer, at, firstLanes(b, lanes, active), zero(type));
}

void Kernel::storeVector(Value value, Value buffer, ValueRange at, int64_t active) {
  int64_t lanes = cast<VectorType>(value.getType()).getNumElements();
  if (active == lanes)
    vector::StoreOp::create(b, value, buffer, at);
  else
    vector::MaskedStoreOp::create(b, buffer, at, firstLanes(b, lanes, active), value);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void Kernel::loop(Value lower, Value upper, int64_t step, llvm::function_ref<void(Value)> body) {
  auto op = scf::ForOp::create(b, lower, upper, index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}

Values Kernel::loop(Value lower, Value upper, int64_t step, ValueRange carried,
                    llvm::function_ref<Values(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(b, lower, upper, index(step), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  Values next = body(op.getInductionVar(), op.getRegionIterArgs());
  scf::YieldOp::create(b, next);
  return Values(op.getResults());
}

void Kernel::ifThen(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(b, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  then();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(op.elseBlock());
  otherwise();
}

void Kernel::forStretches(int64_t width, int64_t lanes, llvm::function_ref<void(Value, int64_t)> body) {
  int64_t whole = width / lanes * lanes;
  if (whole)
    loop(index(0), index(whole), lanes, [&](Value d) { body(d, lanes); });
  if (whole != width)
    body(index(whole), width - whole);
}

Values Kernel::forStretches(int64_t width, int64_t lanes, Values carried,
                            llvm::function_ref<Values(Value, int64_t, ValueRange)> body) {
  int64_t whole = width / lanes * lanes;
  if (whole)
    carried = loop(index(0), index(whole), lanes, carried,
                   [&](Value d, ValueRange before) { return body(d, lanes, before); });
  if (whole != width)
    carried = body(index(whole), width - whole, carried);
  return carried;
}

void Kernel::inTiles(Value first, Value last, int64_t size, llvm::function_ref<void(Value, int64_t)> body) {
  Value whole = mul(arith::DivUIOp::create(b, sub(last, first), index(size)), size);
  Value rest = add(first, whole);
  loop(first, rest, size, [&](Value i) { body(i, size); });
  loop(rest, last, 1, [&](Value i) { body(i, 1); });
}

void Kernel::writeRow(Value r, Value token, int64_t width, int64_t lanes,
                      llvm::function_ref<Value(Value, int64_t)> elements) {
  auto write = [&](llvm::function_ref<Value(Value, int64_t)> of) {
    forStretches(width, lanes,
                 [&](Value d, int64_t active) { storeVector(of(d, active), out[0], {r, d}, active); });
  };
  auto type = VectorType::get({lanes}, cast<MemRefType>(out[0].getType()).getElementType());
  ifThen(
      less(token, index(0)), [&] { write([&](Value, int64_t) { return zero(type); }); },
      [&] { write(elements); });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Value Kernel::total(Value vector) {
  return vector::ReductionOp::create(b, vector::CombiningKind::ADD, vector, arith::FastMathFlags::reassoc);
}

void Kernel::outerTile(Value first, Value last, int64_t rows, size_t columns, int64_t lanes,
                       llvm::function_ref<Value(Value, int64_t)> row,
                       llvm::function_ref<Value(Value, size_t)> column,
                       llvm::function_ref<void(int64_t, size_t, Value)> give) {
  Values sums(size_t(rows) * columns, zero(floats(lanes)));
  sums = loop(first, last, 1, sums, [&](Value i, ValueRange carried) -> Values {
    Values y, next(carried);
    for (size_t v = 0; v < columns; ++v)
      y.push_back(column(i, v));
    for (int64_t r = 0; r < rows; ++r) {
      Value x = spread(row(i, r), lanes);
      for (size_t v = 0; v < columns; ++v) {
        Value &sum = next[size_t(r) * columns + v];
        sum = math::FmaOp::create(b, x, y[v], sum);
      }
    }
    return next;
  });
  for (int64_t r = 0; r < rows; ++r)
    for (size_t v = 0; v < columns; ++v)
      give(r, v, sums[size_t(r) * columns + v]);
}

} // namespace tessera::experts
