// Weights held in quantized blocks on the CPU: laid out once at load (io/BlockLayout.h), expanded while they
// are multiplied. A layer's first bytes say which type it has, so the layers of a stack may differ.
#ifndef TESSERA_RUNTIME_CPU_BLOCKWEIGHT_H
#define TESSERA_RUNTIME_CPU_BLOCKWEIGHT_H

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

// y[m, n] = x[m, k] . w^T, x and y rows of float32. `bfloat16`: all numbers of x are of that type, and many
// rows may be multiplied so, with the codes of the blocks.
class BlockProduct {
public:
  BlockProduct(const BlockWeight &weight, int64_t m, int threads, bool bfloat16 = false);
  // Once a call, by one thread: `x` as the threads read it.
  void begin(const void *layer, const float *x);
  // The same of rows of bfloat16 that need no other form; false: begin() has to be called.
  bool beginBfloat16(const void *layer, const void *x);
  int64_t units() const { return (weight_.n + io::kUnitRows - 1) / io::kUnitRows; }
  int64_t bytes() const { return bytes_; } // of the layer
  // Columns [16 begin, 16 end) of y; by thread `part`.
  void columns(int part, int64_t begin, int64_t end, float *y);

  // Of some rows of x apart from the others, for products by group (GroupedGemm.h). Instead of begin():
  // place() once, of x's first `rows` rows; then addUp() of each stretch of rows that tile() is asked for.
  void place(const void *layer, const float *x, int64_t rows);
  void addUp(int64_t row, int64_t rows);
  // Rows [row, row + rows) of x times rows [16 begin, 16 end) of w: out [rows, 16 (end - begin)]; by thread
  // `part`.
  void tile(int part, int64_t row, int64_t rows, int64_t begin, int64_t end, float *out);

private:
  bool setLayer(const void *layer);
  void multiply(const BlockUnits &units, int part, int64_t row, int64_t rows, int64_t begin, int64_t end,
                float *y);
  void multiplyPairs(const BlockUnits &units, int part, int64_t row, int64_t rows, int64_t begin, int64_t end,
                     float *y);

  BlockWeight weight_;
  int64_t m_, bytes_ = 0, placedColumns_ = 0; // m_: most rows of x
  const void *layer_ = nullptr;
  const float *x_ = nullptr;
  std::vector<float> placed_, sums_;       // x where the file's columns are; sums over sub-blocks of it
  std::vector<std::vector<float>> panels_; // of each thread
  bool bfloat16_;
  const uint32_t *pairs_ = nullptr; // x as pairs of bfloat16
  std::vector<uint32_t> madePairs_;
  std::vector<std::vector<uint32_t>> pairPanels_;
};

} // namespace tessera::runtime
#endif
