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

// More rows than this are multiplied with an expanded panel.
constexpr int64_t kFewRows = 4;

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
  kernelsFor(layer).expand(units, i / io::kUnitRows, panel.data(), io::kUnitRows);
  std::fill_n(out, k, 0.0f);
  for (int32_t c = 0; c < header.chunks; ++c) {
    const BlockHeader::Chunk &chunk = header.of()[c];
    int64_t first = c * perChunk + chunk.place % io::kSubBlock;
    for (int64_t e = 0; e < chunk.count; ++e)
      out[c * columns.length + e] = panel[size_t((first + e) * io::kUnitRows + i % io::kUnitRows)];
  }
}

BlockProduct::BlockProduct(const BlockWeight &weight, int64_t m, int threads, bool bfloat16)
    : weight_(weight), m_(m), panels_(size_t(threads)), bfloat16_(bfloat16 && blockPairKernels()),
      pairPanels_(size_t(threads)) {}

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

void BlockProduct::place(const void *layer, const float *x, int64_t rows) {
  x_ = x;
  if (setLayer(layer))
    return;
  const BlockHeader &header = BlockWeight::header(layer);
  const int64_t perChunk = placedColumns_ / header.chunks, length = weight_.columns.length;
  placed_.assign(size_t(rows * placedColumns_), 0.0f);
  for (int64_t r = 0; r < rows; ++r)
    for (int32_t c = 0; c < header.chunks; ++c)
      std::copy_n(x + r * weight_.k + c * length, header.of()[c].count,
                  placed_.data() + r * placedColumns_ + c * perChunk + header.of()[c].place % io::kSubBlock);
  x_ = placed_.data();
}

// Numbers that are bfloat16 already.
static void toPairs(const float *from, int64_t count, uint32_t *to) {
  for (int64_t i = 0; i < count / 2; ++i) {
    uint32_t words[2];
    memcpy(words, from + 2 * i, sizeof words);
    to[i] = words[0] >> 16 | (words[1] & 0xFFFF0000u);
  }
}

// Sums of x over sub-blocks; those of float32 and those of bfloat16 add up in one order.
static float addSubBlock(const float *x) {
  float part[8] = {};
  for (int64_t e = 0; e < io::kSubBlock; e += 8)
    for (int64_t i = 0; i < 8; ++i)
      part[i] += x[e + i];
  return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}
static float addSubBlock(const uint32_t *pairs) {
  float even[4] = {}, odd[4] = {};
  for (int64_t e = 0; e < io::kSubBlock / 2; e += 4) {
    uint32_t words[8];
    float wide[8];
    for (int64_t i = 0; i < 4; ++i) {
      words[i] = pairs[e + i] << 16;
      words[4 + i] = pairs[e + i] & 0xFFFF0000u;
    }
    memcpy(wide, words, sizeof wide);
    for (int64_t i = 0; i < 4; ++i) {
      even[i] += wide[i];
      odd[i] += wide[4 + i];
    }
  }
  return ((even[0] + even[2]) + (odd[0] + odd[2])) + ((even[1] + even[3]) + (odd[1] + odd[3]));
}

void BlockProduct::addUp(int64_t row, int64_t rows) {
  if (rows > kFewRows) {
    if (!bfloat16_)
      return;
    madePairs_.resize(size_t(m_ * placedColumns_ / 2));
    pairs_ = madePairs_.data();
    toPairs(x_ + row * placedColumns_, rows * placedColumns_, madePairs_.data() + row * placedColumns_ / 2);
  }
  if (rows > kFewRows && !blockPairKernels()[typeIndex(layer_)].readsSums)
    return;
  const int64_t blocks = placedColumns_ / io::kSubBlock;
  sums_.resize(size_t(m_ * blocks));
  for (int64_t b = row * blocks; b < (row + rows) * blocks; ++b)
    sums_[size_t(b)] = addSubBlock(x_ + b * io::kSubBlock);
}

void BlockProduct::begin(const void *layer, const float *x) {
  place(layer, x, m_);
  addUp(0, m_);
}

bool BlockProduct::beginBfloat16(const void *layer, const void *x) {
  if (!bfloat16_ || m_ <= kFewRows || !setLayer(layer))
    return false;
  pairs_ = static_cast<const uint32_t *>(x);
  if (!blockPairKernels()[typeIndex(layer)].readsSums)
    return true;
  const int64_t blocks = placedColumns_ / io::kSubBlock;
  sums_.resize(size_t(m_ * blocks));
  for (int64_t b = 0; b < m_ * blocks; ++b)
    sums_[size_t(b)] = addSubBlock(pairs_ + b * io::kSubBlock / 2);
  return true;
}

// Rows of x and of y; units and columns of y as those of `units`.
void BlockProduct::multiply(const BlockUnits &units, int part, int64_t row, int64_t rows, int64_t begin,
                            int64_t end, float *y) {
  const GemmKernels &kernels = gemmKernels();
  const float *x = x_ + row * placedColumns_;
  if (rows <= kFewRows)
    return kernelsFor(layer_).fewRows(units, rows, x, sums_.data() + row * (placedColumns_ / io::kSubBlock),
                                      y, begin, end);
  if (bfloat16_)
    return multiplyPairs(units, part, row, rows, begin, end, y);
  const int64_t columns = units.chunks * units.blocks * io::kSubBlock, stride = kernels.panelRows;
  std::vector<float> &panel = panels_[size_t(part)];
  panel.resize(size_t(columns * stride));
  for (int64_t unit = begin; unit < end;) {
    int64_t count = std::min(stride / io::kUnitRows, end - unit);
    for (int64_t u = 0; u < count; ++u)
      kernelsFor(layer_).expand(units, unit + u, panel.data() + u * io::kUnitRows, stride);
    int64_t first = unit * io::kUnitRows;
    kernels.panelColumns(rows, columns, x, panel.data(), stride, y + first, units.n,
                         std::min(count * io::kUnitRows, units.n - first));
    unit += count;
  }
}

void BlockProduct::multiplyPairs(const BlockUnits &units, int part, int64_t row, int64_t rows, int64_t begin,
                                 int64_t end, float *y) {
  const BlockPairKernels &kernels = blockPairKernels()[typeIndex(layer_)];
  const int64_t blocks = units.chunks * units.blocks, stride = gemmKernels().panelRows;
  const float *sums = kernels.readsSums ? sums_.data() + row * blocks : nullptr;
  std::vector<uint32_t> &panel = pairPanels_[size_t(part)];
  panel.resize(size_t(blocks * kernels.lines * stride));
  for (int64_t unit = begin; unit < end;) {
    int64_t count = std::min(stride / io::kUnitRows, end - unit);
    for (int64_t u = 0; u < count; ++u)
      kernels.expand(units, unit + u, panel.data() + u * io::kUnitRows, stride);
    int64_t first = unit * io::kUnitRows;
    kernels.columns(rows, blocks, pairs_ + row * placedColumns_ / 2, sums, panel.data(), stride, y + first,
                    units.n, std::min(count * io::kUnitRows, units.n - first));
    unit += count;
  }
}

void BlockProduct::columns(int part, int64_t begin, int64_t end, float *y) {
  std::vector<uint8_t> phases;
  BlockUnits units = unitsOf(weight_, layer_, phases);
  multiply(units, part, 0, m_, begin, end, y);
}

void BlockProduct::tile(int part, int64_t row, int64_t rows, int64_t begin, int64_t end, float *out) {
  std::vector<uint8_t> phases;
  BlockUnits units = unitsOf(weight_, layer_, phases);
  units.units += begin * units.unitBytes;
  units.n = (end - begin) * io::kUnitRows; // whole units: what is behind the last row is zero
  multiply(units, part, row, rows, 0, end - begin, out);
}

} // namespace tessera::runtime
