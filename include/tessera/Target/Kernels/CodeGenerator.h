// LLVM's back ends and optimizer, with the choices that hold for kernels on every target.
#ifndef TESSERA_TARGET_KERNELS_CODEGENERATOR_H
#define TESSERA_TARGET_KERNELS_CODEGENERATOR_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace tessera {

/// The code generator for position-independent code of `cpu`. Null where LLVM has none, with its `message`.
std::unique_ptr<llvm::TargetMachine> createCodeGenerator(llvm::StringRef triple, llvm::StringRef cpu,
                                                         llvm::StringRef features,
                                                         llvm::CodeGenOptLevel level, std::string &message);

/// Gives `module` the machine's triple and layout, and optimizes it. Kernels arrive vectorized: no loop is
/// made vectors of, loops are unrolled where that is asked for.
void optimizeCode(llvm::Module &module, llvm::TargetMachine &machine, bool unrollLoops);

} // namespace tessera

#endif
