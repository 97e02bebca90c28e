//===- ShardingGroups.h - Values that have one sharding ---------*- C++ -*-===//
//
// Arguments and results of one name, and what dist.sharding_group ties, as groups of the propagation graph.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PROPAGATE_SHARDINGGROUPS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PROPAGATE_SHARDINGGROUPS_H

#include "tessera/Analysis/Sharding/Propagation.h"
#include "tessera/Dialect/Dist/IR/PropagationOps.h"

#include <map>

namespace tessera::dist {

class ShardingGroups {
public:
  /// Same name, same shape: one layout, in every function.
  void join(mlir::StringAttr name, mlir::Type type, int tensor);
  void join(ShardingGroupOp op) { ops.push_back(op); }
  /// The groups of `graph`; error if a group has values of several shapes. `tensorOf`: of a value.
  mlir::LogicalResult build(PropagationGraph &graph, llvm::function_ref<int(mlir::Value)> tensorOf);
  /// Arguments and results that have a name in common, by name and shape.
  const std::map<std::pair<std::string, std::vector<int64_t>>, std::vector<int>> &byName() const {
    return named;
  }
  /// Who reads a member of a group with annotations that clash reads a copy: that is what its op makes then.
  /// `read`: says so, of the op and the copy. False if a member has no op that could make it.
  bool readCopies(const PropagationResult &result, llvm::function_ref<int(mlir::Value)> tensorOf,
                  llvm::function_ref<void(ShardingGroupOp, int)> read) const;

private:
  std::map<std::pair<std::string, std::vector<int64_t>>, std::vector<int>> named;
  std::vector<ShardingGroupOp> ops;
};

} // namespace tessera::dist
#endif
