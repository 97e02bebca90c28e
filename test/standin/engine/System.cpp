// Timers, traps, printing; and the list of everything that generated code may call.
#include "Functions.h"
#include "Numbers.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <x86intrin.h>

namespace standin {

extern "C" {
uint64_t standin_clock(Thread *) { return __rdtsc(); }
uint64_t standin_globaltimer(Thread *) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
uint32_t standin_smid(Thread *thread) { return thread->owner()->linear % 132; }

void standin_trap(Thread *thread, uint32_t site) {
  fail(*thread, Finding::Kind::Trap,
       "the kernel stops itself (" + whereIs(*thread) + "): " + textOf(*thread->owner(), site));
}

void standin_assertfail(Thread *thread, const char *condition, const char *file, uint32_t line,
                        const char *function, uint64_t) {
  fail(*thread, Finding::Kind::Trap,
       "assertion failed (" + whereIs(*thread) + "): " + condition + " at " + file + ":" +
           std::to_string(line) + " in " + function);
}

void standin_exit(Thread *thread) { endThread(*thread); }

uint32_t standin_prmt(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = a | uint64_t(b) << 32;
  uint32_t made = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t choice = selector >> (4 * i) & 15;
    uint32_t byte = bytes >> (choice % 8 * 8) & 255;
    if (choice >= 8) // the sign of the byte, eight times
      byte = byte >> 7 ? 255 : 0;
    made |= byte << (8 * i);
  }
  return made;
}

// The arguments lie one behind the other, each aligned like itself, as NVPTX lays out those of a variadic
// call.
uint32_t standin_printf(Thread *, const char *format, const char *arguments) {
  size_t offset = 0;
  uint32_t printed = 0;
  auto take = [&](auto value) {
    offset = (offset + sizeof(value) - 1) / sizeof(value) * sizeof(value);
    std::memcpy(&value, arguments + offset, sizeof(value));
    offset += sizeof(value);
    return value;
  };
  for (const char *at = format; *at;) {
    if (*at != '%' || at[1] == '%') {
      std::fputc(*at, stdout);
      at += *at == '%' ? 2 : 1;
      continue;
    }
    size_t length = 1 + std::strspn(at + 1, "-+ #0123456789.");
    bool wide = std::memchr("lzjt", at[length], 4) != nullptr && at[length];
    size_t type = length + std::strspn(at + length, "hlzjt");
    std::string one(at, type + (at[type] != 0));
    at += one.size();
    switch (one.back()) {
    case 's':
      std::printf(one.c_str(), take(static_cast<const char *>(nullptr)));
      break;
    case 'p':
      std::printf(one.c_str(), take(static_cast<void *>(nullptr)));
      break;
    case 'e':
    case 'f':
    case 'g':
    case 'a':
    case 'E':
    case 'F':
    case 'G':
      std::printf(one.c_str(), take(0.0));
      break;
    default:
      if (wide)
        std::printf(one.c_str(), take(0ll));
      else
        std::printf(one.c_str(), take(0));
    }
    ++printed;
  }
  std::fflush(stdout);
  return printed;
}
}

// What the host's back end calls for narrow types: they travel in the lower bits of a vector register, like a
// float.
static float bfloatOfFloat(float value) { return fromBits(floatToBFloat(value)); }
static float bfloatOfDouble(double value) { return fromBits(floatToBFloat(float(value))); }
static float halfOfFloat(float value) { return fromBits(floatToHalf(value)); }
static float halfOfDouble(double value) { return fromBits(floatToHalf(float(value))); }
static float floatOfHalf(float half) { return halfToFloat(uint16_t(toBits(half))); }

// Of the compiler's own library.
extern "C" {
float __powisf2(float, int);
double __powidf2(double, int);
__int128 __divti3(__int128, __int128);
__int128 __modti3(__int128, __int128);
unsigned __int128 __udivti3(unsigned __int128, unsigned __int128);
unsigned __int128 __umodti3(unsigned __int128, unsigned __int128);
float __floattisf(__int128);
double __floattidf(__int128);
float __floatuntisf(unsigned __int128);
double __floatuntidf(unsigned __int128);
}

using Functions = std::vector<EngineFunction>;

#define F(name) {#name, reinterpret_cast<void *>(&name)}
// Of functions that C++ overloads: the C one.
#define M(name, ...) {#name, reinterpret_cast<void *>(static_cast<__VA_ARGS__>(&::name))}

// What retargeted kernels call for what a GPU does.
static Functions ofTheEngine() {
  return {
      F(standin_access),        F(standin_access_bytes),
      F(standin_turn),          F(standin_barrier),
      F(standin_warp_sync),     F(standin_shuffle),
      F(standin_vote),          F(standin_match),
      F(standin_reduce),        F(standin_elect),
      F(standin_cp_async),      F(standin_cp_async_commit),
      F(standin_cp_async_wait), F(standin_cp_async_wait_all),
      F(standin_track),         F(standin_track_bytes),
      F(standin_fence),         F(standin_clock),
      F(standin_globaltimer),   F(standin_smid),
      F(standin_exit),          F(standin_trap),
      F(standin_printf),        F(standin_assertfail),
      F(standin_is_shared),     F(standin_is_local),
      F(standin_ldmatrix),      F(standin_stmatrix),
      F(standin_mma),           F(standin_wgmma),
      F(standin_wgmma_fence),   F(standin_wgmma_commit),
      F(standin_wgmma_wait),    F(standin_registers),
      F(standin_proxy_fence),   F(standin_prmt),
  };
}

// What the host's back end calls: for narrow types and memory, and for what no instruction does.
static Functions ofTheBackEnd() {
  return {
      {"__truncsfbf2", reinterpret_cast<void *>(&bfloatOfFloat)},
      {"__truncdfbf2", reinterpret_cast<void *>(&bfloatOfDouble)},
      {"__truncsfhf2", reinterpret_cast<void *>(&halfOfFloat)},
      {"__truncdfhf2", reinterpret_cast<void *>(&halfOfDouble)},
      {"__extendhfsf2", reinterpret_cast<void *>(&floatOfHalf)},
      F(__powisf2),
      F(__powidf2),
      F(__divti3),
      F(__modti3),
      F(__udivti3),
      F(__umodti3),
      F(__floattisf),
      F(__floattidf),
      F(__floatuntisf),
      F(__floatuntidf),
      M(memcpy, void *(*)(void *, const void *, size_t)),
      M(memmove, void *(*)(void *, const void *, size_t)),
      M(memset, void *(*)(void *, int, size_t)),
  };
}

static Functions ofMathematics() {
  using F1 = float (*)(float);
  using D1 = double (*)(double);
  using F2 = float (*)(float, float);
  using D2 = double (*)(double, double);
  return {
      M(exp2f, F1),
      M(exp2, D1),
      M(expf, F1),
      M(exp, D1),
      M(logf, F1),
      M(log, D1),
      M(log2f, F1),
      M(log2, D1),
      M(sinf, F1),
      M(sin, D1),
      M(cosf, F1),
      M(cos, D1),
      M(tanhf, F1),
      M(tanh, D1),
      M(powf, F2),
      M(pow, D2),
      M(fmodf, F2),
      M(fmod, D2),
      M(floorf, F1),
      M(floor, D1),
      M(ceilf, F1),
      M(ceil, D1),
      M(truncf, F1),
      M(trunc, D1),
      M(roundf, F1),
      M(round, D1),
      M(rintf, F1),
      M(rint, D1),
      M(nearbyintf, F1),
      M(nearbyint, D1),
      M(roundevenf, F1),
      M(roundeven, D1),
      M(fmaxf, F2),
      M(fmax, D2),
      M(fminf, F2),
      M(fmin, D2),
      M(sincosf, void (*)(float, float *, float *)),
      M(sincos, void (*)(double, double *, double *)),
      M(fmaf, float (*)(float, float, float)),
      M(fma, double (*)(double, double, double)),
      M(ldexpf, float (*)(float, int)),
      M(ldexp, double (*)(double, int)),
  };
}
#undef F
#undef M

const Functions &engineFunctions() {
  static const Functions all = [] {
    Functions functions = ofTheEngine();
    for (const Functions &more : {ofTheBackEnd(), ofMathematics()})
      functions.insert(functions.end(), more.begin(), more.end());
    return functions;
  }();
  return all;
}

} // namespace standin
