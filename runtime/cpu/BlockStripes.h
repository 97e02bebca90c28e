// How the 16 rows of a unit stand side by side in the parts of their blocks: words of codes, halves or bytes
// of scales, and of what stands once in a super-block whole floats, or halves with a byte behind them.
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

} // namespace tessera::runtime
#endif
