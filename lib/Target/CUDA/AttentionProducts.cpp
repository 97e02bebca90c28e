//===- AttentionProducts.cpp - scores and weighted values of a tile ---------===//
//
// By mma.sync: the scores that a thread is left with are, as weights, just what it gives to the next product;
// nothing goes through memory. Sums of values: [8 columns][row][2].
//
// By fma: a thread has the same scores, and of every 16 columns of the values 4 in a vector: [16 columns]
// [row]. Weights go through shared memory, from the quad's lanes to all of it.
//
//===----------------------------------------------------------------------===//

#include "AttentionBlock.h"

#include "llvm/Support/MathExtras.h"

namespace tessera {

using namespace mlir;

int64_t AttentionBlock::resultWidth() const { return int64_t(llvm::alignTo(shape.valueDim, 16)); }

int64_t AttentionBlock::outValues() const {
  return tiling.matrix ? resultWidth() / 8 * 4 : resultWidth() / 16 * threadRows();
}

Type AttentionBlock::outType() { return tiling.matrix ? t.floatType() : Type(t.vectorOf(t.floatType(), 4)); }

Values AttentionBlock::scoresByMatrix(Value stage) {
  Value matrix = t.div(lane, 8), row = t.rem(lane, 8);
  Value odd = t.rem(matrix, 2), high = t.div(matrix, 2);
  // Lanes point to rows of 8 elements: of a tile of queries, of two tiles of keys.
  Value queryRow = t.add(t.add(t.mul(rowWarp, tiling.warpRows), t.mul(odd, 8)), row);
  Value query = t.at(t.at(shared, memory.query), t.add(t.mul(queryRow, memory.keyStride), t.mul(high, 16)));
  Value keyRow = t.add(t.add(t.mul(keyWarp, warpKeys()), t.mul(high, 8)), row);
  Value key = t.at(stage, t.add(t.mul(keyRow, memory.keyStride), t.mul(odd, 16)));
  Values scores(warpKeys() / 8 * 4, t.f32(0));
  for (int64_t d = 0; d < shape.headDim; d += 16) {
    Values a = t.loadMatrices(t.at(query, d * 2), /*transposed=*/false);
    for (int64_t j = 0; j < warpKeys(); j += 16) {
      Values two = t.loadMatrices(t.at(key, j * memory.keyStride + d * 2), /*transposed=*/false);
      for (int64_t half = 0; half < 2; ++half) {
        auto acc = MutableArrayRef<Value>(scores).slice((j / 8 + half) * 4, 4);
        llvm::copy(t.multiply(elementType, a, ArrayRef<Value>(two).slice(half * 2, 2), acc), acc.begin());
      }
    }
  }
  return scores;
}

void AttentionBlock::addValuesByMatrix(State &state, ArrayRef<Value> weights, Value stage) {
  Value matrix = t.div(lane, 8), row = t.rem(lane, 8);
  Value valueRow = t.add(t.add(t.mul(keyWarp, warpKeys()), t.mul(t.rem(matrix, 2), 8)), row);
  Value value = t.at(t.at(stage, memory.values),
                     t.add(t.mul(valueRow, memory.valueStride), t.mul(t.div(matrix, 2), 16)));
  for (int64_t j = 0; j < warpKeys(); j += 16) {
    Values a;
    for (int64_t pair = 0; pair < 4; ++pair) {
      Value two = t.pack({weights[j / 2 + pair * 2], weights[j / 2 + pair * 2 + 1]});
      a.push_back(t.bitcast(t.narrowf(two, elementType), t.intType()));
    }
    for (int64_t d = 0; d < resultWidth(); d += 16) {
      Values two = t.loadMatrices(t.at(value, j * memory.valueStride + d * 2), /*transposed=*/true);
      for (int64_t half = 0; half < 2; ++half) {
        auto acc = MutableArrayRef<Value>(state.out).slice((d / 8 + half) * 4, 4);
        llvm::copy(t.multiply(elementType, a, ArrayRef<Value>(two).slice(half * 2, 2), acc), acc.begin());
      }
    }
  }
}

Values AttentionBlock::scoresByFma(Value stage) {
  Value queryRow = t.add(t.mul(rowWarp, tiling.warpRows), quadRow);
  Value query = t.at(t.at(shared, memory.query), t.mul(queryRow, memory.keyStride));
  Value keyRow = t.add(t.mul(keyWarp, warpKeys()), t.mul(quadLane, 2));
  Value key = t.at(stage, t.mul(keyRow, memory.keyStride));
  auto four = t.vectorOf(t.floatType(), 4);
  Values zeros(warpKeys() / 8 * 2 * threadRows(), t.f32(0));
  return t.loop(t.i32(0), t.i32(shape.headDim), 4, zeros, [&](Value d, ValueRange carried) {
    Values scores(carried), queries;
    Value bytes = t.mul(d, 4);
    for (int64_t i = 0; i < threadRows(); ++i)
      queries.push_back(t.load(four, t.at(t.at(query, bytes), 8 * i * memory.keyStride), 16));
    for (int64_t n = 0; n < warpKeys() / 8; ++n)
      for (int64_t j = 0; j < 2; ++j) {
        Value elements = t.load(four, t.at(t.at(key, bytes), (8 * n + j) * memory.keyStride), 16);
        for (int64_t i = 0; i < threadRows(); ++i) {
          Value &score = scores[(n * threadRows() + i) * 2 + j];
          for (int64_t e = 0; e < 4; ++e)
            score = t.fma(t.element(queries[i], e), t.element(elements, e), score);
        }
      }
    return scores;
  });
}

void AttentionBlock::addValuesByFma(State &state, ArrayRef<Value> weights, Value stage) {
  Value warp = t.div(thread, kWarp);
  Value own = t.at(t.at(shared, memory.weights), t.add(t.mul(warp, tiling.warpRows * memory.weightStride),
                                                       t.mul(quadRow, memory.weightStride)));
  Value mine = t.at(own, t.mul(quadLane, 8));
  for (int64_t n = 0; n < warpKeys() / 8; ++n)
    for (int64_t i = 0; i < threadRows(); ++i) {
      size_t at = size_t(n * threadRows() + i) * 2;
      t.store(t.pack({weights[at], weights[at + 1]}), t.at(mine, 8 * i * memory.weightStride + n * 32), 8);
    }
  t.warpBarrier();
  Value value = t.at(t.at(stage, memory.values),
                     t.add(t.mul(t.mul(keyWarp, warpKeys()), memory.valueStride), t.mul(quadLane, 16)));
  auto four = t.vectorOf(t.floatType(), 4);
  state.out = t.loop(t.i32(0), t.i32(warpKeys()), 4, state.out, [&](Value key, ValueRange carried) {
    Values sums(carried), rowWeights;
    for (int64_t i = 0; i < threadRows(); ++i)
      rowWeights.push_back(t.load(four, t.at(t.at(own, t.mul(key, 4)), 8 * i * memory.weightStride), 16));
    Value valueRow = t.at(value, t.mul(key, memory.valueStride));
    for (int64_t u = 0; u < 4; ++u) {
      Values by;
      for (int64_t i = 0; i < threadRows(); ++i)
        by.push_back(t.splat(t.element(rowWeights[i], u), 4));
      for (int64_t n = 0; n < resultWidth() / 16; ++n) {
        Value elements = t.load(four, t.at(valueRow, u * memory.valueStride + n * 64), 16);
        for (int64_t i = 0; i < threadRows(); ++i) {
          Value &sum = sums[n * threadRows() + i];
          sum = t.fma(by[i], elements, sum);
        }
      }
    }
    return sums;
  });
}

} // namespace tessera
