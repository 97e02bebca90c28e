// NCCL, opened when a program has more than one rank on GPUs: one with a single rank runs without it.
#ifndef TESSERA_RUNTIME_COMM_NCCL_NCCLLIBRARY_H
#define TESSERA_RUNTIME_COMM_NCCL_NCCLLIBRARY_H

#include "../../cuda/api/Nccl.h"

#include <string>

namespace tessera::runtime {

struct NcclLibrary : nccl::Functions {
  std::string path;

  // Opens libnccl.so.2 on the first call, wherever openLibrary looks (TESSERA_NCCL names it). Throws Error,
  // one line each, if it is missing, or older than kOldestNccl.
  static const NcclLibrary &get();
  // The same without the one table of the process: for tests.
  static NcclLibrary open();
  // What pip calls the NCCL that runs on a driver of this version (13000: for CUDA 13.0; 0: not known).
  static std::string packageFor(int driverVersion);

  // Throws Error unless `result` is success. `what`: "collective 3", `rank`: whose call it was.
  void expect(nccl::ncclResult_t result, const std::string &what, int64_t rank) const;
  // What NCCL says of it, and of the last thing that went wrong.
  std::string describe(nccl::ncclResult_t result) const;
};

// "2.18.1" from 21801.
std::string ncclVersionText(int version);

} // namespace tessera::runtime
#endif
