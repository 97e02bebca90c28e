//===- Lowering.h - What the parts of spmd-to-kernels share -----*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_SPMDTOKERNELS_LOWERING_H
#define TESSERA_LIB_CONVERSION_SPMDTOKERNELS_LOWERING_H

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <unordered_map>

namespace tessera::kernels {

using namespace mlir;

inline RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }
/// Without the sharding: the type on rung kernels.
inline RankedTensorType plainType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

/// The kernel functions of a module, each distinct body once.
class KernelTable {
public:
  explicit KernelTable(ModuleOp module) : symbols(module) {}
  /// Takes over `kernel` (not in a module yet) under a name that begins with its own; if one with the same body is there, that one is
  /// used and `kernel` erased. Bodies are the same if their ops, attributes (constants by value) and uses of each other are; names and
  /// locations do not count. Cost: linear in the ops of the body.
  FlatSymbolRefAttr add(func::FuncOp kernel);

private:
  SymbolTable symbols;
  std::unordered_map<size_t, llvm::SmallVector<func::FuncOp, 1>> byHash;
};

struct Options {
  unsigned lanes = 16;           ///< float32 elements of a vector
  int64_t tileElements = 8192;   ///< elements that one iteration of a kernel should touch at most
  int64_t grainElements = 32768; ///< elements that are worth a thread
};

/// State of the conversion of one module. Types keep their shardings until the end: rules and offsets are read from them.
struct Lowering {
  ModuleOp module;
  std::optional<Mesh> mesh; ///< none: one rank
  Options options;
  KernelTable kernels;

  Lowering(ModuleOp module, const Options &options) : module(module), options(options), kernels(module) {}

  /// Axes that shard dimension `dim` of a local type (null: none).
  ArrayAttr shardAxes(RankedTensorType type, int64_t dim) const;
  /// This rank's shard number for these axes, computed at the entry of the function around `at`; null for null.
  Value shardIndex(Operation *at, ArrayAttr axes);
  /// Iterations worth a thread when one touches `elements` elements.
  int64_t grain(int64_t elements, int64_t count) const;
};

/// The index behind a tensor<i32> that holds a layer number: the induction variable of an exec.for or a constant; null if neither.
Value layerIndex(OpBuilder &builder, Value tensor);

/// Fails with an error where the dimension of layers is sharded: pipelines are not there yet.
LogicalResult checkLayersWhole(Lowering &lowering);
/// graph.repeat -> exec.for over whole stacks; layer slices become views.
LogicalResult lowerRepeats(Lowering &lowering);
/// Decides which parameters are packed (LibraryOpInterface::packedUse) and replaces the rest by exec.param. Arguments of packed parameters stay until
/// `eraseParameterArguments`.
LogicalResult planParameters(Lowering &lowering);
LogicalResult eraseParameterArguments(Lowering &lowering);
/// Ops with a form of their own (LibraryOpInterface), in program order.
LogicalResult lowerLibraryOps(Lowering &lowering);
/// Collectives of dialect dist, with the copies that padding needs.
LogicalResult lowerCollectives(Lowering &lowering);
/// Everything else: fused loops.
LogicalResult fuseKernels(Lowering &lowering);

/// A kernel function outside of any module: (inputs..., outputs..., scalars: index..., begin, end) -> outputs, with an empty body and no terminator.
struct KernelShell {
  func::FuncOp func;
  ValueRange inputs, outputs, scalars;
  Value begin, end;
  OpBuilder builder; ///< in the entry block

  KernelShell(Location loc, StringRef name, TypeRange inputs, TypeRange outputs, unsigned scalars);
  /// Fills the body with one loop over [begin, end) of [0, count): `body` returns the outputs' next values. A single iteration has no loop.
  void loop(int64_t count, llvm::function_ref<SmallVector<Value>(OpBuilder &, Value row, ValueRange outputs)> body);
};

} // namespace tessera::kernels
#endif
