// A file that appears whole or not at all.
#ifndef TESSERA_LIB_TARGET_CPU_OUTPUTFILE_H
#define TESSERA_LIB_TARGET_CPU_OUTPUTFILE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

#include <string>
#include <utility>

namespace tessera {

/// A temporary file beside `path`, removed unless kept (also when the process is interrupted by a signal).
class OutputFile {
public:
  static llvm::Expected<OutputFile> create(llvm::StringRef path, bool executable = false) {
    namespace fs = llvm::sys::fs;
    unsigned mode = fs::all_read | fs::all_write | (executable ? unsigned(fs::all_exe) : 0u);
    llvm::Expected<fs::TempFile> temp = fs::TempFile::create(path + ".tmp-%%%%%%%%", mode);
    if (!temp)
      return llvm::createStringError("cannot write '" + path.str() +
                                     "': " + llvm::toString(temp.takeError()));
    return OutputFile(std::move(*temp), path.str());
  }
  OutputFile(OutputFile &&other) noexcept
      : temp(std::move(other.temp)), path(std::move(other.path)), done(std::exchange(other.done, true)) {}
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
      return llvm::createStringError("cannot write '" + path + "': " + llvm::toString(std::move(error)));
    return llvm::Error::success();
  }

private:
  OutputFile(llvm::sys::fs::TempFile temp, std::string path) : temp(std::move(temp)), path(std::move(path)) {}

  llvm::sys::fs::TempFile temp;
  std::string path;
  bool done = false;
};

} // namespace tessera

#endif
