#include "CudaLibrary.h"
#include "tessera/runtime/core/DynamicLibrary.h"
#include "tessera/runtime/core/Error.h"

namespace tessera::runtime {

using namespace cuda;

std::string cudaVersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string CudaLibrary::describe(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (!cuGetErrorName || cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return "error " + std::to_string(result);
  std::string line = std::string(name) + " (" + std::to_string(result) + ")";
  if (cuGetErrorString && cuGetErrorString(result, &text) == CUDA_SUCCESS && text)
    line += std::string(": ") + text;
  return line;
}

// What to do about cuInit's answers.
static std::string initHint(CUresult result) {
  switch (result) {
  case CUDA_ERROR_STUB_LIBRARY:
    return "take the folder of stubs off LD_LIBRARY_PATH, so that the driver's own libcuda.so.1 is found";
  case CUDA_ERROR_NO_DEVICE:
    return "run it on a machine with an NVIDIA GPU (look at nvidia-smi and at CUDA_VISIBLE_DEVICES), or "
           "compile with --target=cpu";
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    return "the kernel's module and libcuda are of different versions: restart the machine, or install one "
           "version";
  default:
    return "look at nvidia-smi";
  }
}

CudaLibrary CudaLibrary::open() {
  LibraryRequest request;
  request.title = "the CUDA driver";
  request.names = {"libcuda.so.1"};
  request.variable = "TESSERA_LIBCUDA";
  request.hint = "install NVIDIA's driver, or compile with --target=cpu";
  DynamicLibrary library = openLibrary(request);

  CudaLibrary table;
  auto tooOld = [&](const std::string &why) {
    return Error("cannot use the CUDA driver", library.path, why,
                 "install a driver for CUDA " + cudaVersionText(kLeastVersion) + " or newer");
  };
  // Two functions answer in drivers of any age: they say what the driver is before more is asked of it.
  auto versionOf =
      reinterpret_cast<decltype(table.cuDriverGetVersion)>(library.symbol(request, "cuDriverGetVersion"));
  if (versionOf(&table.version) == CUDA_SUCCESS && table.version < kLeastVersion)
    throw tooOld("it is for CUDA " + cudaVersionText(table.version));
  table.cuGetProcAddress =
      reinterpret_cast<decltype(table.cuGetProcAddress)>(library.symbol(request, "cuGetProcAddress_v2"));

  auto find = [&](const char *name, int version) {
    void *function = nullptr;
    auto status = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result = table.cuGetProcAddress(name, &function, version, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    if (result != CUDA_SUCCESS || !function)
      throw tooOld(std::string("it lacks ") + name + " of CUDA " + cudaVersionText(version));
    return function;
  };
#define TESSERA_CUDA_LOAD(base, suffix, version, parameters)                                                 \
  table.base = reinterpret_cast<decltype(table.base)>(find(#base, version));
  TESSERA_CUDA_FUNCTIONS(TESSERA_CUDA_LOAD)
#undef TESSERA_CUDA_LOAD

  CUresult result = table.cuInit(0);
  if (result == CUDA_SUCCESS) {
    int count = 0;
    result = table.cuDeviceGetCount(&count);
    if (result == CUDA_SUCCESS && count == 0)
      result = CUDA_ERROR_NO_DEVICE;
  }
  if (result != CUDA_SUCCESS)
    throw Error("cannot use a GPU", library.path, table.describe(result), initHint(result));
  return table;
}

const CudaLibrary &CudaLibrary::get() {
  static const CudaLibrary table = open();
  return table;
}

CublasLtLibrary CublasLtLibrary::open(int driverVersion) {
  LibraryRequest request;
  request.title = "cuBLASLt";
  request.names = {"libcublasLt.so.12"};
  request.packageFolders = {"nvidia/cublas/lib"};
  request.hint = "install it: pip install nvidia-cublas-cu12";
  if (driverVersion >= 13000) {
    request.names.insert(request.names.begin(), "libcublasLt.so.13");
    request.packageFolders.insert(request.packageFolders.begin(), "nvidia/cu13/lib");
    request.hint = "install it: pip install nvidia-cublas";
  }
  request.variable = "TESSERA_CUBLASLT";
  DynamicLibrary library = openLibrary(request);
  CublasLtLibrary table;
  table.path = library.path;
#define TESSERA_CUBLASLT_LOAD(name, result, parameters)                                                      \
  table.name = reinterpret_cast<decltype(table.name)>(library.symbol(request, #name));
  TESSERA_CUBLASLT_FUNCTIONS(TESSERA_CUBLASLT_LOAD)
#undef TESSERA_CUBLASLT_LOAD
  return table;
}

const CublasLtLibrary &CublasLtLibrary::get(int driverVersion) {
  static const CublasLtLibrary table = open(driverVersion);
  return table;
}

} // namespace tessera::runtime
