//===- PipelineAttrs.h - What else a dist.pipeline says ---------*- C++ -*-===//
#ifndef TESSERA_DIALECT_DIST_IR_PIPELINEATTRS_H
#define TESSERA_DIALECT_DIST_IR_PIPELINEATTRS_H

#include "llvm/ADT/StringRef.h"

namespace tessera::dist {

/// An i64 of a dist.pipeline whose stages generate: in how many groups the rows of a batch are on their way
/// at once. Stages are for the rows of the largest one.
inline constexpr llvm::StringLiteral kGroupsAttr = "dist.groups";

} // namespace tessera::dist
#endif
