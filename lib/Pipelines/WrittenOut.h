//===- WrittenOut.h - How large a program is without its aliases -*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_WRITTENOUT_H
#define TESSERA_LIB_PIPELINES_WRITTENOUT_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tessera {

/// Aliases let a short text hold attributes and types that are without end where they are written out, as the
/// printer does, and nested as deep as recursion does not go: `#b = [#a, #a]`, `#c = [#b, #b]`, ... Empty if
/// those of `module` are not; else why it is refused. Takes time by the text's length.
std::string checkWrittenOut(mlir::ModuleOp module);

} // namespace tessera
#endif
