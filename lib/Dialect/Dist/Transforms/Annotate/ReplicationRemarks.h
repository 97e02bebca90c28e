//===- ReplicatedDim.h - What lies whole, and what that costs -------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_ANNOTATE_REPLICATIONREMARKS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_ANNOTATE_REPLICATIONREMARKS_H

#include "Annotate/ShardableValue.h"

#include "tessera/Analysis/Sharding/Sharding.h"

namespace tessera::dist {

/// A dimension that is not sharded over axes though somebody wants it.
struct ReplicatedDim {
  int64_t dim;
  AxisList axes;
  std::string why;
};

/// Remarks, each once however many functions take the value.
class ReplicationRemarks {
public:
  explicit ReplicationRemarks(const Mesh &mesh) : mesh(mesh) {}

  void left(const ShardableValue &subject, const Sharding &sharding, const ReplicatedDim &one);
  /// A weight or state that is no small part of `largest` bytes and lies whole along an axis.
  void replicated(const ShardableValue &subject, const Sharding &sharding, double largest);

private:
  const Mesh &mesh;
  std::set<std::string> told;
};

} // namespace tessera::dist
#endif
