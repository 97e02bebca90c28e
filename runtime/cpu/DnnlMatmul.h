// A product of fixed shape by oneDNN, on one thread.
#ifndef TESSERA_RUNTIME_CPU_DNNLMATMUL_H
#define TESSERA_RUNTIME_CPU_DNNLMATMUL_H

#include "Dnnl.h"
#include "tessera/runtime/core/Memory.h"
#include "tessera/runtime/cpu/Gemm.h"

#include <memory>

namespace tessera::runtime {

class DnnlCode;

// y[m, n] (+)= x[m, k] . W^T: one thread's part of a product.
struct DnnlShape {
  int64_t m = 0, n = 0, k = 0;
  GemmTypes types;
  GemmOrientation transposed;
  int64_t columnsOfX = 0; // x transposed: of the whole [k, columnsOfX] that m columns are read of
  int64_t columns = 0;    // of the whole y, and of W where it is [k, columns], that n are a part of
  bool adds = false;      // to what y holds
};

// The memory objects of one thread; the code is shared by all products of the same shape in this process.
class DnnlMatmul {
public:
  // layout: of W if it is packed, else null. Throws Error where oneDNN says no, or where there is no memory
  // for its code.
  DnnlMatmul(const PackedLayout *layout, const DnnlShape &shape);
  ~DnnlMatmul();
  DnnlMatmul(const DnnlMatmul &) = delete;

  // What oneDNN calls its code; empty where it has none for this CPU, and run is not to be called.
  const char *implementation() const;
  void run(const void *x, const void *w, void *y);

private:
  const Dnnl &dnnl_;
  std::shared_ptr<const DnnlCode> code_;
  Memory scratch_;
  dnnl_memory_t memory_[4] = {};
  dnnl_stream_t stream_ = nullptr;
};

} // namespace tessera::runtime
#endif
