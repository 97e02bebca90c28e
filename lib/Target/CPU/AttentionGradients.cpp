//===- AttentionGradients.cpp - kernels of the gradients of attention -------===//
//
// Two kernels of one form (FlashAttention's backward, arXiv 2205.14135). A block of R = vectors x lanes rows
// stands in the lanes: queries for their own gradient, keys for theirs and that of values. It meets the
// others in blocks:
//
//   p[j, R]   = exp(score - log-sum-exp), 0 where the query does not see the key
//   ds[j, R]  = p * (gradient . value - delta)
//   dq[d, R] += key[j, d] * ds[j, R]           or  dk[d, R] += query[j, d] * ds[j, R]
//                                                  dv[d, R] += gradient[j, d] * p[j, R]
//
// No iteration adds to another's result. Rows in the lanes are transposed once, results once at the end.
// Products of bfloat16 numbers may go in pairs (RowLanes.h): p and ds are rounded then, after the one was
// used for the other in float32.
//
//===----------------------------------------------------------------------===//

#include "AttentionGradients.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace tessera {

using namespace mlir;

namespace {
constexpr int64_t kBlock = 32;
} // namespace

int64_t AttentionGradient::laneRows(const AttentionShape &shape, Of of) {
  return of == Of::Queries ? shape.seq * shape.group : shape.context;
}

int64_t AttentionGradient::iterations(const AttentionShape &shape, int64_t lanes, Of of) {
  int64_t rows = laneRows(shape, of), block = rowVectors(rows, lanes) * lanes;
  return shape.batch * shape.kvHeads * ((rows + block - 1) / block);
}

void AttentionGradient::allocate() {
  for (Product product : {Scores, Weights})
    packedLanes[product] = lanesOf(width(product));
  for (Product product : results()) {
    sums[product] = sumsOf(width(product));
    packed[product] = packedRows(kBlock, width(product));
    factors[product] = factorsOf(kBlock);
  }
  held = scratch({tile, blockRows()});
  if (shape.softcap)
    bends = scratch({tile, blockRows()});
  int64_t rows = ofQueries() ? blockRows() : kBlock;
  positions = scratch({rows}, b.getI32Type());
  if (limitsFront())
    firsts = scratch({rows}, b.getI32Type());
  allocateWords(rows);
  logSums = scratch({rows});
  deltas = scratch({rows});
}

RowLanes::Rows AttentionGradient::rows(const AttentionIteration &iteration, Product product,
                                       bool queriesSide) {
  if (queriesSide)
    return {product == Scores ? buffers.q : arrays.gradient, width(product), queries(),
            [this, iteration](Value row, Value d) { return queryIndices(iteration, row, d); }};
  return {product == Scores ? buffers.k : buffers.v, width(product), shape.context,
          [this, iteration](Value row, Value d) { return keyIndices(iteration, row, d); }};
}

Values AttentionGradient::ofQuery(const AttentionIteration &iteration, Value row) {
  return {iteration.batch, div(row, shape.group), iteration.head, rem(row, shape.group)};
}

/// What is known of `rows` queries from `row0` on. One behind `end` sees no key.
void AttentionGradient::loadQueries(const AttentionIteration &iteration, Value row0, int64_t rows,
                                    Value end) {
  loop(index(0), index(rows), 1, [&](Value l) {
    Value row = add(row0, l), there = min(row, index(queries() - 1));
    Value position = positionOf(iteration, there);
    if (limitsFront())
      store(firstInSight(iteration, there, position), firsts, {l});
    position = select(compare(arith::CmpIPredicate::slt, row, end), position, i32(-1));
    store(position, positions, {l});
    storeWords(iteration, there, l);
    store(mulf(load(buffers.logSumExp, ofQuery(iteration, there)), f32(kLog2E)), logSums, {l});
    store(load(arrays.delta, ofQuery(iteration, there)), deltas, {l});
  });
}

/// Whether a query at `position` that sees nothing before `first` (null: all) sees `key`.
Value AttentionGradient::seen(Value key, Value position, Value first) {
  Value sees = compare(arith::CmpIPredicate::sle, key, position);
  if (!first)
    return sees;
  return arith::AndIOp::create(b, sees, compare(arith::CmpIPredicate::sge, key, first));
}

/// p and ds of the rows [start, start + count), rounded up to whole tiles: the excess is seen by nobody.
void AttentionGradient::differentiateBlock(const AttentionIteration &iteration, Value start, Value count,
                                           Value end) {
  Value last = sub(end, index(1));
  loop(index(0), count, tile, [&](Value j0) {
    Values numbers;
    for (int64_t j = 0; j < tile; ++j)
      numbers.push_back(min(add(start, add(j0, j)), last));
    // Of the query, be it in the lanes or a row.
    auto known = [&](Value array, int64_t j, int64_t v) {
      return ofQueries() ? loadVector(array, {index(v * lanes)}) : splat(load(array, {add(j0, j)}));
    };
    auto place = [&](Value array, int64_t j, int64_t v) -> Value {
      return ofQueries() ? vector::LoadOp::create(b, ints, array, ValueRange{index(v * lanes)})
                         : splat(load(array, {add(j0, j)}));
    };
    auto keyOf = [&](int64_t j, int64_t v) {
      return ofQueries() ? splat(toI32(add(start, add(j0, j)))) : laneKeys[v];
    };
    Values scores = products(others(iteration, Scores), numbers, packedLanes[Scores]);
    for (int64_t j = 0; j < tile; ++j)
      for (int64_t v = 0; v < vectors; ++v) {
        Value product = mulf(scores[j * vectors + v], splat(queryScale())),
              at[] = {index(j), index(v * lanes)};
        if (shape.softcap) { // tanh's own slope
          Value bent = math::TanhOp::create(b, product);
          storeVector(arith::SubFOp::create(b, splat(1.0), mulf(bent, bent)), bends, at);
          product = mulf(bent, splat(*shape.softcap * kLog2E));
        }
        Value p = exp2(arith::SubFOp::create(b, product, known(logSums, j, v)));
        Value first = limitsFront() ? place(firsts, j, v) : Value();
        storeVector(select(seen(keyOf(j, v), place(positions, j, v), first), p, splat(0.0)), held, at);
      }
    Values values = products(others(iteration, Weights), numbers, packedLanes[Weights]);
    for (int64_t v = 0; v < vectors; ++v) {
      Values slopes, weights;
      for (int64_t j = 0; j < tile; ++j) {
        Value at[] = {index(j), index(v * lanes)}, value = values[j * vectors + v],
              weight = loadVector(held, at);
        weights.push_back(weight);
        if (shape.dropout) {
          Value gone = isDropped(place(lowWords, j, v), place(highWords, j, v), keyOf(j, v));
          value = keep(gone, value);
          weights.back() = keep(gone, weight); // what values were weighed with
        }
        Value slope = mulf(arith::SubFOp::create(b, value, known(deltas, j, v)), weight);
        slopes.push_back(shape.softcap ? mulf(slope, loadVector(bends, at)) : slope);
      }
      storeFactors(slopes, factors[Scores], j0, v);
      if (!ofQueries())
        storeFactors(weights, factors[Weights], j0, v);
    }
  });
}

void AttentionGradient::emit(Value item) {
  int64_t blocks = iterations(shape, lanes, of) / (shape.batch * shape.kvHeads);
  Value headNumber = div(item, blocks), turn = rem(item, blocks), half = div(turn, 2);
  AttentionIteration iteration{div(headNumber, shape.kvHeads), rem(headNumber, shape.kvHeads)};
  // From both ends in turn: contiguous parts of the iterations cost about their share (AttentionRows.cpp).
  Value block =
      select(compare(arith::CmpIPredicate::eq, rem(turn, 2), index(0)), half, sub(index(blocks - 1), half));
  Value row0 = mul(block, blockRows());
  beginDropout();
  for (Product product : {Scores, Weights})
    packLanes(inLanes(iteration, product), row0, packedLanes[product]);
  for (Product product : results())
    clear(sums[product]);

  // The last key that any of `rows` queries sees, and the first.
  auto extremes = [&](int64_t rows) {
    return loop(index(0), index(rows), 1, {i32(-1), i32(INT32_MAX)}, [&](Value l, ValueRange so) -> Values {
      Value position = load(positions, {l});
      Value live = compare(arith::CmpIPredicate::sge, position, i32(0));
      Value low = select(live, limitsFront() ? load(firsts, {l}) : i32(0), i32(INT32_MAX));
      return {arith::MaxSIOp::create(b, so[0], position), arith::MinSIOp::create(b, so[1], low)};
    });
  };
  auto work = [&](Value start, Value end) {
    Value count = min(sub(end, start), index(kBlock));
    differentiateBlock(iteration, start, count, end);
    for (Product product : results()) {
      Rows rows = others(iteration, product);
      packRows(rows, start, count, sub(end, index(1)), packed[product]);
      accumulate(rows, start, count, packed[product], factors[product], sums[product]);
    }
  };
  if (ofQueries()) {
    loadQueries(iteration, row0, blockRows(), index(queries()));
    Values seenBy = extremes(blockRows());
    Value end = min(add(toIndex(seenBy[0]), 1), index(shape.context)), begin = index(0);
    if (limitsFront())
      begin = min(max(toIndex(seenBy[1]), index(0)), end);
    loop(begin, end, kBlock, [&](Value start) { work(start, end); });
  } else {
    laneKeys.clear();
    for (int64_t v = 0; v < vectors; ++v) {
      SmallVector<int32_t> numbers;
      for (int64_t l = 0; l < lanes; ++l)
        numbers.push_back(int32_t(v * lanes + l));
      Value offsets = arith::ConstantOp::create(b, DenseElementsAttr::get(ints, ArrayRef(numbers)));
      laneKeys.push_back(arith::AddIOp::create(b, offsets, splat(toI32(row0))));
    }
    Value end = index(queries()), firstKey = toI32(row0),
          lastKey = arith::AddIOp::create(b, firstKey, i32(blockRows() - 1));
    loop(index(0), end, kBlock, [&](Value start) {
      loadQueries(iteration, start, kBlock, end);
      Values seenBy = extremes(kBlock);
      Value meets = compare(arith::CmpIPredicate::sge, seenBy[0], firstKey);
      if (limitsFront())
        meets = arith::AndIOp::create(b, meets, compare(arith::CmpIPredicate::sge, lastKey, seenBy[1]));
      auto guard = scf::IfOp::create(b, meets);
      OpBuilder::InsertionGuard inside(b);
      b.setInsertionPointToStart(guard.thenBlock());
      work(start, end);
    });
  }
  for (Product product : results()) {
    Rows to = inLanes(iteration, product);
    to.array = arrays.results[product];
    Values scale(vectors, splat(product == Scores ? shape.scale : 1));
    storeLanes(sums[product], scale, to, row0);
  }
}

} // namespace tessera
