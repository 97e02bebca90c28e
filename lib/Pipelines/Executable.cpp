//===- Executable.cpp - Object, linker, embedded weights ------------------===//
#include "Executable.h"
#include "OutputFiles.h"

#include "tessera/Support/ScratchFile.h"
#include "tessera/Target/Target.h"
#include "tessera/runtime/core/Manifest.h"
#include "tessera/runtime/io/Embed.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

namespace tessera {

/// What the runtime would refuse at start is refused here.
static Status checkManifest(mlir::ModuleOp module, const CompileOptions &options) {
  mlir::Operation *global = module.lookupSymbol("tessera_manifest");
  auto text = global ? global->getAttrOfType<mlir::StringAttr>("value") : mlir::StringAttr();
  if (!text)
    return Failure{"cannot compile", options.model, "the program has no manifest",
                   "this is our mistake: report it"};
  Status status = runtime::Manifest::check(std::string_view(text.getValue()));
  if (status)
    return {};
  Failure failure = status.takeFailure();
  return Failure{"cannot compile", options.model + ", " + failure.where, failure.why,
                 "change the program: docs/Step.md says what `generate` asks of one"};
}

Status makeExecutable(mlir::ModuleOp module, const CompileOptions &options, const Installation &installation,
                      llvm::function_ref<Status(const std::string &object)> check) {
  Result<std::shared_ptr<const Target>> target = resolveTarget(options.target, options.targetOptions);
  if (!target)
    return target.takeFailure();
  if (!llvm::sys::fs::exists(installation.runtimeArchive))
    return Failure{"cannot link", installation.runtimeArchive, "the runtime library is not there",
                   "build the target tessera_runtime"};

  if (Status s = checkManifest(module, options); !s)
    return s;
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
    if (Status s = (*target)->link(link, temporary); !s) {
      Failure failure = s.takeFailure();
      for (std::string *part : {&failure.what, &failure.where, &failure.why})
        if (size_t at = part->find(temporary); at != std::string::npos)
          part->replace(at, temporary.size(), options.output);
      return failure;
    }
    if (options.embedWeights)
      return io::embedModel(temporary, options.model);
    return {};
  });
}

} // namespace tessera
