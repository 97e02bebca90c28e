//===- HeldAttr.h - Types of blocks that a checkpoint holds -----*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_HELDATTR_H
#define TESSERA_DIALECT_GRAPH_IR_HELDATTR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace tessera::graph {
class ParameterOp;

/// On graph.parameter: the quantized types that the checkpoint has it in, as files spell them: ["Q8_0"], or
/// one of each layer of a stack. A target that multiplies such blocks may hold them as they are
/// (docs/Quantization.md); the parameter's type stays what is computed in. Without it: floats.
inline constexpr llvm::StringLiteral kHeldAttr = "graph.held";

/// Of layers [first, first + layers) of a stack; one where all are alike; null where the checkpoint has
/// floats.
mlir::ArrayAttr heldTypes(ParameterOp parameter, int64_t first, int64_t layers);

} // namespace tessera::graph
#endif
