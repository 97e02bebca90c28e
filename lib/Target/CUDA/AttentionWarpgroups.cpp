//===- AttentionWarpgroups.cpp - attention by wgmma -------------------------===//
//
// Tiles lie in panels: of each row a line of 128, 64 or 32 bytes, the lines of a panel one after another, the
// 16-byte chunks of a line swizzled as descriptors have it. Queries and keys are read along the line, values
// across.
//
// What a thread is left with of the scores is, as weights, what it gives to the second product, as with
// mma.sync (AttentionProducts.cpp).
//
//===----------------------------------------------------------------------===//

#include "AttentionWarpgroups.h"

namespace tessera {

using namespace mlir;

namespace {
/// Bytes that a cp.async moves.
constexpr int64_t kChunk = 16;
constexpr int64_t kThreadsOfGroup = 4 * kWarp, kRowsOfGroup = 64;
} // namespace

/// Rows [0, rowCount) of `width` elements, by all threads; neighbours take neighbouring chunks of a row.
void WarpgroupAttention::copySwizzled(Value to, int64_t line, int64_t rowCount, int64_t width,
                                      llvm::function_ref<Source(Value)> source) {
  int64_t perRow = width * 2 / kChunk, perLine = line / kChunk, total = rowCount * perRow;
  int64_t threads = tiling.threads();
  auto copy = [&](Value row, Value chunk, Value shift) {
    Source from = source(row);
    Value within = b.createOrFold<arith::XOrIOp>(t.rem(chunk, perLine), shift);
    Value place =
        t.add(t.mul(t.div(chunk, perLine), rowCount * line), t.add(t.mul(row, line), t.mul(within, kChunk)));
    t.copyAsync(t.at(to, place), t.at(from.pointer, t.mul(chunk, kChunk)), kChunk, from.valid);
  };
  // Of the address bits 7 and up go into bits 4 and up.
  auto shiftOf = [&](Value row) { return t.rem(t.div(t.mul(row, line), 128), perLine); };
  // Where all threads go on by whole patterns, chunk and swizzle stay the same.
  if (threads % perRow == 0 && threads / perRow % 8 == 0 && total % threads == 0) {
    Value row = t.div(thread, perRow), chunk = t.rem(thread, perRow), shift = shiftOf(row);
    for (int64_t i = 0; i < total / threads; ++i)
      copy(t.add(row, i * (threads / perRow)), chunk, shift);
    return;
  }
  t.loop(thread, t.i32(total), threads, [&](Value item) {
    Value row = t.div(item, perRow);
    copy(row, t.rem(item, perRow), shiftOf(row));
  });
}

WarpgroupAttention::Shifts WarpgroupAttention::shiftsOf(Value step, int64_t least) {
  return {shiftOf(step), least < 1 ? Value() : shiftOf(t.sub(step, t.i32(1)))};
}

/// The keys of tile `step`, below `last`, and the values of the one before, which stand `shifts` off. `step`
/// is `least` at least.
void WarpgroupAttention::copyStep(Value step, int64_t least, Value last, Shifts shifts) {
  t.when(t.less(step, last), [&] {
    Value first = firstKeyOf(step);
    copySwizzled(stageAt(t.rem(step, tiling.stages)), memory.keyStride, tiling.keys, shape.headDim,
                 [&](Value row) { return keyRow(k, t.add(first, row), shifts.keys, shape.headDim); });
  });
  if (least < 1)
    return;
  t.when(t.lessOrEqual(step, last), [&] {
    Value before = t.sub(step, t.i32(1)), first = firstKeyOf(before);
    copySwizzled(t.at(stageAt(t.rem(before, tiling.stages)), memory.values), memory.valueStride, tiling.keys,
                 shape.valueDim,
                 [&](Value row) { return keyRow(v, t.add(first, row), shifts.values, shape.valueDim); });
  });
}

/// Waits for what a step works on and starts the copies of step `ahead`, into the place of what the step
/// before worked on.
void WarpgroupAttention::openStep(Value ahead, int64_t least, Value last, Shifts shifts) {
  t.awaitCopies(tiling.stages - 2);
  t.fenceProducts();
  t.barrier();
  if (!ahead)
    return;
  copyStep(ahead, least, last, shifts);
  t.commitCopies();
}

/// Scores [8 keys][row][2], under way.
Values WarpgroupAttention::startScores(Value tile) {
  Value group = t.div(thread, kThreadsOfGroup);
  Value rowsBegin = t.mul(group, kRowsOfGroup * memory.keyStride);
  int64_t queryPanel = tiling.tileRows() * memory.keyStride, keyPanel = tiling.keys * memory.keyStride;
  ThreadCode::SharedMatrix query =
      t.describeMatrix(t.at(t.at(shared, memory.query), rowsBegin), memory.keyStride, 0);
  ThreadCode::SharedMatrix key = t.describeMatrix(stageAt(t.rem(tile, tiling.stages)), memory.keyStride, 0);
  Values scores;
  for (int64_t d = 0; d < shape.headDim; d += 16) {
    int64_t panel = d * 2 / memory.keyStride, within = d * 2 % memory.keyStride;
    scores =
        t.startProduct(elementType, tiling.keys, scores, t.descriptor(query, panel * queryPanel + within),
                       t.descriptor(key, panel * keyPanel + within), /*across=*/false);
  }
  return scores;
}

/// `sums` and the values of `tile`, weighted: under way.
Values WarpgroupAttention::startValues(ArrayRef<Value> sums, ArrayRef<Value> weights, Value tile) {
  ThreadCode::SharedMatrix value = t.describeMatrix(t.at(stageAt(t.rem(tile, tiling.stages)), memory.values),
                                                    memory.valueStride, tiling.keys * memory.valueStride);
  Values result(sums);
  for (int64_t key = 0; key < tiling.keys; key += 16)
    result = t.startProduct(elementType, shape.valueDim, result, weights.slice(size_t(key / 4), 4),
                            t.descriptor(value, key * memory.valueStride), /*across=*/true);
  return result;
}

/// Weights as the product takes them: of each 16 keys four words.
Values WarpgroupAttention::pack(ArrayRef<Value> weights) {
  Values words;
  for (size_t i = 0; i < weights.size(); i += 2)
    words.push_back(t.bitcast(t.narrowf(t.pack({weights[i], weights[i + 1]}), elementType), t.intType()));
  return words;
}

void WarpgroupAttention::attend() {
  // One tile at least, without a key in sight where no row has any.
  Value last = t.max(tiles, t.i32(1));
  copySwizzled(t.at(shared, memory.query), memory.keyStride, tiling.tileRows(), shape.headDim,
               [&](Value row) { return queryRow(row); });
  for (int64_t step = 0; step + 1 < tiling.stages; ++step) {
    copyStep(t.i32(step), step, last, shiftsOf(t.i32(step), step));
    t.commitCopies();
  }
  State state;
  state.out.assign(outValues(), t.f32(0));
  state.tops.assign(threadRows(), t.f32(kLowest));
  state.sums.assign(threadRows(), t.f32(0));

  // The first tile has scores only.
  openStep(t.i32(tiling.stages - 1), tiling.stages - 1, last,
           shiftsOf(t.i32(tiling.stages - 1), tiling.stages - 1));
  t.openProducts();
  Values scores = startScores(t.i32(0));
  t.commitProducts();
  t.awaitProducts(0);
  scores = t.hold(scores);
  softmax(scores, state, firstKeyOf(t.i32(0)));

  Values carried = state.flat(), words = pack(scores);
  size_t counts[] = {carried.size(), words.size()};
  carried.append(words);
  // Pages are looked up one step before the copies that need them.
  if (shape.page) {
    Shifts shifts = shiftsOf(t.i32(tiling.stages), tiling.stages);
    carried.append({shifts.keys, shifts.values});
  }
  carried = t.loop(t.i32(1), last, 1, carried, [&](Value tile, ValueRange values) {
    State now = unflatten(values.take_front(counts[0]));
    Values weights(values.slice(counts[0], counts[1]));
    Shifts shifts = shape.page ? Shifts{values.drop_back().back(), values.back()} : Shifts();
    openStep(t.add(tile, tiling.stages - 1), 1, last, shifts);
    Value nextShift = shiftOf(t.add(tile, tiling.stages));
    Values given(now.out);
    given.append(weights);
    given = t.hold(given);
    t.openProducts();
    Values scores = startScores(tile);
    t.commitProducts();
    now.out = startValues(ArrayRef(given).take_front(now.out.size()),
                          ArrayRef(given).take_back(weights.size()), t.sub(tile, t.i32(1)));
    t.commitProducts();
    t.awaitProducts(1);
    scores = t.hold(scores);
    Values shrink = softmax(scores, now, firstKeyOf(tile));
    // All weights are there before the values are waited for: a sum of them is never below zero.
    t.waitBehind(t.greater(t.f32(0), t.minf(now.sums[0], now.sums[1])));
    t.awaitProducts(0);
    now.out = t.hold(now.out);
    shrinkSums(now, shrink);
    Values next = now.flat();
    next.append(pack(scores));
    if (shape.page)
      next.append({nextShift, shifts.keys});
    return next;
  });

  // The last one's values are left.
  state = unflatten(ValueRange(carried).take_front(counts[0]));
  openStep({}, 1, last, {});
  Values given(state.out);
  given.append(carried.begin() + counts[0], carried.begin() + counts[0] + counts[1]);
  given = t.hold(given);
  t.openProducts();
  state.out = startValues(ArrayRef(given).take_front(state.out.size()), ArrayRef(given).take_back(counts[1]),
                          t.sub(last, t.i32(1)));
  t.commitProducts();
  t.awaitProducts(0);
  state.out = t.hold(state.out);
  writeResults(state);
}

} // namespace tessera
