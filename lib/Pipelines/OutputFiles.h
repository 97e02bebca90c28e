//===- OutputFiles.h - Files that appear whole or not at all ----*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_OUTPUTFILES_H
#define TESSERA_LIB_PIPELINES_OUTPUTFILES_H

#include "tessera/runtime/Result.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera {

/// Fails if `path` cannot be written: no such folder, not writable, a folder itself. So that mistakes show
/// before the work.
Status checkOutput(llvm::StringRef path);

/// Writes a text through a temporary file beside `path`; devices and pipes directly; "" is standard output.
Status writeText(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

/// Lets `make` write to a temporary name beside `path`, then renames it. Whatever happens, no temporary stays
/// behind. Links are followed; a device or a pipe is refused.
Status makeFile(llvm::StringRef path, llvm::function_ref<Status(const std::string &temporary)> make);

} // namespace tessera
#endif
