// Failures (tessera/runtime/Result.h) made from other kinds of errors.
#ifndef TESSERA_SUPPORT_FAILURES_H
#define TESSERA_SUPPORT_FAILURES_H

#include "tessera/runtime/Result.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// An llvm::Error whose text is one line, `WHAT: WHY`, `WHAT: WHY; TRY`, or only says why.
inline Status asStatus(llvm::Error error, llvm::StringRef what) {
  if (!error)
    return {};
  std::string text = llvm::toString(std::move(error));
  auto [first, why] = llvm::StringRef(text).split(": ");
  return why.empty() ? Failure{what.str(), "", text, ""} : Failure{first.str(), "", why.str(), ""};
}

} // namespace tessera
#endif
