// wgmma: products of four warps that run beside, on matrices in shared memory that a descriptor names.
#ifndef TESSERA_STANDIN_WGMMA_H
#define TESSERA_STANDIN_WGMMA_H

#include "Mma.h"
#include "Scheduler.h"

#include <deque>

namespace standin {

constexpr uint32_t kWarpsOfGroup = 4;

// D [64, n] += A [64, 16] * B [16, n]. `across`: neighbours in memory are rows of A, columns of B
// ("MN-major", imm-trans); else they are neighbours along the 16.
struct WgmmaShape {
  uint32_t n;
  Element type;
  bool registersA, acrossA, acrossB, negateA, negateB;

  uint32_t sums() const { return n / 2; } // of a thread
  uint32_t packed() const {
    return n | uint32_t(type) << 16 | uint32_t(registersA) << 24 | uint32_t(acrossA) << 25 |
           uint32_t(acrossB) << 26 | uint32_t(negateA) << 27 | uint32_t(negateB) << 28;
  }
  static WgmmaShape unpack(uint32_t word) {
    auto bit = [&](unsigned i) { return (word >> i & 1) != 0; };
    return {word & 0xffff, Element(word >> 16 & 0xff), bit(24), bit(25), bit(26), bit(27), bit(28)};
  }
};

// What a descriptor says of a matrix of 16-bit elements: where each 16 bytes of it stand, as distances in
// shared memory (PTX ISA, "Matrix Descriptor Format" and "Strides"; docs/StandIn.md).
struct WgmmaDescriptor {
  uint32_t start, leading, stride, base, mode;
  bool reserved; // bits that have to be 0 are not

  explicit WgmmaDescriptor(uint64_t bits);
  uint32_t chunksOfPattern() const { return mode == 0 ? 1 : 16u >> mode; } // 16 bytes each: 1, 8, 4, 2
  // What is wrong with it for a matrix of `rows` rows (A) or columns (B); empty: nothing.
  std::string fault(bool across, uint32_t rows) const;
  // The address, modulo 2^18, of the 8 elements from (row, k) on; row or k is a multiple of 8.
  uint32_t addressOf(bool across, uint32_t row, uint32_t k) const;
};

// What the warps of a block have under way.
struct Warpgroups {
  // A sum under way is in its thread's registers as a NaN that names it, until it has been waited for and
  // gone through an empty asm, which holds real code back in the same way.
  static constexpr uint32_t kName = 0xffd00000, kNumbers = 0xfffff;
  static constexpr uint32_t kKept = 4096; // sums of a thread that are remembered

  struct Operation {
    uint32_t site;
    WgmmaShape shape;
    WgmmaDescriptor a, b;
    bool adds;                      // to the sums given; else they count as 0
    uint64_t first;                 // number of the first result
    std::vector<uint32_t> sums;     // as given: [sum][lane]
    uint32_t words[kWarp][4];       // A, in registers
    std::vector<uint16_t> inA, inB; // what lay in shared memory when it began
  };
  struct WarpState {
    std::vector<Operation> open; // not committed yet
    std::deque<std::vector<Operation>> groups;
    std::vector<uint32_t> results; // [number % kKept][lane]
    std::vector<uint32_t> columns; // [number % kKept]: of the operation
    uint64_t next = 0, landed = 0; // numbers
    bool fenced = false;           // nothing touched registers since the last wgmma.fence
  };
  // What the warps of a group do, one step after the other, has to be the same.
  struct Step {
    uint32_t site;
    uint64_t what;
  };
  struct Group {
    std::deque<Step> steps;
    uint64_t dropped = 0, done[kWarpsOfGroup] = {};
  };
  WarpState warps[kWarp];
  Group groups[kWarp / kWarpsOfGroup];
};

// When the last thread of a block ends: a finding if a warp left the others of its group alone.
void checkWarpgroups(Thread &thread);

} // namespace standin
#endif
