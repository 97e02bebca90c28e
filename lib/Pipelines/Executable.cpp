//===- Executable.cpp - Object, linker, embedded weights ------------------===//
#include "Executable.h"
#include "OutputFiles.h"

#include "tessera/Target/CPU/Linker.h"
#include "tessera/Target/CPU/ObjectEmitter.h"
#include "tessera/runtime/io/Embed.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

namespace tessera {

/// Errors of the target are one line already: `WHAT (WHERE): WHY`.
static Failure asFailure(llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  auto [what, why] = llvm::StringRef(text).split(": ");
  return why.empty() ? Failure{"cannot make executable", "", text, ""}
                     : Failure{what.str(), "", why.str(), ""};
}

Status makeExecutable(mlir::ModuleOp module, const CompileOptions &options,
                      const Installation &installation) {
  llvm::Expected<CPUTarget> target = resolveCPUTarget(options.cpu);
  if (!target)
    return asFailure(target.takeError());
  if (!llvm::sys::fs::exists(installation.runtimeArchive))
    return Failure{"cannot link", installation.runtimeArchive, "the runtime library is not there",
                   "build the target tessera_runtime"};

  llvm::SmallString<128> object;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("tessera", "o", object))
    return Failure{"cannot write object", "", error.message(), "make room in TMPDIR"};
  llvm::FileRemover objectRemover(object);
  if (llvm::Error error = emitObject(module, *target, object))
    return asFailure(std::move(error));

  LinkOptions link;
  link.objects = {std::string(object)};
  link.archives = {installation.runtimeArchive};
  if (const char *tools = std::getenv("TESSERA_LLVM_BIN")) {
    llvm::SmallString<128> linker(tools);
    llvm::sys::path::append(linker, "ld.lld");
    link.linker = std::string(linker);
  }
  return makeFile(options.output, [&](const std::string &temporary) -> Status {
    if (llvm::Error error = linkExecutable(link, temporary))
      return asFailure(std::move(error));
    if (options.embedWeights)
      return io::embedModel(temporary, options.model);
    return {};
  });
}

} // namespace tessera
