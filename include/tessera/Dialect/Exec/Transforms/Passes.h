//===- Passes.h - Passes within rung exec -----------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_EXEC_TRANSFORMS_PASSES_H
#define TESSERA_DIALECT_EXEC_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

#include <memory>

namespace tessera::exec {

#define GEN_PASS_DECL
#include "tessera/Dialect/Exec/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tessera/Dialect/Exec/Transforms/Passes.h.inc"

} // namespace tessera::exec
#endif
