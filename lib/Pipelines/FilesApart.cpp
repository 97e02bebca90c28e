//===- FilesApart.cpp -----------------------------------------------------===//
//
// A flag that names the wrong file must not cost anybody a schedule, a machine's figures or weights.
//
//===----------------------------------------------------------------------===//
#include "FilesApart.h"

#include "tessera/runtime/io/ModelFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using llvm::StringRef;

namespace tessera {

static Failure lost(const std::string &flag, const std::string &file, const std::string &why) {
  return {"cannot compile", flag + file, why + ", which would be lost", "name another file"};
}

static Status checkApart(const std::string &flag, const std::string &written, const std::string &shown,
                         const CompileOptions &options) {
  if (written.empty() || !llvm::sys::fs::exists(written))
    return {};
  if (io::isFileOfModel(written, options.model))
    return lost(flag, shown, "is a file of the model");
  if (!options.pipeline.empty() && llvm::sys::fs::equivalent(written, options.pipeline))
    return lost(flag, shown, "is the file of --pipeline");
  if (!options.machine.empty() && llvm::sys::fs::equivalent(written, options.machine))
    return lost(flag, shown, "is the file of --machine");
  return {};
}

Status checkFilesApart(const CompileOptions &options) {
  if (Status s = checkApart("-o ", options.output, options.output, options); !s)
    return s;
  if (Status s = checkApart("--report=", options.report, options.report, options); !s)
    return s;
  const bool isOne = !options.report.empty() && (options.report == options.output ||
                                                 llvm::sys::fs::equivalent(options.report, options.output));
  if (isOne)
    return Failure{"cannot compile", "--report=" + options.report, "is the output, too", "name another file"};
  if (options.dumpRungs.empty())
    return {};
  for (int rung = 0; rung <= int(Rung::Binary); ++rung) {
    llvm::SmallString<128> path(options.dumpRungs);
    llvm::sys::path::append(path, rungName(Rung(rung)) + ".mlir");
    std::string written = path.str().str();
    if (Status s = checkApart("--dump-rungs=" + options.dumpRungs + ": ", written, written, options); !s)
      return s;
  }
  return {};
}

} // namespace tessera
