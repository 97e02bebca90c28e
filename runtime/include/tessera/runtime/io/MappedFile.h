// A read-only memory mapping of a file or of a byte range of one.
#ifndef TESSERA_RUNTIME_IO_MAPPEDFILE_H
#define TESSERA_RUNTIME_IO_MAPPEDFILE_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/io/LostPages.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tessera::io {

class MappedFile {
public:
  // Maps the whole regular file at `path`. Devices, pipes and directories are refused (and never block).
  // `name`: what name() says; empty: the last component of the path.
  static Result<std::shared_ptr<MappedFile>> open(const std::string &path, const std::string &name = {});
  // Maps bytes [offset, offset + size) of the same file, which must lie within this mapping.
  Result<std::shared_ptr<MappedFile>> view(size_t offset, size_t size, const std::string &name) const;
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const uint8_t *data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view text() const { return {reinterpret_cast<const char *>(data_), size_}; }
  const std::string &where() const { return where_; } // for messages: the path, and what part of it
  const std::string &name() const { return name_; }   // as open or view were given it

  // Fails if the file has another size than when it was opened. One that gets shorter later on is a signal:
  // its pages are noted (LostPages.h), so that the last line of the process names the file.
  Status checkUnchanged() const;

private:
  MappedFile() = default;
  static Result<std::shared_ptr<MappedFile>> map(int fd, size_t offset, size_t size, size_t fileSize,
                                                 std::string where, std::string name);
  int fd_ = -1;
  void *base_ = nullptr; // page-aligned start of the mapping
  size_t mapped_ = 0, offset_ = 0, fileSize_ = 0;
  const uint8_t *data_ = nullptr;
  size_t size_ = 0;
  std::string where_, name_, lost_;
  NotedMapping noted_;
};

// [begin, begin + bytes) rounded outwards to whole pages is dropped from the process (and read again when
// touched).
void dropPages(const void *begin, size_t bytes);

} // namespace tessera::io
#endif
