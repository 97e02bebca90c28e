//===- HeadAxes.h - Axes on heads of a program ----------------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_ANNOTATE_HEADAXES_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_ANNOTATE_HEADAXES_H

#include "Annotate/HeadGroups.h"
#include "Annotate/ShardItems.h"

#include <deque>

namespace tessera::dist {

class HeadAxes {
public:
  HeadAxes(mlir::ModuleOp module, const Mesh &mesh, const ShardableValues &subjects);

  /// Where heads come in groups of one KV head (`kv_heads`, `group`) no dimension is called `heads`: sharding
  /// the heads is sharding both. Items about `heads` become items about those; an error where
  /// another item already says what shards them.
  mlir::LogicalResult spell(ShardItems &items, const DimNames &names);

  /// The program has weights or caches in which heads stand.
  bool hasAny() const { return !tensors.empty(); }
  /// How `axes`, asked for on heads, are dealt between KV heads and groups. A remark for what that costs in
  /// padding and copies.
  const HeadSplit &split(const AxisList &axes);

private:
  mlir::ModuleOp module;
  const Mesh &mesh;
  const ShardableValues &subjects;
  std::vector<HeadTensor>
      tensors; ///< weights and caches in which heads stand, each once however many functions read it
  std::deque<std::pair<AxisList, HeadSplit>> known; ///< a deque keeps references
};

} // namespace tessera::dist
#endif
