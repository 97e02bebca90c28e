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

} // namespace tessera
#endif
