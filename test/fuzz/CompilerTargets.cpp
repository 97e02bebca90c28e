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

std::optional<CompileOptions> optionsOf(const std::vector<std::string> &words) {
  std::vector<const char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(word.c_str());
  Result<CompileOptions> options = parseCompileOptions(arguments);
  if (!options) {
    expectOneLine(options.failure());
    return std::nullopt;
  }
  return options.take();
}

} // namespace tessera::fuzz
