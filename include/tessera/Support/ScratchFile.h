// A file of our own in the system's temporary folder.
#ifndef TESSERA_SUPPORT_SCRATCHFILE_H
#define TESSERA_SUPPORT_SCRATCHFILE_H

#include "tessera/runtime/Result.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"

#include <string>
#include <utility>

namespace tessera {

/// Empty at first; gone with the object, and when a signal ends the process
/// (llvm::sys::RunInterruptHandlers).
class ScratchFile {
public:
  static Result<ScratchFile> create(const llvm::Twine &prefix, llvm::StringRef suffix) {
    llvm::SmallString<128> path;
    if (std::error_code error = llvm::sys::fs::createTemporaryFile(prefix, suffix, path))
      return Failure{"cannot write a temporary file", "", error.message(), "make room in TMPDIR"};
    llvm::sys::RemoveFileOnSignal(path);
    return ScratchFile(std::string(path));
  }
  ScratchFile(ScratchFile &&other) noexcept : name(std::exchange(other.name, {})) {}
  ScratchFile &operator=(ScratchFile &&other) noexcept {
    std::swap(name, other.name);
    return *this;
  }
  ~ScratchFile() {
    if (name.empty())
      return;
    (void)llvm::sys::fs::remove(name);
    llvm::sys::DontRemoveFileOnSignal(name);
  }
  const std::string &path() const { return name; }

private:
  explicit ScratchFile(std::string name) : name(std::move(name)) {}
  std::string name;
};

} // namespace tessera
#endif
