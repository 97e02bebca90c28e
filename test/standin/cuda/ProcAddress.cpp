// The functions by name.
#include "Call.h"
#include "Declarations.h"

#include <cstring>

using namespace standin;

namespace standin {

struct Export {
  const char *name;
  int version;
  void *function;
};

#define STANDIN_EXPORT(base, suffix, version, parameters)                                                    \
  {#base, version, reinterpret_cast<void *>(&base##suffix)},
static const Export exports[] = {TESSERA_CUDA_FIRST_FUNCTION(STANDIN_EXPORT) TESSERA_CUDA_FUNCTIONS(
    STANDIN_EXPORT) STANDIN_MORE_FUNCTIONS(STANDIN_EXPORT)};

} // namespace standin

namespace tessera::cuda {
extern "C" {

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                             CUdriverProcAddressQueryResult *status) {
  return call("cuGetProcAddress", kNothing, [&](Call &call) {
    if (!symbol || !function)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "no name, or no place for the address", "pass both");
    if (flags != CU_GET_PROC_ADDRESS_DEFAULT)
      call.refuse(CUDA_ERROR_NOT_SUPPORTED, "flags", "pass CU_GET_PROC_ADDRESS_DEFAULT");
    *function = nullptr;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    for (const Export &one : exports)
      if (!strcmp(one.name, symbol)) {
        found =
            version >= one.version ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        if (found == CU_GET_PROC_ADDRESS_SUCCESS)
          *function = one.function;
      }
    if (status)
      *status = found;
    return found == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  });
}

} // extern "C"
} // namespace tessera::cuda
