//===- HeldAttr.h - Types of blocks that a checkpoint holds -----*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_HELDATTR_H
#define TESSERA_DIALECT_GRAPH_IR_HELDATTR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace tessera::graph {
class ParameterOp;

/// On graph.parameter: the quantized types that the checkpoint has it in, as files spell them: ["Q8_0"], or
/// one of each layer of a stack. A target that multiplies such blocks may hold them as they are
/// (docs/Quantization.md); the parameter's type stays what is computed in. Without it: floats.
inline constexpr llvm::StringLiteral kHeldAttr = "graph.held";

/// The same attribute on a state says that a cache of keys or values is kept in blocks, on a
/// graph.cache_update that it rounds what it writes to them: the text "Q8_0". The type is f32, what blocks
/// are when they are read. A block is 32 neighbours of a row: a scale d in f16, the largest magnitude over
/// 127, rounded to nearest; and for each of them a code q of 8 bits, x / d to nearest, ties to even, at most
/// 127 on either side. It is read as d * q, exactly. In memory the codes follow the scale.
inline constexpr llvm::StringLiteral kCacheBlocks = "Q8_0";
inline constexpr int64_t kCacheBlock = 32;                   ///< elements of a block
inline constexpr int64_t kCacheBlockBytes = kCacheBlock + 2; ///< of codes and scale

/// Whether a cache of this type may be kept in blocks: rows of f32 that whole blocks make up.
bool fitsCacheBlocks(mlir::ShapedType type);
/// Whether a value is all layers of a cache that is kept in blocks: given to an entry, carried by a loop, or
/// written.
bool isCacheInBlocks(mlir::Value value);
/// Bytes of a row of so many elements, in blocks.
inline int64_t cacheRowBytes(int64_t elements) { return elements / kCacheBlock * kCacheBlockBytes; }

/// Of layers [first, first + layers) of a stack; one where all are alike; null where the checkpoint has
/// floats.
mlir::ArrayAttr heldTypes(ParameterOp parameter, int64_t first, int64_t layers);

} // namespace tessera::graph
#endif
