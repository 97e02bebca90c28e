// What we use of cuBLASLt, in our own words, as Cuda.h does it for the driver. The same for versions 12 and
// 13 of the library: what differs between them is not here.
#ifndef TESSERA_RUNTIME_CUDA_API_CUBLASLT_H
#define TESSERA_RUNTIME_CUDA_API_CUBLASLT_H

#include "Cuda.h"

namespace tessera::cuda {

// --- Objects ---

typedef struct cublasLtContext *cublasLtHandle_t;

// Half open: the library fills them, callers copy them and may write them to disk for the same version of the
// library, and read nothing in them.
struct cublasLtMatrixLayoutOpaque_t {
  uint64_t data[8];
};
struct cublasLtMatmulDescOpaque_t {
  uint64_t data[32];
};
struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t data[8];
};
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};
typedef cublasLtMatrixLayoutOpaque_t *cublasLtMatrixLayout_t;
typedef cublasLtMatmulDescOpaque_t *cublasLtMatmulDesc_t;
typedef cublasLtMatmulPreferenceOpaque_t *cublasLtMatmulPreference_t;

// --- Values ---

#define TESSERA_CUBLASLT_STATUSES(X)                                                                         \
  X(CUBLAS_STATUS_SUCCESS, 0)                                                                                \
  X(CUBLAS_STATUS_NOT_INITIALIZED, 1)                                                                        \
  X(CUBLAS_STATUS_ALLOC_FAILED, 3)                                                                           \
  X(CUBLAS_STATUS_INVALID_VALUE, 7)                                                                          \
  X(CUBLAS_STATUS_ARCH_MISMATCH, 8)                                                                          \
  X(CUBLAS_STATUS_MAPPING_ERROR, 11)                                                                         \
  X(CUBLAS_STATUS_EXECUTION_FAILED, 13)                                                                      \
  X(CUBLAS_STATUS_INTERNAL_ERROR, 14)                                                                        \
  X(CUBLAS_STATUS_NOT_SUPPORTED, 15)

// Types of elements, of `alpha` and `beta`.
#define TESSERA_CUBLASLT_DATA_TYPES(X)                                                                       \
  X(CUDA_R_32F, 0)                                                                                           \
  X(CUDA_R_64F, 1)                                                                                           \
  X(CUDA_R_16F, 2)                                                                                           \
  X(CUDA_R_16BF, 14)

// What products and sums are computed in. 32F: no TF32, no emulation.
#define TESSERA_CUBLASLT_COMPUTE_TYPES(X)                                                                    \
  X(CUBLAS_COMPUTE_32F, 68)                                                                                  \
  X(CUBLAS_COMPUTE_32F_PEDANTIC, 69)                                                                         \
  X(CUBLAS_COMPUTE_64F, 70)                                                                                  \
  X(CUBLAS_COMPUTE_32F_FAST_TF32, 77)

#define TESSERA_CUBLASLT_OPERATIONS(X)                                                                       \
  X(CUBLAS_OP_N, 0)                                                                                          \
  X(CUBLAS_OP_T, 1)                                                                                          \
  X(CUBLAS_OP_C, 2)

#define TESSERA_CUBLASLT_ORDERS(X)                                                                           \
  X(CUBLASLT_ORDER_COL, 0)                                                                                   \
  X(CUBLASLT_ORDER_ROW, 1)

#define TESSERA_CUBLASLT_LAYOUT_ATTRIBUTES(X)                                                                \
  X(CUBLASLT_MATRIX_LAYOUT_TYPE, 0)                 /* uint32: a data type */                                \
  X(CUBLASLT_MATRIX_LAYOUT_ORDER, 1)                /* int32 */                                              \
  X(CUBLASLT_MATRIX_LAYOUT_ROWS, 2)                 /* uint64 */                                             \
  X(CUBLASLT_MATRIX_LAYOUT_COLS, 3)                 /* uint64 */                                             \
  X(CUBLASLT_MATRIX_LAYOUT_LD, 4)                   /* int64 */                                              \
  X(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5)          /* int32 */                                              \
  X(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6) /* int64, elements */

#define TESSERA_CUBLASLT_DESC_ATTRIBUTES(X)                                                                  \
  X(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 0)    /* int32 */                                                     \
  X(CUBLASLT_MATMUL_DESC_SCALE_TYPE, 1)      /* int32: a data type */                                        \
  X(CUBLASLT_MATMUL_DESC_POINTER_MODE, 2)    /* int32 */                                                     \
  X(CUBLASLT_MATMUL_DESC_TRANSA, 3)          /* int32 */                                                     \
  X(CUBLASLT_MATMUL_DESC_TRANSB, 4)          /* int32 */                                                     \
  X(CUBLASLT_MATMUL_DESC_TRANSC, 5)          /* int32 */                                                     \
  X(CUBLASLT_MATMUL_DESC_EPILOGUE, 7)        /* uint32 */                                                    \
  X(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)    /* const void *, device: one element a row of D */              \
  X(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 26) /* int32: a data type; -1: that of D */

#define TESSERA_CUBLASLT_POINTER_MODES(X)                                                                    \
  X(CUBLASLT_POINTER_MODE_HOST, 0)                                                                           \
  X(CUBLASLT_POINTER_MODE_DEVICE, 1)

// What becomes of a sum before it is rounded and written. GELU is the tanh form.
#define TESSERA_CUBLASLT_EPILOGUES(X)                                                                        \
  X(CUBLASLT_EPILOGUE_DEFAULT, 1)                                                                            \
  X(CUBLASLT_EPILOGUE_RELU, 2)                                                                               \
  X(CUBLASLT_EPILOGUE_BIAS, 4)                                                                               \
  X(CUBLASLT_EPILOGUE_RELU_BIAS, 6)                                                                          \
  X(CUBLASLT_EPILOGUE_GELU, 32)                                                                              \
  X(CUBLASLT_EPILOGUE_GELU_BIAS, 36)

#define TESSERA_CUBLASLT_PREFERENCE_ATTRIBUTES(X)                                                            \
  X(CUBLASLT_MATMUL_PREF_SEARCH_MODE, 0)           /* uint32 */                                              \
  X(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)   /* uint64 */                                              \
  X(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3) /* uint32 */                                              \
  X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5) /* uint32 */                                              \
  X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6) /* uint32 */                                              \
  X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7) /* uint32 */                                              \
  X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8) /* uint32 */

// How the parts of a product that is split along K are added up. INPLACE adds in any order: its bits may
// differ from run to run.
#define TESSERA_CUBLASLT_REDUCTION_SCHEMES(X)                                                                \
  X(CUBLASLT_REDUCTION_SCHEME_NONE, 0)                                                                       \
  X(CUBLASLT_REDUCTION_SCHEME_INPLACE, 1)                                                                    \
  X(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2)                                                               \
  X(CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, 4)                                                                \
  X(CUBLASLT_REDUCTION_SCHEME_MASK, 7)

#define TESSERA_CUBLASLT_ALGO_CAPABILITIES(X)                                                                \
  X(CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, 15)  /* uint64, see CublasLtFlag */                              \
  X(CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES, 16) /* uint32 */                                                \
  X(CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES, 17) /* uint32 */                                                \
  X(CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES, 18) /* uint32 */                                                \
  X(CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES, 19) /* uint32 */

#define TESSERA_CUBLASLT_ALGO_SETTINGS(X)                                                                    \
  X(CUBLASLT_ALGO_CONFIG_ID, 0)               /* int32 */                                                    \
  X(CUBLASLT_ALGO_CONFIG_TILE_ID, 1)          /* uint32 */                                                   \
  X(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 2)       /* int32 */                                                    \
  X(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 3) /* uint32 */                                                   \
  X(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4)    /* uint32 */                                                   \
  X(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 5)    /* uint32 */                                                   \
  X(CUBLASLT_ALGO_CONFIG_STAGES_ID, 6)        /* uint32 */

// Bits of CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS.
#define TESSERA_CUBLASLT_FLAGS(X)                                                                            \
  X(CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F, 1ull << 8)                                                \
  X(CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F, 2ull << 8)                                                \
  X(CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32, 4ull << 16)                                                    \
  X(CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F, 8ull << 16)

enum cublasStatus_t : unsigned { TESSERA_CUBLASLT_STATUSES(TESSERA_CUDA_ENUMERATOR) };
enum cudaDataType : unsigned { TESSERA_CUBLASLT_DATA_TYPES(TESSERA_CUDA_ENUMERATOR) };
enum cublasComputeType_t : unsigned { TESSERA_CUBLASLT_COMPUTE_TYPES(TESSERA_CUDA_ENUMERATOR) };
enum cublasOperation_t : unsigned { TESSERA_CUBLASLT_OPERATIONS(TESSERA_CUDA_ENUMERATOR) };
enum cublasLtOrder_t : unsigned { TESSERA_CUBLASLT_ORDERS(TESSERA_CUDA_ENUMERATOR) };
enum cublasLtMatrixLayoutAttribute_t : unsigned {
  TESSERA_CUBLASLT_LAYOUT_ATTRIBUTES(TESSERA_CUDA_ENUMERATOR)
};
enum cublasLtMatmulDescAttributes_t : unsigned { TESSERA_CUBLASLT_DESC_ATTRIBUTES(TESSERA_CUDA_ENUMERATOR) };
enum cublasLtPointerMode_t : unsigned { TESSERA_CUBLASLT_POINTER_MODES(TESSERA_CUDA_ENUMERATOR) };
enum cublasLtEpilogue_t : unsigned { TESSERA_CUBLASLT_EPILOGUES(TESSERA_CUDA_ENUMERATOR) };
enum cublasLtMatmulPreferenceAttributes_t : unsigned {
  TESSERA_CUBLASLT_PREFERENCE_ATTRIBUTES(TESSERA_CUDA_ENUMERATOR)
};
enum cublasLtReductionScheme_t : unsigned { TESSERA_CUBLASLT_REDUCTION_SCHEMES(TESSERA_CUDA_ENUMERATOR) };
enum cublasLtMatmulAlgoCapAttributes_t : unsigned {
  TESSERA_CUBLASLT_ALGO_CAPABILITIES(TESSERA_CUDA_ENUMERATOR)
};
enum cublasLtMatmulAlgoConfigAttributes_t : unsigned {
  TESSERA_CUBLASLT_ALGO_SETTINGS(TESSERA_CUDA_ENUMERATOR)
};
enum CublasLtFlag : uint64_t { TESSERA_CUBLASLT_FLAGS(TESSERA_CUDA_ENUMERATOR) };

// --- Structures ---

// One of the algorithms that the heuristic proposes.
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state; // the rest is valid only where this is SUCCESS
  float wavesCount;
  int reserved[4];
};

// --- Functions ---
// X(name, result, parameters), found by dlsym.
// Matmul: D = epilogue(alpha * op(A) . op(B) + beta * C); matrices are column-major unless their layout says
// otherwise.

#define TESSERA_CUBLASLT_FUNCTIONS(X)                                                                        \
  X(cublasLtCreate, cublasStatus_t, (cublasLtHandle_t * handle))                                             \
  X(cublasLtDestroy, cublasStatus_t, (cublasLtHandle_t handle))                                              \
  X(cublasLtGetVersion, size_t, ())                                                                          \
  X(cublasLtGetStatusName, const char *, (cublasStatus_t status))                                            \
  X(cublasLtGetStatusString, const char *, (cublasStatus_t status))                                          \
  X(cublasLtMatmul, cublasStatus_t,                                                                          \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,                   \
     cublasLtMatrixLayout_t aLayout, const void *b, cublasLtMatrixLayout_t bLayout, const void *beta,        \
     const void *c, cublasLtMatrixLayout_t cLayout, void *d, cublasLtMatrixLayout_t dLayout,                 \
     const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspaceBytes, CUstream stream))             \
  X(cublasLtMatmulDescCreate, cublasStatus_t,                                                                \
    (cublasLtMatmulDesc_t * desc, cublasComputeType_t computeType, cudaDataType scaleType))                  \
  X(cublasLtMatmulDescDestroy, cublasStatus_t, (cublasLtMatmulDesc_t desc))                                  \
  X(cublasLtMatmulDescSetAttribute, cublasStatus_t,                                                          \
    (cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, const void *value, size_t bytes))  \
  X(cublasLtMatrixLayoutCreate, cublasStatus_t,                                                              \
    (cublasLtMatrixLayout_t * layout, cudaDataType type, uint64_t rows, uint64_t columns,                    \
     int64_t leadingDimension))                                                                              \
  X(cublasLtMatrixLayoutDestroy, cublasStatus_t, (cublasLtMatrixLayout_t layout))                            \
  X(cublasLtMatmulPreferenceCreate, cublasStatus_t, (cublasLtMatmulPreference_t * preference))               \
  X(cublasLtMatmulPreferenceDestroy, cublasStatus_t, (cublasLtMatmulPreference_t preference))                \
  X(cublasLtMatmulPreferenceSetAttribute, cublasStatus_t,                                                    \
    (cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,                  \
     const void *value, size_t bytes))                                                                       \
  X(cublasLtMatmulAlgoGetHeuristic, cublasStatus_t,                                                          \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, \
     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference,              \
     int requested, cublasLtMatmulHeuristicResult_t results[], int *found))                                  \
  X(cublasLtMatmulAlgoCheck, cublasStatus_t,                                                                 \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, \
     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algo,                   \
     cublasLtMatmulHeuristicResult_t *result))                                                               \
  X(cublasLtMatmulAlgoCapGetAttribute, cublasStatus_t,                                                       \
    (const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoCapAttributes_t attribute, void *value,             \
     size_t bytes, size_t *written))

// Pointers to all of them.
struct CublasLtFunctions {
#define TESSERA_CUBLASLT_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  TESSERA_CUBLASLT_FUNCTIONS(TESSERA_CUBLASLT_MEMBER)
#undef TESSERA_CUBLASLT_MEMBER
};

// Declares every function with C linkage: for a library that defines them. Stands in namespace tessera::cuda.
#define TESSERA_CUBLASLT_DECLARE_FUNCTION(name, result, parameters)                                          \
  __attribute__((visibility("default"))) result name parameters;
#define TESSERA_CUBLASLT_DECLARE_FUNCTIONS                                                                   \
  extern "C" {                                                                                               \
  TESSERA_CUBLASLT_FUNCTIONS(TESSERA_CUBLASLT_DECLARE_FUNCTION)                                              \
  }

} // namespace tessera::cuda
#endif
