// What a unit of 16 rows is made of, and how its rows stand side by side in that: words of codes, halves or
// bytes of scales, and of what stands once in a super-block whole floats, or halves with a byte behind them.
#ifndef TESSERA_RUNTIME_CPU_BLOCKSTRIPES_H
#define TESSERA_RUNTIME_CPU_BLOCKSTRIPES_H

#include "tessera/runtime/io/BlockLayout.h"

namespace tessera::runtime {

// Bytes of a row that stand together before those of the next row come.
struct BlockStripes {
  int64_t codes, scales, supers;
};
inline BlockStripes blockStripes(io::DType type) {
  bool halves = io::superBlock(type) == 1 && type != io::DType::MXFP4;
  return {4, halves ? 2 : 1, type == io::DType::FP8 ? 4 : 2};
}

// Where the parts of a unit begin: codes first, then scales, then what stands once in super-blocks.
struct UnitParts {
  UnitParts(io::DType type, const io::BlockLayout &layout, int64_t chunks)
      : parts(io::blockParts(type)), subs(chunks * layout.blocks), supers(chunks * layout.supers) {}
  io::BlockParts parts;
  int64_t subs, supers; // of a row
  int64_t scalesAt() const { return subs * io::kUnitRows * parts.codes; }
  int64_t supersAt() const { return scalesAt() + subs * io::kUnitRows * parts.scales; }
};

} // namespace tessera::runtime
#endif
