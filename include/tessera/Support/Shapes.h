// Arithmetic on lists of sizes, and their text.
#ifndef TESSERA_SUPPORT_SHAPES_H
#define TESSERA_SUPPORT_SHAPES_H

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace tessera {

/// The product of sizes [begin, end); 1 for none.
inline int64_t product(llvm::ArrayRef<int64_t> sizes, size_t begin = 0, size_t end = ~size_t(0)) {
  int64_t n = 1;
  for (size_t d = begin; d < std::min(end, sizes.size()); ++d)
    n *= sizes[d];
  return n;
}

/// `8x64`; empty for none.
inline std::string shapeText(llvm::ArrayRef<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

} // namespace tessera
#endif
