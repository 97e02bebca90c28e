//===- AttentionEmitter.cpp - building blocks of attention kernels ----------===//

#include "AttentionEmitter.h"

#include "tessera/Target/Forms/CacheBlocks.h"

#include "tessera/runtime/core/CountedRandom.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace tessera {

using namespace mlir;

Value AttentionEmitter::index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
Value AttentionEmitter::f32(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
}
Value AttentionEmitter::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
}
Value AttentionEmitter::splat(double value) {
  return arith::ConstantOp::create(b, DenseElementsAttr::get(floats, float(value)));
}
Value AttentionEmitter::splat(Value scalar) {
  return vector::BroadcastOp::create(b, VectorType::get({lanes}, scalar.getType()), scalar);
}

Value AttentionEmitter::scratch(ArrayRef<int64_t> dims, Type element) {
  auto type = MemRefType::get(dims, element ? element : b.getF32Type());
  return memref::AllocaOp::create(b, type, b.getI64IntegerAttr(64));
}

Value AttentionEmitter::load(Value buffer, ValueRange at) {
  Value value = memref::LoadOp::create(b, buffer, at);
  if (value.getType().isBF16() || value.getType().isF16())
    value = arith::ExtFOp::create(b, b.getF32Type(), value);
  return value;
}

static Value laneMask(ImplicitLocOpBuilder &b, int64_t lanes, int64_t active) {
  SmallVector<bool> bits(lanes, false);
  std::fill_n(bits.begin(), active, true);
  return arith::ConstantOp::create(b, DenseElementsAttr::get(VectorType::get({lanes}, b.getI1Type()), bits));
}

Value AttentionEmitter::loadElements(VectorType type, Value buffer, ValueRange at, int64_t active) {
  if (active >= type.getNumElements())
    return vector::LoadOp::create(b, type, buffer, at);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(b, type, buffer, at, laneMask(b, type.getNumElements(), active), zero);
}

Value AttentionEmitter::loadVector(Value buffer, ValueRange at, int64_t active) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Value value = loadElements(VectorType::get({lanes}, element), buffer, at, active);
  return element.isBF16() || element.isF16() ? Value(arith::ExtFOp::create(b, floats, value)) : value;
}

void AttentionEmitter::store(Value value, Value buffer, ValueRange at) {
  memref::StoreOp::create(b, value, buffer, at);
}

void AttentionEmitter::storeVector(Value value, Value buffer, ValueRange at, int64_t active) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  if (element.isBF16() || element.isF16())
    value = arith::TruncFOp::create(b, VectorType::get({lanes}, element), value);
  if (active >= lanes)
    vector::StoreOp::create(b, value, buffer, at);
  else
    vector::MaskedStoreOp::create(b, buffer, at, laneMask(b, lanes, active), value);
}

Values AttentionEmitter::keyIndices(const AttentionIteration &iteration, Value j, Value d) {
  Values at;
  if (buffers.layer)
    at.push_back(buffers.layer);
  at.append({iteration.batch, shape.ring ? rem(j, shape.context) : j, iteration.head, d});
  return at;
}

bool AttentionEmitter::hasBlocks() const {
  return isInBlocks(cast<MemRefType>(buffers.k.getType()).getElementType());
}

Value AttentionEmitter::loadKey(Value buffer, const AttentionIteration &iteration, Value j, Value d,
                                int64_t active) {
  if (!hasBlocks())
    return loadVector(buffer, keyIndices(iteration, j, d), active);
  Values row = keyIndices(iteration, j, d);
  row.pop_back();
  return loadFromBlock(b, buffer, row, d, lanes);
}

Value AttentionEmitter::boundedKeyEnd(Value end) {
  end = max(end, index(0));
  return shape.ring ? end : min(end, index(shape.context));
}

Values AttentionEmitter::queryIndices(const AttentionIteration &iteration, Value row, Value d) {
  return {iteration.batch, div(row, shape.group), iteration.head, rem(row, shape.group), d};
}

Value AttentionEmitter::fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }

// x where x > y, else y (also where either is no number): one instruction.
Value AttentionEmitter::maxf(Value x, Value y) {
  Value greater = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, y);
  return select(greater, x, y);
}

Value AttentionEmitter::exp2(Value x) {
  Type type = x.getType(), intType = isa<VectorType>(type) ? Type(ints) : b.getI32Type();
  auto constant = [&](double value) { return isa<VectorType>(type) ? splat(value) : f32(value); };
  auto intConstant = [&](int64_t value) -> Value {
    return isa<VectorType>(type)
               ? Value(arith::ConstantOp::create(b, DenseElementsAttr::get(ints, int32_t(value))))
               : i32(value);
  };
  // 2^x = 2^n * 2^f with n an integer and |f| <= 1/2. The polynomial is the minimax one of degree 5 for 2^f
  // in the relative sense (7.5e-8); n = -127 gives a zero exponent field and with it 0. Operands in this
  // order: no number stays no number.
  x = maxf(constant(-127), x);
  // Added to 1.5 * 2^23, x is rounded to an integer, which the low bits of the sum hold.
  Value shifted = addf(x, constant(0x1.8p23));
  Value n = arith::SubFOp::create(b, shifted, constant(0x1.8p23));
  Value f = arith::SubFOp::create(b, x, n);
  const double coefficients[] = {0.009675541334219133, 0.055507132735428406, 0.24022119723848384,
                                 0.693146967064733, 1.0000000716546824};
  Value p = constant(0.001327647197940257);
  for (double c : coefficients)
    p = fma(p, f, constant(c));
  Value exponent = arith::BitcastOp::create(b, intType, shifted);
  exponent = arith::AddIOp::create(b, exponent, intConstant(127));
  exponent = arith::ShLIOp::create(b, exponent, intConstant(23));
  return mulf(p, arith::BitcastOp::create(b, type, exponent));
}

Value AttentionEmitter::positionOf(const AttentionIteration &iteration, Value row) {
  Values at = {iteration.batch, div(row, shape.group)};
  if (shape.firsts)
    at.push_back(index(0));
  return load(buffers.positions, at);
}

Value AttentionEmitter::firstInSight(const AttentionIteration &iteration, Value row, Value position) {
  Value first;
  if (shape.window)
    first = arith::SubIOp::create(b, position, i32(*shape.window - 1));
  if (!shape.firsts)
    return first;
  Value given = load(buffers.positions, {iteration.batch, div(row, shape.group), index(1)});
  return first ? Value(arith::MaxSIOp::create(b, first, given)) : given;
}

double AttentionEmitter::queryScale() const {
  return shape.softcap ? shape.scale / *shape.softcap : shape.scale * kLog2E;
}

Value AttentionEmitter::score(Value product) {
  if (!shape.softcap)
    return product;
  return mulf(math::TanhOp::create(b, product), splat(*shape.softcap * kLog2E));
}

void AttentionEmitter::storeLogSumExp(const AttentionIteration &iteration, Value row, Value top, Value sum) {
  Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, f32(0));
  Value value = mulf(addf(top, math::Log2Op::create(b, sum)), f32(1 / kLog2E));
  value = select(empty, f32(-INFINITY), value);
  store(value, buffers.logSumExp,
        {iteration.batch, div(row, shape.group), iteration.head, rem(row, shape.group)});
}

std::pair<Value, Value> AttentionEmitter::beginSoftmax(const AttentionIteration &iteration, Value row) {
  if (!buffers.sinks)
    return {f32(kLowest), f32(0)};
  Value sink = mulf(load(buffers.sinks, {iteration.head, rem(row, shape.group)}), f32(kLog2E));
  // Of minus infinity the weight is 0: no sink. No number stays no number.
  Value top = maxf(f32(kLowest), sink);
  return {top, exp2(arith::SubFOp::create(b, sink, top))};
}

void AttentionEmitter::allocateWords(int64_t rows) {
  if (!shape.dropout)
    return;
  lowWords = scratch({rows}, b.getI32Type());
  highWords = scratch({rows}, b.getI32Type());
}

void AttentionEmitter::beginDropout() {
  if (!shape.dropout)
    return;
  Value share = load(buffers.dropShare, {});
  Value part = mulf(share, f32(0x1p32));
  dropThreshold = splat(arith::FPToUIOp::create(b, b.getI32Type(), part));
  keptScale = splat(arith::DivFOp::create(b, f32(1), arith::SubFOp::create(b, f32(1), share)));
}

void AttentionEmitter::storeWords(const AttentionIteration &iteration, Value row, Value l) {
  if (!shape.dropout)
    return;
  Value key =
      load(buffers.dropKeys, {iteration.batch, div(row, shape.group), iteration.head, rem(row, shape.group)});
  Value shift = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
  store(arith::TruncIOp::create(b, b.getI32Type(), key), lowWords, {l});
  store(arith::TruncIOp::create(b, b.getI32Type(), arith::ShRUIOp::create(b, key, shift)), highWords, {l});
}

/// runtime::randomWord, in lanes.
Value AttentionEmitter::isDropped(Value low, Value high, Value columns) {
  auto constant = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(ints, int32_t(value)));
  };
  auto folded = [&](Value x, int shift) -> Value {
    return arith::XOrIOp::create(b, x, arith::ShRUIOp::create(b, x, constant(uint32_t(shift))));
  };
  auto times = [&](Value x, uint32_t factor) -> Value {
    return arith::MulIOp::create(b, x, constant(factor));
  };
  Value z = arith::AddIOp::create(b, low, times(columns, runtime::kColumnStep));
  z = times(folded(z, runtime::kFirstWordShift), runtime::kFirstWordFactor);
  z = times(folded(arith::XOrIOp::create(b, z, high), runtime::kWordShift), runtime::kSecondWordFactor);
  return compare(arith::CmpIPredicate::ult, folded(z, runtime::kWordShift), dropThreshold);
}

Value AttentionEmitter::inverse(Value x) {
  bool vector = isa<VectorType>(x.getType());
  Value zero = vector ? splat(0.0) : f32(0), one = vector ? splat(1.0) : f32(1);
  Value positive = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, zero);
  return select(positive, arith::DivFOp::create(b, one, x), zero);
}

Values AttentionEmitter::transpose(Values rows) {
  for (int64_t h = 1; h < lanes; h *= 2)
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & h)
        continue;
      SmallVector<int64_t> low, high; // lanes of the pair (i, i + h) after exchanging blocks of h
      for (int64_t l = 0; l < lanes; ++l) {
        low.push_back(l & h ? lanes + l - h : l);
        high.push_back(l & h ? lanes + l : l + h);
      }
      Value x = rows[i], y = rows[i + h];
      rows[i] = vector::ShuffleOp::create(b, x, y, low);
      rows[i + h] = vector::ShuffleOp::create(b, x, y, high);
    }
  return rows;
}

Value AttentionEmitter::sumEach(Values vectors) {
  // A stage halves the number of vectors: lanes with bit h clear keep sums of the one, the others of its
  // partner.
  for (int64_t h = lanes / 2; h; h /= 2)
    for (int64_t i = 0; i < h; ++i) {
      SmallVector<int64_t> own, crossed;
      for (int64_t l = 0; l < lanes; ++l) {
        own.push_back(l & h ? lanes + l : l);
        crossed.push_back(l & h ? lanes + (l ^ h) : (l ^ h));
      }
      Value x = vectors[i], y = vectors[i + h];
      vectors[i] = addf(vector::ShuffleOp::create(b, x, y, own), vector::ShuffleOp::create(b, x, y, crossed));
    }
  return vectors[0];
}

Values AttentionEmitter::loop(Value lower, Value upper, int64_t step, ValueRange carried,
                              llvm::function_ref<Values(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(b, b.getLoc(), lower, upper, index(step), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  Values results = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b, results);
  return Values(op.getResults());
}

void AttentionEmitter::loop(Value lower, Value upper, int64_t step, llvm::function_ref<void(Value)> body) {
  loop(lower, upper, step, {}, [&](Value i, ValueRange) -> Values {
    body(i);
    return {};
  });
}

void AttentionEmitter::forStretches(int64_t size, int64_t length,
                                    llvm::function_ref<void(Value, int64_t)> body) {
  int64_t whole = size / length * length;
  if (whole)
    loop(index(0), index(whole), length, [&](Value start) { body(start, length); });
  if (whole != size)
    body(index(whole), size - whole);
}

} // namespace tessera
