//===- AttentionRows.cpp - attention with query rows in the lanes -----------===//
//
// A block of R = vectors x lanes rows (positions x heads of one group) of one KV head, against keys in
// blocks:
//
//   scores[j, R]  = sum over d of key[j, d] * queryT[d, R]      key elements broadcast from memory
//   p, top, sum   : maxima, exponentials and sums stay in the lanes of their rows
//   outT[d, R]    = alpha * outT + sum over j of value[j, d] * p[j, R]
//
// Queries are transposed once at the start, results once at the end; keys and values never. Products of
// bfloat16 numbers may go in pairs (RowLanes.h): of neighbours in d, then of neighbours in j. Of a cache in
// blocks the keys and values of a block of keys are expanded once for all of its rows, into scratch.
//
//===----------------------------------------------------------------------===//

#include "AttentionRows.h"

namespace tessera {

using namespace mlir;

namespace {
constexpr int64_t kKeyBlock = 64;
/// Keys whose exponentials are computed side by side.
constexpr int64_t kExpTile = 4;
} // namespace

bool RowLaneAttention::fits(const AttentionShape &shape, int64_t lanes) {
  return 2 * shape.seq * shape.group > lanes;
}

int64_t RowLaneAttention::iterations(const AttentionShape &shape, int64_t lanes) {
  int64_t rows = shape.seq * shape.group, block = rowVectors(rows, lanes) * lanes;
  return shape.batch * shape.kvHeads * ((rows + block - 1) / block);
}

void RowLaneAttention::allocate() {
  queryT = lanesOf(shape.headDim);
  scores = scratch({kKeyBlock, blockRows()});
  weights = terms == 1 ? scores : factorsOf(kKeyBlock);
  packedValues = packedRows(kKeyBlock, shape.valueDim);
  outT = sumsOf(shape.valueDim);
  if (hasBlocks()) {
    keyRows = scratch({kKeyBlock, shape.headDim});
    valueRows = scratch({kKeyBlock, shape.valueDim});
  }
  rowPositions = scratch({blockRows()}, b.getI32Type());
  if (limitsFront())
    rowFirsts = scratch({blockRows()}, b.getI32Type());
  if (buffers.sinks) {
    firstTops = scratch({blockRows()});
    firstSums = scratch({blockRows()});
  }
  allocateWords(blockRows());
}

void RowLaneAttention::loadPositions(const AttentionIteration &iteration, Value row0) {
  loop(index(0), index(blockRows()), 1, [&](Value l) {
    Value row = add(row0, l);
    Value known = min(row, index(rowCount() - 1)), position = positionOf(iteration, known);
    if (limitsFront())
      store(firstInSight(iteration, known, position), rowFirsts, {l});
    if (rowCount() % blockRows())
      position = select(compare(arith::CmpIPredicate::slt, row, index(rowCount())), position, i32(-1));
    store(position, rowPositions, {l});
    storeWords(iteration, known, l);
    if (!buffers.sinks)
      return;
    auto [top, sum] = beginSoftmax(iteration, known);
    store(top, firstTops, {l});
    store(sum, firstSums, {l});
  });
}

/// Maxima of the rows' softmax before the first key, then the sums of weighKeys. A sink's weight stays as it
/// is where others are rounded: it multiplies no value.
Values RowLaneAttention::beginRows() {
  auto perVector = [&](Value buffer, double number) {
    Values all;
    for (int64_t v = 0; v < vectors; ++v)
      all.push_back(buffer ? loadVector(buffer, {index(v * lanes)}) : splat(number));
    return all;
  };
  Values state = perVector(firstTops, kLowest);
  for (int64_t t = 0; t < terms; ++t)
    state.append(perVector(firstSums, 0));
  return state;
}

/// Scores of keys [start, start + count) into `scores`, rounded up to whole tiles (the excess is masked).
/// Returns the maxima per row vector.
Values RowLaneAttention::scoreKeys(const Rows &keys, Value start, Value count, Value keyEnd) {
  Value lastKey = sub(keyEnd, index(1));
  return loop(index(0), count, tile, Values(vectors, splat(kLowest)), [&](Value j0, ValueRange tops) {
    Values numbers;
    for (int64_t j = 0; j < tile; ++j)
      numbers.push_back(min(add(start, add(j0, j)), lastKey));
    Values scaled = products(keys, numbers, queryT);
    Values updated(tops);
    for (int64_t j = 0; j < tile; ++j) {
      Value key = add(start, add(j0, j));
      Value position = splat(toI32(add(key, buffers.base)));
      for (int64_t v = 0; v < vectors; ++v) {
        Value s = score(mulf(scaled[j * vectors + v], splat(queryScale())));
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

/// Scores of keys [start, start + count) to weights. Returns their sums per row vector; behind those, where
/// weights are rounded to go in pairs, the sums of the rounded ones. Those divide the result, for they are
/// what values are multiplied with: weights of 1 / sum add up to 1, and equal values to what they are. The
/// log-sum-exp is of the others: gradients compute the weights again from it, unrounded.
Values RowLaneAttention::weighKeys(ValueRange tops, Value start, Value count) {
  Values zeros(terms * vectors, splat(0.0));
  return loop(index(0), roundUp(count, kExpTile), kExpTile, zeros, [&](Value j0, ValueRange before) {
    Values after(before);
    for (int64_t v = 0; v < vectors; ++v) {
      Values all;
      for (int64_t j = 0; j < kExpTile; ++j) {
        Value s = loadVector(scores, {add(j0, j), index(v * lanes)});
        all.push_back(exp2(arith::SubFOp::create(b, s, tops[v])));
        after[v] = addf(after[v], all[j]);
      }
      for (int64_t j = 0; terms == 2 && j < kExpTile; j += 2)
        after[vectors + v] = addTerms(after[vectors + v], pairOf(all[j], all[j + 1]));
      for (int64_t j = 0; shape.dropout && j < kExpTile; ++j) { // scaled at the end
        Value key = toI32(add(add(start, add(j0, j)), buffers.base));
        all[j] = select(isDropped(words[v].first, words[v].second, splat(key)), splat(0.0), all[j]);
      }
      storeFactors(all, weights, j0, v);
    }
    return after;
  });
}

/// Rows [start, start + count) as they are computed with: themselves, or out of blocks, in `to`.
RowLanes::Rows RowLaneAttention::expanded(const AttentionIteration &iteration, const Rows &rows, Value start,
                                          Value count, Value to) {
  if (!to)
    return rows;
  loop(index(0), count, 1, [&](Value n) {
    loop(index(0), index(rows.width), lanes,
         [&](Value d) { storeVector(loadKey(rows.array, iteration, add(start, n), d, lanes), to, {n, d}); });
  });
  auto at = [this, start](Value row, Value d) { return Values{sub(row, start), d}; };
  return {to, rows.width, rows.count, at};
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
    whereRowExists(row, rowCount(), [&] {
      storeLogSumExp(iteration, row, load(scores, {index(0), l}), load(scores, {index(1), l}));
    });
  });
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
  auto keyAt = [this, iteration](Value row, Value d) { return keyIndices(iteration, row, d); };
  auto queryAt = [this, iteration](Value row, Value d) { return queryIndices(iteration, row, d); };
  Rows queries{buffers.q, shape.headDim, rowCount(), queryAt},
      keys{buffers.k, shape.headDim, shape.context, keyAt},
      values{buffers.v, shape.valueDim, shape.context, keyAt},
      results{buffers.out, shape.valueDim, rowCount(), queryAt};
  beginDropout();
  loadPositions(iteration, row0);
  packLanes(queries, row0, queryT);

  Value base = toI32(buffers.base);
  Value lastPosition = splat(arith::AddIOp::create(b, base, i32(shape.context - 1)));
  Value top, bottom;
  upper.clear();
  lower.clear();
  for (int64_t v = 0; v < vectors; ++v) {
    Value positions = loadVector(rowPositions, {index(v * lanes)});
    Value largest = vector::ReductionOp::create(b, vector::CombiningKind::MAXSI, positions);
    top = top ? Value(arith::MaxSIOp::create(b, top, largest)) : largest;
    upper.push_back(shape.ring ? positions : Value(arith::MinSIOp::create(b, positions, lastPosition)));
    if (limitsFront()) {
      lower.push_back(loadVector(rowFirsts, {index(v * lanes)}));
      Value live = compare(arith::CmpIPredicate::sge, positions, splat(i32(0)));
      Value start = select(live, lower.back(), splat(i32(INT32_MAX)));
      Value smallest = vector::ReductionOp::create(b, vector::CombiningKind::MINSI, start);
      bottom = bottom ? Value(arith::MinSIOp::create(b, bottom, smallest)) : smallest;
    }
  }
  Value keyEnd = boundedKeyEnd(sub(add(toIndex(top), 1), buffers.base));
  Value keyStart = index(0);
  if (limitsFront())
    keyStart = min(max(sub(toIndex(bottom), buffers.base), index(0)), keyEnd);

  clear(outT);
  words.clear();
  for (int64_t v = 0; shape.dropout && v < vectors; ++v)
    words.push_back({loadVector(lowWords, {index(v * lanes)}), loadVector(highWords, {index(v * lanes)})});
  Values state = loop(keyStart, keyEnd, kKeyBlock, beginRows(), [&](Value start, ValueRange carried) {
    ValueRange tops = carried.take_front(vectors), sums = carried.drop_front(vectors);
    Value count = min(sub(keyEnd, start), index(kKeyBlock));
    Values next = scoreKeys(expanded(iteration, keys, start, count, keyRows), start, count, keyEnd), alpha;
    for (int64_t v = 0; v < vectors; ++v) {
      next[v] = maxf(tops[v], next[v]);
      alpha.push_back(exp2(arith::SubFOp::create(b, tops[v], next[v])));
    }
    Values partial = weighKeys(next, start, count);
    packRows(values, start, count, sub(keyEnd, index(1)), packedValues);
    accumulate(expanded(iteration, values, start, count, valueRows), start, count, packedValues, weights,
               outT, alpha);
    for (int64_t s = 0; s < terms * vectors; ++s)
      next.push_back(fma(sums[s], alpha[s % vectors], partial[s]));
    return next;
  });
  ValueRange tops = ValueRange(state).take_front(vectors);
  if (buffers.logSumExp)
    storeSums(iteration, row0, tops, ValueRange(state).slice(vectors, vectors));
  Values factors;
  for (Value sum : ValueRange(state).take_back(vectors)) {
    factors.push_back(inverse(sum));
    if (shape.dropout)
      factors.back() = mulf(factors.back(), keptScale);
  }
  storeLanes(outT, factors, results, row0);
}

} // namespace tessera
