// Where the numbers of one rank's shard of one parameter come from: a model file, or a seed.
#ifndef TESSERA_RUNTIME_CORE_SHARDREADER_H
#define TESSERA_RUNTIME_CORE_SHARDREADER_H

#include "tessera/runtime/core/Manifest.h"
#include "tessera/runtime/io/ModelFile.h"

#include <memory>
#include <vector>

namespace tessera::runtime {

// The local shard seen as a matrix [rows, columns]: rows = product of the first `outDims` local dimensions.
// Element (r, c) is zero where the shard is padding. Immutable after construction: any number of threads may
// read.
class ShardReader {
public:
  // From the model: checks at once that every source tensor exists for every layer with the right shape and a
  // type that holds weights; throws Error naming the tensor otherwise.
  ShardReader(const ParamSpec &param, int64_t outDims, const Mesh &mesh, int64_t rank,
              const io::ModelFile &model);
  // From a seed: values depend on (seed, parameter, layer, global index) only, hence not on the mesh. They
  // lie around the parameter's mean, with a standard deviation of 0.02.
  ShardReader(const ParamSpec &param, int64_t outDims, const Mesh &mesh, int64_t rank, uint64_t seed);
  ~ShardReader();

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  // out[i, c] = element (begin + i, c), i < count. Reads nothing but the rows' own bytes (whole cache lines
  // and quantized blocks of them).
  void read(int64_t layer, int64_t begin, int64_t count, float *out) const;
  // The same, rounded to `type`: the bytes of the file where it has that type and rows of it lie together.
  void readAs(io::DType type, int64_t layer, int64_t begin, int64_t count, void *out) const;
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
  float mean_ = 0;
  int64_t rows_ = 1, columns_ = 1;
  int64_t tail_ = 1;                // elements of one global row
  std::vector<int64_t> globalRows_; // local row -> global row, -1 for padding
  std::vector<int64_t> globalColumns_;
  std::vector<std::unique_ptr<Source>> sources_;
};

// "layers.{}.w" and 3 -> "layers.3.w".
std::string layerName(const std::string &pattern, int64_t layer);

// Counter-based random numbers: a function of its arguments.
uint64_t randomBits(uint64_t seed, uint64_t stream, uint64_t index);

} // namespace tessera::runtime
#endif
