#include "SharedSegment.h"
#include "tessera/runtime/core/Error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::runtime {

[[noreturn]] static void failed(const std::string &name, int code) {
  throw Error("cannot start", "/dev/shm" + name, strerror(code), "make room in /dev/shm");
}

SharedSegment::SharedSegment(size_t bytes) {
  unsigned random = 0;
  std::ifstream("/dev/urandom").read(reinterpret_cast<char *>(&random), sizeof(random));
  char text[64];
  snprintf(text, sizeof(text), "/tessera-%d-%08x", int(getpid()), random);
  name_ = text;
  int file = shm_open(text, O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0)
    failed(name_, errno);
  int code = 0;
  do
    code = posix_fallocate(file, 0, off_t(bytes));
  while (code == EINTR);
  close(file);
  if (code != 0) {
    shm_unlink(text);
    failed(name_, code);
  }
}

SharedSegment::~SharedSegment() { shm_unlink(name_.c_str()); }

void *SharedSegment::map(const std::string &name, size_t bytes) {
  int file = shm_open(name.c_str(), O_RDWR, 0600);
  void *memory = file < 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  int code = errno;
  if (file >= 0)
    close(file);
  if (memory == MAP_FAILED)
    failed(name, code);
  return memory;
}

} // namespace tessera::runtime
