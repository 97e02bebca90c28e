// Algorithms of products that were measured before, kept in a file for each kind of GPU and version of the
// library.
#ifndef TESSERA_RUNTIME_CUDA_PRODUCTCHOICES_H
#define TESSERA_RUNTIME_CUDA_PRODUCTCHOICES_H

#include "api/CublasLt.h"

#include <map>
#include <optional>
#include <string>

namespace tessera::runtime {

class ProductChoices {
public:
  // `machine`: what the choices hold for, "NVIDIA H200, 132 multiprocessors, cuBLASLt 130100". In the folder
  // TESSERA_TUNING, else in tessera/ below $XDG_CACHE_HOME or ~/.cache. An empty TESSERA_TUNING: nothing is
  // read or written. A file that cannot be read counts as empty.
  explicit ProductChoices(const std::string &machine);

  std::optional<cuda::cublasLtMatmulAlgo_t> find(const std::string &shape) const;
  void add(const std::string &shape, const cuda::cublasLtMatmulAlgo_t &algorithm);
  // Writes what was added, beside what other processes wrote meanwhile. Where that does not work the next run
  // measures again.
  void save();
  const std::string &path() const { return path_; } // empty: turned off

private:
  using Table = std::map<std::string, cuda::cublasLtMatmulAlgo_t>;
  Table read() const;

  std::string path_, title_;
  Table known_, added_;
};

} // namespace tessera::runtime
#endif
