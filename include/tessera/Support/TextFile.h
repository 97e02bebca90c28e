// Texts that a person names on the command line.
#ifndef TESSERA_SUPPORT_TEXTFILE_H
#define TESSERA_SUPPORT_TEXTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <string>

namespace tessera {

/// The text of a regular file of at most `most` bytes, ended by a zero; null, and `why`, for anything else: a
/// pipe or a device may never end, and a file without data may claim any size. Read, not mapped: somebody may
/// be writing it.
inline std::unique_ptr<llvm::MemoryBuffer> readTextFile(llvm::StringRef path, uint64_t most,
                                                        std::string &why) {
  namespace fs = llvm::sys::fs;
  fs::file_status status;
  if (!fs::status(path, status)) { // else it cannot be opened either, which says why
    if (status.type() == fs::file_type::directory_file)
      return why = "is a folder", nullptr;
    if (status.type() != fs::file_type::regular_file)
      return why = "is no regular file", nullptr;
    if (status.getSize() > most)
      return why = "has more than " + std::to_string(most) + " bytes", nullptr;
  }
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/true,
                                            /*IsVolatile=*/true);
  if (!buffer)
    return why = buffer.getError().message(), nullptr;
  return std::move(*buffer);
}

} // namespace tessera
#endif
