// LLVM modules of kernels to PTX and cubins.
#ifndef TESSERA_LIB_TARGET_CUDA_DEVICECODE_H
#define TESSERA_LIB_TARGET_CUDA_DEVICECODE_H

#include "tessera/runtime/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// Optimizes `module` for a GPU of `chip` ("sm_80") and gives its PTX; the module is then what the code
/// generator was given.
Result<std::string> generatePTX(llvm::Module &module, llvm::StringRef chip);

/// What ptxas says of a kernel.
struct KernelResources {
  std::string name;
  int64_t registers = 0, stackBytes = 0, spilledBytes = 0, sharedBytes = 0;
  bool serialized = false; ///< "wgmma serialized", or what else ptxas warns of
};

/// The assembler of PTX. None if there is none: `TESSERA_PTXAS` names one (empty: none), else it stands
/// beside the program that runs, or on PATH.
std::optional<std::string> findPtxas();

struct Cubin {
  std::string bytes;
  std::vector<KernelResources> kernels;
};
/// Assembles `ptx` for `chip`.
Result<Cubin> assemble(const std::string &ptxas, llvm::StringRef ptx, llvm::StringRef chip);

/// Keeps `module` as DIR/HASH.bc where TESSERA_KERNEL_IR=DIR asks for it; HASH: SHA-256 of `image`.
Status keepKernelIR(const llvm::Module &module, llvm::StringRef image);

} // namespace tessera

#endif
