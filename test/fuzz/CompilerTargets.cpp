// Targets of the compiler, and the context they work in.
#include "Targets.h"

#include "tessera/Pipelines/Register.h"

#include "mlir/IR/DialectRegistry.h"

namespace tessera::fuzz {

const std::vector<Target> &targets() {
  static const std::vector<Target> all = {
      {"import", runImport},
      {"import-gguf", runImportGguf},
      {"program", runProgram},
      {"compile-flags", runCompileFlags},
  };
  return all;
}

mlir::MLIRContext &contextOfTarget() {
  static const mlir::DialectRegistry registry = [] {
    mlir::DialectRegistry all;
    registerDialects(all);
    return all;
  }();
  static std::unique_ptr<mlir::MLIRContext> context;
  static int uses = 0;
  if (uses++ % 200 == 0) {
    context.reset();
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  }
  return *context;
}

} // namespace tessera::fuzz
