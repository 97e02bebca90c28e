//===- HeldWords.h - Weights in blocks, as a rank holds them ----*- C++ -*-===//
#ifndef TESSERA_DIALECT_EXEC_IR_HELDWORDS_H
#define TESSERA_DIALECT_EXEC_IR_HELDWORDS_H

#include "tessera/runtime/io/BlockLayout.h"

#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace tessera::graph {
class ParameterOp;
}

namespace tessera::exec {

class MatmulOp;

/// A layer of a parameter that is packed: its rows, and where their columns lie in the rows of the file.
struct BlockMatrix {
  int64_t rows;
  io::BlockColumns columns;
};
/// Of what a rank holds of a layer, or of `layer`, the sizes of several ranks' pieces together.
BlockMatrix blockMatrix(graph::ParameterOp parameter);
BlockMatrix blockMatrix(graph::ParameterOp parameter, llvm::ArrayRef<int64_t> layer);

/// How many ranks' pieces of a parameter in blocks the weight of `op` is, along each dimension of a layer;
/// empty: it is none.
llvm::ArrayRef<int64_t> piecesOf(MatmulOp op);

/// Sizes of what ranks' pieces of a layer are together, `pieces` of them along each of its dimensions.
llvm::SmallVector<int64_t> layerOfPieces(graph::ParameterOp parameter, llvm::ArrayRef<int64_t> pieces);

/// The types of blocks that the parameter is held in (exec.held): of each layer, or one of all. Empty: it is
/// held as floats.
llvm::SmallVector<io::DType> blockTypes(graph::ParameterOp parameter);

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
