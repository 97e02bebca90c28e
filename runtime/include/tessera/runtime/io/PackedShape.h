// The size of a packed matrix, for the runtime that holds it and for the compiler that plans with it.
#ifndef TESSERA_RUNTIME_IO_PACKEDSHAPE_H
#define TESSERA_RUNTIME_IO_PACKEDSHAPE_H

#include "tessera/runtime/io/DType.h"

#include <algorithm>
#include <cstdint>

namespace tessera::io {

// A matrix [n, k] in blocks of rows, padded to whole ones and to whole steps of a row. `type` has a packed
// form.
struct PackedShape {
  PackedShape(int64_t n, int64_t k, DType type) {
    block = std::max<int64_t>(16, std::min<int64_t>(64, (n + 15) / 16 * 16));
    paddedN = (n + block - 1) / block * block;
    int64_t step = 16 * traits(type).packGroup;
    paddedK = (k + step - 1) / step * step;
    bytes = bytesOf(type, paddedN * paddedK);
  }
  int64_t block, paddedN, paddedK, bytes;
};

} // namespace tessera::io
#endif
