// What a machine multiplies bfloat16 with.
#ifndef TESSERA_RUNTIME_CPU_BFLOAT16UNIT_H
#define TESSERA_RUNTIME_CPU_BFLOAT16UNIT_H

namespace tessera::runtime {

enum class Bfloat16Unit { None, Avx512, Amx };

// What is asked of a machine. Tests make one up.
struct Bfloat16Machine {
  bool avx512, amx; // CPUID says that it has them: AVX512_BF16, and AMX with tiles of bfloat16
  // The system call of this name: 0 where it does what was asked.
  long (*archPrctl)(long request, long argument);
};

// AMX where the CPU has it and the system lets this process use its tiles: Linux gives them to those alone
// that ask before their first use, and to all threads of the process. oneDNN takes the same one at run time,
// unless ONEDNN_MAX_CPU_ISA keeps it from that.
Bfloat16Unit chooseBfloat16Unit(const Bfloat16Machine &machine);
// Of this machine: asked once, for the whole process.
Bfloat16Unit bfloat16Unit();
// "AMX", "AVX512_BF16", "float32": what they are in its place.
const char *unitName(Bfloat16Unit unit);

} // namespace tessera::runtime
#endif
