// One product as the caller describes it, checked.
#ifndef TESSERA_STANDIN_CUBLASLT_PROBLEM_H
#define TESSERA_STANDIN_CUBLASLT_PROBLEM_H

#include "Objects.h"
#include "tessera/runtime/io/DType.h"

#include <vector>

namespace standin {

// D [m, n] = epilogue(alpha * op(A) [m, k] . op(B) [k, n] + beta * C), column by column.
struct Problem {
  uint64_t m, n, k;
  Layout a, b, c, d;
  MatmulDesc desc;

  // Refuses what does not fit together, and what the library has no algorithms for.
  static Problem make(const char *call, const MatmulDesc &desc, const Layout &a, const Layout &b,
                      const Layout &c, const Layout &d);
  uint64_t digest() const;  // equal for products that an algorithm serves alike
  std::string name() const; // "bf16 bf16 f32 64x1x576"
  bool hasBias() const { return desc.epilogue & CUBLASLT_EPILOGUE_BIAS; }
  cudaDataType biasType() const { return desc.biasType < 0 ? d.type : cudaDataType(desc.biasType); }

  // What may be proposed within `preference`, the first the simplest.
  std::vector<Algorithm> algorithms(const Preference &preference) const;
};

struct Operands {
  const void *a, *b, *c;
  void *d;
  const void *bias;
  float alpha, beta;
};

tessera::io::DType elementType(cudaDataType type);
size_t elementBytes(cudaDataType type);
// From the first element of a matrix to behind its last.
size_t spanBytes(const Layout &layout);

// Computes it in the host's memory as the algorithm does: sums in float32, as `splits` parts of k, unless it
// rounds operands to TF32, sums to float16 or parts to D's type.
void multiply(const Problem &problem, const Operands &operands, const Algorithm &algorithm);

} // namespace standin
#endif
