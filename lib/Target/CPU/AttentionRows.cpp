//===- AttentionRows.cpp - attention with query rows in the lanes -----------===//
//
// A block of R = vectors x lanes rows (positions x heads of one group) of one KV head, against keys in
// blocks:
//
//   scores[j, R]  = sum over d of key[j, d] * queryT[d, R]      key elements broadcast from memory
//   p, top, sum   : maxima, exponentials and sums stay in the lanes of their rows
//   outT[d, R]    = alpha * outT + sum over j of value[j, d] * p[j, R]
//
// Queries are transposed once at the start, results once at the end; keys and values never.
//
//===----------------------------------------------------------------------===//

#include "AttentionEmitter.h"

namespace tessera {

using namespace mlir;

namespace {
constexpr int64_t kKeyBlock = 64;
constexpr int64_t kValueTile = 8;
/// Keys whose exponentials are computed side by side.
constexpr int64_t kExpTile = 4;
} // namespace

int64_t RowLaneAttention::rowVectors(const AttentionShape &shape, int64_t lanes) {
  return shape.seq * shape.group > lanes ? 2 : 1;
}

bool RowLaneAttention::fits(const AttentionShape &shape, int64_t lanes) {
  return 2 * shape.seq * shape.group > lanes;
}

int64_t RowLaneAttention::iterations(const AttentionShape &shape, int64_t lanes) {
  int64_t block = rowVectors(shape, lanes) * lanes;
  return shape.batch * shape.kvHeads * ((shape.seq * shape.group + block - 1) / block);
}

void RowLaneAttention::allocate() {
  vectors = rowVectors(shape, lanes);
  // Accumulators of a tile: 16 of 32 registers with AVX-512, 8 of 16 without.
  keyTile = (lanes >= 16 ? 16 : 8) / vectors;
  auto padded = [&](int64_t n) { return (n + lanes - 1) / lanes * lanes; };
  queryT = scratch({padded(shape.headDim), blockRows()});
  scores = scratch({kKeyBlock, blockRows()});
  outT = scratch({padded(shape.valueDim), blockRows()});
  rowPositions = scratch({blockRows()}, b.getI32Type());
  if (limitsFront())
    rowFirsts = scratch({blockRows()}, b.getI32Type());
  allocateWords(blockRows());
}

void RowLaneAttention::loadPositions(const AttentionIteration &iteration, Value row0) {
  loop(index(0), index(blockRows()), 1, [&](Value l) {
    Value row = add(row0, l);
    Value known = min(row, index(rows() - 1)), position = positionOf(iteration, known);
    if (limitsFront())
      store(firstInSight(iteration, known, position), rowFirsts, {l});
    if (rows() % blockRows())
      position = select(compare(arith::CmpIPredicate::slt, row, index(rows())), position, i32(-1));
    store(position, rowPositions, {l});
    storeWords(iteration, known, l);
  });
}

void RowLaneAttention::packQueries(const AttentionIteration &iteration, Value row0) {
  loop(index(0), index(blockRows()), lanes, [&](Value lane0) {
    forStretches(shape.headDim, [&](Value d0, int64_t active) {
      Values rowsOfQ;
      for (int64_t l = 0; l < lanes; ++l) {
        Value row = min(add(row0, add(lane0, l)), index(rows() - 1));
        Value vector = loadVector(buffers.q, queryIndices(iteration, row, d0), active);
        rowsOfQ.push_back(mulf(vector, splat(queryScale())));
      }
      for (auto [d, vector] : llvm::enumerate(transpose(rowsOfQ)))
        storeVector(vector, queryT, {add(d0, d), lane0});
    });
  });
}

/// Scores of keys [start, start + count) into `scores`, rounded up to whole key tiles (the excess is masked).
/// Returns the maxima per row vector.
Values RowLaneAttention::scoreKeys(const AttentionIteration &iteration, Value start, Value count,
                                   Value keyEnd) {
  int64_t unroll = shape.headDim % 4 == 0 ? 4 : shape.headDim % 2 == 0 ? 2 : 1;
  Value lastKey = sub(keyEnd, index(1));
  return loop(index(0), count, keyTile, Values(vectors, splat(kLowest)), [&](Value j0, ValueRange tops) {
    Values keys;
    for (int64_t j = 0; j < keyTile; ++j)
      keys.push_back(min(add(start, add(j0, j)), lastKey));
    Values products = loop(index(0), index(shape.headDim), unroll, Values(keyTile * vectors, splat(0.0)),
                           [&](Value d0, ValueRange carried) {
                             Values acc(carried);
                             for (int64_t u = 0; u < unroll; ++u) {
                               Value d = add(d0, u);
                               Values q;
                               for (int64_t v = 0; v < vectors; ++v)
                                 q.push_back(loadVector(queryT, {d, index(v * lanes)}));
                               for (int64_t j = 0; j < keyTile; ++j) {
                                 Value key = splat(load(buffers.k, keyIndices(iteration, keys[j], d)));
                                 for (int64_t v = 0; v < vectors; ++v)
                                   acc[j * vectors + v] = fma(key, q[v], acc[j * vectors + v]);
                               }
                             }
                             return acc;
                           });
    Values updated(tops);
    for (int64_t j = 0; j < keyTile; ++j) {
      Value key = add(start, add(j0, j));
      Value position = splat(toI32(add(key, buffers.base)));
      for (int64_t v = 0; v < vectors; ++v) {
        Value s = score(products[j * vectors + v]);
        s = select(compare(arith::CmpIPredicate::sle, position, upper[v]), s, splat(kMasked));
        if (limitsFront())
          s = select(compare(arith::CmpIPredicate::sge, position, lower[v]), s, splat(kMasked));
        storeVector(s, scores, {add(j0, j), index(v * lanes)});
        updated[v] = maxf(updated[v], s);
      }
    }
    return updated;
  });
}

/// outT = alpha * outT + values of keys [start, start + count), weighted by `scores`.
void RowLaneAttention::accumulateValues(const AttentionIteration &iteration, Value start, Value count,
                                        ValueRange alpha) {
  auto tile = [&](Value d0, int64_t size) {
    Values acc;
    for (int64_t d = 0; d < size; ++d)
      for (int64_t v = 0; v < vectors; ++v)
        acc.push_back(mulf(loadVector(outT, {add(d0, d), index(v * lanes)}), alpha[v]));
    acc = loop(index(0), count, 1, acc, [&](Value j, ValueRange carried) {
      Values sums(carried), weights;
      for (int64_t v = 0; v < vectors; ++v)
        weights.push_back(loadVector(scores, {j, index(v * lanes)}));
      for (int64_t d = 0; d < size; ++d) {
        Value value = splat(load(buffers.v, keyIndices(iteration, add(start, j), add(d0, d))));
        for (int64_t v = 0; v < vectors; ++v)
          sums[d * vectors + v] = fma(value, weights[v], sums[d * vectors + v]);
      }
      return sums;
    });
    for (int64_t d = 0; d < size; ++d)
      for (int64_t v = 0; v < vectors; ++v)
        storeVector(acc[d * vectors + v], outT, {add(d0, d), index(v * lanes)});
  };
  int64_t size = std::min(lanes >= 16 ? kValueTile : kValueTile / 2, shape.valueDim);
  int64_t whole = shape.valueDim / size * size;
  loop(index(0), index(whole), size, [&](Value d0) { tile(d0, size); });
  if (whole != shape.valueDim)
    tile(index(whole), shape.valueDim - whole);
}

void RowLaneAttention::whereRowExists(Value row, llvm::function_ref<void()> body) {
  if (rows() % blockRows() == 0)
    return body();
  auto guard = scf::IfOp::create(b, compare(arith::CmpIPredicate::slt, row, index(rows())));
  OpBuilder::InsertionGuard inside(b);
  b.setInsertionPointToStart(guard.thenBlock());
  body();
}

void RowLaneAttention::storeSums(const AttentionIteration &iteration, Value row0, ValueRange tops,
                                 ValueRange sums) {
  // Through memory: a row's place in the output is nowhere near its neighbour's.
  for (int64_t v = 0; v < vectors; ++v) {
    storeVector(tops[v], scores, {index(0), index(v * lanes)});
    storeVector(sums[v], scores, {index(1), index(v * lanes)});
  }
  loop(index(0), index(blockRows()), 1, [&](Value l) {
    Value row = add(row0, l);
    whereRowExists(row, [&] {
      storeLogSumExp(iteration, row, load(scores, {index(0), l}), load(scores, {index(1), l}));
    });
  });
}

void RowLaneAttention::storeRows(const AttentionIteration &iteration, Value row0, ValueRange tops,
                                 ValueRange sums) {
  if (buffers.logSumExp)
    storeSums(iteration, row0, tops, sums);
  for (int64_t v = 0; v < vectors; ++v) {
    Value factor = inverse(sums[v]);
    if (shape.dropout)
      factor = mulf(factor, keptScale);
    forStretches(shape.valueDim, [&](Value d0, int64_t active) {
      Values columns;
      for (int64_t d = 0; d < lanes; ++d)
        columns.push_back(mulf(loadVector(outT, {add(d0, d), index(v * lanes)}), factor));
      Values rowsOfOut = transpose(columns);
      for (int64_t l = 0; l < lanes; ++l) {
        Value vector = rowsOfOut[l], row = add(row0, v * lanes + l);
        whereRowExists(row,
                       [&] { storeVector(vector, buffers.out, queryIndices(iteration, row, d0), active); });
      }
    });
  }
}

void RowLaneAttention::emit(Value item) {
  int64_t blocks = iterations(shape, lanes) / (shape.batch * shape.kvHeads);
  Value headNumber = div(item, blocks), turn = rem(item, blocks);
  AttentionIteration iteration{div(headNumber, shape.kvHeads), rem(headNumber, shape.kvHeads)};
  // Causal rows cost more the later they are: blocks are taken from both ends in turn, so that any contiguous
  // part of the iterations costs about its share.
  Value half = div(turn, 2);
  Value block =
      select(compare(arith::CmpIPredicate::eq, rem(turn, 2), index(0)), half, sub(index(blocks - 1), half));
  Value row0 = mul(block, blockRows());
  beginDropout();
  loadPositions(iteration, row0);
  packQueries(iteration, row0);

  Value base = toI32(buffers.base);
  Value lastPosition = splat(arith::AddIOp::create(b, base, i32(shape.context - 1)));
  Value top, bottom;
  upper.clear();
  lower.clear();
  for (int64_t v = 0; v < vectors; ++v) {
    Value positions = loadVector(rowPositions, {index(v * lanes)});
    Value largest = vector::ReductionOp::create(b, vector::CombiningKind::MAXSI, positions);
    top = top ? Value(arith::MaxSIOp::create(b, top, largest)) : largest;
    upper.push_back(arith::MinSIOp::create(b, positions, lastPosition));
    if (limitsFront()) {
      lower.push_back(loadVector(rowFirsts, {index(v * lanes)}));
      Value live = compare(arith::CmpIPredicate::sge, positions, splat(i32(0)));
      Value start = select(live, lower.back(), splat(i32(INT32_MAX)));
      Value smallest = vector::ReductionOp::create(b, vector::CombiningKind::MINSI, start);
      bottom = bottom ? Value(arith::MinSIOp::create(b, bottom, smallest)) : smallest;
    }
  }
  Value keyEnd = sub(add(toIndex(top), 1), buffers.base);
  keyEnd = min(max(keyEnd, index(0)), index(shape.context));
  Value keyStart = index(0);
  if (limitsFront())
    keyStart = min(max(sub(toIndex(bottom), buffers.base), index(0)), keyEnd);

  loop(index(0), index((shape.valueDim + lanes - 1) / lanes * lanes), 1, [&](Value d) {
    for (int64_t v = 0; v < vectors; ++v)
      storeVector(splat(0.0), outT, {d, index(v * lanes)});
  });
  SmallVector<std::pair<Value, Value>> words; // of the rows in the lanes
  for (int64_t v = 0; shape.dropout && v < vectors; ++v)
    words.push_back({loadVector(lowWords, {index(v * lanes)}), loadVector(highWords, {index(v * lanes)})});
  Values state(vectors, splat(kLowest));
  state.append(vectors, splat(0.0));
  state = loop(keyStart, keyEnd, kKeyBlock, state, [&](Value start, ValueRange carried) {
    ValueRange tops = carried.take_front(vectors), sums = carried.drop_front(vectors);
    Value count = min(sub(keyEnd, start), index(kKeyBlock));
    Values newTops = scoreKeys(iteration, start, count, keyEnd), alpha;
    for (int64_t v = 0; v < vectors; ++v) {
      newTops[v] = maxf(tops[v], newTops[v]);
      alpha.push_back(exp2(arith::SubFOp::create(b, tops[v], newTops[v])));
    }
    Values partial =
        loop(index(0), roundUp(count, kExpTile), kExpTile, Values(vectors, splat(0.0)),
             [&](Value j0, ValueRange before) {
               Values after(before);
               for (int64_t j = 0; j < kExpTile; ++j)
                 for (int64_t v = 0; v < vectors; ++v) {
                   Values at = {add(j0, j), index(v * lanes)};
                   Value s = loadVector(scores, at);
                   Value p = exp2(arith::SubFOp::create(b, s, newTops[v]));
                   after[v] = addf(after[v], p);
                   if (shape.dropout) { // scaled at the end
                     Value key = toI32(add(add(start, at[0]), buffers.base));
                     p = select(isDropped(words[v].first, words[v].second, splat(key)), splat(0.0), p);
                   }
                   storeVector(p, scores, at);
                 }
               return after;
             });
    accumulateValues(iteration, start, count, alpha);
    Values next(newTops);
    for (int64_t v = 0; v < vectors; ++v)
      next.push_back(fma(sums[v], alpha[v], partial[v]));
    return next;
  });
  storeRows(iteration, row0, ValueRange(state).take_front(vectors), ValueRange(state).drop_front(vectors));
}

} // namespace tessera
