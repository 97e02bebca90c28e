//===- StepKind.h - The ways in which a value moves on a mesh ---*- C++ -*-===//
#ifndef TESSERA_ANALYSIS_SHARDING_STEPKIND_H
#define TESSERA_ANALYSIS_SHARDING_STEPKIND_H

namespace tessera {

enum class StepKind {
  AllSlice,          ///< keeps this device's piece; no communication
  AllGather,         ///< axes leave a dimension
  AllReduce,         ///< partial axes are combined
  ReduceScatter,     ///< partial axes are combined and then shard a dimension
  AllToAll,          ///< axes move between dimensions
  CollectivePermute, ///< devices exchange whole pieces; received == 0: same pieces, only axes of size 1 come or go
  Contribute,        ///< the value becomes partial: of each group one device keeps it (all do for a maximum); no communication
  GroupedSend,       ///< every device gets what it lacks from those that have it, by messages of their own (GroupedSends.h)
};

/// `AG`, `SL`, ...
const char *toString(StepKind kind);

} // namespace tessera
#endif
