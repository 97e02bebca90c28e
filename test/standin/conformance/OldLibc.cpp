// The C++ library that is linked into these programs calls what only a newer C library has; they have to
// start on machines with an older one (test/gpu/check_glibc.py).
#include <cstdint>
#include <sys/random.h>

// For std::random_device; in glibc since 2.36.
extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() noexcept {
  uint32_t number = 0;
  while (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
  }
  return number;
}
