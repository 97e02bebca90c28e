//===- AttentionBlock.cpp - the rows and keys of a block, the softmax -------===//

#include "AttentionBlock.h"

namespace tessera {

using namespace mlir;

AttentionBlock::AttentionBlock(ImplicitLocOpBuilder &builder, const AttentionShape &shape,
                               const AttentionTiling &tiling, const AttentionArguments &arguments)
    : b(builder), t(builder), shape(shape), tiling(tiling), arguments(arguments), memory(shape, tiling),
      elementType(shape.elementType ? shape.elementType : builder.getF32Type()),
      keyType(shape.keyType ? shape.keyType : elementType), rows(shape.seq * shape.group) {}

Values AttentionBlock::State::flat() const {
  Values all(out);
  all.append(tops);
  all.append(sums);
  return all;
}

AttentionBlock::State AttentionBlock::unflatten(ValueRange values) const {
  int64_t each = threadRows();
  return {Values(values.drop_back(2 * each)), Values(values.take_back(2 * each).take_front(each)),
          Values(values.take_back(each))};
}

/// Which rows of which head: splits of one tile of rows are neighbours, and the last tiles, which see most
/// keys, come first.
void AttentionBlock::locate(Value block) {
  thread = t.threadNumber();
  lane = t.rem(thread, kWarp);
  Value warp = t.div(thread, kWarp);
  quadRow = t.div(lane, 4);
  quadLane = t.rem(lane, 4);
  rowWarp = t.rem(warp, tiling.rowWarps);
  keyWarp = t.div(warp, tiling.rowWarps);
  split = t.rem(block, tiling.splits);
  block = t.div(block, tiling.splits);
  head = t.rem(block, shape.kvHeads);
  block = t.div(block, shape.kvHeads);
  batch = t.rem(block, shape.batch);
  rowTile = t.sub(t.i32(tiling.rowTiles - 1), t.div(block, shape.batch));
  row0 = t.mul(rowTile, tiling.tileRows());
}

Value AttentionBlock::rowPosition(Value row) {
  Value there = t.min(row, t.i32(rows - 1));
  Value number = t.add(t.mul(batch, shape.seq), t.div(there, shape.group));
  return t.load(t.intType(), t.at(positions, t.mul(t.wide(number), 4)), 4);
}

/// The keys that any row sees, and those that every row does. Each warp looks at all rows: no barrier.
void AttentionBlock::findKeys() {
  Value largest, least, leastLive;
  for (int64_t first = 0; first < tiling.tileRows(); first += kWarp) {
    Value inTile = t.add(lane, first), row = t.add(row0, inTile);
    Value position = rowPosition(row);
    Value exists = t.less(row, t.i32(rows));
    if (tiling.tileRows() % kWarp)
      exists = t.both(exists, t.less(inTile, t.i32(tiling.tileRows())));
    Value live = t.both(exists, t.lessOrEqual(t.i32(0), position));
    Value high = t.select(exists, position, t.i32(-1)), low = t.select(exists, position, t.i32(INT32_MAX)),
          lowLive = t.select(live, position, t.i32(INT32_MAX));
    largest = largest ? t.max(largest, high) : high;
    least = least ? t.min(least, low) : low;
    leastLive = leastLive ? t.min(leastLive, lowLive) : lowLive;
  }
  largest = t.warpMax(largest);
  leastSight = t.sub(t.warpMin(least), base);
  keyEnd = t.add(t.max(t.min(t.sub(largest, base), t.i32(shape.context - 1)), t.i32(-1)), 1);
  keyStart = t.i32(0);
  if (shape.window) {
    lastHidden = t.sub(t.sub(largest, t.i32(*shape.window)), base);
    Value first = t.add(t.sub(t.sub(t.warpMin(leastLive), t.i32(*shape.window)), base), 1);
    first = t.min(t.max(first, t.i32(0)), keyEnd);
    keyStart = t.mul(t.div(first, tiling.keys), tiling.keys);
  }
  tiles = t.div(t.add(t.sub(keyEnd, keyStart), tiling.keys - 1), tiling.keys);
  tilesPerSplit = tiles;
  activeSplits = t.i32(1);
  if (tiling.splits > 1) {
    tilesPerSplit = t.max(t.div(t.add(tiles, tiling.splits - 1), tiling.splits), t.i32(kLeastTiles));
    activeSplits = t.max(t.div(t.sub(t.add(tiles, tilesPerSplit), t.i32(1)), tilesPerSplit), t.i32(1));
  }
  for (int64_t i = 0; i < threadRows(); ++i) {
    Value row = t.add(t.add(row0, t.mul(rowWarp, tiling.warpRows)), t.add(quadRow, 8 * i));
    Value position = t.select(t.less(row, t.i32(rows)), rowPosition(row), t.i32(-1));
    Value sight = t.sub(position, base);
    upper.push_back(t.min(sight, t.i32(shape.context - 1)));
    if (shape.window)
      lower.push_back(t.sub(sight, t.i32(*shape.window)));
  }
}

/// Scores of keys out of sight become kMasked.
Values AttentionBlock::mask(ArrayRef<Value> scores, Value firstKey) {
  Values result;
  Value own = t.add(firstKey, t.mul(quadLane, 2));
  int64_t perRow = 2, perKeys = perRow * threadRows();
  for (auto [number, score] : llvm::enumerate(scores)) {
    int64_t keys = int64_t(number) / perKeys, i = int64_t(number) % perKeys / perRow,
            j = int64_t(number) % perRow;
    Value key = t.add(own, 8 * keys + j);
    Value seen = t.lessOrEqual(key, upper[i]);
    if (shape.window)
      seen = t.both(seen, t.less(lower[i], key));
    result.push_back(t.select(seen, score, t.f32(kMasked)));
  }
  return result;
}

/// Scores [8 keys][row][2] of keys from `firstKey` on become weights. Returns what each row's sums of values
/// shrink by, to the new maximum.
Values AttentionBlock::softmax(Values &scores, State &state, Value firstKey) {
  // A factor of scores goes into the exponent's fma. Without one (it was applied) they are what is to be
  // raised.
  double factor = shape.scale * kLog2E;
  bool scaled = shape.softcap || factor < kLeastFactor;
  if (scaled) {
    for (Value &score : scores) {
      score = t.mulf(score, t.f32(shape.softcap ? shape.scale / *shape.softcap : factor));
      if (shape.softcap)
        score = t.mulf(t.tanh(score), t.f32(*shape.softcap * kLog2E));
    }
    factor = 1;
  }
  Value allSeen = t.lessOrEqual(t.add(firstKey, warpKeys() - 1), leastSight);
  allSeen = t.both(allSeen, t.lessOrEqual(t.add(firstKey, warpKeys()), keyEnd));
  if (shape.window)
    allSeen = t.both(allSeen, t.less(lastHidden, firstKey));
  scores = t.either(allSeen, [&] { return scores; }, [&] { return mask(scores, firstKey); });
  Values shrink;
  int64_t perRow = 2, perKeys = perRow * threadRows();
  for (int64_t i = 0; i < threadRows(); ++i) {
    Value top;
    auto forScores = [&](llvm::function_ref<void(Value &)> body) {
      for (size_t at = 0; at < scores.size(); at += perKeys)
        for (int64_t j = 0; j < perRow; ++j)
          body(scores[at + i * perRow + j]);
    };
    forScores([&](Value &score) { top = top ? t.maxf(top, score) : score; });
    top = t.maxf(top, t.shuffle(top, 1));
    top = t.maxf(top, t.shuffle(top, 2));
    if (!scaled)
      top = t.mulf(top, t.f32(factor));
    top = t.maxf(top, state.tops[i]);
    shrink.push_back(t.exp2(t.subf(state.tops[i], top)));
    state.tops[i] = top;
    Value sum, below = t.subf(t.f32(0), top);
    forScores([&](Value &score) {
      score = t.exp2(scaled ? t.subf(score, top) : t.fma(score, t.f32(factor), below));
      sum = sum ? t.addf(sum, score) : score;
    });
    state.sums[i] = t.fma(state.sums[i], shrink[i], sum);
  }
  return shrink;
}

void AttentionBlock::shrinkSums(State &state, ArrayRef<Value> shrink) {
  int64_t perShrink = tiling.matrix ? 2 : 1;
  for (auto [number, sum] : llvm::enumerate(state.out)) {
    Value by = shrink[int64_t(number) / perShrink % threadRows()];
    sum = t.mulf(sum, tiling.matrix ? by : t.splat(by, 4));
  }
}

void AttentionBlock::attend() {
  Value first = t.mul(split, tilesPerSplit), last = t.min(t.add(first, tilesPerSplit), tiles);
  clearPadding(t.at(shared, memory.query), memory.keyStride, tiling.tileRows(), shape.headDim);
  for (int64_t s = 0; s < tiling.stages; ++s) {
    clearPadding(t.at(shared, memory.tiles + s * memory.stage), memory.keyStride, tiling.keys, shape.headDim);
    clearPadding(t.at(shared, memory.tiles + s * memory.stage + memory.values), memory.valueStride,
                 tiling.keys, shape.valueDim);
  }
  copyRows(t.at(shared, memory.query), memory.keyStride, tiling.tileRows(), shape.headDim, elementType,
           [&](Value row) { return queryRow(row); });
  for (int64_t s = 0; s + 1 < tiling.stages; ++s) {
    Value tile = t.add(first, s);
    t.when(t.less(tile, last), [&] { copyKeys(tile, t.i32(s), shiftOf(tile)); });
    t.commitCopies();
  }
  State state;
  state.out.assign(outValues(), t.zero(outType()));
  state.tops.assign(threadRows(), t.f32(kLowest));
  state.sums.assign(threadRows(), t.f32(0));
  // A tile's page is looked up one step before its copies begin: they would wait for it.
  Values begin = state.flat();
  if (shape.page)
    begin.push_back(shiftOf(t.add(first, tiling.stages - 1)));
  Values done = t.loop(first, last, 1, begin, [&](Value tile, ValueRange carried) {
    State now = unflatten(carried.drop_back(shape.page ? 1 : 0));
    Value shift = shape.page ? carried.back() : Value();
    t.awaitCopies(tiling.stages - 2);
    // What this thread has awaited is there for all, and all are done with the tile before this one, whose
    // place the next copies take.
    t.barrier();
    Value number = t.sub(tile, first), ahead = t.add(tile, tiling.stages - 1);
    t.when(t.less(ahead, last),
           [&] { copyKeys(ahead, t.rem(t.add(number, tiling.stages - 1), tiling.stages), shift); });
    t.commitCopies();
    Value nextShift = shiftOf(t.add(ahead, 1)), stage = stageAt(t.rem(number, tiling.stages));
    Value firstKey = t.add(firstKeyOf(tile), t.mul(keyWarp, warpKeys()));
    Values scores = tiling.matrix ? scoresByMatrix(stage) : scoresByFma(stage);
    shrinkSums(now, softmax(scores, now, firstKey));
    if (tiling.matrix)
      addValuesByMatrix(now, scores, stage);
    else
      addValuesByFma(now, scores, stage);
    Values next = now.flat();
    if (shape.page)
      next.push_back(nextShift);
    return next;
  });
  writeResults(unflatten(ValueRange(done).drop_back(shape.page ? 1 : 0)));
}

void AttentionBlock::emit(Value block) {
  shared = t.sharedMemory(memory.total);
  auto pointer = [&](Value buffer) { return buffer ? t.address(buffer) : Value(); };
  q = pointer(arguments.q);
  k = pointer(arguments.k);
  v = pointer(arguments.v);
  positions = pointer(arguments.positions);
  pages = pointer(arguments.pages);
  out = pointer(arguments.out);
  logSumExp = pointer(arguments.logSumExp);
  scratch = pointer(arguments.scratch);
  if (tiling.splits > 1)
    counters = t.imageMemory(tiling.blocks / tiling.splits);
  base = t.fromIndex(arguments.base);
  locate(t.fromIndex(block));
  findKeys();
  if (tiling.splits == 1)
    return attend();
  // A block beyond the length has nothing to do.
  t.when(t.less(split, activeSplits), [&] { attend(); });
}

} // namespace tessera
