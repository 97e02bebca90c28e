//===- RowLanes.cpp - products and sums of rows in the lanes --------------===//

#include "RowLanes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tessera {

using namespace mlir;

namespace {

/// Elements of a row that are summed side by side.
constexpr int64_t kSumTile = 8;

bool isBF16(Value array) { return cast<MemRefType>(array.getType()).getElementType().isBF16(); }

} // namespace

RowLanes::RowLanes(ImplicitLocOpBuilder &builder, const AttentionShape &shape,
                   const AttentionArguments &buffers, const VectorUnit &unit, int64_t rows, ValueRange more)
    : AttentionEmitter(builder, shape, buffers, unit.lanes), vectors(rowVectors(rows, unit.lanes)),
      pairs(VectorType::get({2 * unit.lanes}, builder.getBF16Type())) {
  // A word of two terms must not reach into the next row.
  bool inPairs = unit.bf16Pairs && shape.headDim % 2 == 0 && shape.valueDim % 2 == 0 &&
                 llvm::all_of(ArrayRef<Value>{buffers.q, buffers.k, buffers.v}, isBF16) &&
                 llvm::all_of(more, isBF16);
  terms = inPairs ? 2 : 1;
  // Accumulators of a tile: 16 of 32 registers with AVX-512, 8 of 16 without.
  tile = (lanes >= 16 ? 16 : 8) / vectors;
}

Value RowLanes::operand(int64_t count, int64_t columns) {
  return scratch({(count + terms - 1) / terms, columns}, terms == 2 ? b.getI32Type() : Type());
}

Value RowLanes::loadOperand(Value operand, ValueRange at) {
  if (terms == 1)
    return loadVector(operand, at);
  return vector::BitCastOp::create(b, pairs, vector::LoadOp::create(b, ints, operand, at));
}

Value RowLanes::everywhere(Value array, ValueRange at) {
  if (terms == 1)
    return splat(load(array, at));
  Value word;
  if (isBF16(array)) {
    Value two = vector::LoadOp::create(b, VectorType::get({2}, b.getBF16Type()), array, at);
    two = vector::BitCastOp::create(b, VectorType::get({1}, b.getI32Type()), two);
    word = vector::ExtractOp::create(b, two, 0);
  } else {
    word = load(array, at);
  }
  return vector::BitCastOp::create(b, pairs, splat(word));
}

Value RowLanes::loadTerms(Value array, ValueRange at, int64_t active) {
  if (terms == 1)
    return loadVector(array, at, active);
  return vector::BitCastOp::create(b, ints, loadElements(pairs, array, at, 2 * active));
}

Value RowLanes::addProducts(Value sum, Value x, Value y) {
  if (terms == 1)
    return fma(x, y, sum);
  auto name = b.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512");
  return LLVM::CallIntrinsicOp::create(b, floats, name, ValueRange{sum, x, y}).getResult(0);
}

Value RowLanes::addTerms(Value sum, Value pair) {
  auto ones = DenseElementsAttr::get(pairs, b.getFloatAttr(b.getBF16Type(), 1.0));
  return addProducts(sum, pair, arith::ConstantOp::create(b, ones));
}

Value RowLanes::pairOf(Value x, Value y) {
  SmallVector<int64_t> order;
  for (int64_t l = 0; l < lanes; ++l)
    order.append({l, lanes + l});
  auto narrow = VectorType::get({lanes}, b.getBF16Type());
  return vector::ShuffleOp::create(b, arith::TruncFOp::create(b, narrow, x),
                                   arith::TruncFOp::create(b, narrow, y), order);
}

void RowLanes::packLanes(const Rows &rows, Value row0, Value to) {
  Value last = index(rows.count - 1);
  loop(index(0), index(blockRows()), lanes, [&](Value lane0) {
    forStretches(rows.width / terms, lanes, [&](Value n0, int64_t active) {
      Values there;
      for (int64_t l = 0; l < lanes; ++l) {
        Value row = min(add(row0, add(lane0, l)), last);
        there.push_back(loadTerms(rows.array, rows.at(row, mul(n0, terms)), active));
      }
      for (auto [n, vector] : llvm::enumerate(transpose(there)))
        vector::StoreOp::create(b, vector, to, ValueRange{add(n0, n), lane0});
    });
  });
}

void RowLanes::packRows(const Rows &rows, Value start, Value count, Value last, Value to) {
  if (terms == 1)
    return;
  loop(index(0), countTerms(count), 1, [&](Value n) {
    Value first = add(start, mul(n, 2)), second = min(add(first, 1), last);
    forStretches(rows.width, 2 * lanes, [&](Value d0, int64_t active) {
      Value x = loadElements(pairs, rows.array, rows.at(first, d0), active);
      Value y = loadElements(pairs, rows.array, rows.at(second, d0), active);
      for (int64_t half : {0, 1}) {
        SmallVector<int64_t> order;
        for (int64_t l = half * lanes; l < (half + 1) * lanes; ++l)
          order.append({l, 2 * lanes + l});
        Value words = vector::BitCastOp::create(b, ints, vector::ShuffleOp::create(b, x, y, order));
        vector::StoreOp::create(b, words, to, ValueRange{n, add(d0, half * lanes)});
      }
    });
  });
}

Values RowLanes::products(const Rows &rows, const Values &numbers, Value inLanes) {
  int64_t steps = rows.width / terms, unroll = steps % 4 == 0 ? 4 : steps % 2 == 0 ? 2 : 1;
  Values zeros(numbers.size() * vectors, splat(0.0));
  return loop(index(0), index(steps), unroll, zeros, [&](Value n0, ValueRange carried) {
    Values acc(carried);
    for (int64_t u = 0; u < unroll; ++u) {
      Value n = add(n0, u);
      Values lanesAt;
      for (int64_t v = 0; v < vectors; ++v)
        lanesAt.push_back(loadOperand(inLanes, {n, index(v * lanes)}));
      for (auto [j, number] : llvm::enumerate(numbers)) {
        Value element = everywhere(rows.array, rows.at(number, mul(n, terms)));
        for (int64_t v = 0; v < vectors; ++v)
          acc[j * vectors + v] = addProducts(acc[j * vectors + v], element, lanesAt[v]);
      }
    }
    return acc;
  });
}

void RowLanes::storeFactors(const Values &factors, Value to, Value first, int64_t v) {
  Value n0 = div(first, terms);
  for (int64_t n = 0; n < int64_t(factors.size()) / terms; ++n) {
    Value element = factors[n];
    if (terms == 2)
      element = vector::BitCastOp::create(b, ints, pairOf(factors[2 * n], factors[2 * n + 1]));
    vector::StoreOp::create(b, element, to, ValueRange{add(n0, n), index(v * lanes)});
  }
}

void RowLanes::accumulate(const Rows &rows, Value start, Value count, Value packed, Value factors, Value sums,
                          ValueRange shrink) {
  auto columns = [&](Value d0, int64_t size) {
    Values acc;
    for (int64_t d = 0; d < size; ++d)
      for (int64_t v = 0; v < vectors; ++v) {
        Value sum = loadVector(sums, {add(d0, d), index(v * lanes)});
        acc.push_back(shrink.empty() ? sum : mulf(sum, shrink[v]));
      }
    acc = loop(index(0), countTerms(count), 1, acc, [&](Value n, ValueRange carried) {
      Values next(carried), by;
      for (int64_t v = 0; v < vectors; ++v)
        by.push_back(loadOperand(factors, {n, index(v * lanes)}));
      for (int64_t d = 0; d < size; ++d) {
        Value at = add(d0, d);
        Value element =
            packed ? everywhere(packed, {n, at}) : everywhere(rows.array, rows.at(add(start, n), at));
        for (int64_t v = 0; v < vectors; ++v)
          next[d * vectors + v] = addProducts(next[d * vectors + v], element, by[v]);
      }
      return next;
    });
    for (int64_t d = 0; d < size; ++d)
      for (int64_t v = 0; v < vectors; ++v)
        storeVector(acc[d * vectors + v], sums, {add(d0, d), index(v * lanes)});
  };
  int64_t size = std::min(lanes >= 16 ? kSumTile : kSumTile / 2, rows.width);
  int64_t whole = rows.width / size * size;
  loop(index(0), index(whole), size, [&](Value d0) { columns(d0, size); });
  if (whole != rows.width)
    columns(index(whole), rows.width - whole);
}

void RowLanes::clear(Value sums) {
  loop(index(0), index(cast<MemRefType>(sums.getType()).getDimSize(0)), 1, [&](Value d) {
    for (int64_t v = 0; v < vectors; ++v)
      storeVector(splat(0.0), sums, {d, index(v * lanes)});
  });
}

void RowLanes::whereRowExists(Value row, int64_t rows, llvm::function_ref<void()> body) {
  if (rows % blockRows() == 0)
    return body();
  auto guard = scf::IfOp::create(b, compare(arith::CmpIPredicate::slt, row, index(rows)));
  OpBuilder::InsertionGuard inside(b);
  b.setInsertionPointToStart(guard.thenBlock());
  body();
}

void RowLanes::storeLanes(Value sums, ValueRange factors, const Rows &rows, Value row0) {
  for (int64_t v = 0; v < vectors; ++v)
    forStretches(rows.width, lanes, [&](Value d0, int64_t active) {
      Values columns;
      for (int64_t d = 0; d < lanes; ++d)
        columns.push_back(mulf(loadVector(sums, {add(d0, d), index(v * lanes)}), factors[v]));
      Values there = transpose(columns);
      for (int64_t l = 0; l < lanes; ++l) {
        Value row = add(row0, v * lanes + l);
        whereRowExists(row, rows.count, [&] { storeVector(there[l], rows.array, rows.at(row, d0), active); });
      }
    });
}

} // namespace tessera
