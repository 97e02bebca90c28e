//===- ShardableValue.h - Values that names seed with shardings --------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_ANNOTATE_SHARDABLEVALUE_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_ANNOTATE_SHARDABLEVALUE_H

#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <set>

namespace tessera::dist {

/// Query heads are kv_heads x group. Where no dimension is called `heads` that is a word of --shard for both.
inline constexpr llvm::StringLiteral kKvHeads = "kv_heads", kGroup = "group", kHeads = "heads";

inline bool overlapsAny(const AxisRef &axis, llvm::ArrayRef<AxisRef> others) {
  return llvm::any_of(others, [&](const AxisRef &other) { return axis.overlaps(other); });
}

/// An argument or a named value.
struct ShardableValue {
  mlir::Location loc;
  llvm::StringRef name; ///< empty: none
  llvm::SmallVector<llvm::StringRef> dims;
  llvm::SmallVector<int64_t> shape;
  bool isWeight = false;
  llvm::StringRef valueClass = {}; ///< kWeights, kStates, kGradients or kComputed; empty: none
  bool isInput = false;
  bool isDecided = false;     ///< an argument: what names do not shard is whole
  bool isExchanged = false;   ///< by stages of a pipeline: what is not sharded is whole, at both ends
  llvm::StringRef maker = {}; ///< name of the op that makes it, for messages
  double bytes = 0;           ///< unsharded
  bool isHeld = false;        ///< from step to step: a weight or a state

  /// One position (a decode step) cannot be spread over ranks.
  bool staysWhole(int64_t dim) const { return shape[dim] == 1 && dims[dim] == "seq"; }
};

/// All that may be seeded in a module.
class ShardableValues {
public:
  ShardableValues(mlir::ModuleOp module, const DimNames &names);

  ShardableValue of(mlir::func::FuncOp function, mlir::BlockArgument arg) const;
  ShardableValue of(graph::NameOp op) const;
  /// What stages of a pipeline hand each other lies at both ends as its name says: values, and gradients,
  /// which lie as what they are of. Nothing: the result is no such value.
  std::optional<ShardableValue> ofSent(mlir::func::FuncOp function, unsigned result) const;
  /// An output that no other stage takes; nothing: the result is none.
  std::optional<ShardableValue> ofOutput(mlir::func::FuncOp function, unsigned result) const;

  /// Names of the dimensions of all values called so, or of a class called so.
  const std::map<llvm::StringRef, llvm::SmallVector<llvm::StringRef>> &dims() const { return valueDims; }
  /// Where a list of values has those called `name`: what the model names comes first, then weights and
  /// inputs, states last.
  int rank(llvm::StringRef name) const { return named.count(name) ? 0 : states.count(name) ? 2 : 1; }
  /// Some value called `value` (empty: any) has groups of query heads.
  bool hasGroup(llvm::StringRef value) const;
  /// Bytes of the largest weight or state.
  double largest() const { return largestBytes; }

private:
  void exchange(ShardableValue &subject, bool isShared) const;
  static ShardableValue ofResult(mlir::func::FuncOp function, unsigned result, mlir::RankedTensorType type);

  mutable mlir::ModuleOp module; // lookups are not const
  const DimNames &names;
  std::set<llvm::StringRef> outputs; ///< names of what functions return, states aside
  std::set<llvm::StringRef> named;   ///< by graph.name
  std::set<llvm::StringRef> states;
  std::map<llvm::StringRef, llvm::SmallVector<llvm::StringRef>> valueDims;
  double largestBytes = 0;
};

} // namespace tessera::dist
#endif
