//===- AxisLists.h - Arithmetic on lists of axes ----------------*- C++ -*-===//
#ifndef TESSERA_LIB_AUTOPARALLEL_AXISLISTS_H
#define TESSERA_LIB_AUTOPARALLEL_AXISLISTS_H

#include "tessera/Analysis/Sharding/Sharding.h"

#include <optional>
#include <utility>

namespace tessera {

/// Some digit is in both.
bool overlap(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b);

/// The longest major part of `axes` with at most `size` shards that divide it, and the rest; none if that is
/// none or all of them.
std::optional<std::pair<AxisList, AxisList>> cutToFit(llvm::ArrayRef<AxisRef> axes, int64_t size);

/// Cut where any of them begins or ends, so that no two overlap; without those that the cuts do not divide.
AxisList cutAlike(llvm::ArrayRef<AxisRef> axes);

/// In how many ways so many axes can stand in so many lists, each in at most one, in every order. `placed`
/// others stand there already.
double countAssignments(size_t axes, size_t lists, size_t placed = 0);

} // namespace tessera
#endif
