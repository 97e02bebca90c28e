//===- HeldWords.h - A weight in blocks as an array -------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_EXEC_IR_HELDWORDS_H
#define TESSERA_DIALECT_EXEC_IR_HELDWORDS_H

#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace tessera::graph {
class ParameterOp;
}

namespace tessera::exec {

/// Bytes of a word: what is held in blocks is gathered as i32.
inline constexpr int64_t kWordBytes = 4;

/// All that a rank holds of a parameter in blocks, as words: [layers, words of one], without layers [words].
/// Null: it is not held so, or nobody takes it as an array (it has no exec.layer_bytes).
mlir::RankedTensorType heldWords(graph::ParameterOp parameter);

/// Bytes of an element of a parameter as its checkpoint has it (graph.held; of layers in several types the
/// mean), where a target that multiplies blocks may hold and gather those. None: it is plain.
std::optional<double> blockElementBytes(graph::ParameterOp parameter);

} // namespace tessera::exec
#endif
