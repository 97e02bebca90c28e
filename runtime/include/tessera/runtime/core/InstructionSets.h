// Instruction sets of x86-64 that code may come to use: their names, and where CPUID says that a CPU has
// them. One table for the compiler, the manifest and the runtime. Plain data, header only.
#ifndef TESSERA_RUNTIME_CORE_INSTRUCTIONSETS_H
#define TESSERA_RUNTIME_CORE_INSTRUCTIONSETS_H

#include <cstdint>

namespace tessera {

// Registers that CPUID answers in.
enum class CpuidRegister { EAX, EBX, ECX, EDX };

// What the system has to save for it of registers that are wider than 128 bits: bits of XCR0.
enum class SavedRegisters : uint32_t { None = 0, Avx = 6, Avx512 = 0xE6 };

struct InstructionSet {
  const char *name; // in /proc/cpuinfo, and in manifests
  const char *llvm; // as LLVM's feature
  // Where CPUID says it (Intel's manual, volume 2, CPUID).
  uint32_t leaf, subleaf;
  CpuidRegister where;
  int bit;
  SavedRegisters saved;
};

inline constexpr InstructionSet kInstructionSets[] = {
    {"pni", "sse3", 1, 0, CpuidRegister::ECX, 0, SavedRegisters::None},
    {"ssse3", "ssse3", 1, 0, CpuidRegister::ECX, 9, SavedRegisters::None},
    {"sse4_1", "sse4.1", 1, 0, CpuidRegister::ECX, 19, SavedRegisters::None},
    {"sse4_2", "sse4.2", 1, 0, CpuidRegister::ECX, 20, SavedRegisters::None},
    {"popcnt", "popcnt", 1, 0, CpuidRegister::ECX, 23, SavedRegisters::None},
    {"avx", "avx", 1, 0, CpuidRegister::ECX, 28, SavedRegisters::Avx},
    {"avx2", "avx2", 7, 0, CpuidRegister::EBX, 5, SavedRegisters::Avx},
    {"f16c", "f16c", 1, 0, CpuidRegister::ECX, 29, SavedRegisters::Avx},
    {"fma", "fma", 1, 0, CpuidRegister::ECX, 12, SavedRegisters::Avx},
    {"bmi1", "bmi", 7, 0, CpuidRegister::EBX, 3, SavedRegisters::None},
    {"bmi2", "bmi2", 7, 0, CpuidRegister::EBX, 8, SavedRegisters::None},
    {"abm", "lzcnt", 0x80000001, 0, CpuidRegister::ECX, 5, SavedRegisters::None},
    {"movbe", "movbe", 1, 0, CpuidRegister::ECX, 22, SavedRegisters::None},
    {"avx_vnni", "avxvnni", 7, 1, CpuidRegister::EAX, 4, SavedRegisters::Avx},
    {"avx512f", "avx512f", 7, 0, CpuidRegister::EBX, 16, SavedRegisters::Avx512},
    {"avx512bw", "avx512bw", 7, 0, CpuidRegister::EBX, 30, SavedRegisters::Avx512},
    {"avx512cd", "avx512cd", 7, 0, CpuidRegister::EBX, 28, SavedRegisters::Avx512},
    {"avx512dq", "avx512dq", 7, 0, CpuidRegister::EBX, 17, SavedRegisters::Avx512},
    {"avx512vl", "avx512vl", 7, 0, CpuidRegister::EBX, 31, SavedRegisters::Avx512},
    {"avx512_vnni", "avx512vnni", 7, 0, CpuidRegister::ECX, 11, SavedRegisters::Avx512},
    {"avx512vbmi", "avx512vbmi", 7, 0, CpuidRegister::ECX, 1, SavedRegisters::Avx512},
    {"avx512_vbmi2", "avx512vbmi2", 7, 0, CpuidRegister::ECX, 6, SavedRegisters::Avx512},
    {"avx512ifma", "avx512ifma", 7, 0, CpuidRegister::EBX, 21, SavedRegisters::Avx512},
    {"avx512_bitalg", "avx512bitalg", 7, 0, CpuidRegister::ECX, 12, SavedRegisters::Avx512},
    {"avx512_vpopcntdq", "avx512vpopcntdq", 7, 0, CpuidRegister::ECX, 14, SavedRegisters::Avx512},
    {"avx512_bf16", "avx512bf16", 7, 1, CpuidRegister::EAX, 5, SavedRegisters::Avx512},
    {"avx512_vp2intersect", "avx512vp2intersect", 7, 0, CpuidRegister::EDX, 8, SavedRegisters::Avx512},
    {"gfni", "gfni", 7, 0, CpuidRegister::ECX, 8, SavedRegisters::None},
    {"vaes", "vaes", 7, 0, CpuidRegister::ECX, 9, SavedRegisters::Avx},
    {"vpclmulqdq", "vpclmulqdq", 7, 0, CpuidRegister::ECX, 10, SavedRegisters::Avx},
};

// What kernels with vectors of 512 bits take for granted, in the compiler and in the runtime.
inline constexpr const char *kAvx512Kernels[] = {"avx512f", "avx512vl", "avx512bw", "avx512dq"};

// x86-64-v4 with instructions on bfloat16 (AVX512_BF16): a name of ours.
inline constexpr const char *kLevel4BF16 = "x86-64-v4-bf16";
// Names of --cpu beside those of single CPUs. --cpu=any holds code for each: they run what those before them
// do, and are faster.
inline constexpr const char *kCpuLevels[] = {"x86-64-v3", "x86-64-v4", kLevel4BF16};

} // namespace tessera
#endif
