// A file of our own in the system's temporary folder.
#ifndef TESSERA_SUPPORT_SCRATCHFILE_H
#define TESSERA_SUPPORT_SCRATCHFILE_H

#include "tessera/runtime/Result.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"

#include <string>
#include <system_error>
#include <utility>

namespace tessera {

inline bool isNoFolder(std::error_code error) {
  return error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
}
inline bool mayNotWrite(std::error_code error) {
  return error == std::errc::permission_denied || error == std::errc::operation_not_permitted ||
         error == std::errc::read_only_file_system;
}

/// What to try where a file or folder of our own cannot be made in the system's temporary folder.
inline std::string scratchHint(std::error_code error) {
  if (isNoFolder(error))
    return "set TMPDIR to a folder that there is";
  if (mayNotWrite(error))
    return "set TMPDIR to a folder that you may write to";
  return "make room there, or set TMPDIR to a folder elsewhere";
}

/// Empty at first; gone with the object, and when a signal ends the process
/// (llvm::sys::RunInterruptHandlers).
class ScratchFile {
public:
  static Result<ScratchFile> create(const llvm::Twine &prefix, llvm::StringRef suffix) {
    namespace fs = llvm::sys::fs;
    llvm::SmallString<128> path;
    std::error_code error = std::make_error_code(std::errc::file_exists);
    for (int tries = 0; tries < 100 && error == std::errc::file_exists; ++tries) {
      fs::createUniquePath(prefix + "-%%%%%%%%." + suffix, path, /*MakeAbsolute=*/true);
      // Before it is there: a signal right behind would find nobody to remove it.
      llvm::sys::RemoveFileOnSignal(path);
      int descriptor = -1;
      error = fs::openFileForWrite(path, descriptor, fs::CD_CreateNew, fs::OF_None,
                                   fs::owner_read | fs::owner_write);
      if (error)
        llvm::sys::DontRemoveFileOnSignal(path);
      else
        llvm::sys::Process::SafelyCloseFileDescriptor(descriptor);
    }
    if (error)
      return Failure{"cannot write a temporary file", llvm::sys::path::parent_path(path).str(),
                     error.message(), scratchHint(error)};
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
