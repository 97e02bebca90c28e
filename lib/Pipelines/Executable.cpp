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
static Result<runtime::Manifest> readManifest(mlir::ModuleOp module, const CompileOptions &options) {
  mlir::Operation *global = module.lookupSymbol("tessera_manifest");
  auto text = global ? global->getAttrOfType<mlir::StringAttr>("value") : mlir::StringAttr();
  if (!text)
    return Failure{"cannot compile", options.model, "the program has no manifest",
                   "this is our mistake: report it"};
  Status status = runtime::Manifest::check(std::string_view(text.getValue()));
  if (status)
    return runtime::Manifest::parse(std::string_view(text.getValue()));
  Failure failure = status.takeFailure();
  return Failure{"cannot compile", options.model + ", " + failure.where, failure.why,
                 "change the program: docs/Step.md says what `generate` asks of one"};
}

static Status emitInto(std::vector<ScratchFile> &objects, mlir::ModuleOp module, const Target &target) {
  auto object = ScratchFile::create("tessera", "o");
  if (!object)
    return object.takeFailure();
  objects.push_back(object.take());
  return target.emitObject(module, objects.back().path());
}

/// Adds the objects of a program; returns what it says of itself.
static Result<runtime::Manifest> emitProgram(std::vector<ScratchFile> &objects, mlir::ModuleOp module,
                                             const CompileOptions &options, const Target &target) {
  // Programs of a pipeline's stages have objects of their own.
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> stages;
  for (auto stage : llvm::make_early_inc_range(module.getOps<mlir::ModuleOp>())) {
    stage->remove();
    stages.push_back(stage);
  }
  std::vector<mlir::ModuleOp> programs{module};
  for (auto &stage : stages)
    programs.push_back(*stage);
  std::optional<runtime::Manifest> whole; // of the first program
  for (mlir::ModuleOp program : programs) {
    Result<runtime::Manifest> manifest = readManifest(program, options);
    if (!manifest)
      return manifest.takeFailure();
    if (!whole)
      whole = manifest.take();
    if (Status s = emitInto(objects, program, target); !s)
      return s.takeFailure();
  }
  return std::move(*whole);
}

static Status linkObjects(const std::vector<ScratchFile> &objects, const CompileOptions &options,
                          const Target &target, const Installation &installation) {
  LinkOptions link;
  for (const ScratchFile &object : objects)
    link.objects.push_back(object.path());
  link.archives = {installation.runtimeArchive};
  if (const char *tools = std::getenv("TESSERA_LLVM_BIN")) {
    llvm::SmallString<128> linker(tools);
    llvm::sys::path::append(linker, "ld.lld");
    link.linker = std::string(linker);
  }
  return makeFile(options.output, [&](const std::string &temporary) -> Status {
    if (Status s = target.link(link, temporary); !s) {
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

static Status checkInstallation(const Installation &installation) {
  if (!llvm::sys::fs::exists(installation.runtimeArchive))
    return Failure{"cannot link", installation.runtimeArchive, "the runtime library is not there",
                   "build the target tessera_runtime"};
  return {};
}

Result<runtime::Manifest> makeExecutable(mlir::ModuleOp module, const CompileOptions &options,
                                         const Installation &installation,
                                         llvm::function_ref<Status(const std::string &object)> check) {
  Result<std::shared_ptr<const Target>> target = resolveTarget(options.target, options.targetOptions);
  if (!target)
    return target.takeFailure();
  if (Status s = checkInstallation(installation); !s)
    return s.takeFailure();
  std::vector<ScratchFile> objects;
  Result<runtime::Manifest> manifest = emitProgram(objects, module, options, **target);
  if (!manifest)
    return manifest;
  if (Status s = check(objects.front().path()); !s)
    return s.takeFailure();
  if (Status s = linkObjects(objects, options, **target, installation); !s)
    return s.takeFailure();
  return manifest;
}

Result<runtime::Manifest> makeExecutable(llvm::ArrayRef<VersionProgram> versions,
                                         const Installation &installation) {
  if (Status s = checkInstallation(installation); !s)
    return s.takeFailure();
  std::vector<ScratchFile> objects;
  std::shared_ptr<const Target> plainest;
  std::optional<runtime::Manifest> first;
  for (const VersionProgram &version : versions) {
    Result<std::shared_ptr<const Target>> target =
        resolveTarget(version.options.target, version.options.targetOptions);
    if (!target)
      return target.takeFailure();
    Result<runtime::Manifest> manifest = emitProgram(objects, *version.module, version.options, **target);
    if (!manifest)
      return manifest;
    if (!first) {
      first = manifest.take();
      plainest = target.take();
    }
  }
  Result<mlir::OwningOpRef<mlir::ModuleOp>> table =
      versionTable(*versions.front().module.get().getContext(), versions);
  if (!table)
    return table.takeFailure();
  if (Status s = emitInto(objects, **table, *plainest); !s)
    return s.takeFailure();
  if (Status s = linkObjects(objects, versions.front().options, *plainest, installation); !s)
    return s.takeFailure();
  return std::move(*first);
}

} // namespace tessera
