//===- FilesApart.cpp -----------------------------------------------------===//
//
// A flag that names the wrong file must not cost anybody a schedule, a machine's figures or weights.
//
//===----------------------------------------------------------------------===//
#include "FilesApart.h"

#include "tessera/AutoParallel/Machine.h"
#include "tessera/runtime/io/KeptFiles.h"
#include "tessera/runtime/schedule/Generate.h"

#include "llvm/Support/Path.h"

namespace tessera {

std::string rungPath(const CompileOptions &options, Rung rung) {
  llvm::SmallString<128> path(options.dumpRungs);
  llvm::sys::path::append(path, rungName(rung) + ".mlir");
  return std::string(path);
}

Status checkFilesApart(const CompileOptions &options) {
  io::KeptFiles kept;
  kept.add("/proc/self/exe", "it is llm-compile itself, which would be lost");
  kept.addModel(options.model);
  // So is that of a machine.
  if (std::string why; !namedMachine(options.machine, why))
    kept.add(options.machine, "it is the file of --machine, which would be lost");
  // The name of a schedule is no file, though one may be called so.
  if (auto choice = schedule::parsePipelineChoice(options.pipeline); choice && !options.pipeline.empty())
    kept.add(choice->file, "it is the file of --pipeline, which would be lost");
  auto claim = [&](const std::string &flag, const std::string &shown, const std::string &path) -> Status {
    if (std::string why = kept.claim(path, flag); !why.empty())
      return Failure{"cannot compile", shown, why, "name another file"};
    return {};
  };
  if (Status s = claim("-o", "-o " + options.output, options.output); !s)
    return s;
  if (Status s = claim("--report", "--report=" + options.report, options.report); !s)
    return s;
  if (options.dumpRungs.empty())
    return {};
  for (int rung = 0; rung <= int(options.compileTo); ++rung) {
    const std::string path = rungPath(options, Rung(rung));
    if (Status s = claim("--dump-rungs", "--dump-rungs=" + options.dumpRungs + ": " + path, path); !s)
      return s;
  }
  return {};
}

} // namespace tessera
