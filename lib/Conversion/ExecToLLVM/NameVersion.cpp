//===- NameVersion.cpp - symbols of one of a program's versions -------------===//

#include "ProgramTables.h"

#include "tessera/Conversion/Passes.h"

#include "mlir/IR/SymbolTable.h"

namespace tessera {
#define GEN_PASS_DEF_NAMEVERSION
#include "tessera/Conversion/Passes.h.inc"

using namespace mlir;

namespace {

struct NameVersion : impl::NameVersionBase<NameVersion> {
  using Base::Base;

  void runOnOperation() override {
    if (version.empty()) {
      getOperation().emitError() << "has no version to be named after";
      return signalPassFailure();
    }
    // Of a pipeline the modules of stages stand within, and name their programs as the whole does.
    SmallVector<ModuleOp> modules{getOperation()};
    llvm::append_range(modules, getOperation().getOps<ModuleOp>());
    for (ModuleOp module : modules)
      if (failed(rename(module)))
        return signalPassFailure();
  }

  LogicalResult rename(ModuleOp module) {
    for (auto global : llvm::to_vector(module.getOps<LLVM::GlobalOp>())) {
      if (global.getLinkage() != LLVM::Linkage::External)
        continue;
      auto name = StringAttr::get(&getContext(), global.getSymName() + "_" + version);
      if (failed(SymbolTable::replaceAllSymbolUses(global, name, module)))
        return global.emitOpError() << "is used where nobody can see which symbol is meant";
      global.setSymNameAttr(name);
    }
    // Other versions have functions of the same names; tables point to them.
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal())
        function.setLinkage(LLVM::Linkage::Internal);
    return success();
  }
};

} // namespace
} // namespace tessera
