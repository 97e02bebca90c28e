//===- Compile.h - From a model to an executable ----------------*- C++ -*-===//
#ifndef TESSERA_PIPELINES_COMPILE_H
#define TESSERA_PIPELINES_COMPILE_H

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace tessera {

/// Where the compiler finds what it links with.
struct Installation {
  std::string runtimeArchive; ///< libtessera_runtime.a
};
/// `../lib/libtessera_runtime.a` seen from the executable, else the one of the build tree.
Installation findInstallation(const std::string &executable);

/// Compiles `options.model` up to `options.compileTo`. Output files appear whole or not at all. Remarks go to
/// standard error, progress too if that is a terminal.
/// `onSpmd` may change rung spmd, for tests of what --check finds.
Status compile(const CompileOptions &options, const Installation &installation,
               std::function<void(mlir::ModuleOp)> onSpmd = {});

} // namespace tessera
#endif
