#include "tessera/runtime/cpu/BlockWeight.h"
#include "BlockStripes.h"
#include "GemmKernels.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/BlockParts.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

using io::BlockHeader;
using io::BlockLayout;
using io::DType;

namespace {
// One sub-block of one row, as it is held: words of codes, then scales.
struct SubBlock {
  uint32_t codes[8];
  uint8_t scales[4];
};
} // namespace

// 32 nibbles of as many bytes, as Q4_0 has them.
static void packNibbles(const uint8_t *from, int shift, uint32_t *codes) {
  uint8_t bytes[16];
  for (int i = 0; i < 16; ++i)
    bytes[i] = uint8_t((from[i] >> shift & 15) | (from[i + 16] >> shift & 15) << 4);
  memcpy(codes, bytes, 16);
}

// Sub-block `s` of a block of `type`.
static void readSubBlock(DType type, const uint8_t *block, int64_t s, SubBlock &sub) {
  int64_t head = io::blockParts(type).scales;
  switch (type) {
  case DType::Q8_0:
    memcpy(sub.scales, block, 2);
    memcpy(sub.codes, block + 2, 32);
    return;
  case DType::FP8:
    memcpy(sub.codes, block + 4 + 32 * s, 32);
    return;
  case DType::INT4_32:
  case DType::INT4_64:
  case DType::INT4_128:
    memcpy(sub.codes, block + 3 + 16 * s, 16);
    return;
  case DType::Q4_0:
  case DType::Q4_1:
  case DType::MXFP4:
    memcpy(sub.scales, block, size_t(head));
    memcpy(sub.codes, block + head, 16);
    return;
  case DType::Q5_0:
  case DType::Q5_1:
    memcpy(sub.scales, block, size_t(head));
    memcpy(sub.codes, block + head + 4, 16);
    memcpy(sub.codes + 4, block + head, 4);
    return;
  case DType::Q4_K:
  case DType::Q5_K: {
    io::SubScale scale = io::subScale(block + 4, int(s));
    sub.scales[0] = scale.scale;
    sub.scales[1] = scale.minimum;
    packNibbles(block + (type == DType::Q4_K ? 16 : 48) + s / 2 * 32, int(s % 2 * 4), sub.codes);
    if (type == DType::Q5_K) {
      uint32_t fifth = 0;
      for (int i = 0; i < 32; ++i)
        fifth |= uint32_t(block[16 + i] >> s & 1) << i;
      sub.codes[4] = fifth;
    }
    return;
  }
  case DType::Q6_K: {
    int64_t part = s % 4;
    memcpy(sub.scales, block + 192 + 2 * s, 2);
    packNibbles(block + s / 4 * 64 + part % 2 * 32, int(part / 2 * 4), sub.codes);
    const uint8_t *high = block + 128 + s / 4 * 32;
    for (int half = 0; half < 2; ++half) {
      uint32_t bits = 0;
      for (int i = 0; i < 16; ++i)
        bits |= uint32_t(high[16 * half + i] >> part * 2 & 3) << 2 * i;
      sub.codes[4 + half] = bits;
    }
    return;
  }
  default:
    return;
  }
}

// Scales of a super-block.
static void readSuper(DType type, const uint8_t *block, uint8_t *to) {
  memcpy(to, type == DType::Q6_K ? block + 208 : block, size_t(io::blockParts(type).supers));
}

void BlockWeight::writeHeader(DType type, const std::vector<BlockHeader::Chunk> &chunks, void *layer) const {
  auto *header = static_cast<BlockHeader *>(layer);
  header->type = int32_t(type);
  header->chunks = int32_t(chunks.size());
  const int64_t super = io::blockElements(type);
  for (size_t c = 0; c < chunks.size(); ++c)
    header->of()[c] = {int32_t(chunks[c].place % super), chunks[c].count};
}

void BlockWeight::writeRows(DType type, const std::vector<BlockHeader::Chunk> &chunks, int64_t begin,
                            int64_t count, const uint8_t *const *rows, void *layer) const {
  BlockLayout layout(type, n, columns);
  const UnitParts held(type, layout, int64_t(chunks.size()));
  const io::BlockParts &parts = held.parts;
  const int64_t subs = io::superBlock(type), blockBytes = io::blockBytes(type), words = parts.codes / 4;
  const BlockStripes stripes = blockStripes(type);
  const int64_t partSize = stripes.scales, partCount = parts.scales / partSize;
  for (int64_t i = 0; i < count; ++i) {
    if (!rows[i])
      continue; // zero, as the memory came
    int64_t row = begin + i, lane = row % io::kUnitRows;
    auto *unit = static_cast<uint8_t *>(layer) + layout.headerBytes + row / io::kUnitRows * layout.unitBytes;
    uint8_t *scales = unit + held.scalesAt(), *supers = unit + held.supersAt();
    for (size_t c = 0; c < chunks.size(); ++c) {
      if (chunks[c].count == 0)
        continue;
      const int64_t first = chunks[c].place / io::kSubBlock,
                    last = (chunks[c].place + chunks[c].count + io::kSubBlock - 1) / io::kSubBlock;
      for (int64_t s = first; s < last; ++s) {
        const uint8_t *block = rows[i] + s / subs * blockBytes;
        SubBlock sub;
        readSubBlock(type, block, s % subs, sub);
        int64_t at = int64_t(c) * layout.blocks + s - first;
        uint8_t *codes = unit + at * io::kUnitRows * parts.codes;
        for (int64_t w = 0; w < words; ++w)
          memcpy(codes + (w * io::kUnitRows + lane) * 4, &sub.codes[w], 4);
        uint8_t *scale = scales + at * io::kUnitRows * parts.scales;
        for (int64_t p = 0; p < partCount; ++p)
          memcpy(scale + (p * io::kUnitRows + lane) * partSize, sub.scales + p * partSize, size_t(partSize));
        if (parts.supers == 0 || (s > first && s % subs != 0))
          continue;
        uint8_t head[4];
        readSuper(type, block, head);
        uint8_t *super =
            supers + (int64_t(c) * layout.supers + s / subs - first / subs) * io::kUnitRows * parts.supers;
        for (int64_t at = 0; at < parts.supers; at += stripes.supers) {
          int64_t size = std::min(stripes.supers, parts.supers - at);
          memcpy(super + at * io::kUnitRows + lane * size, head + at, size_t(size));
        }
      }
    }
  }
}

const BlockHeader &BlockWeight::header(const void *layer) {
  auto &header = *static_cast<const BlockHeader *>(layer);
  if (!io::isQuantized(DType(header.type))) // memory that was never loaded is zero, which is no such type
    throw Error("cannot compute a product", "weights in blocks", "none were loaded", "load the model first");
  return header;
}

// Kernels' view of a layer; `phases` lives as long.
static BlockUnits unitsOf(const BlockWeight &weight, const void *layer, std::vector<uint8_t> &phases) {
  const BlockHeader &header = BlockWeight::header(layer);
  BlockLayout layout(DType(header.type), weight.n, weight.columns);
  phases.resize(size_t(header.chunks));
  for (int32_t c = 0; c < header.chunks; ++c)
    phases[size_t(c)] = uint8_t(header.of()[c].place / io::kSubBlock);
  return {static_cast<const uint8_t *>(layer) + layout.headerBytes,
          layout.unitBytes,
          weight.n,
          header.chunks,
          layout.blocks,
          layout.supers,
          phases.data()};
}

// In the tables of kernels.
static int32_t typeIndex(const void *layer) {
  return static_cast<const BlockHeader *>(layer)->type - int32_t(DType::Q8_0);
}

static const BlockKernelSet &kernelsFor(const void *layer) { return gemmKernels().blocks[typeIndex(layer)]; }

void BlockWeight::readRow(const void *layer, int64_t i, float *out, std::vector<float> &panel) const {
  const BlockHeader &header = BlockWeight::header(layer);
  std::vector<uint8_t> phases;
  BlockUnits units = unitsOf(*this, layer, phases);
  const int64_t perChunk = units.blocks * io::kSubBlock;
  panel.resize(size_t(units.chunks * perChunk * io::kUnitRows));
  kernelsFor(layer).expand(units, i / io::kUnitRows, 0, units.chunks * units.blocks, panel.data(),
                           io::kUnitRows);
  std::fill_n(out, k, 0.0f);
  for (int32_t c = 0; c < header.chunks; ++c) {
    const BlockHeader::Chunk &chunk = header.of()[c];
    int64_t first = c * perChunk + chunk.place % io::kSubBlock;
    for (int64_t e = 0; e < chunk.count; ++e)
      out[c * columns.length + e] = panel[size_t((first + e) * io::kUnitRows + i % io::kUnitRows)];
  }
}

BlockProduct::BlockProduct(const BlockWeight &weight, int64_t m, ThreadPool &pool, DType x)
    : weight_(weight), m_(m), pool_(pool), bfloat16_(x == DType::BF16 && blockPairKernels()),
      type_(bfloat16_ ? DType::BF16 : DType::F32), scratch_(size_t(pool.size())) {}

// Whether rows of x are used as they are: their columns stand where the layer's are.
bool BlockProduct::setLayer(const void *layer) {
  const BlockHeader &header = BlockWeight::header(layer);
  layer_ = layer;
  BlockLayout layout(DType(header.type), weight_.n, weight_.columns);
  bytes_ = layout.bytes;
  placedColumns_ = layout.columns;
  const int64_t perChunk = layout.blocks * io::kSubBlock;
  bool inPlace = perChunk == weight_.columns.length || header.chunks == 1;
  for (int32_t c = 0; c < header.chunks; ++c)
    inPlace &= header.of()[c].place % io::kSubBlock == 0 && header.of()[c].count == perChunk;
  return inPlace;
}

// What no column of the file stands at stays zero.
void BlockProduct::placeRow(int64_t row) {
  const BlockHeader &header = BlockWeight::header(layer_);
  const int64_t perChunk = placedColumns_ / header.chunks, element = io::blockBytes(type_);
  for (int32_t c = 0; c < header.chunks; ++c)
    memcpy(placed_.data() +
               (row * placedColumns_ + c * perChunk + header.of()[c].place % io::kSubBlock) * element,
           given_ + (row * weight_.k + c * weight_.columns.length) * element,
           size_t(header.of()[c].count * element));
}

bool BlockProduct::multipliesPairs(int64_t rows) const {
  return bfloat16_ && (rows > kFewRows || blockPairKernels()[typeIndex(layer_)].fewRows);
}

void BlockProduct::begin(const void *layer, const void *x, int64_t rows) {
  const bool inPlace = setLayer(layer);
  given_ = x_ = static_cast<const char *>(x);
  if (!inPlace) {
    placed_.assign(size_t(io::bytesOf(type_, rows * placedColumns_)), 0);
    x_ = placed_.data();
  }
  const int64_t blocks = placedColumns_ / io::kSubBlock;
  const bool addsUp = multipliesPairs(rows) && blockPairKernels()[typeIndex(layer)].readsSums;
  if (addsUp)
    sums_.resize(size_t(m_ * blocks));
  if (inPlace && !addsUp)
    return;
  int64_t parts = std::clamp<int64_t>(rows * placedColumns_ / 32768, 1, pool_.size());
  pool_.parallel(int(parts), [&](int part) {
    Range range = splitRange(rows, parts, part);
    for (int64_t row = range.begin; row < range.end; ++row) {
      if (!inPlace)
        placeRow(row);
      if (addsUp)
        blockPairKernels()->addUp(blocks, reinterpret_cast<const uint32_t *>(rowOfX(row)),
                                  sums_.data() + row * blocks);
    }
  });
}

static float addSubBlock(const float *x) {
  float part[8] = {};
  for (int64_t e = 0; e < io::kSubBlock; e += 8)
    for (int64_t i = 0; i < 8; ++i)
      part[i] += x[e + i];
  return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}

void BlockProduct::multiplyFew(const BlockUnits &units, Scratch &scratch, int64_t row, int64_t rows,
                               float *out) {
  const int64_t blocks = units.chunks * units.blocks;
  auto *x = reinterpret_cast<const float *>(rowOfX(row));
  if (bfloat16_) {
    scratch.wide.resize(size_t(rows * placedColumns_));
    io::traits(type_).widen(rowOfX(row), rows * placedColumns_, scratch.wide.data());
    x = scratch.wide.data();
  }
  scratch.sums.resize(size_t(rows * blocks));
  for (int64_t b = 0; b < rows * blocks; ++b)
    scratch.sums[size_t(b)] = addSubBlock(x + b * io::kSubBlock);
  kernelsFor(layer_).fewRows(units, rows, x, scratch.sums.data(), out, 0, units.n / io::kUnitRows);
}

// A panel is some sub-blocks of some units: it is expanded once, and all rows pass. Pairs are read so fast
// that they have to stay in the nearest cache, beside a few rows of x and y; floats come from the second one
// in time, and the fewer panels, the less often sums are read and written.
constexpr int64_t kPairPanelBytes = 28 << 10, kFloatPanelBytes = 128 << 10;
static_assert(kPanelRows == BlockProduct::kTileUnits * io::kUnitRows);

namespace {
// Sub-blocks [block, block + blocks) of units [unit, unit + units).
struct Panel {
  int64_t unit, units, block, blocks;
};
} // namespace

// A panel comes from memory while another one is multiplied.
static void fetchPanel(const BlockUnits &w, io::BlockParts parts, const Panel &panel) {
  auto fetch = [](const uint8_t *from, int64_t bytes) {
    for (int64_t line = 0; line < bytes; line += 64)
      __builtin_prefetch(from + line, 0, 2);
  };
  const int64_t codes = parts.codes * io::kUnitRows, scales = parts.scales * io::kUnitRows;
  for (int64_t u = 0; u < panel.units; ++u) {
    const uint8_t *unit = w.units + (panel.unit + u) * w.unitBytes;
    fetch(unit + panel.block * codes, panel.blocks * codes);
    fetch(unit + w.chunks * w.blocks * codes + panel.block * scales, panel.blocks * scales);
  }
}

// Calls multiply(panel) for every panel of at most `bytes`; lines: of a sub-block; behind: units of the layer
// that follow, which are likely to be next.
template <typename F>
static void eachPanel(const BlockUnits &w, DType type, int64_t behind, int64_t bytes, int64_t lines,
                      Memory &memory, F &&multiply) {
  const int64_t units = w.n / io::kUnitRows, blocks = w.chunks * w.blocks, lineBytes = kPanelRows * 4,
                step = bytes / (lines * lineBytes);
  const io::BlockParts parts = io::blockParts(type);
  if (memory.bytes() < size_t(step * lines * lineBytes))
    memory = Memory(size_t(step * lines * lineBytes), "a panel of weights");
  auto panelAt = [&](int64_t unit, int64_t block) {
    int64_t most = unit < units ? units - unit : behind;
    return Panel{unit, std::min(BlockProduct::kTileUnits, most), block, std::min(step, blocks - block)};
  };
  for (int64_t unit = 0; unit < units; unit += BlockProduct::kTileUnits)
    for (int64_t block = 0; block < blocks; block += step) {
      const Panel panel = panelAt(unit, block);
      fetchPanel(w, parts,
                 block + step < blocks ? panelAt(unit, block + step) : panelAt(unit + panel.units, 0));
      multiply(panel);
    }
}

void BlockProduct::multiplyFloats(const BlockUnits &units, int64_t behind, Scratch &scratch, int64_t row,
                                  int64_t rows, float *out) {
  const GemmKernels &kernels = gemmKernels();
  auto *x = reinterpret_cast<const float *>(rowOfX(row));
  auto multiply = [&](const Panel &p) {
    auto *panel = reinterpret_cast<float *>(scratch.panel.data());
    for (int64_t u = 0; u < p.units; ++u)
      kernelsFor(layer_).expand(units, p.unit + u, p.block, p.blocks, panel + u * io::kUnitRows, kPanelRows);
    kernels.panelColumns(rows, p.blocks * io::kSubBlock, x + p.block * io::kSubBlock, placedColumns_, panel,
                         out + p.unit * io::kUnitRows, units.n, int(p.units), /*adds=*/p.block > 0);
  };
  eachPanel(units, DType(BlockWeight::header(layer_).type), behind, kFloatPanelBytes, io::kSubBlock,
            scratch.panel, multiply);
}

void BlockProduct::multiplyPairs(const BlockUnits &units, int64_t behind, Scratch &scratch, int64_t row,
                                 int64_t rows, float *out) {
  const BlockPairKernels &kernels = blockPairKernels()[typeIndex(layer_)];
  const int64_t all = units.chunks * units.blocks, words = io::kSubBlock / 2;
  auto *x = reinterpret_cast<const uint32_t *>(rowOfX(row));
  const float *sums = kernels.readsSums ? sums_.data() + row * all : nullptr;
  if (rows <= kFewRows)
    return kernels.fewRows(units, rows, x, placedColumns_ / 2, sums, out);
  auto multiply = [&](const Panel &p) {
    auto *panel = reinterpret_cast<uint32_t *>(scratch.panel.data());
    for (int64_t u = 0; u < p.units; ++u)
      kernels.expand(units, p.unit + u, p.block, p.blocks, panel + u * io::kUnitRows);
    kernels.columns(rows, p.blocks, x + p.block * words, placedColumns_ / 2, sums ? sums + p.block : nullptr,
                    all, panel, out + p.unit * io::kUnitRows, units.n, int(p.units), /*adds=*/p.block > 0);
  };
  eachPanel(units, DType(BlockWeight::header(layer_).type), behind, kPairPanelBytes, kernels.lines,
            scratch.panel, multiply);
}

void BlockProduct::tile(int part, int64_t row, int64_t rows, int64_t begin, int64_t end, float *out) {
  std::vector<uint8_t> phases;
  BlockUnits units = unitsOf(weight_, layer_, phases);
  units.units += begin * units.unitBytes;
  units.n = (end - begin) * io::kUnitRows; // whole units: what is behind the last row is zero
  const int64_t behind = this->units() - end;
  Scratch &scratch = scratch_[size_t(part)];
  if (multipliesPairs(rows))
    multiplyPairs(units, behind, scratch, row, rows, out);
  else if (rows <= kFewRows)
    multiplyFew(units, scratch, row, rows, out);
  else
    multiplyFloats(units, behind, scratch, row, rows, out);
}

} // namespace tessera::runtime
