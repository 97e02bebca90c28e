//===- Compile.h - From a model to an executable ----------------*- C++ -*-===//
#ifndef TESSERA_PIPELINES_COMPILE_H
#define TESSERA_PIPELINES_COMPILE_H

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace tessera {

/// Where the compiler finds what it links with.
struct Installation {
  std::string runtimeArchive; ///< libtessera_runtime.a
};
/// `../lib/libtessera_runtime.a` seen from the executable, else the one of the build tree.
Installation findInstallation(const std::string &executable);

/// Looks at a program on its way down and at its object, before an executable appears.
class ExecutableCheck {
public:
  virtual ~ExecutableCheck() = default;
  virtual void onStep(mlir::ModuleOp module) = 0;
  virtual void onSpmd(mlir::ModuleOp module) = 0;
  /// The line that the user is told, or why there must be no executable.
  virtual Result<std::string> check(const std::string &object, const CompileOptions &options) = 0;
};

/// Compiles `options.model` up to `options.compileTo`. Output files appear whole or not at all. Remarks go to
/// standard error, progress too if that is a terminal. `makeCheck` is asked for one if `options.check` says
/// so; it goes before the modules it has seen.
Status compile(const CompileOptions &options, const Installation &installation,
               llvm::function_ref<std::unique_ptr<ExecutableCheck>()> makeCheck);

/// Writes to standard output. A full disk is a failure like any other.
Status printText(llvm::StringRef text);

} // namespace tessera
#endif
