//===- Executable.cpp - Object, linker, embedded weights ------------------===//
#include "Executable.h"
#include "OutputFiles.h"

#include "tessera/Support/ScratchFile.h"
#include "tessera/Target/Target.h"
#include "tessera/runtime/io/Embed.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

namespace tessera {

Status makeExecutable(mlir::ModuleOp module, const CompileOptions &options, const Installation &installation,
                      llvm::function_ref<Status(const std::string &object)> check) {
  Result<std::shared_ptr<const Target>> target = resolveTarget(options.target, options.targetOptions);
  if (!target)
    return target.takeFailure();
  if (!llvm::sys::fs::exists(installation.runtimeArchive))
    return Failure{"cannot link", installation.runtimeArchive, "the runtime library is not there",
                   "build the target tessera_runtime"};

  auto object = ScratchFile::create("tessera", "o");
  if (!object)
    return object.takeFailure();
  if (Status s = (*target)->emitObject(module, object->path()); !s)
    return s;
  if (Status s = check(object->path()); !s)
    return s;

  LinkOptions link;
  link.objects = {object->path()};
  link.archives = {installation.runtimeArchive};
  if (const char *tools = std::getenv("TESSERA_LLVM_BIN")) {
    llvm::SmallString<128> linker(tools);
    llvm::sys::path::append(linker, "ld.lld");
    link.linker = std::string(linker);
  }
  return makeFile(options.output, [&](const std::string &temporary) -> Status {
    if (Status s = (*target)->link(link, temporary); !s)
      return s;
    if (options.embedWeights)
      return io::embedModel(temporary, options.model);
    return {};
  });
}

} // namespace tessera
