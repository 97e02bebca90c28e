// What a module of device code holds: its kernels with their parameters, where its variables lie, and what of
// it the engine lacks.
#ifndef TESSERA_STANDIN_PLAN_H
#define TESSERA_STANDIN_PLAN_H

#include "Engine.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Module.h"

namespace standin {

struct VariablePlace {
  std::string name;
  uint64_t offset, bytes;
  bool constant;
};

struct Plan {
  struct KernelPlan {
    Kernel kernel;
    llvm::Function *function;
  };
  std::vector<KernelPlan> kernels;
  std::vector<VariablePlace> variables;
  std::vector<char> initial;                           // of all variables
  std::vector<std::pair<uint64_t, uint64_t>> pointers; // at the first offset stands the address of the second
  llvm::DenseMap<const llvm::GlobalVariable *, uint64_t>
      place; // in `initial`; shared variables: in shared memory
  llvm::DenseMap<const llvm::GlobalVariable *, uint64_t>
      sharedPlace; // static ones; the dynamic ones are not in it
};

// Where everything lies depends on the module alone, so two parses of one file agree.
tessera::Result<Plan> planModule(llvm::Module &module);

constexpr unsigned kSharedSpace = 3;

} // namespace standin
#endif
