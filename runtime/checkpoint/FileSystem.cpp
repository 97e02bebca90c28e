#include "tessera/runtime/checkpoint/FileSystem.h"

#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera::checkpoint {

namespace {
int orError(int result) { return result < 0 ? errno : 0; }

class RealFile final : public OutputHandle {
public:
  explicit RealFile(int fd) : fd_(fd) {}
  ~RealFile() override { ::close(fd_); }

  int allocate(uint64_t bytes) override {
    // Beforehand, so that a full disk is known before hours of writing. Not every file system can.
    if (bytes > 0 && fallocate(fd_, 0, 0, off_t(bytes)) != 0 && errno != EOPNOTSUPP)
      return errno;
    return orError(ftruncate(fd_, off_t(bytes)));
  }
  int writeAt(const void *data, size_t bytes, uint64_t offset) override {
    const char *from = static_cast<const char *>(data);
    while (bytes > 0) {
      ssize_t written = pwrite(fd_, from, bytes, off_t(offset));
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return written < 0 ? errno : EIO;
      from += written, bytes -= size_t(written), offset += uint64_t(written);
    }
    return 0;
  }
  int sync() override { return orError(fsync(fd_)); }

private:
  int fd_;
};

// Of the texts that are read whole: those beside the weights are 256 MiB together at most.
constexpr off_t kLongestText = off_t(256) << 20;

class RealFiles final : public FileSystem {
  static int opened(int fd, std::unique_ptr<OutputHandle> &handle) {
    if (fd < 0)
      return errno;
    handle = std::make_unique<RealFile>(fd);
    return 0;
  }

public:
  int makeFolder(const std::string &path) override { return orError(mkdir(path.c_str(), 0777)); }
  int create(const std::string &path, std::unique_ptr<OutputHandle> &handle) override {
    return opened(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), handle);
  }
  int openToWrite(const std::string &path, std::unique_ptr<OutputHandle> &handle) override {
    return opened(::open(path.c_str(), O_WRONLY | O_CLOEXEC), handle);
  }
  int rename(const std::string &from, const std::string &to) override {
    return orError(std::rename(from.c_str(), to.c_str()));
  }
  int exchange(const std::string &a, const std::string &b) override {
    constexpr unsigned exchangeNames = 2; // RENAME_EXCHANGE, of renameat2
    return orError(int(syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), exchangeNames)));
  }
  int remove(const std::string &path) override { return orError(std::remove(path.c_str())); }
  int syncFolder(const std::string &path) override {
    int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
      return errno;
    int result = orError(fsync(fd));
    ::close(fd);
    return result;
  }
  int list(const std::string &path, std::vector<std::string> &names) override {
    names.clear();
    DIR *folder = opendir(path.c_str());
    if (!folder)
      return errno;
    while (dirent *entry = readdir(folder))
      if (std::string name = entry->d_name; name != "." && name != "..")
        names.push_back(name);
    closedir(folder);
    return 0;
  }
  int read(const std::string &path, std::string &text) override {
    text.clear();
    // Of a pipe nobody says when it ends, or whether it begins.
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
      return errno;
    struct stat info;
    int problem = fstat(fd, &info) != 0         ? errno
                  : S_ISDIR(info.st_mode)       ? EISDIR
                  : !S_ISREG(info.st_mode)      ? EOPNOTSUPP
                  : info.st_size > kLongestText ? EFBIG
                                                : 0;
    if (problem) {
      ::close(fd);
      return problem;
    }
    char block[1 << 16];
    ssize_t bytes;
    while ((bytes = ::read(fd, block, sizeof block)) > 0 || (bytes < 0 && errno == EINTR))
      if (bytes > 0)
        text.append(block, size_t(bytes));
    int result = orError(int(bytes));
    ::close(fd);
    return result;
  }
};
} // namespace

FileSystem &realFiles() {
  static RealFiles files;
  return files;
}

} // namespace tessera::checkpoint
