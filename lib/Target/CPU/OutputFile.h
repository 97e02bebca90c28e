// A file that appears whole or not at all.
#ifndef TESSERA_LIB_TARGET_CPU_OUTPUTFILE_H
#define TESSERA_LIB_TARGET_CPU_OUTPUTFILE_H

#include "tessera/Support/ScratchFile.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

#include <string>
#include <utility>

namespace tessera {

/// A temporary file beside `path`; what is executable is what the user asked for, and all else is of our own
/// in the system's temporary folder. Removed unless kept (also when the process is interrupted by a signal).
class OutputFile {
public:
  static llvm::Expected<OutputFile> create(llvm::StringRef path, bool executable = false) {
    namespace fs = llvm::sys::fs;
    unsigned mode = fs::all_read | fs::all_write | (executable ? unsigned(fs::all_exe) : 0u);
    llvm::Expected<fs::TempFile> temp = fs::TempFile::create(path + ".tmp-%%%%%%%%", mode);
    if (!temp)
      return failure(path.str(), llvm::errorToErrorCode(temp.takeError()), executable);
    return OutputFile(std::move(*temp), path.str(), executable);
  }
  OutputFile(OutputFile &&other) noexcept
      : temp(std::move(other.temp)), path(std::move(other.path)), executable(other.executable),
        done(std::exchange(other.done, true)) {}
  ~OutputFile() {
    if (!done)
      llvm::consumeError(temp.discard());
  }

  int descriptor() const { return temp.FD; }
  const std::string &temporaryPath() const { return temp.TmpName; }

  /// Renames the temporary to its final name.
  llvm::Error keep() {
    done = true;
    if (llvm::Error error = temp.keep(path))
      return failure(llvm::errorToErrorCode(std::move(error)));
    return llvm::Error::success();
  }

  /// What to try after `error`.
  std::string hint(std::error_code error) const { return hint(error, executable); }
  /// In one line, with what to try.
  llvm::Error failure(std::error_code error) const { return failure(path, error, executable); }

private:
  OutputFile(llvm::sys::fs::TempFile temp, std::string path, bool executable)
      : temp(std::move(temp)), path(std::move(path)), executable(executable) {}
  static std::string hint(std::error_code error, bool executable) {
    if (!executable)
      return scratchHint(error);
    if (isNoFolder(error))
      return "name a file in a folder that there is with -o";
    if (mayNotWrite(error))
      return "name a file in a folder that you may write to with -o";
    return "make room there, or name a file elsewhere with -o";
  }
  static llvm::Error failure(const std::string &path, std::error_code error, bool executable) {
    return llvm::createStringError("cannot write '" + path + "': " + error.message() + "; " +
                                   hint(error, executable));
  }

  llvm::sys::fs::TempFile temp;
  std::string path;
  bool executable;
  bool done = false;
};

} // namespace tessera

#endif
