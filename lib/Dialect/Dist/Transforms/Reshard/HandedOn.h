//===- HandedOn.h - Values that bodies of loops hand on ---------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_HANDEDON_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_HANDEDON_H

#include "tessera/Analysis/Sharding/Sharding.h"
#include "tessera/Interfaces/Interfaces.h"

#include <vector>

namespace tessera::dist {

/// How a value lies that bodies hand on, and how else it could. Of a stack: one layer.
struct HandedOn {
  llvm::SmallVector<int64_t> shape;
  Sharding first; ///< as propagation has it
  Sharding now;   ///< as it is written
  std::vector<Sharding> others = {};

  bool isChanged() const { return !now.samePlacement(first); }
};

/// A stack that one loop returns and others read, and nobody else.
struct Stack : HandedOn {
  StackEdge made;
  llvm::SmallVector<std::pair<DataFlowOpInterface, StackEdge>, 2> reads = {};
};

/// What one iteration of a loop hands to the next.
struct Carried : HandedOn {
  DataFlowOpInterface loop;
  DataFlowEdge edge;
  size_t number;
};

} // namespace tessera::dist
#endif
