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

/// `path` without links, if it is there: a rename must replace the file, never a link to it (/dev/stdout is
/// one).
static llvm::SmallString<128> resolved(llvm::StringRef path) {
  llvm::SmallString<128> real;
  return fs::real_path(path, real) ? llvm::SmallString<128>(path) : real;
}

/// A device or a pipe: is written to, never replaced.
static bool isSpecial(llvm::StringRef path) { return fs::exists(path) && !fs::is_regular_file(path); }

Status checkOutput(llvm::StringRef path) {
  if (fs::is_directory(path))
    return cannotWrite(path, "is a folder", "name a file");
  if (isSpecial(path))
    return {};
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (folder.empty())
    folder = ".";
  if (!fs::is_directory(folder))
    return cannotWrite(path, "there is no folder " + folder.str(), "make it first");
  if (std::error_code error = fs::access(folder, fs::AccessMode::Write))
    return cannotWrite(path, error.message(), "name a file in a folder that you may write to");
  return {};
}

Status makeFile(llvm::StringRef given, llvm::function_ref<Status(const std::string &)> make) {
  if (Status s = checkOutput(given); !s)
    return s;
  llvm::SmallString<128> path = resolved(given);
  if (isSpecial(path))
    return cannotWrite(path, "is not a regular file", "name a file");
  llvm::SmallString<128> temporary;
  if (std::error_code error = fs::createUniqueFile(llvm::Twine(path) + ".tmp-%%%%%%%%", temporary))
    return cannotWrite(path, error.message(), "name a file in a folder that you may write to");
  llvm::FileRemover remover(temporary);
  llvm::sys::RemoveFileOnSignal(temporary);
  Status made = make(std::string(temporary));
  if (made) {
    if (std::error_code error = fs::rename(temporary, path))
      made = cannotWrite(path, error.message(), "name another file");
    else
      remover.releaseFile();
  }
  llvm::sys::DontRemoveFileOnSignal(temporary);
  return made;
}

static Status writeTo(llvm::StringRef file, llvm::StringRef name,
                      llvm::function_ref<void(llvm::raw_ostream &)> write) {
  std::error_code error;
  llvm::raw_fd_ostream out(file, error);
  if (!error) {
    write(out);
    out.flush();
    error = out.error();
    out.clear_error(); // else its destructor aborts
  }
  return error ? Status(cannotWrite(name, error.message(), "make room there, or write elsewhere")) : Status();
}

Status writeText(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  if (path.empty())
    return writeTo("-", "standard output", write);
  if (isSpecial(path))
    return writeTo(path, path, write);
  return makeFile(path, [&](const std::string &temporary) { return writeTo(temporary, path, write); });
}

} // namespace tessera
