//===- ListVersions.cpp - the table of a program's versions -----------------===//

#include "ProgramTables.h"

#include "tessera/Conversion/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_LISTVERSIONS
#include "tessera/Conversion/Passes.h.inc"

using namespace mlir;

namespace {

struct ListVersions : impl::ListVersionsBase<ListVersions> {
  using Base::Base;

  void runOnOperation() override {
    if (versions.empty() || !getOperation().getBody()->empty()) {
      getOperation().emitError() << "must be empty, and there must be versions to list";
      return signalPassFailure();
    }
    emitVersionTable(getOperation(), llvm::to_vector_of<std::string>(versions));
  }
};

} // namespace
} // namespace tessera
