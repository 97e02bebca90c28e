// Pieces of a weight in blocks, gathered as ranks hold them, are together what one rank would hold: the same
// numbers, bit for bit, and as many bytes.
#include "tessera/runtime/cpu/GatheredBlocks.h"
#include "FileRows.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/cpu/Driver.h"
#include "tessera/runtime/cpu/Gemm.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace tessera::runtime {

using io::BlockHeader;
using io::DType;
using Shape = std::vector<int64_t>;

// A part of a layer: where it begins along each dimension, and how long it is; what is beyond the layer is
// padding.
struct Part {
  Shape global, begin, size;
  int64_t outDims;

  // Numbers of the global rows (of dimensions [first, last)) or columns that it has, in order; -1: padding.
  std::vector<int64_t> indices(size_t first, size_t last) const {
    std::vector<int64_t> found{0};
    for (size_t d = first; d < last; ++d) {
      std::vector<int64_t> next;
      for (int64_t index : found)
        for (int64_t i = begin[d]; i < begin[d] + size[d]; ++i)
          next.push_back(index < 0 || i >= global[d] ? -1 : index * global[d] + i);
      found = next;
    }
    return found;
  }
  std::vector<int64_t> rows() const { return indices(0, size_t(outDims)); }
  std::vector<int64_t> columns() const { return indices(size_t(outDims), global.size()); }
  io::BlockColumns form() const {
    return {Shape(global.begin() + outDims, global.end()), Shape(size.begin() + outDims, size.end())};
  }
};

// Bytes whose first one is aligned as a layer's is.
struct Aligned {
  explicit Aligned(int64_t bytes, uint8_t fill = 0) : memory(size_t(bytes) + 64, fill) {}
  uint8_t *data() {
    return reinterpret_cast<uint8_t *>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  }
  std::vector<uint8_t> memory;
};

// As a loader does it.
static void hold(DType type, const Part &part, const FileRows &file, uint8_t *layer) {
  std::vector<int64_t> rows = part.rows(), columns = part.columns();
  BlockWeight weight(int64_t(rows.size()), part.form());
  std::vector<BlockHeader::Chunk> chunks;
  for (int64_t c = 0; c < weight.columns.chunks; ++c) {
    auto first = columns.begin() + c * weight.columns.length, last = first + weight.columns.length;
    chunks.push_back({int32_t(std::max<int64_t>(*first, 0)), int32_t(std::find(first, last, -1) - first)});
  }
  weight.writeHeader(type, chunks, layer);
  std::vector<const uint8_t *> bytes;
  for (int64_t row : rows)
    bytes.push_back(row < 0 ? nullptr : file.row(row));
  weight.writeRows(type, chunks, 0, int64_t(rows.size()), bytes.data(), layer);
}

struct Gathering {
  const char *what;
  Shape global, begin, local; // begin: of the first piece
  int64_t outDims;
  Shape pieces;
};

static const std::vector<Gathering> &gatherings() {
  static const std::vector<Gathering> list = {
      {"rows, whole units", {64, 512}, {0, 0}, {32, 512}, 1, {2, 1}},
      {"rows that cut units, the last one padded", {37, 512}, {0, 0}, {13, 512}, 1, {3, 1}},
      {"a last piece that is all padding", {8, 512}, {0, 0}, {4, 512}, 1, {3, 1}},
      {"rows behind others, of experts", {3, 40, 256}, {0, 0, 0}, {3, 20, 256}, 2, {1, 2, 1}},
      {"heads", {6, 16, 256}, {0, 0, 0}, {2, 16, 256}, 2, {3, 1, 1}},
      {"columns, whole blocks", {20, 512}, {0, 0}, {20, 256}, 1, {1, 2}},
      {"columns that cut blocks", {20, 512}, {0, 0}, {20, 171}, 1, {1, 3}},
      {"columns that cut sub-blocks, the last one padded", {33, 512}, {0, 0}, {33, 74}, 1, {1, 7}},
      {"columns of heads", {20, 2, 8, 32}, {0, 0, 0, 0}, {20, 2, 4, 32}, 1, {1, 1, 2, 1}},
      {"columns of heads, whole ones", {20, 4, 4, 32}, {0, 0, 0, 0}, {20, 2, 4, 32}, 1, {1, 2, 1, 1}},
      {"and narrow ones", {17, 4, 8, 16}, {0, 0, 0, 0}, {17, 4, 3, 16}, 1, {1, 1, 3, 1}},
      {"rows of columns that stay split", {48, 512}, {0, 171}, {24, 171}, 1, {2, 1}},
      {"columns behind heads that stay split", {20, 4, 4, 32}, {0, 2, 0, 0}, {20, 2, 2, 32}, 1, {1, 1, 2, 1}},
      {"columns before such that stay split", {20, 4, 4, 32}, {0, 0, 2, 0}, {20, 1, 2, 32}, 1, {1, 4, 1, 1}},
      {"one piece", {20, 512}, {0, 0}, {20, 512}, 1, {1, 1}}};
  return list;
}

static void check(DType type, const Gathering &g, ThreadPool &pool) {
  SCOPED_TRACE(testing::Message() << io::dtypeName(type) << ", " << g.what);
  int64_t fileRows = 1, fileColumns = 1, dim = 0;
  for (size_t d = 0; d < g.global.size(); ++d) {
    (int64_t(d) < g.outDims ? fileRows : fileColumns) *= g.global[d];
    dim = g.pieces[d] > 1 ? int64_t(d) : dim;
  }
  FileRows file(type, fileRows, fileColumns, uint32_t(fileRows * 31 + g.local.back()));
  Part piece{g.global, g.begin, g.local, g.outDims};
  BlockWeight held(int64_t(piece.rows().size()), piece.form());
  // Further apart than they need be, as the layers of a stack with larger types are.
  const int64_t count = g.pieces[size_t(dim)], stride = held.bytes(type) + 64;
  Aligned gathered(count * stride);
  for (int64_t p = 0; p < count; ++p) {
    piece.begin[size_t(dim)] = g.begin[size_t(dim)] + p * g.local[size_t(dim)];
    hold(type, piece, file, gathered.data() + p * stride);
  }
  Part all{g.global, g.begin, g.local, g.outDims};
  all.size[size_t(dim)] = std::min(count * g.local[size_t(dim)], g.global[size_t(dim)]);
  GatheredBlocks blocks(g.global, g.local, g.outDims, g.pieces);
  ASSERT_EQ(blocks.pieces(), count);
  const BlockWeight &whole = blocks.whole();
  std::vector<int64_t> rows = all.rows(), columns = all.columns();
  ASSERT_EQ(whole.n, int64_t(rows.size()));
  ASSERT_EQ(whole.k, int64_t(columns.size()));
  // What it had before is nothing of the weight.
  Aligned together(whole.bytes(type), 0xa5);
  blocks.putTogether(gathered.data(), stride, together.data(), pool);
  std::vector<float> row(size_t(whole.k)), panel;
  for (int64_t i = 0; i < whole.n; ++i) {
    whole.readRow(together.data(), i, row.data(), panel);
    for (int64_t c = 0; c < whole.k; ++c) {
      float want = columns[size_t(c)] < 0 || rows[size_t(i)] < 0
                       ? 0
                       : file.wide[size_t(rows[size_t(i)] * fileColumns + columns[size_t(c)])];
      ASSERT_EQ(row[size_t(c)], want) << "row " << i << ", column " << c;
    }
  }
  // Products of it are those of the weight that was never apart.
  Aligned alone(whole.bytes(type));
  hold(type, all, file, alone.data());
  for (int64_t m : {1, 6}) {
    std::vector<float> x(size_t(m * whole.k)), y(size_t(m * whole.n)), want = y;
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i % 13) - 6;
    Gemm product(m, whole, {}, pool);
    product.run(x.data(), together.data(), y.data());
    product.run(x.data(), alone.data(), want.data());
    EXPECT_EQ(y, want);
  }
}

TEST(GatheredBlocks, PiecesAreTogetherWhatOneRankWouldHold) {
  ThreadPool pool(2, [] {});
  for (DType type : blockTypes())
    for (const Gathering &gathering : gatherings())
      check(type, gathering, pool);
}

TEST(GatheredBlocks, WeightsThatWereNeverLoadedAreRefused) {
  ThreadPool pool(1, [] {});
  GatheredBlocks blocks({64, 32}, {32, 32}, 1, {2, 1});
  Aligned gathered(2 * 4096), together(blocks.whole().bytes(DType::Q8_0));
  EXPECT_THROW(blocks.putTogether(gathered.data(), 4096, together.data(), pool), Error);
}

// Layers of two types, as far apart as the larger one needs; what a product takes is put together beside
// them.
TEST(GatheredBlocks, TheLargestWholeIsCountedAndLayersFitTheirPlaces) {
  ParamSpec param;
  param.name = "w";
  param.layers = 2;
  param.shape = {64, 64};
  param.local = {32, 64};
  param.packOutDims = 1;
  param.held = {DType::Q4_0, DType::Q8_0};
  param.layerBytes = BlockWeight(32, io::BlockColumns({64}, {64})).bytes(DType::Q8_0);
  MatmulSpec whole, piece;
  whole.param = piece.param = 0;
  whole.pieces = {2, 1};
  piece.pieces = {1, 1};
  Manifest manifest;
  EXPECT_EQ(cpuDriver().workspaceBytes(manifest), 0);
  manifest.params = {param};
  manifest.matmuls = {piece, whole, piece};
  EXPECT_EQ(cpuDriver().workspaceBytes(manifest),
            BlockWeight(64, io::BlockColumns({64}, {64})).bytes(DType::Q8_0));
  EXPECT_EQ(cpuDriver().layout(param)->eachBytes, std::vector<int64_t>(2, param.layerBytes));
  param.layerBytes -= 64;
  EXPECT_THROW(cpuDriver().layout(param), Error);
}

} // namespace tessera::runtime
