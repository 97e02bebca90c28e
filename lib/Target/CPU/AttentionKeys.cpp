//===- AttentionKeys.cpp - attention of few query rows ----------------------===//
//
// Decoding has one position: the lanes hold the head dimension while a key meets a query, then the keys while
// scores become weights, then the value dimension while values are summed. Keys come in blocks, as in
// AttentionRows.cpp.
//
//===----------------------------------------------------------------------===//

#include "AttentionEmitter.h"

namespace tessera {

using namespace mlir;

namespace {
constexpr int64_t kKeyBlock = 128;
constexpr int64_t kMaxRowTile = 4;
/// Iterations that a kernel should offer, so that a few threads share them evenly.
constexpr int64_t kWantedIterations = 8;
/// Vectors of the head dimension per step of the key loop.
constexpr int64_t kUnroll = 4;
} // namespace

/// Rows that share a pass over the keys: as many as leave enough iterations.
int64_t KeyLaneAttention::rowTile(const AttentionShape &shape) {
  int64_t rows = shape.seq * shape.group;
  int64_t tile = std::min(rows, kMaxRowTile);
  while (tile > 1 && shape.batch * shape.kvHeads * ((rows + tile - 1) / tile) < kWantedIterations)
    --tile;
  return tile;
}

int64_t KeyLaneAttention::iterations(const AttentionShape &shape) {
  int64_t tile = rowTile(shape);
  return shape.batch * shape.kvHeads * ((shape.seq * shape.group + tile - 1) / tile);
}

void KeyLaneAttention::allocate() {
  tile = rowTile(shape);
  auto padded = [&](int64_t n) { return (n + lanes - 1) / lanes * lanes; };
  query = scratch({tile, padded(shape.headDim)});
  scores = scratch({tile, kKeyBlock});
  accumulators = scratch({tile, padded(shape.valueDim)});
  sums = scratch({tile});
  tops = scratch({tile});
  scales = scratch({tile});
  rowPositions = scratch({tile}, b.getI32Type());
  if (limitsFront())
    rowFirsts = scratch({tile}, b.getI32Type());
  allocateWords(tile);
}

/// 0, 1, 2, ...
Value KeyLaneAttention::laneNumbers() {
  SmallVector<int32_t> steps(lanes);
  std::iota(steps.begin(), steps.end(), 0);
  return arith::ConstantOp::create(b, DenseElementsAttr::get(ints, ArrayRef<int32_t>(steps)));
}

/// Scores of keys [start, start + count) for row `r`, rounded up to whole vectors (the excess is masked).
void KeyLaneAttention::scoreKeys(const AttentionIteration &iteration, Value r, Value start, Value count,
                                 Value last) {
  Value position = load(rowPositions, {r});
  Value step = laneNumbers();
  loop(index(0), count, lanes, [&](Value j0) {
    Values keys;
    for (int64_t j = 0; j < lanes; ++j)
      keys.push_back(min(add(start, add(j0, j)), last));
    auto accumulate = [&](Values acc, Value d, int64_t active) {
      Value q = loadVector(query, {r, d});
      for (int64_t j = 0; j < lanes; ++j)
        acc[j] = fma(loadKey(buffers.k, iteration, keys[j], d, active), q, acc[j]);
      return acc;
    };
    Values acc(lanes, splat(0.0));
    int64_t whole = shape.headDim / lanes * lanes, block = kUnroll * lanes, unrolled = whole / block * block;
    if (unrolled)
      acc = loop(index(0), index(unrolled), block, acc, [&](Value d0, ValueRange carried) {
        Values inside(carried);
        for (int64_t u = 0; u < kUnroll; ++u)
          inside = accumulate(inside, add(d0, u * lanes), lanes);
        return inside;
      });
    for (int64_t d = unrolled; d < shape.headDim; d += lanes)
      acc = accumulate(acc, index(d), std::min(lanes, shape.headDim - d));
    Value s = score(sumEach(acc));
    Value at = arith::AddIOp::create(b, splat(toI32(add(add(start, j0), buffers.base))), step);
    Value limit = arith::MinSIOp::create(b, position, toI32(add(last, buffers.base)));
    s = select(compare(arith::CmpIPredicate::sle, at, splat(limit)), s, splat(kMasked));
    if (limitsFront())
      s = select(compare(arith::CmpIPredicate::sge, at, splat(load(rowFirsts, {r}))), s, splat(kMasked));
    storeVector(s, scores, {r, j0});
  });
}

/// Scores of row `r` to weights; updates its maximum and sum and leaves in `scales` what older sums shrink
/// by.
void KeyLaneAttention::softmax(Value r, Value start, Value count) {
  Value topVector = loop(index(0), count, lanes, Values{splat(kLowest)}, [&](Value j, ValueRange carried) {
    return Values{maxf(carried[0], loadVector(scores, {r, j}))};
  })[0];
  Value oldTop = load(tops, {r});
  Value top = maxf(oldTop, vector::ReductionOp::create(b, vector::CombiningKind::MAXNUMF, topVector));
  Value scale = exp2(arith::SubFOp::create(b, oldTop, top));
  Value sum = loop(index(0), count, lanes, Values{splat(0.0)}, [&](Value j, ValueRange carried) {
    Value p = exp2(arith::SubFOp::create(b, loadVector(scores, {r, j}), splat(top)));
    Value kept = p; // scaled at the end
    if (shape.dropout) {
      Value first = toI32(add(add(start, j), buffers.base));
      Value keys = arith::AddIOp::create(b, splat(first), laneNumbers());
      kept = select(isDropped(splat(load(lowWords, {r})), splat(load(highWords, {r})), keys), splat(0.0), p);
    }
    storeVector(kept, scores, {r, j});
    return Values{addf(carried[0], p)};
  })[0];
  Value total =
      vector::ReductionOp::create(b, vector::CombiningKind::ADD, sum, arith::FastMathFlags::reassoc);
  store(fma(load(sums, {r}), scale, total), sums, {r});
  store(top, tops, {r});
  store(scale, scales, {r});
}

void KeyLaneAttention::accumulateValues(const AttentionIteration &iteration, Value start, Value count,
                                        Value last) {
  // With few accumulators two keys go side by side, or the chain of additions would set the pace.
  auto stretch = [&](Value d0, int64_t chunks, int64_t active) {
    int64_t keys = tile * chunks >= 8 ? 1 : 2;
    Values acc;
    for (int64_t k = 0; k < keys; ++k)
      for (int64_t r = 0; r < tile; ++r)
        for (int64_t c = 0; c < chunks; ++c)
          acc.push_back(k ? splat(0.0)
                          : mulf(loadVector(accumulators, {index(r), add(d0, c * lanes)}),
                                 splat(load(scales, {index(r)}))));
    acc = loop(index(0), count, keys, acc, [&](Value j0, ValueRange carried) {
      Values inside(carried);
      for (int64_t k = 0; k < keys; ++k) {
        Value j = add(j0, k);
        Value key = k ? min(add(start, j), last) : add(start, j);
        Values values, weights;
        for (int64_t c = 0; c < chunks; ++c)
          values.push_back(loadKey(buffers.v, iteration, key, add(d0, c * lanes), active));
        for (int64_t r = 0; r < tile; ++r) {
          // The weight of a key behind the last is 0: scores are masked up to whole vectors.
          Value weight = splat(load(scores, {index(r), j}));
          for (int64_t c = 0; c < chunks; ++c) {
            Value &sum = inside[(k * tile + r) * chunks + c];
            sum = fma(weight, values[c], sum);
          }
        }
      }
      return inside;
    });
    for (int64_t r = 0; r < tile; ++r)
      for (int64_t c = 0; c < chunks; ++c) {
        Value sum = acc[r * chunks + c];
        if (keys == 2)
          sum = addf(sum, acc[(tile + r) * chunks + c]);
        storeVector(sum, accumulators, {index(r), add(d0, c * lanes)});
      }
  };
  int64_t whole = shape.valueDim / lanes * lanes, chunks = std::min<int64_t>(kUnroll, whole / lanes);
  int64_t unrolled = chunks ? whole / (chunks * lanes) * chunks * lanes : 0;
  if (unrolled)
    loop(index(0), index(unrolled), chunks * lanes, [&](Value d0) { stretch(d0, chunks, lanes); });
  for (int64_t d = unrolled; d < shape.valueDim; d += lanes)
    stretch(index(d), 1, std::min(lanes, shape.valueDim - d));
}

void KeyLaneAttention::emit(Value item) {
  int64_t tiles = (rows() + tile - 1) / tile;
  Value headNumber = div(item, tiles), row0 = mul(rem(item, tiles), tile);
  AttentionIteration iteration{div(headNumber, shape.kvHeads), rem(headNumber, shape.kvHeads)};
  beginDropout();

  // Rows of this iteration, their positions and the range of keys that any of them sees.
  Values range =
      loop(index(0), index(tile), 1, Values{i32(-1), i32(INT32_MAX)}, [&](Value r, ValueRange carried) {
        Value row = add(row0, r), clamped = min(row, index(rows() - 1));
        Value position = positionOf(iteration, clamped);
        if (rows() % tile)
          position = select(compare(arith::CmpIPredicate::slt, row, index(rows())), position, i32(-1));
        store(position, rowPositions, {r});
        storeWords(iteration, clamped, r);
        auto [top, sum] = beginSoftmax(iteration, clamped);
        store(top, tops, {r});
        store(sum, sums, {r});
        forStretches(shape.headDim, lanes, [&](Value d, int64_t active) {
          Value q = loadVector(buffers.q, queryIndices(iteration, clamped, d), active);
          storeVector(mulf(q, splat(queryScale())), query, {r, d});
        });
        loop(index(0), index((shape.valueDim + lanes - 1) / lanes * lanes), lanes,
             [&](Value d) { storeVector(splat(0.0), accumulators, {r, d}); });
        Value live = compare(arith::CmpIPredicate::sge, position, i32(0));
        Value first = limitsFront() ? firstInSight(iteration, clamped, position) : i32(0);
        if (limitsFront())
          store(first, rowFirsts, {r});
        return Values{arith::MaxSIOp::create(b, carried[0], position),
                      arith::MinSIOp::create(b, carried[1], select(live, first, i32(INT32_MAX)))};
      });
  Value keyEnd = boundedKeyEnd(sub(add(toIndex(range[0]), 1), buffers.base));
  Value keyStart = index(0);
  if (limitsFront())
    keyStart = min(max(sub(toIndex(range[1]), buffers.base), index(0)), keyEnd);
  Value last = sub(keyEnd, index(1));

  loop(keyStart, keyEnd, kKeyBlock, [&](Value start) {
    Value count = min(sub(keyEnd, start), index(kKeyBlock));
    loop(index(0), index(tile), 1, [&](Value r) {
      scoreKeys(iteration, r, start, count, last);
      softmax(r, start, count);
    });
    accumulateValues(iteration, start, count, last);
  });

  loop(index(0), index(tile), 1, [&](Value r) {
    Value row = add(row0, r);
    auto write = [&] {
      if (buffers.logSumExp)
        storeLogSumExp(iteration, row, load(tops, {r}), load(sums, {r}));
      Value factor = splat(inverse(load(sums, {r})));
      if (shape.dropout)
        factor = mulf(factor, keptScale);
      forStretches(shape.valueDim, lanes, [&](Value d, int64_t active) {
        Value result = mulf(loadVector(accumulators, {r, d}), factor);
        storeVector(result, buffers.out, queryIndices(iteration, row, d), active);
      });
    };
    if (rows() % tile == 0)
      return write();
    auto guard = scf::IfOp::create(b, compare(arith::CmpIPredicate::slt, row, index(rows())));
    OpBuilder::InsertionGuard inside(b);
    b.setInsertionPointToStart(guard.thenBlock());
    write();
  });
}

} // namespace tessera
