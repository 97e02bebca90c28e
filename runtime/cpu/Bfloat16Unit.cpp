#include "Bfloat16Unit.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tessera::runtime {

Bfloat16Unit chooseBfloat16Unit(const Bfloat16Machine &machine) {
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  if (machine.amx && machine.archPrctl(requestPermission, tileData) == 0)
    return Bfloat16Unit::Amx;
  return machine.avx512 ? Bfloat16Unit::Avx512 : Bfloat16Unit::None;
}

static Bfloat16Machine thisMachine() {
#if defined(__x86_64__) && defined(__linux__)
  __builtin_cpu_init();
  return {bool(__builtin_cpu_supports("avx512bf16")), bool(__builtin_cpu_supports("amx-bf16")),
          [](long request, long argument) { return syscall(SYS_arch_prctl, request, argument); }};
#else
  return {false, false, nullptr};
#endif
}

Bfloat16Unit bfloat16Unit() {
  static const Bfloat16Unit unit = chooseBfloat16Unit(thisMachine());
  return unit;
}

const char *unitName(Bfloat16Unit unit) {
  return unit == Bfloat16Unit::Amx ? "AMX" : unit == Bfloat16Unit::Avx512 ? "AVX512_BF16" : "float32";
}

} // namespace tessera::runtime
