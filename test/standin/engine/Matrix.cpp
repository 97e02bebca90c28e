// ldmatrix, stmatrix and mma.sync: the last lane that comes does the work of the warp.
#include "Functions.h"
#include "Mma.h"
#include "Numbers.h"
#include "Races.h"

#include <cstring>
#include <utility>

namespace standin {
namespace {

struct Move {
  char *row;
  uint32_t *words;
};
struct Product {
  const uint32_t *in;
  uint32_t *out;
};

void needsWholeWarp(Thread &thread, uint32_t site) {
  Block &block = *thread.owner();
  if (block.warps[thread.warp].exists != ~0u)
    fail(thread, Finding::Kind::Synchronization,
         "a matrix operation in a warp of fewer than 32 lanes (" + whereIs(thread) +
             "): " + textOf(block, site));
}

// The 8x8 matrices of ldmatrix and stmatrix: lane 8 m + r names row r of matrix m, and lane t holds two
// neighbours of row t / 4 in its word m; of column t / 4 where transposed.
template <typename Visit> void forElements(uint32_t count, bool transposed, Visit visit) {
  for (uint32_t m = 0; m < count; ++m)
    for (uint32_t lane = 0; lane < kWarp; ++lane)
      for (uint32_t half = 0; half < 2; ++half) {
        uint32_t row = lane / 4, column = lane % 4 * 2 + half;
        if (transposed)
          std::swap(row, column);
        visit(m, lane, half, 8 * m + row, column);
      }
}

void checkRows(Thread &thread, Move *const *moves, uint32_t count, uint32_t flags, uint32_t site) {
  Block &block = *thread.owner();
  for (uint32_t i = 0; i < 8 * count; ++i) {
    Thread &lane = block.lane(block.warps[thread.warp], i);
    uintptr_t row = reinterpret_cast<uintptr_t>(moves[i]->row);
    if (!standin_is_shared(&lane, row) && row >= 4096)
      fail(thread, Finding::Kind::IllegalAddress,
           "a matrix operation outside shared memory (" + whereIs(lane) + "): " + textOf(block, site));
    checkAccess(lane, row, 16, 16, flags, site); // a finding names the lane whose row it is
  }
}

// Who touches an element is the lane that gets or gives it, not the one that names the row: a warp
// synchronizes before.
void trackElements(Thread &thread, Move *const *moves, uint32_t count, bool transposed, uint32_t flags,
                   uint32_t site) {
  Block &block = *thread.owner();
  if (!block.races)
    return;
  forElements(count, transposed, [&](uint32_t, uint32_t lane, uint32_t, uint32_t row, uint32_t column) {
    block.races->access(block.lane(block.warps[thread.warp], lane),
                        reinterpret_cast<uintptr_t>(moves[row]->row) + 2 * column, 2, flags, site);
  });
}

float valueOf(const uint32_t *words, unsigned index, Element type) {
  switch (type) {
  case Element::F16:
    return halfToFloat(words[index / 2] >> (index % 2 * 16));
  case Element::BF16:
    return fromBits(words[index / 2] >> (index % 2 * 16) << 16);
  case Element::TF32:
    return fromBits(words[index] & ~0x1fffu);
  }
  return 0;
}

// A and B as whole matrices.
struct Tile {
  float a[16][16], b[16][8];
};

void gather(Product *const *lanes, const MmaShape &shape, Tile &tile) {
  unsigned perWord = 4 / bytesOf(shape.type), wordsOfA = shape.wordsOfA(), wordsOfB = shape.wordsOfB();
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    unsigned group = lane / 4, place = lane % 4;
    const uint32_t *in = lanes[lane]->in;
    for (unsigned w = 0; w < wordsOfA; ++w)
      for (unsigned e = 0; e < perWord; ++e)
        tile.a[group + 8 * (w & 1)][place * perWord + e + (w >> 1) * 4 * perWord] =
            valueOf(in, w * perWord + e, shape.type);
    for (unsigned w = 0; w < wordsOfB; ++w)
      for (unsigned e = 0; e < perWord; ++e)
        tile.b[place * perWord + e + w * 4 * perWord][group] =
            valueOf(in + wordsOfA, w * perWord + e, shape.type);
  }
}

// Element i of a lane's four sums: row group or group + 8, two neighbours.
void addProducts(Product *const *lanes, const MmaShape &shape, const Tile &tile) {
  float sums[16][8];
  const unsigned offset = shape.wordsOfA() + shape.wordsOfB();
  for (unsigned lane = 0; lane < kWarp; ++lane)
    for (unsigned i = 0; i < 4; ++i)
      sums[lane / 4 + 8 * (i >> 1)][lane % 4 * 2 + (i & 1)] = fromBits(lanes[lane]->in[offset + i]);
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned k = 0; k < shape.k; ++k)
      for (unsigned column = 0; column < 8; ++column)
        sums[row][column] += tile.a[row][k] * tile.b[k][column];
  for (unsigned lane = 0; lane < kWarp; ++lane)
    for (unsigned i = 0; i < 4; ++i)
      lanes[lane]->out[i] = toBits(sums[lane / 4 + 8 * (i >> 1)][lane % 4 * 2 + (i & 1)]);
}

template <typename Operands> void collect(Thread &thread, Operands *lanes[kWarp]) {
  Block &block = *thread.owner();
  for (uint32_t i = 0; i < kWarp; ++i)
    lanes[i] = static_cast<Operands *>(block.lane(block.warps[thread.warp], i).operands);
}

} // namespace

extern "C" {
void standin_ldmatrix(Thread *thread, char *row, uint32_t *words, uint32_t count, uint32_t transposed,
                      uint32_t site) {
  needsWholeWarp(*thread, site);
  Move own = {row, words};
  if (!meet(*thread, ~0u, WarpOp::Matrix, true, site, &own))
    return;
  Move *lanes[kWarp];
  collect(*thread, lanes);
  checkRows(*thread, lanes, count, kRead, site);
  trackElements(*thread, lanes, count, transposed, kRead, site);
  forElements(count, transposed,
              [&](uint32_t m, uint32_t lane, uint32_t half, uint32_t from, uint32_t column) {
                std::memcpy(reinterpret_cast<char *>(&lanes[lane]->words[m]) + 2 * half,
                            lanes[from]->row + 2 * column, 2);
              });
  release(*thread, ~0u);
}

void standin_stmatrix(Thread *thread, char *row, const uint32_t *words, uint32_t count, uint32_t transposed,
                      uint32_t site) {
  needsWholeWarp(*thread, site);
  Move own = {row, const_cast<uint32_t *>(words)};
  if (!meet(*thread, ~0u, WarpOp::Store, true, site, &own))
    return;
  Move *lanes[kWarp];
  collect(*thread, lanes);
  checkRows(*thread, lanes, count, kWrite, site);
  trackElements(*thread, lanes, count, transposed, kWrite, site);
  forElements(count, transposed, [&](uint32_t m, uint32_t lane, uint32_t half, uint32_t to, uint32_t column) {
    std::memcpy(lanes[to]->row + 2 * column, reinterpret_cast<char *>(&lanes[lane]->words[m]) + 2 * half, 2);
  });
  release(*thread, ~0u);
}

void standin_mma(Thread *thread, const uint32_t *in, uint32_t *out, uint32_t packed, uint32_t site) {
  needsWholeWarp(*thread, site);
  Product own = {in, out};
  if (!meet(*thread, ~0u, WarpOp::Product, true, site, &own))
    return;
  MmaShape shape = MmaShape::unpack(packed);
  Product *lanes[kWarp];
  collect(*thread, lanes);
  Tile tile;
  gather(lanes, shape, tile);
  addProducts(lanes, shape, tile);
  release(*thread, ~0u);
}
}

} // namespace standin
