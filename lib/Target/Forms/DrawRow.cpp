//===- DrawRow.cpp - The code that draws one row --------------------------===//

#include "DrawRow.h"

#include "tessera/runtime/core/CountedRandom.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

namespace tessera {

DrawRow::DrawRow(ImplicitLocOpBuilder &builder, const DrawShape &shape, const DrawArguments &arguments,
                 DrawThreads &threads)
    : b(builder), shape(shape), arguments(arguments), threads(threads),
      idBits(std::max<int64_t>(1, llvm::Log2_64_Ceil(uint64_t(shape.vocab)))) {}

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

Value DrawRow::load(Value buffer, ValueRange at) { return memref::LoadOp::create(b, buffer, at); }
Value DrawRow::load(Plane plane, Value at) {
  return load(arguments.scratch, ValueRange{row, index(plane), at});
}
void DrawRow::store(Value value, Plane plane, Value at) {
  memref::StoreOp::create(b, value, arguments.scratch, ValueRange{row, index(plane), at});
}

Value DrawRow::loop(Value lower, Value upper, Value step, Value carried,
                    llvm::function_ref<Value(Value, Value)> body) {
  auto op = scf::ForOp::create(b, lower, upper, step, ValueRange{carried});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  Value next = body(op.getInductionVar(), op.getRegionIterArg(0));
  scf::YieldOp::create(b, ValueRange{next});
  return op.getResult(0);
}

Value DrawRow::forOwn(Value lower, Value upper, Value carried, llvm::function_ref<Value(Value, Value)> body) {
  return loop(binary<arith::AddIOp>(lower, thread), upper, index(threads.count()), carried, body);
}

Value DrawRow::either(Value condition, llvm::function_ref<Value()> then,
                      llvm::function_ref<Value()> otherwise) {
  auto op = scf::IfOp::create(b, b.getI64Type(), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  for (auto [block, body] : {std::pair(op.thenBlock(), then), std::pair(op.elseBlock(), otherwise)}) {
    b.setInsertionPointToStart(block);
    Value value = body();
    scf::YieldOp::create(b, ValueRange{value});
  }
  return op.getResult(0);
}

Value DrawRow::roundUp(Value x) {
  Value whole = arith::FPToSIOp::create(b, b.getI64Type(), x);
  Value less = compare(CmpFPredicate::OLT, arith::SIToFPOp::create(b, b.getF64Type(), whole), x);
  return binary<arith::AddIOp>(whole, arith::ExtUIOp::create(b, b.getI64Type(), less));
}

/// number / 2^53 of `mass`, rounded down.
Value DrawRow::shareOf(Value mass, Value number) {
  auto product = arith::MulUIExtendedOp::create(b, mass, number);
  return binary<arith::OrIOp>(binary<arith::ShLIOp>(product.getHigh(), integer(11)),
                              binary<arith::ShRUIOp>(product.getLow(), integer(53)));
}

/// As float32.
Value DrawRow::logitAt(Value id) {
  Value logit = load(arguments.logits, ValueRange{row, id});
  return shape.elementType.isF32() ? logit : arith::ExtFOp::create(b, b.getF32Type(), logit).getResult();
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The largest logit; infinite where one is infinite or a NaN, minus infinity where all of them are.
Value DrawRow::findLargest() {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Value most = arith::ConstantOp::create(b, b.getF32FloatAttr(infinity));
  Value least = arith::ConstantOp::create(b, b.getF32FloatAttr(-infinity));
  Value own = forOwn(index(0), index(shape.vocab), least, [&](Value id, Value largest) {
    Value logit = logitAt(id);
    logit = select(compare(CmpFPredicate::ULT, logit, most),
                   select(compare(CmpFPredicate::UNO, logit, logit), most, logit), most);
    return select(compare(CmpFPredicate::OGT, logit, largest), logit, largest);
  });
  return threads.largest(b, own);
}

/// exp((logit - largest) / temperature), of which the largest weight is 2^(62 - idBits).
Value DrawRow::weightOf(Value logit, Value largest, Value inverse) {
  // What lies below weighs nothing. No number is none here either: the row is not drawn from.
  constexpr double lowest = -64, rounder = 0x1.8p52;
  Type f64 = b.getF64Type(), i64 = b.getI64Type();
  Value x =
      binary<arith::MulFOp>(binary<arith::SubFOp>(arith::ExtFOp::create(b, f64, logit), largest), inverse);
  x = select(compare(CmpFPredicate::OGT, x, real(lowest)), x, real(lowest));
  x = select(compare(CmpFPredicate::OLT, x, real(0)), x, real(0));
  // e^x = 2^n e^r, |r| <= ln 2 / 2. Added to 1.5 * 2^52 a number is rounded to an integer, which the low bits
  // of the sum hold; n * 0x1.62e42fefa38p-1 is exact. The series has an error of 4e-18 there.
  Value shifted = binary<arith::AddFOp>(binary<arith::MulFOp>(x, real(0x1.71547652b82fep+0)), real(rounder));
  Value n = binary<arith::SubFOp>(shifted, real(rounder));
  Value r = binary<arith::SubFOp>(x, binary<arith::MulFOp>(n, real(0x1.62e42fefa38p-1)));
  r = binary<arith::SubFOp>(r, binary<arith::MulFOp>(n, real(0x1.ef35793c7673p-45)));
  double coefficient = 1;
  for (int64_t i = 2; i <= 13; ++i)
    coefficient /= double(i);
  Value power = real(coefficient);
  for (int64_t i = 13; i > 0; --i) {
    coefficient *= double(i);
    power = binary<arith::AddFOp>(binary<arith::MulFOp>(power, r), real(coefficient));
  }
  Value exponent =
      binary<arith::AddIOp>(arith::BitcastOp::create(b, i64, shifted), integer(1023 + 62 - idBits));
  Value scale = arith::BitcastOp::create(b, f64, binary<arith::ShLIOp>(exponent, integer(52)));
  return arith::FPToSIOp::create(b, i64, binary<arith::MulFOp>(power, scale));
}

/// Writes all weights; returns their sum.
Value DrawRow::weigh(Value largest, Value isFinite) {
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value top = arith::ExtFOp::create(b, b.getF64Type(), select(isFinite, largest, zero));
  // Of a subnormal temperature the inverse may be infinite, and 0 * infinity, the most likely token's, no
  // number.
  Value inverse = binary<arith::DivFOp>(real(1), load(arguments.temperature));
  Value most = real(std::numeric_limits<double>::max());
  inverse = select(compare(CmpFPredicate::OLT, inverse, most), inverse, most);
  Value own = forOwn(index(0), index(shape.vocab), integer(0), [&](Value id, Value sum) {
    Value weight = weightOf(logitAt(id), top, inverse);
    store(weight, Weights, id);
    return binary<arith::AddIOp>(sum, weight);
  });
  return threads.sum(b, own);
}

/// The counted random number: 53 bits (docs/Runtime.md, "Choosing tokens").
Value DrawRow::randomNumber() {
  Value gamma = integer(int64_t(runtime::kCountStep));
  auto mix = [&](Value z) {
    for (auto [shift, factor] : runtime::kMixRounds)
      z = binary<arith::MulIOp>(binary<arith::XOrIOp>(z, binary<arith::ShRUIOp>(z, integer(shift))),
                                integer(int64_t(factor)));
    return binary<arith::XOrIOp>(z, binary<arith::ShRUIOp>(z, integer(runtime::kLastMixShift)));
  };
  auto wide = [&](Value of) -> Value {
    return arith::ExtSIOp::create(b, b.getI64Type(), load(of, ValueRange{row}));
  };
  Value z = mix(binary<arith::AddIOp>(load(arguments.seed), gamma));
  z = mix(binary<arith::XOrIOp>(z, binary<arith::AddIOp>(wide(arguments.stream), gamma)));
  z = mix(binary<arith::AddIOp>(z, binary<arith::MulIOp>(wide(arguments.count), gamma)));
  return binary<arith::ShRUIOp>(z, integer(11));
}

//===----------------------------------------------------------------------===//
// In the order of ids
//===----------------------------------------------------------------------===//

/// The first id behind which the weights up to it are more than the number's share. Each step halves where it
/// can be.
Value DrawRow::pickByOrder(Value total, Value number) {
  Value share = shareOf(total, number), vocab = index(shape.vocab);
  Value first = index(0), before = integer(0), half = index(int64_t(1) << (idBits - 1));
  auto steps = scf::ForOp::create(b, index(0), index(idBits), index(1), ValueRange{first, before, half});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(steps.getBody());
    first = steps.getRegionIterArg(0);
    before = steps.getRegionIterArg(1);
    half = steps.getRegionIterArg(2);
    Value middle = binary<arith::AddIOp>(first, half);
    Value own = forOwn(first, binary<arith::MinUIOp>(middle, vocab), integer(0),
                       [&](Value id, Value sum) { return binary<arith::AddIOp>(sum, load(Weights, id)); });
    Value behind = binary<arith::AddIOp>(before, threads.sum(b, own));
    Value isBelow = compare(CmpIPredicate::ugt, behind, share);
    Value next = binary<arith::ShRUIOp>(half, index(1));
    scf::YieldOp::create(b,
                         ValueRange{select(isBelow, first, middle), select(isBelow, before, behind), next});
  }
  return toInteger(steps.getResult(0));
}

//===----------------------------------------------------------------------===//
// In falling order of the logits
//===----------------------------------------------------------------------===//

Value DrawRow::rankOf(Value logit, Value id) {
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), binary<arith::AddFOp>(logit, zero)); // -0 is 0
  auto word = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  };
  Value flipped = binary<arith::AndIOp>(binary<arith::ShRSIOp>(bits, word(31)), word(0x7fffffffu));
  bits = binary<arith::XOrIOp>(binary<arith::XOrIOp>(bits, flipped), word(0x80000000u));
  Value high = binary<arith::ShLIOp>(arith::ExtUIOp::create(b, b.getI64Type(), bits), integer(idBits));
  Value low = binary<arith::SubIOp>(integer((int64_t(1) << idBits) - 1), toInteger(id));
  return binary<arith::OrIOp>(high, low);
}

/// Brings those of this thread's ids that weigh at least `least` together; returns how many they are.
Value DrawRow::keepLikely(Value least) {
  return forOwn(index(0), index(shape.vocab), index(0), [&](Value id, Value kept) {
    Value weight = load(Weights, id);
    Value isLikely = compare(CmpIPredicate::uge, weight, least);
    auto branch = scf::IfOp::create(b, isLikely, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      // Among the thread's own places, none of them behind the id's.
      Value place = binary<arith::AddIOp>(binary<arith::MulIOp>(kept, index(threads.count())), thread);
      store(weight, Weights, place);
      store(rankOf(logitAt(id), id), Ranks, place);
    }
    return binary<arith::AddIOp>(kept, arith::IndexCastUIOp::create(b, b.getIndexType(), isLikely));
  });
}

/// How many candidates have ranks from `limit` on, or what they weigh.
Value DrawRow::sumFrom(Value candidates, Value limit, bool weights) {
  Value stride = index(threads.count());
  Value end = binary<arith::MulIOp>(candidates, stride);
  Value own = forOwn(index(0), end, integer(0), [&](Value place, Value sum) {
    Value counts = compare(CmpIPredicate::uge, load(Ranks, place), limit);
    Value one = weights ? load(Weights, place) : integer(1);
    return binary<arith::AddIOp>(sum, select(counts, one, integer(0)));
  });
  return threads.sum(b, own);
}

/// What those candidates weigh that weigh at least `least` each.
Value DrawRow::sumOfLikely(Value candidates, Value least) {
  Value end = binary<arith::MulIOp>(candidates, index(threads.count()));
  Value own = forOwn(index(0), end, integer(0), [&](Value place, Value sum) {
    Value weight = load(Weights, place);
    Value isLikely = compare(CmpIPredicate::uge, weight, least);
    return binary<arith::AddIOp>(sum, select(isLikely, weight, integer(0)));
  });
  return threads.sum(b, own);
}

/// The largest rank from which on there are `wanted` candidates, or they weigh as much; 0: all do not.
Value DrawRow::search(Value candidates, Value wanted, bool weights) {
  int64_t bits = 32 + idBits;
  return loop(index(0), index(bits), index(1), integer(0), [&](Value step, Value found) {
    Value bit = binary<arith::ShLIOp>(integer(1), binary<arith::SubIOp>(integer(bits - 1), toInteger(step)));
    Value tried = binary<arith::OrIOp>(found, bit);
    Value enough = compare(CmpIPredicate::uge, sumFrom(candidates, tried, weights), wanted);
    return select(enough, tried, found);
  });
}

Value DrawRow::pickByRank(Value total, Value number) {
  Value topP = load(arguments.topP), one = integer(1);
  Value cutsShare = compare(CmpFPredicate::OLT, topP, real(1));
  Value topK = arith::ExtSIOp::create(b, b.getI64Type(), load(arguments.topK));
  Value cutsCount = compare(CmpIPredicate::sgt, topK, integer(0));
  auto asReal = [&](Value x) -> Value { return arith::SIToFPOp::create(b, b.getF64Type(), x); };
  // Ids below (1 - topP) / vocab of the sum together weigh less than 1 - topP: the set is complete without
  // them.
  Value rest = binary<arith::MulFOp>(asReal(total), binary<arith::SubFOp>(real(1), topP));
  Value least =
      arith::FPToSIOp::create(b, b.getI64Type(), binary<arith::MulFOp>(rest, real(1 / double(shape.vocab))));
  least = select(cutsCount, one, least);
  // Nor are ids below min-p needed, but where `topP` counts them among the first `topK`.
  Value likely =
      roundUp(binary<arith::MulFOp>(load(arguments.minP), real(double(int64_t(1) << (62 - idBits)))));
  Value isCounted = binary<arith::AndIOp>(cutsCount, cutsShare);
  least = binary<arith::MaxSIOp>(binary<arith::MaxSIOp>(least, select(isCounted, one, likely)), one);
  Value candidates = keepLikely(least);
  Value mass = either(
      cutsCount,
      [&] { return sumFrom(candidates, search(candidates, topK, /*weights=*/false), /*weights=*/true); },
      [&] { return total; });
  mass = either(
      cutsShare,
      [&] {
        Value wanted = binary<arith::MaxSIOp>(roundUp(binary<arith::MulFOp>(asReal(mass), topP)), one);
        return sumFrom(candidates, search(candidates, wanted, /*weights=*/true), /*weights=*/true);
      },
      [&] { return mass; });
  // Each cut leaves the first ones in falling order: together they leave what the shortest does.
  mass = binary<arith::MinSIOp>(mass, sumOfLikely(candidates, likely));
  Value wanted = binary<arith::AddIOp>(shareOf(mass, number), one);
  Value found = search(candidates, wanted, /*weights=*/true);
  Value last = integer((int64_t(1) << idBits) - 1);
  return binary<arith::SubIOp>(last, binary<arith::AndIOp>(found, last));
}

void DrawRow::emit(Value number) {
  row = number;
  thread = threads.number(b);
  Value largest = findLargest();
  auto limit = [&](float value) -> Value { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Value isFinite = binary<arith::AndIOp>(compare(CmpFPredicate::OLT, largest, limit(infinity)),
                                         compare(CmpFPredicate::OGT, largest, limit(-infinity)));
  Value total = weigh(largest, isFinite), picks = randomNumber();
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  Value isCut = binary<arith::OrIOp>(compare(CmpFPredicate::OLT, load(arguments.topP), real(1)),
                                     compare(CmpIPredicate::sgt, load(arguments.topK), zero));
  isCut = binary<arith::OrIOp>(isCut, compare(CmpFPredicate::OGT, load(arguments.minP), real(0)));
  Value id =
      either(isCut, [&] { return pickByRank(total, picks); }, [&] { return pickByOrder(total, picks); });
  threads.once(b, [&] {
    Value token = select(isFinite, id, integer(-1));
    memref::StoreOp::create(b, arith::TruncIOp::create(b, b.getI32Type(), token), arguments.ids,
                            ValueRange{row});
  });
}

} // namespace tessera
