#include "tessera/runtime/io/OutputFile.h"

#include "WriteAll.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::io {

OutputFile::~OutputFile() {
  if (fd_ >= 0)
    ::close(fd_);
  if (!temporary_.empty())
    unlink(temporary_.c_str());
}

Status OutputFile::open() {
  struct stat info;
  bool exists = stat(path_.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    return fd_ < 0 ? Status(failure()) : Status();
  }
  if (exists && access(path_.c_str(), W_OK) != 0)
    return failure();
  target_ = path_;
  if (char *real = exists ? realpath(path_.c_str(), nullptr) : nullptr) { // of a link the file that it means
    target_ = real;
    free(real);
  }
  // Without a name where the file system can: then nothing stays if this process is killed.
  size_t slash = target_.rfind('/');
  std::string folder = slash == std::string::npos ? "." : target_.substr(0, slash + 1);
  fd_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  unnamed_ = fd_ >= 0;
  if (!unnamed_ && !inTemporaryName([&](const char *name) {
        return (fd_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) >= 0;
      }))
    return failure();
  if (exists && fchmod(fd_, info.st_mode & 07777) != 0)
    return failure();
  return {};
}

Status OutputFile::write(const void *data, size_t bytes) {
  if (!writeAll(data, bytes, [&](const char *from, size_t left) { return ::write(fd_, from, left); }))
    return failure();
  return {};
}

Status OutputFile::rewind() {
  if (lseek(fd_, 0, SEEK_SET) != 0)
    return failure();
  return {};
}

Status OutputFile::finish() {
  std::string self = "/proc/self/fd/" + std::to_string(fd_);
  if (unnamed_ && !inTemporaryName([&](const char *name) {
        return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
      }))
    return failure();
  if (::close(std::exchange(fd_, -1)) != 0)
    return failure();
  if (!temporary_.empty() && rename(temporary_.c_str(), target_.c_str()) != 0)
    return failure();
  temporary_.clear();
  return {};
}

// Has `make` make the file under a name that nobody has, beside the target so that it can take its place.
template <typename Make> bool OutputFile::inTemporaryName(Make make) {
  static std::atomic<unsigned> number{0};
  for (int turn = 0; turn < 100; ++turn) {
    std::string name = target_ + ".part-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    if (make(name.c_str())) {
      temporary_ = name;
      return true;
    }
    if (errno != EEXIST)
      break;
  }
  return false;
}

Failure OutputFile::failure() const {
  int code = errno;
  return {what_, path_, std::strerror(code), code == ENOSPC ? "free some space" : "check the path"};
}

} // namespace tessera::io
