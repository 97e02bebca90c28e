//===- Ports.h - What entries take and give, and as bytes -------*- C++ -*-===//
#ifndef TESSERA_EXECUTION_PORTS_H
#define TESSERA_EXECUTION_PORTS_H

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Reference/ShardedShape.h"
#include "tessera/runtime/run/ProgramRun.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

/// One argument or result of an entry: how it lies on the ranks.
struct Port {
  std::string name;                ///< `graph.name`
  std::optional<graph::Kind> kind; ///< `graph.kind`; after completePorts all have one
  ShardedShape shape;              ///< without a mesh: whole, on one rank
  std::optional<io::DType> held;   ///< of a state in blocks: of which; none: elements of its type

  std::string kindText() const { return kind ? graph::stringifyKind(*kind).str() : "port"; }
};

struct EntryPorts {
  std::string name;
  std::vector<Port> arguments, results;
};

/// Gives every argument and result of the public functions that has no kind or name one of its own (`input`
/// in0, `output` out0; where there are several entries f.in0, f.out0; of two inputs of one name the second
/// another), and every parameter that the module says nothing of a `graph.parameter` from a tensor of its
/// name: what rungs below spmd ask for. Sources differ from weight to weight (reshaped, transposed, a part of
/// a larger tensor, several), so that loading is tested too; `stacked` where only graph.repeat reads it layer
/// by layer.
void completePorts(mlir::ModuleOp module);

/// The ports of all public functions of a module on rung spmd, or of one that was never partitioned.
std::vector<EntryPorts> entryPorts(mlir::ModuleOp module);

/// The row of the runtime's table of element types for `elementType`, which must have one.
io::DType dtypeOf(mlir::Type elementType);

/// Row-major bytes of a value as ranks hold it, and back. Floats are rounded to their type, or to the blocks
/// that they are held in.
std::vector<char> toBytes(const ReferenceTensor &value, std::optional<io::DType> held = std::nullopt);
ReferenceTensor fromBytes(mlir::Type elementType, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<char> bytes,
                          std::optional<io::DType> held = std::nullopt);

} // namespace tessera
#endif
