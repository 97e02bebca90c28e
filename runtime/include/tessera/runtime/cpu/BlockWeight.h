// Weights held in quantized blocks on the CPU: laid out once at load (io/BlockLayout.h), expanded while they
// are multiplied. A layer's first bytes say which type it has, so the layers of a stack may differ.
#ifndef TESSERA_RUNTIME_CPU_BLOCKWEIGHT_H
#define TESSERA_RUNTIME_CPU_BLOCKWEIGHT_H

#include "tessera/runtime/core/Memory.h"
#include "tessera/runtime/core/ThreadPool.h"
#include "tessera/runtime/io/BlockLayout.h"

#include <cstdint>
#include <vector>

namespace tessera::runtime {

struct BlockUnits;

// The form of all layers of one parameter: n rows of k columns, which lie in chunks in the file's rows.
class BlockWeight {
public:
  BlockWeight(int64_t n, const io::BlockColumns &columns)
      : n(n), k(columns.chunks * columns.length), columns(columns) {}
  int64_t n, k;
  io::BlockColumns columns;

  int64_t bytes(io::DType type) const { return io::BlockLayout(type, n, columns).bytes; }
  // What the first bytes of a layer say. Throws Error where nothing was loaded there.
  static const io::BlockHeader &header(const void *layer);
  // Writes the header of a layer. `chunks`: as many as the columns have; `place` is of the file's row.
  void writeHeader(io::DType type, const std::vector<io::BlockHeader::Chunk> &chunks, void *layer) const;
  // Writes rows [begin, begin + count) from the file's rows, whole ones in blocks of `type`; null: padding.
  // `begin` is a multiple of 16. A shard that begins within a block takes all of it.
  void writeRows(io::DType type, const std::vector<io::BlockHeader::Chunk> &chunks, int64_t begin,
                 int64_t count, const uint8_t *const *rows, void *layer) const;
  // Row `i`, k numbers. `panel` is scratch.
  void readRow(const void *layer, int64_t i, float *out, std::vector<float> &panel) const;
};

// y[m, n] = x[m, k] . w^T, in sums of float32. Rows of x are float32, or bfloat16 as they are where the CPU
// multiplies that with codes of blocks: takesBfloat16().
class BlockProduct {
public:
  // `x`: the type of its rows, BF16 if they may be given so. m: the most of them.
  BlockProduct(const BlockWeight &weight, int64_t m, ThreadPool &pool, io::DType x);
  bool takesBfloat16() const { return bfloat16_; }
  // Once a call, before tiles of it: x's first `rows` rows.
  void begin(const void *layer, const void *x, int64_t rows);
  int64_t units() const { return (weight_.n + io::kUnitRows - 1) / io::kUnitRows; }
  int64_t bytes() const { return bytes_; } // of the layer
  // Rows [row, row + rows) of x times rows [16 begin, 16 end) of w: out [rows, 16 (end - begin)]; by thread
  // `part`. A row's sums go through the columns in order, and how they are split depends on `rows` alone.
  void tile(int part, int64_t row, int64_t rows, int64_t begin, int64_t end, float *out);

  // So few rows are multiplied as their weights are read, for all units that a thread has. More go through
  // tiles of so many units.
  static constexpr int64_t kFewRows = 4, kTileUnits = 4;

private:
  // What a thread needs of its own: few rows widened and their sums; a panel of expanded weights.
  struct Scratch {
    std::vector<float> wide, sums;
    Memory panel;
  };
  bool setLayer(const void *layer);
  // Whether so many rows are, of the layer's type.
  bool multipliesPairs(int64_t rows) const;
  void placeRow(int64_t row);
  void multiplyFew(const BlockUnits &units, Scratch &scratch, int64_t row, int64_t rows, float *out);
  void multiplyFloats(const BlockUnits &units, int64_t behind, Scratch &scratch, int64_t row, int64_t rows,
                      float *out);
  void multiplyPairs(const BlockUnits &units, int64_t behind, Scratch &scratch, int64_t row, int64_t rows,
                     float *out);
  const char *rowOfX(int64_t row) const { return x_ + row * io::bytesOf(type_, placedColumns_); }

  BlockWeight weight_;
  int64_t m_, bytes_ = 0, placedColumns_ = 0;
  ThreadPool &pool_;
  bool bfloat16_;
  io::DType type_; // of x
  const void *layer_ = nullptr;
  const char *given_ = nullptr, *x_ = nullptr; // x as it came, and as it is read
  std::vector<char> placed_;                   // where the file's columns are
  std::vector<float> sums_;                    // of rows over sub-blocks, where kernels of pairs read them
  std::vector<Scratch> scratch_;               // of each thread
};

} // namespace tessera::runtime
#endif
