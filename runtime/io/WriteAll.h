//===- WriteAll.h - Whole buffers to a file ---------------------*- C++ -*-===//
#ifndef TESSERA_RUNTIME_IO_WRITEALL_H
#define TESSERA_RUNTIME_IO_WRITEALL_H

#include <cerrno>
#include <cstddef>
#include <sys/types.h>

namespace tessera::io {

/// Hands `data` to `some(from, bytes)`, which writes like write(2), until all is written, over interruptions.
/// False: `errno` says why not.
template <typename Some> bool writeAll(const void *data, size_t bytes, Some some) {
  const char *from = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t written = some(from, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    from += written, bytes -= size_t(written);
  }
  return true;
}

} // namespace tessera::io
#endif
