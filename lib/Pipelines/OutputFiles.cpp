//===- OutputFiles.cpp ----------------------------------------------------===//
#include "OutputFiles.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

namespace fs = llvm::sys::fs;

namespace tessera {

static Failure cannotWrite(llvm::StringRef path, const std::string &why, const char *hint = "") {
  return {"cannot write output", path.str(), why, hint};
}

Status checkOutput(llvm::StringRef path) {
  if (fs::is_directory(path))
    return cannotWrite(path, "is a folder", "name a file");
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (folder.empty())
    folder = ".";
  if (!fs::is_directory(folder))
    return cannotWrite(path, "there is no folder " + folder.str(), "make it first");
  if (std::error_code error = fs::access(folder, fs::AccessMode::Write))
    return cannotWrite(path, error.message());
  return {};
}

Status makeFile(llvm::StringRef path, llvm::function_ref<Status(const std::string &)> make) {
  if (Status s = checkOutput(path); !s)
    return s;
  llvm::SmallString<128> temporary;
  if (std::error_code error = fs::createUniqueFile(path + ".tmp-%%%%%%%%", temporary))
    return cannotWrite(path, error.message());
  llvm::FileRemover remover(temporary);
  llvm::sys::RemoveFileOnSignal(temporary);
  Status made = make(std::string(temporary));
  if (made) {
    if (std::error_code error = fs::rename(temporary, path))
      made = cannotWrite(path, error.message());
    else
      remover.releaseFile();
  }
  llvm::sys::DontRemoveFileOnSignal(temporary);
  return made;
}

Status writeText(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  if (path.empty()) {
    std::error_code error;
    llvm::raw_fd_ostream out("-", error);
    write(out);
    out.flush();
    error = out.error();
    out.clear_error(); // else its destructor aborts
    return error ? Status(cannotWrite("standard output", error.message())) : Status();
  }
  return makeFile(path, [&](const std::string &temporary) -> Status {
    std::error_code error;
    llvm::raw_fd_ostream out(temporary, error);
    if (!error) {
      write(out);
      out.close();
      error = out.error();
      out.clear_error();
    }
    return error ? Status(cannotWrite(path, error.message())) : Status();
  });
}

} // namespace tessera
