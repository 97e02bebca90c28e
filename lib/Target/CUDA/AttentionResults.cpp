//===- AttentionResults.cpp - from the sums of warps and blocks to results --===//
//
// Sums of weighted values belong to the maximum that they were computed with; two of them are put together by
// scaling both to the larger one. Warps meet in shared memory, blocks that share a tile of rows in the
// scratch output: the last one to arrive, by a counter in the image's memory, adds up all of them in the
// order of their keys, so that results do not depend on which one that is. The counter is 0 again then.
//
//===----------------------------------------------------------------------===//

#include "AttentionBlock.h"

#include "llvm/Support/MathExtras.h"

namespace tessera {

using namespace mlir;

namespace {
/// Elements of a result that a thread has at a time.
int64_t chunk(int64_t width) { return width % 4 == 0 ? 4 : width % 2 == 0 ? 2 : 1; }
/// Splits whose numbers are on their way at a time.
constexpr int64_t kSplitsAhead = 8;
} // namespace

/// What the warps have, to shared memory, in the place of the tiles.
void AttentionBlock::keepState(const State &state) {
  t.barrier(); // all are done with the tiles
  Value row = t.add(t.mul(rowWarp, tiling.warpRows), quadRow);
  row = t.add(t.mul(keyWarp, tiling.tileRows()), row);
  Value results = t.at(t.at(shared, memory.tiles), t.mul(row, memory.resultStride)),
        tops = t.at(t.at(shared, memory.tops), t.mul(row, 8));
  for (int64_t i = 0; i < threadRows(); ++i) {
    Value sum = state.sums[i];
    sum = t.addf(sum, t.shuffle(sum, 1));
    sum = t.addf(sum, t.shuffle(sum, 2));
    t.when(t.equal(quadLane, 0), [&] { t.store(t.pack({state.tops[i], sum}), t.at(tops, 64 * i), 8); });
    Value place = t.at(results, 8 * i * memory.resultStride);
    if (tiling.matrix)
      for (int64_t n = 0; n < resultWidth() / 8; ++n) {
        Value two = t.pack({state.out[n * 4 + i * 2], state.out[n * 4 + i * 2 + 1]});
        t.store(two, t.at(t.at(place, t.mul(quadLane, 8)), n * 32), 8);
      }
    else
      for (int64_t n = 0; n < resultWidth() / 16; ++n)
        t.store(state.out[n * threadRows() + i], t.at(t.at(place, t.mul(quadLane, 16)), n * 64), 16);
  }
  t.barrier();
}

/// `body` on every chunk of every row that exists.
void AttentionBlock::forResults(llvm::function_ref<void(Value, Value)> body) {
  int64_t size = chunk(shape.valueDim), perRow = shape.valueDim / size, total = tiling.tileRows() * perRow;
  t.loop(thread, t.i32(total), tiling.threads(), [&](Value item) {
    Value row = t.div(item, perRow), column = t.mul(t.rem(item, perRow), size);
    if (rows % tiling.tileRows() == 0)
      return body(row, column);
    t.when(t.less(t.add(row0, row), t.i32(rows)), [&] { body(row, column); });
  });
}

AttentionBlock::Result AttentionBlock::mergeWarps(Value row, Value column) {
  int64_t size = chunk(shape.valueDim);
  auto two = t.vectorOf(t.floatType(), 2), several = t.vectorOf(t.floatType(), size);
  Values tops, sums, outs;
  for (int64_t w = 0; w < tiling.keyWarps; ++w) {
    Value place = t.add(row, w * tiling.tileRows());
    Value pair = t.load(two, t.at(t.at(shared, memory.tops), t.mul(place, 8)), 8);
    tops.push_back(t.element(pair, 0));
    sums.push_back(t.element(pair, 1));
    outs.push_back(t.load(
        several, t.at(t.at(shared, memory.tiles), t.add(t.mul(place, memory.resultStride), t.mul(column, 4))),
        size * 4));
  }
  if (tiling.keyWarps == 1)
    return {tops[0], sums[0], outs[0]};
  Result all{tops[0], {}, {}};
  for (Value top : ArrayRef<Value>(tops).drop_front())
    all.top = t.maxf(all.top, top);
  for (auto [top, sum, out] : llvm::zip_equal(tops, sums, outs)) {
    Value by = t.exp2(t.subf(top, all.top));
    all.sum = all.sum ? t.fma(by, sum, all.sum) : t.mulf(by, sum);
    all.out = all.out ? t.fma(t.splat(by, size), out, all.out) : t.mulf(t.splat(by, size), out);
  }
  return all;
}

void AttentionBlock::write(Value inTile, Value column, const Result &result) {
  int64_t size = chunk(shape.valueDim), bytes = elementType.getIntOrFloatBitWidth() / 8;
  Value row = t.add(row0, inTile);
  Value position = t.add(t.mul(batch, shape.seq), t.div(row, shape.group));
  Value number =
      t.add(t.mul(t.add(t.mul(position, shape.kvHeads), head), shape.group), t.rem(row, shape.group));
  // Where nothing is in sight the sum is 0, and so is the result; what is no number stays that.
  Value inverse = t.select(t.greater(result.sum, t.f32(0)), t.divf(t.f32(1), result.sum), t.f32(0));
  Value value = t.narrowf(t.mulf(result.out, t.splat(inverse, size)), elementType);
  Value place = t.at(t.at(out, t.mul(t.wide(number), shape.valueDim * bytes)), t.mul(column, bytes));
  t.store(value, place, size * bytes);
  if (!logSumExp)
    return;
  t.when(t.equal(column, 0), [&] {
    Value empty = t.equal(t.bitcast(result.sum, t.intType()), 0);
    Value value = t.mulf(t.addf(result.top, t.log2(result.sum)), t.f32(1 / kLog2E));
    t.store(t.select(empty, t.f32(-INFINITY), value), t.at(logSumExp, t.mul(t.wide(number), 4)), 4);
  });
}

/// The number of a row of this tile, as block `split` of it has it, in the scratch output.
Value AttentionBlock::scratchRow(Value row, Value split) {
  Value tile = t.add(t.mul(t.add(t.mul(batch, shape.kvHeads), head), tiling.rowTiles), rowTile);
  Value number = t.add(t.mul(tile, tiling.splits), split);
  return t.add(t.mul(number, std::min(tiling.tileRows(), rows)), row);
}

static int64_t scratchRows(const AttentionShape &shape, const AttentionTiling &tiling) {
  return tiling.blocks * std::min(tiling.tileRows(), shape.seq * shape.group);
}

int64_t attentionScratch(const AttentionShape &shape, const AttentionTiling &tiling) {
  return tiling.splits == 1 ? 0 : scratchRows(shape, tiling) * (shape.valueDim + 2);
}

void AttentionBlock::writePartial(Value row, Value column, const Result &result) {
  Value number = t.wide(scratchRow(row, split));
  Value place = t.at(scratch, t.mul(t.add(t.mul(number, shape.valueDim), t.wide(column)), 4));
  t.store(result.out, place, chunk(shape.valueDim) * 4);
  t.when(t.equal(column, 0), [&] {
    Value pair =
        t.at(scratch, t.add(t.mul(number, 8), t.i64(scratchRows(shape, tiling) * shape.valueDim * 4)));
    t.store(t.pack({result.top, result.sum}), pair, 8);
  });
}

AttentionBlock::Result AttentionBlock::mergeSplits(Value row, Value column) {
  int64_t size = chunk(shape.valueDim), ahead = std::min(kSplitsAhead, tiling.splits);
  auto two = t.vectorOf(t.floatType(), 2), several = t.vectorOf(t.floatType(), size);
  Value pairs = t.at(scratch, scratchRows(shape, tiling) * shape.valueDim * 4);
  Values merged =
      t.loop(t.i32(0), activeSplits, ahead, Values{t.f32(kLowest), t.f32(0), t.zero(several)},
             [&](Value first, ValueRange carried) {
               Value top = carried[0], sum = carried[1], out = carried[2];
               Values tops, sums, outs;
               for (int64_t s = 0; s < ahead; ++s) {
                 Value number = t.add(first, s), exists = t.less(number, activeSplits);
                 Value there = t.wide(scratchRow(row, t.min(number, t.sub(activeSplits, t.i32(1)))));
                 Value pair = t.load(two, t.at(pairs, t.mul(there, 8)), 8);
                 tops.push_back(t.select(exists, t.element(pair, 0), t.f32(kMasked)));
                 sums.push_back(t.element(pair, 1));
                 outs.push_back(t.load(
                     several, t.at(scratch, t.mul(t.add(t.mul(there, shape.valueDim), t.wide(column)), 4)),
                     size * 4));
               }
               Value newTop = top;
               for (Value other : tops)
                 newTop = t.maxf(newTop, other);
               Value shrink = t.exp2(t.subf(top, newTop));
               sum = t.mulf(sum, shrink);
               out = t.mulf(out, t.splat(shrink, size));
               for (auto [s, other] : llvm::enumerate(tops)) {
                 Value by = t.exp2(t.subf(other, newTop));
                 sum = t.fma(by, sums[s], sum);
                 out = t.fma(t.splat(by, size), outs[s], out);
               }
               return Values{newTop, sum, out};
             });
  return {merged[0], merged[1], merged[2]};
}

void AttentionBlock::writeResults(const State &state) {
  keepState(state);
  if (tiling.splits == 1)
    return forResults([&](Value row, Value column) { write(row, column, mergeWarps(row, column)); });
  Value alone = t.lessOrEqual(activeSplits, t.i32(1));
  t.either(
      alone,
      [&] {
        forResults([&](Value row, Value column) { write(row, column, mergeWarps(row, column)); });
        return Values();
      },
      [&] {
        forResults([&](Value row, Value column) { writePartial(row, column, mergeWarps(row, column)); });
        t.barrier(); // all of this block's numbers are written before it counts as arrived
        Value tile = t.add(t.mul(t.add(t.mul(batch, shape.kvHeads), head), tiling.rowTiles), rowTile);
        Value lastNumber = t.sub(activeSplits, t.i32(1));
        Value last = t.either(
            t.equal(thread, 0),
            [&] {
              Value before = t.countArrival(t.at(counters, t.mul(tile, 4)), lastNumber);
              return Values{t.lessOrEqual(lastNumber, before)};
            },
            [&] { return Values{t.less(thread, t.i32(0))}; })[0];
        t.when(t.barrierAny(last), [&] {
          forResults([&](Value row, Value column) { write(row, column, mergeSplits(row, column)); });
        });
        return Values();
      });
}

} // namespace tessera
