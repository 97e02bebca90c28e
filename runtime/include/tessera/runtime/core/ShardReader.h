// Where the numbers of one rank's shard of one parameter come from: a model file, or a seed.
#ifndef TESSERA_RUNTIME_CORE_SHARDREADER_H
#define TESSERA_RUNTIME_CORE_SHARDREADER_H

#include "tessera/runtime/core/CountedRandom.h"
#include "tessera/runtime/core/LayerNames.h"
#include "tessera/runtime/core/Manifest.h"
#include "tessera/runtime/io/BlockLayout.h"
#include "tessera/runtime/io/ModelFile.h"

#include <cmath>
#include <memory>
#include <vector>

namespace tessera::runtime {

// What made-up rows of a shard are a function of, so that a device can make them: element (r, c) of a layer
// is randomWeight(randomBits(seed, firstLayer + layer, globalRows[r] * tail + globalColumns[c]), scale,
// mean), and 0 where one of the two is negative, which is padding.
struct RandomRows {
  uint64_t seed;
  int64_t firstLayer;
  float scale, mean;
  int64_t tail;
  const std::vector<int64_t> &globalRows, &globalColumns;
};

// The local shard seen as a matrix [rows, columns]: rows = product of the first `outDims` local dimensions.
// Element (r, c) is zero where the shard is padding. Immutable after construction: any number of threads may
// read.
class ShardReader {
public:
  // From the model: checks at once that every source tensor exists for every layer with the right shape and a
  // type that holds weights; throws Error naming the tensor otherwise.
  ShardReader(const ParamSpec &param, int64_t outDims, const Mesh &mesh, int64_t rank,
              const io::ModelFile &model);
  // From a seed: values depend on (seed, parameter, layer of the model, global index) only, hence neither on
  // the mesh nor on stages. They lie around the parameter's mean, with its standard deviation.
  ShardReader(const ParamSpec &param, int64_t outDims, const Mesh &mesh, int64_t rank, uint64_t seed);
  ~ShardReader();

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  // out[i, c] = element (begin + i, c), i < count. Reads nothing but the rows' own bytes (whole cache lines
  // and quantized blocks of them).
  void read(int64_t layer, int64_t begin, int64_t count, float *out) const;
  // The same, rounded to `type`: the bytes of the file where it has that type and rows of it lie together.
  void readAs(io::DType type, int64_t layer, int64_t begin, int64_t count, void *out) const;
  // The columns as a file in blocks has them (io/BlockLayout.h): where each chunk begins in the file's rows,
  // and how many columns it has before its padding.
  const std::vector<io::BlockHeader::Chunk> &chunks() const { return chunks_; }
  // Rows [begin, begin + count) as the file has them, all columns of all ranks, in blocks of `type`; null:
  // padding. Of a parameter whose rows are whole in the file (SourceView::hasWholeRows). Throws Error where
  // the file has another type. Made-up ones are put into `madeUp`.
  void blockRows(io::DType type, int64_t layer, int64_t begin, int64_t count, const uint8_t **rows,
                 std::vector<uint8_t> &madeUp) const;
  // Of a shard from a seed.
  RandomRows random() const {
    return {seed_, firstLayer_, scale_, mean_, tail_, globalRows_, globalColumns_};
  }
  // The system may take back the pages that hold this layer.
  void release(int64_t layer) const;

private:
  struct Source;
  ShardReader(const ParamSpec &param, int64_t outDims, const Mesh &mesh, int64_t rank);
  void readRow(int64_t layer, int64_t globalRow, float *out) const;
  bool readTransposed(int64_t layer, int64_t begin, int64_t count, float *out) const;
  bool copyRows(io::DType type, int64_t layer, int64_t begin, int64_t count, char *out) const;

  const io::ModelFile *model_ = nullptr;
  uint64_t seed_ = 0;
  int64_t firstLayer_ = 0;
  float scale_ = 0, mean_ = 0;
  int64_t rows_ = 1, columns_ = 1;
  int64_t tail_ = 1;                // elements of one global row
  std::vector<int64_t> globalRows_; // local row -> global row, -1 for padding
  std::vector<int64_t> globalColumns_;
  std::vector<io::BlockHeader::Chunk> chunks_;
  std::vector<std::unique_ptr<Source>> sources_;
};

// Of a layer of the parameter as this program has it.
std::string tensorName(const ParamSpec &param, const ParamSource &source, int64_t layer);

// What makes a standard deviation of the sums that randomWeight adds up: four numbers from 0 to 65535 have
// one of 65536 / sqrt(3). Of 7 bits, so that its product with a sum, which has 17, is exact.
inline float randomScale(double deviation) {
  int exponent;
  double part = std::frexp(deviation * (1.7320508075688772 / 65536), &exponent);
  return float(std::ldexp(std::nearbyint(std::ldexp(part, 7)), exponent - 7));
}

// Nearly normal around `mean`: the sum of the four 16-bit numbers in `bits`, less its mean, times `scale`,
// which is exact, so that one rounding is left, on whatever machine and fused or not.
inline float randomWeight(uint64_t bits, float scale, float mean) {
  uint64_t mask = 0x0000ffff0000ffffu, pairs = (bits & mask) + (bits >> 16 & mask);
  int32_t sum = int32_t(uint32_t(pairs) + uint32_t(pairs >> 32));
  return float(sum - 131070) * scale + mean;
}

} // namespace tessera::runtime
#endif
