// Functions of cuBLASLt that the runtime does not use; a library need not have them for it. The form of the
// table is that of runtime/cuda/api/CublasLt.h. One that the runtime begins to use moves there.
#ifndef TESSERA_STANDIN_CUBLASLT_MOREFUNCTIONS_H
#define TESSERA_STANDIN_CUBLASLT_MOREFUNCTIONS_H

#include "../../../runtime/cuda/api/CublasLt.h"

#define STANDIN_MORE_CUBLASLT_FUNCTIONS(X)                                                                   \
  X(cublasLtMatrixLayoutSetAttribute, cublasStatus_t,                                                        \
    (cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void *value,            \
     size_t bytes))                                                                                          \
  X(cublasLtMatmulAlgoConfigGetAttribute, cublasStatus_t,                                                    \
    (const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoConfigAttributes_t attribute, void *value,          \
     size_t bytes, size_t *written))

#endif
