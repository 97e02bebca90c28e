//===- AttentionTiles.cpp - queries and keys in shared memory ---------------===//
//
// Rows are padded by 16 bytes, so that eight rows, 16 bytes of each, lie in different banks.
//
//===----------------------------------------------------------------------===//

#include "AttentionBlock.h"

#include "llvm/Support/MathExtras.h"

namespace tessera {

using namespace mlir;

namespace {
constexpr int64_t kPadding = 16;
/// Most steps of a copy that are written out one by one.
constexpr int64_t kUnrolled = 16;
} // namespace

AttentionMemory::AttentionMemory(const AttentionShape &shape, const AttentionTiling &tiling) {
  // Matrices take 16 elements of a row, fma 4; of values a quad takes 16 either way.
  int64_t keyWidth = int64_t(llvm::alignTo(shape.headDim, tiling.matrix ? 16 : 4)),
          valueWidth = int64_t(llvm::alignTo(shape.valueDim, 16));
  query = 0;
  if (tiling.warpgroups)
    placeWarpgroupTiles(shape, tiling);
  else
    placeTiles(shape, tiling, keyWidth, valueWidth);
  weights = tiles + tiling.stages * stage;
  weightStride = tiling.keys / tiling.keyWarps * 4 + kPadding;
  int64_t end = weights;
  if (!tiling.matrix)
    end += tiling.rowWarps * tiling.keyWarps * tiling.warpRows * weightStride;
  resultStride = valueWidth * 4 + kPadding;
  int64_t results = tiling.keyWarps * tiling.tileRows();
  tops = tiles + results * resultStride;
  total = std::max(end, tops + results * 8);
}

void AttentionMemory::placeTiles(const AttentionShape &shape, const AttentionTiling &tiling, int64_t keyWidth,
                                 int64_t valueWidth) {
  int64_t bytes = tiling.matrix ? 2 : 4;
  keyStride = keyWidth * bytes + kPadding;
  valueStride = valueWidth * bytes + kPadding;
  tiles = tiling.tileRows() * keyStride;
  values = tiling.keys * keyStride;
  stage = values + tiling.keys * valueStride;
}

/// Lines are as long as a swizzle has them: 128, 64 or 32 bytes. All begins are multiples of 1024 then.
void AttentionMemory::placeWarpgroupTiles(const AttentionShape &shape, const AttentionTiling &tiling) {
  auto lineOf = [](int64_t width) { return 2 * std::min<int64_t>(64, width & -width); };
  keyStride = lineOf(shape.headDim);
  valueStride = lineOf(shape.valueDim);
  tiles = tiling.tileRows() * shape.headDim * 2;
  values = tiling.keys * shape.headDim * 2;
  stage = values + tiling.keys * shape.valueDim * 2;
}

Value AttentionBlock::stageAt(Value number) {
  return t.at(t.at(shared, memory.tiles), t.mul(number, memory.stage));
}

AttentionBlock::Source AttentionBlock::queryRow(Value inTile) {
  Value row = t.add(row0, inTile), valid = t.less(row, t.i32(rows));
  row = t.select(valid, row, t.i32(rows - 1));
  Value position = t.add(t.mul(batch, shape.seq), t.div(row, shape.group));
  Value number =
      t.add(t.mul(t.add(t.mul(position, shape.kvHeads), head), shape.group), t.rem(row, shape.group));
  int64_t bytes = shape.headDim * (elementType.getIntOrFloatBitWidth() / 8);
  return {t.at(q, t.mul(t.wide(number), bytes)), valid};
}

Value AttentionBlock::shiftOf(Value tile) {
  if (!shape.page)
    return {};
  int64_t count = shape.context / shape.page;
  Value page = t.min(t.div(firstKeyOf(tile), shape.page), t.i32(count - 1));
  Value entry = t.add(t.mul(batch, count), page);
  // Rows that are padding have anything for entries, and stay within their context.
  Value place = t.add(page, t.load(t.intType(), t.at(pages, t.mul(t.wide(entry), 4)), 4));
  place = t.min(t.max(place, t.i32(0)), t.i32(count - 1));
  return t.mul(t.sub(place, page), shape.page);
}

/// Where key (or value) `key` of the block's head stands, of a tile whose keys stand `shift` off.
AttentionBlock::Source AttentionBlock::keyRow(Value pointer, Value key, Value shift, int64_t width) {
  Value valid = t.less(key, keyEnd);
  Value row = batch;
  if (arguments.layer)
    row = t.add(t.mul(t.fromIndex(arguments.layer), shape.batch), batch);
  int64_t bytes = width * (keyType.getIntOrFloatBitWidth() / 8);
  Value first = t.add(t.mul(t.wide(row), shape.context * shape.kvHeads * bytes), t.mul(t.wide(head), bytes));
  Value place = shift ? t.add(key, shift) : key;
  return {t.at(t.at(pointer, first), t.mul(t.wide(place), shape.kvHeads * bytes)), valid};
}

/// Zeros from the end of the elements to that of the rows' multiple: products go over them.
void AttentionBlock::clearPadding(Value to, int64_t stride, int64_t rowCount, int64_t width) {
  int64_t begin = width * tileBytes(), end = stride - kPadding;
  if (begin == end)
    return;
  int64_t perRow = (end - begin) / tileBytes(), total = rowCount * perRow;
  t.loop(thread, t.i32(total), tiling.threads(), [&](Value item) {
    Value place =
        t.add(t.mul(t.div(item, perRow), stride), t.add(t.mul(t.rem(item, perRow), tileBytes()), begin));
    t.store(t.zero(tileType()), t.at(to, place), tileBytes());
  });
}

/// Rows [0, rowCount) of `width` elements of `type` to shared memory, neighbouring threads taking
/// neighbouring chunks. Chunks are as wide as rows are aligned (buffers hold whole rows, so that the first
/// one is aligned as well as the others), 16 bytes at most.
void AttentionBlock::copyRows(Value to, int64_t stride, int64_t rowCount, int64_t width, Type type,
                              llvm::function_ref<Source(Value)> source) {
  int64_t element = type.getIntOrFloatBitWidth() / 8;
  int64_t bytes = std::min<int64_t>(16, (width * element) & -(width * element));
  int64_t perRow = width * element / bytes, total = rowCount * perRow;
  bool beside = type == tileType() && bytes >= 4;
  auto step = [&](Value item) {
    Value row = t.div(item, perRow), chunk = t.rem(item, perRow);
    Source from = source(row);
    Value pointer = t.at(from.pointer, t.mul(chunk, bytes));
    int64_t wide = bytes / element * tileBytes();
    Value place = t.at(to, t.add(t.mul(row, stride), t.mul(chunk, wide)));
    if (beside)
      return t.copyAsync(place, pointer, bytes, from.valid);
    auto vector = t.vectorOf(type, bytes / element), converted = t.vectorOf(tileType(), bytes / element);
    Value value = t.either(
        from.valid,
        [&] {
          Value loaded = t.load(vector, pointer, bytes);
          return Values{type == tileType() ? loaded : t.widenf(loaded)};
        },
        [&] { return Values{t.zero(converted)}; })[0];
    t.store(value, place, std::min<int64_t>(wide, 16));
  };
  int64_t steps = (total + tiling.threads() - 1) / tiling.threads();
  if (steps > kUnrolled)
    return t.loop(thread, t.i32(total), tiling.threads(), step);
  for (int64_t i = 0; i < steps; ++i) {
    Value item = t.add(thread, i * tiling.threads());
    if ((i + 1) * tiling.threads() <= total)
      step(item);
    else
      t.when(t.less(item, t.i32(total)), [&] { step(item); });
  }
}

/// The keys and values of tile `tile`, which stand `shift` off, into stage number `stage`.
void AttentionBlock::copyKeys(Value tile, Value stage, Value shift) {
  Value place = stageAt(stage), first = firstKeyOf(tile);
  copyRows(place, memory.keyStride, tiling.keys, shape.headDim, keyType,
           [&](Value row) { return keyRow(k, t.add(first, row), shift, shape.headDim); });
  copyRows(t.at(place, memory.values), memory.valueStride, tiling.keys, shape.valueDim, keyType,
           [&](Value row) { return keyRow(v, t.add(first, row), shift, shape.valueDim); });
}

} // namespace tessera
