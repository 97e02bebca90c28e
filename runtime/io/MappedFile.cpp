#include "tessera/runtime/io/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::io {

static const char *const cannotRead = "cannot read model";

static size_t pageSize() {
  static const size_t size = size_t(sysconf(_SC_PAGESIZE));
  return size;
}

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string &path, const std::string &name) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return Failure{cannotRead, path, std::strerror(errno), "check the path"};
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return Failure{cannotRead, path, "not a regular file", "give a Hugging Face directory or a .gguf file"};
  }
  size_t slash = path.rfind('/');
  return map(fd, 0, size_t(info.st_size), size_t(info.st_size), path,
             !name.empty() ? name : path.substr(slash == std::string::npos ? 0 : slash + 1));
}

Result<std::shared_ptr<MappedFile>> MappedFile::view(size_t offset, size_t size,
                                                     const std::string &name) const {
  if (offset > size_ || size > size_ - offset)
    return Failure{cannotRead, where_ + ", " + name, "the file ends before it does", "is the file whole?"};
  int fd = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (fd < 0)
    return Failure{cannotRead, where_, std::strerror(errno), "allow this process more open files"};
  return map(fd, offset_ + offset, size, fileSize_, where_ + ", " + name, name);
}

Result<std::shared_ptr<MappedFile>> MappedFile::map(int fd, size_t offset, size_t size, size_t fileSize,
                                                    std::string where, std::string name) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->fd_ = fd;
  file->offset_ = offset;
  file->fileSize_ = fileSize;
  file->size_ = size;
  file->where_ = std::move(where);
  file->name_ = std::move(name);
  if (size == 0)
    return file;
  size_t lead = offset % pageSize();
  file->mapped_ = size + lead;
  void *base = mmap(nullptr, file->mapped_, PROT_READ, MAP_PRIVATE, fd, off_t(offset - lead));
  if (base == MAP_FAILED) {
    const int code = errno;
    return Failure{cannotRead, file->where_, std::string("cannot map it: ") + std::strerror(code),
                   code == ENOMEM ? "allow this process more memory (ulimit -v)"
                                  : "copy the file to a local disk"};
  }
  file->base_ = base;
  file->data_ = static_cast<const uint8_t *>(base) + lead;
  file->lost_ =
      Failure{cannotRead, file->where_, "the file was cut short while it was read, or its disk failed",
              "run again when it is whole"}
          .message();
  file->noted_.note(base, file->mapped_, file->lost_.c_str());
  return file;
}

MappedFile::~MappedFile() {
  noted_.forget();
  if (base_)
    munmap(base_, mapped_);
  if (fd_ >= 0)
    ::close(fd_);
}

Status MappedFile::checkUnchanged() const {
  struct stat info;
  if (fstat(fd_, &info) == 0 && size_t(info.st_size) == fileSize_)
    return {};
  return Failure{cannotRead, where_, "the file changed while it was in use", "run again when it is written"};
}

void dropPages(const void *begin, size_t bytes) {
  if (bytes == 0)
    return;
  uintptr_t first = reinterpret_cast<uintptr_t>(begin) / pageSize() * pageSize();
  uintptr_t last = reinterpret_cast<uintptr_t>(begin) + bytes;
  // Outwards: neighbours on the first and last page come back from the page cache when they are touched.
  madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
}

} // namespace tessera::io
