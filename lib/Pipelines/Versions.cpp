//===- Versions.cpp - Several versions of a program -------------------------===//
#include "Versions.h"

#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Pipelines/Phases.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tessera {

Status checkVersions(const CompileOptions &options) {
  const std::vector<TargetVersion> versions = targetVersions(options.target, options.targetOptions);
  if (versions.empty())
    return {};
  std::string single; // the flag that is about one program
  if (options.compileTo > Rung::Spmd && options.compileTo != Rung::Binary)
    single = "--compile-to=" + rungName(options.compileTo).str();
  else if (options.check)
    single = "--check";
  else if (!options.dumpRungs.empty())
    single = "--dump-rungs";
  if (single.empty())
    return {};
  auto names = llvm::map_range(versions, [](const TargetVersion &version) { return version.name; });
  std::string flags;
  for (const auto &[name, value] : options.targetOptions)
    flags += (flags.empty() ? "--" : " --") + name + "=" + value;
  return Failure{"cannot compile", flags, "it asks for several programs, and " + single + " looks at one",
                 "name one of " + llvm::join(names, ", ")};
}

Result<std::vector<VersionProgram>>
lowerVersions(ModuleOp spmd, const CompileOptions &options, const std::vector<TargetVersion> &versions,
              llvm::function_ref<void(const std::string &version)> begin) {
  std::vector<VersionProgram> programs;
  for (const TargetVersion &version : versions) {
    begin(version.name);
    VersionProgram program{version.name, options, OwningOpRef<ModuleOp>(spmd.clone())};
    program.options.targetOptions = version.options;
    program.options.version = version.name;
    DiagnosticCollector diagnostics(*spmd.getContext(), options.explain ? &llvm::errs() : nullptr);
    PassManager pm(spmd.getContext());
    buildPhases(pm, Rung::Kernels, Rung::Binary, program.options);
    if (failed(pm.run(*program.module)))
      return diagnostics.failure("cannot compile for " + version.name, options.model);
    programs.push_back(std::move(program));
  }
  return programs;
}

Result<OwningOpRef<ModuleOp>> versionTable(MLIRContext &context, llvm::ArrayRef<VersionProgram> versions) {
  OwningOpRef<ModuleOp> table = ModuleOp::create(UnknownLoc::get(&context));
  std::vector<std::string> names;
  for (const VersionProgram &version : versions)
    names.push_back(version.name);
  DiagnosticCollector diagnostics(context, nullptr);
  PassManager pm(&context);
  buildVersionTable(pm, names);
  if (failed(pm.run(*table)))
    return diagnostics.failure("cannot list versions", versions.front().options.model);
  return table;
}

} // namespace tessera
