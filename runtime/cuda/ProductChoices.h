// Algorithms of products that were measured before, kept in a file for each kind of GPU and version of the
// library.
#ifndef TESSERA_RUNTIME_CUDA_PRODUCTCHOICES_H
#define TESSERA_RUNTIME_CUDA_PRODUCTCHOICES_H

#include "TuningFile.h"
#include "api/CublasLt.h"

namespace tessera::runtime {

class ProductChoices {
public:
  // `machine`: "NVIDIA H200, 132 multiprocessors, cuBLASLt 130100".
  explicit ProductChoices(const std::string &machine, TuningFile::Remark remark = nullptr);

  static std::string textOf(const cuda::cublasLtMatmulAlgo_t &algorithm);
  static std::optional<cuda::cublasLtMatmulAlgo_t> algorithmOf(const std::string &text);

  std::optional<cuda::cublasLtMatmulAlgo_t> find(const std::string &shape) const;
  void add(const std::string &shape, const cuda::cublasLtMatmulAlgo_t &algorithm);
  void save() { file_.save(); }
  const std::string &path() const { return file_.path(); } // empty: turned off

private:
  TuningFile file_;
};

} // namespace tessera::runtime
#endif
