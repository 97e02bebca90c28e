// Arithmetic on lists of sizes.
#ifndef TESSERA_SUPPORT_SHAPES_H
#define TESSERA_SUPPORT_SHAPES_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace tessera {

/// The product of sizes; 1 for none.
inline int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t n = 1;
  for (int64_t size : sizes)
    n *= size;
  return n;
}

} // namespace tessera
#endif
