//===- ParseBytes.h - Numbers of bytes, as people write them ----*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_PARSEBYTES_H
#define TESSERA_LIB_PIPELINES_PARSEBYTES_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tessera {

/// Decimal and binary units: `17`, `16G`, `16Gi`. None: it is no number above 0, or one beyond 2^60.
inline std::optional<int64_t> parseBytes(llvm::StringRef text) {
  bool isBinary = text.consume_back("i");
  int64_t unit = 1, count = 0;
  size_t power = text.empty() ? llvm::StringRef::npos : llvm::StringRef("KMGT").find(text.back());
  if (isBinary && power == llvm::StringRef::npos)
    return std::nullopt;
  if (power != llvm::StringRef::npos) {
    text = text.drop_back();
    for (size_t i = 0; i <= power; ++i)
      unit *= isBinary ? 1024 : 1000;
  }
  if (text.getAsInteger(10, count) || count < 1 || count > (int64_t(1) << 60) / unit)
    return std::nullopt;
  return count * unit;
}

} // namespace tessera
#endif
