//===- SizeWithoutAliases.h - How large a program is written out -*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_SIZEWITHOUTALIASES_H
#define TESSERA_LIB_PIPELINES_SIZEWITHOUTALIASES_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tessera {

/// Aliases let a short text stand for attributes and types without end: `#b = [#a, #a]`, `#c = [#b, #b]`, and
/// so on. The printer writes them out, and recursion goes as deep as they are nested. Says why `module` is
/// refused for that; empty: it is not. Takes time by the text's length.
std::string checkSizeWithoutAliases(mlir::ModuleOp module);

} // namespace tessera
#endif
