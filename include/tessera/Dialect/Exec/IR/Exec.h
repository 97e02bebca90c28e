//===- Exec.h - The exec dialect --------------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_EXEC_IR_EXEC_H
#define TESSERA_DIALECT_EXEC_IR_EXEC_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Exec/IR/Access.h"
#include "tessera/Dialect/Exec/IR/Calls.h"
#include "tessera/Dialect/Exec/IR/HostCode.h"
#include "tessera/runtime/io/DType.h"

#include "tessera/Dialect/Exec/IR/ExecDialect.h.inc"
#include "tessera/Dialect/Exec/IR/ExecInterfaces.h.inc"
#include "tessera/runtime/core/Collective.h"
#include "tessera/runtime/core/ProductFunction.h"
#define GET_TYPEDEF_CLASSES
#include "tessera/Dialect/Exec/IR/ExecTypes.h.inc"
#define GET_OP_CLASSES
#include "tessera/Dialect/Exec/IR/ExecOps.h.inc"
#include "tessera/Support/TypeSizes.h"

namespace tessera::graph {
class ParameterOp;
}

namespace tessera::exec {

/// Alignment of every buffer in the arena, in bytes.
inline constexpr int64_t kBufferAlignment = 64;

/// Attributes of functions, arguments and parameters on the rungs `kernels` and `exec`.
inline constexpr llvm::StringLiteral kShardingAttr =
    "exec.sharding"; ///< #dist.sharding with `global`: of a value or one layer of a parameter
inline constexpr llvm::StringLiteral kPackAttr =
    "exec.pack"; ///< on graph.parameter: out_dims of a packed matmul weight
inline constexpr llvm::StringLiteral kHeldAttr =
    "exec.held"; ///< on a packed graph.parameter: the types of blocks it is held in, of all layers or of each
inline constexpr llvm::StringLiteral kLocalTypeAttr =
    "exec.local"; ///< on graph.parameter: this rank's shard, all layers
inline constexpr llvm::StringLiteral kLayerBytesAttr =
    "exec.layer_bytes"; ///< on a stacked graph.parameter: from a layer to the next in this rank's memory,
                        ///< where that is more than a layer has
inline constexpr llvm::StringLiteral kEntryAttr =
    "exec.entry"; ///< on a host function: an entry of the program
inline constexpr llvm::StringLiteral kArenaAttr =
    "exec.arena_bytes"; ///< on the module: size of a rank's arena
inline constexpr llvm::StringLiteral kSlotBytesAttr =
    "exec.slot_bytes"; ///< on the module: of each graph::Slot, one after another from the beginning of the
                       ///< arena, the bytes that micro-batches under way have their own of; absent: none
inline constexpr llvm::StringLiteral kReturnsAttr =
    "exec.returns"; ///< on an entry: names of the states that it leaves a value in; others stay as they were
inline constexpr llvm::StringLiteral kStreamsAttr =
    "exec.streams"; ///< on the module: what each stream is for, by its number; absent: one that computes

/// What a stream may be for.
inline constexpr llvm::StringLiteral kComputeStream = "compute", kCommunicationStream = "communication";

/// Bytes of a statically shaped tensor or memref type.
using tessera::arrayBytes;
/// What `value` is a view of: the value under all exec.layer and exec.reshape.
mlir::Value rootOf(mlir::Value value);
/// The row of an element type in the table that compiler and runtime share; none where no array has such
/// elements.
std::optional<io::DType> elementDType(mlir::Type element);
/// "bf16" of an array of bf16.
llvm::StringRef elementName(mlir::Type arrayOrElement);
/// The memref type of a tensor type: same shape and elements, identity layout.
mlir::MemRefType bufferType(mlir::Type type);

/// One layer of a packed parameter as the matrix that products and lookups read: dimensions up to
/// `exec.pack` are its rows, the others its columns. A parameter that does not say has rows along its last
/// dimension, as the runtime holds it.
struct PackedMatrix {
  int64_t rows, columns;
};
PackedMatrix packedMatrix(graph::ParameterOp parameter);

/// An array as what it is a view of.
struct ArrayView {
  struct Layer {
    mlir::Value index;
    int64_t layers, bytes; ///< of the stack; of one layer
  };
  mlir::Value root;                   ///< no view
  llvm::SmallVector<Layer, 1> layers; ///< outermost first; none: from the start of the root
  int64_t bytes;
};
ArrayView viewOf(mlir::Value value);

/// Bytes from a layer of the stack that `layer` views to the next.
int64_t layerStride(LayerOp layer);
/// Bytes to whose multiples the first element of an array is aligned, `kBufferAlignment` at most.
int64_t alignmentOf(mlir::Value array);

/// How many streams `module` has. What they are for is a kind of the runtime's; the first one computes.
mlir::FailureOr<int64_t> countStreams(mlir::ModuleOp module);

/// Adds reads and writes of what `op` says it accesses.
void addAccessEffects(
    ExecAccessOpInterface op,
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>> &effects);

} // namespace tessera::exec
#endif
