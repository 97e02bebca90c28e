#include "NcclLibrary.h"
#include "../../cuda/api/NativeStream.h"
#include "tessera/runtime/core/DynamicLibrary.h"
#include "tessera/runtime/core/Error.h"

#include <cstdlib>

namespace tessera::runtime {

using namespace nccl;

std::string ncclVersionText(int version) {
  // Releases before 2.9 count in another way.
  int major = version < 10000 ? version / 1000 : version / 10000;
  int minor = version < 10000 ? version % 1000 / 100 : version % 10000 / 100;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(version % 100);
}

// Of the driver of this machine; 0 where none can be opened. Ranks ask before their devices are.
static int driverVersion() try {
  LibraryRequest request;
  request.title = "the CUDA driver";
  request.names = {"libcuda.so.1"};
  request.variable = "TESSERA_LIBCUDA";
  auto ask = reinterpret_cast<decltype(cuda::Functions::cuDriverGetVersion)>(
      openLibrary(request).symbol(request, "cuDriverGetVersion"));
  int version = 0;
  return ask(&version) == cuda::CUDA_SUCCESS ? version : 0;
} catch (const Error &) {
  return 0;
}

std::string NcclLibrary::packageFor(int driverVersion) {
  if (driverVersion == 0)
    return "nvidia-nccl-cu13 (on a driver for CUDA 12: nvidia-nccl-cu12)";
  return driverVersion >= 13000 ? "nvidia-nccl-cu13" : "nvidia-nccl-cu12";
}

NcclLibrary NcclLibrary::open() {
  LibraryRequest request;
  request.title = "NCCL";
  request.names = {"libnccl.so.2"};
  request.variable = "TESSERA_NCCL";
  request.packageFolders = {"nvidia/nccl/lib"};
  const std::string package = packageFor(driverVersion());
  request.hint = "install it: pip install " + package + ", or compile for one rank";
  DynamicLibrary library = openLibrary(request);
  NcclLibrary table;
  table.path = library.path;
  // Its age first: it says more than the name of a function that it lacks.
  auto versionOf =
      reinterpret_cast<decltype(table.ncclGetVersion)>(library.symbol(request, "ncclGetVersion"));
  int version = 0;
  if (versionOf(&version) == ncclSuccess && version < kOldestNccl)
    throw Error("cannot use NCCL", table.path,
                "it is version " + ncclVersionText(version) + ", which cannot split communicators",
                "install " + ncclVersionText(kOldestNccl) + " or newer: pip install " + package +
                    "; TESSERA_NCCL names the file");
#define TESSERA_NCCL_LOAD(name, result, parameters)                                                          \
  table.name = reinterpret_cast<decltype(table.name)>(library.symbol(request, #name));
  TESSERA_NCCL_FUNCTIONS(TESSERA_NCCL_LOAD)
#undef TESSERA_NCCL_LOAD
  return table;
}

const NcclLibrary &NcclLibrary::get() {
  static const NcclLibrary table = open();
  return table;
}

std::string NcclLibrary::describe(ncclResult_t result) const {
  std::string text = "NCCL says: " + std::string(ncclGetErrorString(result));
  const char *last = ncclGetLastError(nullptr);
  if (!last || !*last)
    return text;
  std::string detail(last);
  for (char &c : detail) // one line
    if (c == '\n')
      c = ' ';
  return text + " (" + detail + ")";
}

void NcclLibrary::expect(ncclResult_t result, const std::string &what, int64_t rank) const {
  if (result == ncclSuccess)
    return;
  // NCCL takes no two ranks on one GPU, and does not know why they are there.
  const char *named = getenv("TESSERA_CUDA_DEVICE");
  bool mayShare = result == ncclInvalidUsage && named && *named;
  throw Error("cannot communicate", what + " of rank " + std::to_string(rank), describe(result),
              std::string(mayShare ? "unset TESSERA_CUDA_DEVICE, or start each rank as a process with an "
                                     "NCCL_HOSTID of its own; "
                                   : "") +
                  "NCCL_DEBUG=INFO shows what NCCL does");
}

} // namespace tessera::runtime
