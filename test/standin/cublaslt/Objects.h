// What callers hold of the stand-in of cuBLASLt: descriptors, layouts, preferences and algorithms, and the
// check that a handle is one that lives.
#ifndef TESSERA_STANDIN_CUBLASLT_OBJECTS_H
#define TESSERA_STANDIN_CUBLASLT_OBJECTS_H

#include "../../../runtime/cuda/api/CublasLt.h"

#include <cstring>
#include <mutex>
#include <set>
#include <string>

namespace standin {

using namespace tessera::cuda;

// A call that broke a rule: `stand-in: CALL: WHY` on stderr, and the status that the library would return.
struct Refused {
  cublasStatus_t status;
};
[[noreturn]] void refuse(const char *call, const std::string &why,
                         cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE);

struct Layout {
  cudaDataType type;
  int32_t order = CUBLASLT_ORDER_COL, batch = 1;
  uint64_t rows, columns;
  int64_t leading, batchStride = 0;
};

struct MatmulDesc {
  int32_t compute, scale;
  int32_t pointerMode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transA = CUBLAS_OP_N, transB = CUBLAS_OP_N, transC = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr;
  int32_t biasType = -1;
};

struct Preference {
  uint32_t searchMode = 0;
  uint64_t workspace = 0;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignA = 256, alignB = 256, alignC = 256, alignD = 256;
};

// What an algorithm of ours says in the 64 bytes that callers copy and keep.
struct Algorithm {
  uint32_t mark; // kMark
  uint32_t splits;
  uint64_t problem; // what it was made for
  uint64_t workspace;
  uint32_t alignA, alignB, alignC, alignD;
  uint64_t numerics;    // CUBLASLT_NUMERICAL_IMPL_FLAGS_...
  uint64_t narrowParts; // 1: parts of a sum are kept in D's type
  uint64_t rest;
  static constexpr uint32_t kMark = 0x7e55e7a1;
};
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));

// Our object within the opaque one that the caller's handle points to.
template <typename Object, typename Opaque> class Living {
public:
  static_assert(sizeof(Object) <= sizeof(Opaque));
  Opaque *create(const Object &object) {
    auto *opaque = new Opaque();
    memcpy(opaque->data, &object, sizeof(Object));
    std::lock_guard<std::mutex> lock(mutex_);
    all_.insert(opaque);
    return opaque;
  }
  Object &at(Opaque *handle, const char *call, const char *what) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!all_.count(handle))
      refuse(call, std::string(what) + " was never created, or destroyed");
    return *reinterpret_cast<Object *>(handle->data);
  }
  void destroy(Opaque *handle, const char *call, const char *what) {
    at(handle, call, what);
    std::lock_guard<std::mutex> lock(mutex_);
    all_.erase(handle);
    delete handle;
  }
  size_t count() {
    std::lock_guard<std::mutex> lock(mutex_);
    return all_.size();
  }

private:
  std::mutex mutex_;
  std::set<Opaque *> all_;
};

struct Objects {
  Living<Layout, cublasLtMatrixLayoutOpaque_t> layouts;
  Living<MatmulDesc, cublasLtMatmulDescOpaque_t> descs;
  Living<Preference, cublasLtMatmulPreferenceOpaque_t> preferences;
  std::mutex mutex;
  std::set<cublasLtHandle_t> handles;
  static Objects &get();
  void expectHandle(cublasLtHandle_t handle, const char *call);
};

} // namespace standin
#endif
