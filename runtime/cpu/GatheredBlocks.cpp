// Pieces along a dimension of rows have whole rows: where they begin at units these are copied as they are,
// else row by row. Pieces along one of columns have some sub-blocks of each row. All 16 rows of a unit have
// the same, so each part of the blocks of a chunk is one copy. A sub-block that two pieces share is whole in
// both of them.
#include "tessera/runtime/cpu/GatheredBlocks.h"
#include "BlockStripes.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

using io::BlockHeader;
using io::BlockLayout;
using io::DType;

static int64_t sizeOf(const std::vector<int64_t> &shape, size_t begin, size_t end) {
  int64_t size = 1;
  for (size_t d = begin; d < end; ++d)
    size *= shape[d];
  return size;
}

static BlockWeight weightOf(const std::vector<int64_t> &global, const std::vector<int64_t> &local,
                            size_t outDims) {
  auto columns = [&](const std::vector<int64_t> &shape) {
    return std::vector<int64_t>(shape.begin() + ptrdiff_t(outDims), shape.end());
  };
  return {sizeOf(local, 0, outDims), io::BlockColumns(columns(global), columns(local))};
}

static size_t dimOf(const std::vector<int64_t> &pieces) {
  size_t dim = 0;
  while (dim + 1 < pieces.size() && pieces[dim] == 1)
    ++dim;
  return dim;
}

static std::vector<int64_t> shapeOfWhole(const std::vector<int64_t> &global, std::vector<int64_t> shape,
                                         const std::vector<int64_t> &pieces) {
  for (size_t d = 0; d < shape.size(); ++d)
    shape[d] = std::min(shape[d] * pieces[d], global[d]);
  return shape;
}

GatheredBlocks::GatheredBlocks(const std::vector<int64_t> &global, const std::vector<int64_t> &local,
                               int64_t outDims, const std::vector<int64_t> &pieces)
    : local_(local), wholeShape_(shapeOfWhole(global, local, pieces)), outDims_(size_t(outDims)),
      dim_(dimOf(pieces)), pieces_(pieces[dim_]), piece_(weightOf(global, local, size_t(outDims))),
      whole_(weightOf(global, wholeShape_, size_t(outDims))) {}

void GatheredBlocks::putTogether(const void *gathered, int64_t stride, void *to, ThreadPool &pool) const {
  auto *from = static_cast<const uint8_t *>(gathered);
  auto type = DType(BlockWeight::header(gathered).type);
  if (dim_ < outDims_)
    putRows(type, from, stride, static_cast<uint8_t *>(to), pool);
  else
    putColumns(type, from, stride, static_cast<uint8_t *>(to), pool);
}

// One row of `items` blocks, `bytes` in each, from its place among 16 to another.
static void copyLane(const uint8_t *from, int64_t fromLane, uint8_t *to, int64_t toLane, int64_t items,
                     int64_t bytes, int64_t stripe) {
  for (int64_t item = 0; item < items; ++item)
    for (int64_t at = 0; at < bytes; at += stripe) {
      int64_t size = std::min(stripe, bytes - at), begin = (item * bytes + at) * io::kUnitRows;
      memcpy(to + begin + toLane * size, from + begin + fromLane * size, size_t(size));
    }
}

// Calls `work` for [0, units), shared by threads.
template <typename F> static void forUnits(ThreadPool &pool, int64_t units, int64_t unitBytes, F work) {
  // A thread is worth about a microsecond.
  int64_t parts = std::clamp<int64_t>(units * unitBytes / (64 << 10), 1, pool.size());
  pool.parallel(int(parts), [&](int part) {
    Range range = splitRange(units, parts, part);
    for (int64_t unit = range.begin; unit < range.end; ++unit)
      work(unit);
  });
}

void GatheredBlocks::putRows(DType type, const uint8_t *gathered, int64_t stride, uint8_t *to,
                             ThreadPool &pool) const {
  // Columns are the same in all of them.
  BlockLayout piece(type, piece_.n, piece_.columns), whole(type, whole_.n, whole_.columns);
  memcpy(to, gathered, size_t(whole.headerBytes));
  const UnitParts unit(type, whole, whole_.columns.chunks);
  const BlockStripes stripes = blockStripes(type);
  const int64_t inner = sizeOf(wholeShape_, dim_ + 1, outDims_), size = wholeShape_[dim_], own = local_[dim_];
  struct Place {
    int64_t piece, row;
  };
  auto placeOf = [&](int64_t row) {
    int64_t outer = row / (size * inner), m = row / inner % size;
    return Place{m / own, (outer * own + m % own) * inner + row % inner};
  };
  auto unitAt = [&](const Place &place) {
    return gathered + place.piece * stride + piece.headerBytes + place.row / io::kUnitRows * piece.unitBytes;
  };
  forUnits(pool, whole.units, whole.unitBytes, [&](int64_t number) {
    uint8_t *target = to + whole.headerBytes + number * whole.unitBytes;
    int64_t begin = number * io::kUnitRows, count = std::min(io::kUnitRows, whole_.n - begin);
    Place first = placeOf(begin), last = placeOf(begin + count - 1);
    // What the piece has behind them is padding.
    if (first.row % io::kUnitRows == 0 && last.piece == first.piece && last.row == first.row + count - 1) {
      memcpy(target, unitAt(first), size_t(whole.unitBytes));
      return;
    }
    if (count < io::kUnitRows)
      memset(target, 0, size_t(whole.unitBytes));
    for (int64_t lane = 0; lane < count; ++lane) {
      Place place = placeOf(begin + lane);
      const uint8_t *from = unitAt(place);
      int64_t fromLane = place.row % io::kUnitRows;
      copyLane(from, fromLane, target, lane, unit.subs, unit.parts.codes, stripes.codes);
      copyLane(from + unit.scalesAt(), fromLane, target + unit.scalesAt(), lane, unit.subs, unit.parts.scales,
               stripes.scales);
      copyLane(from + unit.supersAt(), fromLane, target + unit.supersAt(), lane, unit.supers,
               unit.parts.supers, stripes.supers);
    }
  });
}

// A chunk of a piece: its first sub-block and super-block among those of a row, and how many it has; where
// they go in the whole.
struct GatheredBlocks::Columns {
  int64_t piece, sub, subs, super, supers, toSub, toSuper;
};

// Fills the header of the whole.
std::vector<GatheredBlocks::Columns> GatheredBlocks::placeColumns(DType type, const uint8_t *gathered,
                                                                  int64_t stride, uint8_t *to) const {
  const BlockLayout piece(type, piece_.n, piece_.columns), whole(type, whole_.n, whole_.columns);
  const int64_t elements = io::blockElements(type), perSuper = io::superBlock(type),
                length = whole_.columns.length;
  std::vector<BlockHeader::Chunk> chunks(size_t(whole_.columns.chunks), BlockHeader::Chunk{0, 0});
  struct Found {
    int64_t piece, chunk, to, offset; // to, offset: chunk of the whole, and column in it
    BlockHeader::Chunk held;
  };
  std::vector<Found> found;
  for (int64_t p = 0; p < pieces_; ++p) {
    auto *header = reinterpret_cast<const BlockHeader *>(gathered + p * stride);
    for (int64_t c = 0; c < piece_.columns.chunks; ++c) {
      BlockHeader::Chunk held = header->of()[c];
      if (held.count == 0)
        continue;
      // The first column of the chunk, dimension by dimension from behind, as a column of the whole.
      int64_t rest = c * piece_.columns.length, column = 0, scale = 1;
      for (size_t d = local_.size(); d-- > outDims_;) {
        column += (rest % local_[d] + (d == dim_ ? p * local_[d] : 0)) * scale;
        rest /= local_[d];
        scale *= wholeShape_[d];
      }
      Found one{p, c, column / length, column % length, held};
      BlockHeader::Chunk &chunk = chunks[size_t(one.to)]; // every piece says the same place
      chunk.place = int32_t(((held.place - one.offset) % elements + elements) % elements);
      chunk.count = std::max(chunk.count, int32_t(one.offset) + held.count);
      found.push_back(one);
    }
  }
  auto *header = reinterpret_cast<BlockHeader *>(to);
  memset(to, 0, size_t(whole.headerBytes));
  header->type = int32_t(type);
  header->chunks = int32_t(chunks.size());
  std::copy(chunks.begin(), chunks.end(), header->of());
  std::vector<Columns> placed;
  for (const Found &one : found) {
    const BlockHeader::Chunk &chunk = chunks[size_t(one.to)];
    int64_t phase = one.held.place / io::kSubBlock, toPhase = chunk.place / io::kSubBlock,
            at = (chunk.place % io::kSubBlock + one.offset) / io::kSubBlock,
            subs = (one.held.place % io::kSubBlock + one.held.count + io::kSubBlock - 1) / io::kSubBlock;
    placed.push_back({one.piece, one.chunk * piece.blocks, subs, one.chunk * piece.supers,
                      piece.supers == 0 ? 0 : (phase + subs - 1) / perSuper + 1, one.to * whole.blocks + at,
                      one.to * whole.supers + (toPhase + at) / perSuper});
  }
  return placed;
}

void GatheredBlocks::putColumns(DType type, const uint8_t *gathered, int64_t stride, uint8_t *to,
                                ThreadPool &pool) const {
  const std::vector<Columns> placed = placeColumns(type, gathered, stride, to);
  const BlockLayout piece(type, piece_.n, piece_.columns), whole(type, whole_.n, whole_.columns);
  const UnitParts source(type, piece, piece_.columns.chunks), unit(type, whole, whole_.columns.chunks);
  forUnits(pool, whole.units, whole.unitBytes, [&](int64_t number) {
    uint8_t *target = to + whole.headerBytes + number * whole.unitBytes;
    memset(target, 0, size_t(whole.unitBytes)); // sub-blocks that no piece has
    for (const Columns &c : placed) {
      const uint8_t *from = gathered + c.piece * stride + piece.headerBytes + number * piece.unitBytes;
      auto copy = [&](int64_t fromBegin, int64_t first, int64_t toBegin, int64_t toFirst, int64_t count,
                      int64_t bytes) {
        memcpy(target + toBegin + toFirst * io::kUnitRows * bytes,
               from + fromBegin + first * io::kUnitRows * bytes, size_t(count * io::kUnitRows * bytes));
      };
      copy(0, c.sub, 0, c.toSub, c.subs, unit.parts.codes);
      copy(source.scalesAt(), c.sub, unit.scalesAt(), c.toSub, c.subs, unit.parts.scales);
      copy(source.supersAt(), c.super, unit.supersAt(), c.toSuper, c.supers, unit.parts.supers);
    }
  });
}

} // namespace tessera::runtime
