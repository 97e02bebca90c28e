//===- ShardSubjects.h - What --shard can address of a program --*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_SHARDSUBJECTS_H
#define TESSERA_LIB_PIPELINES_SHARDSUBJECTS_H

#include "tessera/Pipelines/Explanation.h"

#include "tessera/Analysis/Sharding/Mesh.h"
#include "tessera/Dialect/Dist/IR/Dist.h"

#include <map>
#include <set>

namespace tessera {

/// What an item of --shard addresses: value (empty: all) and dimension.
using ShardItemKey = std::pair<std::string, std::string>;
using ShardItems = std::map<ShardItemKey, std::string>;

/// The dimensions of arguments and named values, and which axes they lie over.
class ShardSubjects {
public:
  /// `shard`: the items that were given. `spmd`: what became of `step`.
  ShardSubjects(mlir::ModuleOp step, mlir::ModuleOp spmd, const Mesh &mesh, llvm::StringRef shard);

  const ShardItems &givenItems() const { return given; }
  /// Axes of an item's text: `x+y:(1)2`, `-`.
  AxisList axesOf(llvm::StringRef text) const;
  /// `tp`, `tp:(1)2`: axes that a collective has by their names; of none all of the mesh.
  AxisList axesOf(const CollectiveExplanation &collective) const;
  static bool uses(llvm::ArrayRef<AxisRef> axes, llvm::ArrayRef<AxisRef> wanted);
  /// Sets of items that might remove the collective: first what disagrees, then its neighbours, last
  /// everything over its axes.
  std::vector<ShardItems> candidates(const CollectiveExplanation &collective) const;
  /// Why an argument lies as it does: one reason for each dimension that is sharded or was asked to be whole,
  /// one for each axis that it does not lie over.
  std::vector<std::string> argumentReasons(const TensorExplanation &tensor) const;

private:
  /// A dimension of an argument or named value.
  struct Subject {
    std::string value, dim;
    AxisList axes; ///< it lies over
  };

  std::string axesText(llvm::ArrayRef<AxisRef> axes) const;
  void collect(mlir::ModuleOp spmd);
  AxisList without(llvm::ArrayRef<AxisRef> axes, llvm::ArrayRef<AxisRef> taken) const;
  template <typename Pick> ShardItems stripped(llvm::ArrayRef<AxisRef> axes, Pick pick) const;
  // ArgumentReasons.cpp
  std::string classOf(const std::string &value) const;
  const std::string *largestItemFor(const std::string &value, const AxisRef &axis) const;
  const std::string *itemFor(const std::string &value, const std::string &dim) const;
  /// What the program says of an argument; null: nothing.
  dist::ShardingAttr annotationOf(const TensorExplanation &tensor) const;
  std::string whyWhole(const TensorExplanation &tensor, const std::string &axis) const;

  mlir::ModuleOp step;
  Mesh mesh;
  ShardItems given, givenText;
  std::map<std::pair<std::string, std::string>, Subject> subjects;
  std::set<std::string> named, outputs; ///< by graph.name; what functions hand out
};

} // namespace tessera
#endif
