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
//
//===----------------------------------------------------------------------===//

#include "AttentionGradients.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace tessera {

using namespace mlir;

namespace {
constexpr int64_t kBlock = 32;
constexpr int64_t kSumTile = 8;
} // namespace

int64_t AttentionGradient::laneRows(const AttentionShape &shape, Of of) {
  return of == Of::Queries ? shape.seq * shape.group : shape.context;
}

int64_t AttentionGradient::rowVectors(const AttentionShape &shape, int64_t lanes, Of of) {
  return laneRows(shape, of) > lanes ? 2 : 1;
}

int64_t AttentionGradient::iterations(const AttentionShape &shape, unsigned lanes, Of of) {
  int64_t block = rowVectors(shape, lanes, of) * lanes;
  return shape.batch * shape.kvHeads * ((laneRows(shape, of) + block - 1) / block);
}

void AttentionGradient::allocate() {
  vectors = rowVectors(shape, lanes, of);
  // Accumulators of a tile: 16 of 32 registers with AVX-512, 8 of 16 without.
  tile = (lanes >= 16 ? 16 : 8) / vectors;
  auto padded = [&](int64_t n) { return (n + lanes - 1) / lanes * lanes; };
  for (Product product : {Scores, Weights}) {
    lanesOf[product] = scratch({padded(width(product)), blockRows()});
    if (product == Scores || !ofQueries())
      sums[product] = scratch({padded(width(product)), blockRows()});
  }
  weights = scratch({kBlock, blockRows()});
  slopes = scratch({kBlock, blockRows()});
  int64_t rows = ofQueries() ? blockRows() : kBlock;
  positions = scratch({rows}, b.getI32Type());
  if (limitsFront())
    firsts = scratch({rows}, b.getI32Type());
  allocateWords(rows);
  logSums = scratch({rows});
  deltas = scratch({rows});
}

Value AttentionGradient::array(Product product, bool queriesSide) const {
  if (queriesSide)
    return product == Scores ? buffers.q : arrays.gradient;
  return product == Scores ? buffers.k : buffers.v;
}

Values AttentionGradient::indices(const AttentionIteration &iteration, bool queriesSide, Value row, Value d) {
  return queriesSide ? queryIndices(iteration, row, d) : keyIndices(iteration, row, d);
}

Values AttentionGradient::ofQuery(const AttentionIteration &iteration, Value row) {
  return {iteration.batch, div(row, shape.group), iteration.head, rem(row, shape.group)};
}

/// The rows from `row0` on, transposed. Behind the last row stands that row again.
void AttentionGradient::packLanes(const AttentionIteration &iteration, Product product, Value row0) {
  Value last = index(laneRows(shape, of) - 1);
  loop(index(0), index(blockRows()), lanes, [&](Value lane0) {
    forStretches(width(product), [&](Value d0, int64_t active) {
      Values rows;
      for (int64_t l = 0; l < lanes; ++l) {
        Value row = min(add(row0, add(lane0, l)), last);
        Value vector =
            loadVector(array(product, ofQueries()), indices(iteration, ofQueries(), row, d0), active);
        rows.push_back(product == Scores ? mulf(vector, splat(queryScale())) : vector);
      }
      for (auto [d, vector] : llvm::enumerate(transpose(rows)))
        storeVector(vector, lanesOf[product], {add(d0, d), lane0});
    });
  });
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

/// Products of `rows` with what stands in the lanes: a vector for each row and row vector.
Values AttentionGradient::products(const AttentionIteration &iteration, Product product, const Values &rows) {
  int64_t size = width(product), unroll = size % 4 == 0 ? 4 : size % 2 == 0 ? 2 : 1;
  return loop(
      index(0), index(size), unroll, Values(tile * vectors, splat(0.0)), [&](Value d0, ValueRange carried) {
        Values acc(carried);
        for (int64_t u = 0; u < unroll; ++u) {
          Value d = add(d0, u);
          Values inLanes;
          for (int64_t v = 0; v < vectors; ++v)
            inLanes.push_back(loadVector(lanesOf[product], {d, index(v * lanes)}));
          for (int64_t j = 0; j < tile; ++j) {
            Value element =
                splat(load(array(product, !ofQueries()), indices(iteration, !ofQueries(), rows[j], d)));
            for (int64_t v = 0; v < vectors; ++v)
              acc[j * vectors + v] = fma(element, inLanes[v], acc[j * vectors + v]);
          }
        }
        return acc;
      });
}

/// p and ds of the rows [start, start + count), rounded up to whole tiles: the excess is seen by nobody.
void AttentionGradient::differentiateBlock(const AttentionIteration &iteration, Value start, Value count,
                                           Value end) {
  Value last = sub(end, index(1));
  loop(index(0), count, tile, [&](Value j0) {
    Values rows;
    for (int64_t j = 0; j < tile; ++j)
      rows.push_back(min(add(start, add(j0, j)), last));
    auto each = [&](llvm::function_ref<void(int64_t, int64_t, Values)> body) {
      for (int64_t j = 0; j < tile; ++j)
        for (int64_t v = 0; v < vectors; ++v)
          body(j, v, {add(j0, j), index(v * lanes)});
    };
    // Of the query, be it in the lanes or a row.
    auto known = [&](Value array, int64_t j, int64_t v) {
      return ofQueries() ? loadVector(array, {index(v * lanes)}) : splat(load(array, {add(j0, j)}));
    };
    auto place = [&](Value array, int64_t j, int64_t v) -> Value {
      return ofQueries() ? vector::LoadOp::create(b, ints, array, ValueRange{index(v * lanes)})
                         : splat(load(array, {add(j0, j)}));
    };
    Values scores = products(iteration, Scores, rows);
    each([&](int64_t j, int64_t v, Values at) {
      Value product = scores[j * vectors + v];
      if (shape.softcap) { // tanh's own slope
        Value bent = math::TanhOp::create(b, product);
        storeVector(arith::SubFOp::create(b, splat(1.0), mulf(bent, bent)), slopes, at);
        product = mulf(bent, splat(*shape.softcap * kLog2E));
      }
      Value p = exp2(arith::SubFOp::create(b, product, known(logSums, j, v)));
      Value key = ofQueries() ? splat(toI32(add(start, add(j0, j)))) : laneKeys[v];
      Value first = limitsFront() ? place(firsts, j, v) : Value();
      storeVector(select(seen(key, place(positions, j, v), first), p, splat(0.0)), weights, at);
    });
    Values values = products(iteration, Weights, rows);
    each([&](int64_t j, int64_t v, Values at) {
      Value value = values[j * vectors + v], weight = loadVector(weights, at);
      if (shape.dropout) {
        Value key = ofQueries() ? splat(toI32(add(start, add(j0, j)))) : laneKeys[v];
        Value gone = isDropped(place(lowWords, j, v), place(highWords, j, v), key);
        value = keep(gone, value);
        if (!ofQueries()) // what values were weighed with
          storeVector(keep(gone, weight), weights, at);
      }
      Value slope = arith::SubFOp::create(b, value, known(deltas, j, v));
      slope = mulf(slope, weight);
      if (shape.softcap)
        slope = mulf(slope, loadVector(slopes, at));
      storeVector(slope, slopes, at);
    });
  });
}

/// Adds the rows [start, start + count), times their `factors`.
void AttentionGradient::accumulate(const AttentionIteration &iteration, Product product, Value start,
                                   Value count, Value factors) {
  auto columns = [&](Value d0, int64_t size) {
    Values acc;
    for (int64_t d = 0; d < size; ++d)
      for (int64_t v = 0; v < vectors; ++v)
        acc.push_back(loadVector(sums[product], {add(d0, d), index(v * lanes)}));
    acc = loop(index(0), count, 1, acc, [&](Value j, ValueRange carried) {
      Values next(carried), by;
      for (int64_t v = 0; v < vectors; ++v)
        by.push_back(loadVector(factors, {j, index(v * lanes)}));
      for (int64_t d = 0; d < size; ++d) {
        Value element = splat(
            load(array(product, !ofQueries()), indices(iteration, !ofQueries(), add(start, j), add(d0, d))));
        for (int64_t v = 0; v < vectors; ++v)
          next[d * vectors + v] = fma(element, by[v], next[d * vectors + v]);
      }
      return next;
    });
    for (int64_t d = 0; d < size; ++d)
      for (int64_t v = 0; v < vectors; ++v)
        storeVector(acc[d * vectors + v], sums[product], {add(d0, d), index(v * lanes)});
  };
  int64_t size = std::min(lanes >= 16 ? kSumTile : kSumTile / 2, width(product));
  int64_t whole = width(product) / size * size;
  loop(index(0), index(whole), size, [&](Value d0) { columns(d0, size); });
  if (whole != width(product))
    columns(index(whole), width(product) - whole);
}

void AttentionGradient::storeResult(const AttentionIteration &iteration, Product product, Value row0,
                                    double factor) {
  for (int64_t v = 0; v < vectors; ++v)
    forStretches(width(product), [&](Value d0, int64_t active) {
      Values columns;
      for (int64_t d = 0; d < lanes; ++d)
        columns.push_back(mulf(loadVector(sums[product], {add(d0, d), index(v * lanes)}), splat(factor)));
      Values rows = transpose(columns);
      for (int64_t l = 0; l < lanes; ++l) {
        Value row = add(row0, v * lanes + l);
        auto exists =
            scf::IfOp::create(b, compare(arith::CmpIPredicate::slt, row, index(laneRows(shape, of))));
        OpBuilder::InsertionGuard inside(b);
        b.setInsertionPointToStart(exists.thenBlock());
        storeVector(rows[l], arrays.results[product], indices(iteration, ofQueries(), row, d0), active);
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
  SmallVector<Product> results = {Scores};
  if (!ofQueries())
    results.push_back(Weights);
  for (Product product : {Scores, Weights})
    packLanes(iteration, product, row0);
  for (Product product : results)
    loop(index(0), index((width(product) + lanes - 1) / lanes * lanes), 1, [&](Value d) {
      for (int64_t v = 0; v < vectors; ++v)
        storeVector(splat(0.0), sums[product], {d, index(v * lanes)});
    });

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
    accumulate(iteration, Scores, start, count, slopes);
    if (!ofQueries())
      accumulate(iteration, Weights, start, count, weights);
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
  for (Product product : results)
    storeResult(iteration, product, row0, product == Scores ? shape.scale : 1);
}

} // namespace tessera
