//===- MoveGroups.h - Neighbouring ops and their dimensions ------*- C++ -*-===//
#ifndef TESSERA_LIB_AUTOPARALLEL_MOVEGROUPS_H
#define TESSERA_LIB_AUTOPARALLEL_MOVEGROUPS_H

#include "ValueEnds.h"

namespace tessera {

/// Ops that are tried together.
struct MoveGroup {
  llvm::SmallVector<int, 16> ops;    ///< of the program, in its order
  llvm::SmallVector<int, 32> values; ///< that they make or read
  /// Of each op, of each factor: its dimension. Factors that meet in a value have the same, but never two of
  /// one op. -1: stays whole.
  std::vector<llvm::SmallVector<int, 8>> dimensions;
  llvm::SmallVector<int64_t, 16> sizes; ///< of dimensions: the smallest factor
  AxisList axes; ///< that values of all ops lie over that the group reaches, cut so that none overlap
};

/// The op alone; it with what it reaches through ops that reduce nothing, up to those that do; all that it
/// reaches. Values that are fixed end a group. Without those that are equal.
std::vector<llvm::SmallVector<int, 16>> groupsAround(const PlacementProgram &program,
                                                     const std::vector<ValueEnds> &ends, int op);

/// `ops` are in program order; `chosen`: how each op of the program runs now.
MoveGroup makeGroup(const PlacementProgram &program, const std::vector<ValueEnds> &ends,
                    llvm::ArrayRef<int> ops, llvm::ArrayRef<const PlacementDecision *> chosen);

} // namespace tessera
#endif
