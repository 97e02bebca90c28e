//===- Register.h - Dialects, passes and pipelines by name ------*- C++ -*-===//
#ifndef TESSERA_PIPELINES_REGISTER_H
#define TESSERA_PIPELINES_REGISTER_H

#include "mlir/IR/DialectRegistry.h"

namespace tessera {

/// Our dialects and the upstream ones that stand on our rungs.
void registerDialects(mlir::DialectRegistry &registry);
/// Our passes and pipelines, for tools that read pass names. Call once.
void registerPasses();

} // namespace tessera
#endif
