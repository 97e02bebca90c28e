//===- PlacementWithin.h - A placement that few bytes do for -----*- C++ -*-===//
//
// Time is a sum of small tables, the bytes that a rank has at once are a maximum of sums. Two searches: bytes
// get prices, op by op, which are raised where there are too many (the multipliers of a Lagrangian), and the
// sum of time and prices is minimized as time alone is; and where assignments are few enough, all of them.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_AUTOPARALLEL_PLACEMENTWITHIN_H
#define TESSERA_LIB_AUTOPARALLEL_PLACEMENTWITHIN_H

#include "ValueEnds.h"

namespace tessera {

/// So many assignments are all looked at, unless bounds leave them out: then the choice is exact.
inline constexpr double kAllWithin = 5e5;

/// Of each op the number of an option, so that a rank has at most `limit` bytes at once (LiveBytes.h), in
/// little time; if nothing is found that does, so that it has few. `now`: a choice that has more. Adds
/// options, with axes that values lie over and with `idle` ones; where all assignments of these axes are at
/// most kAllWithin, all of them, and the choice is the best there is.
std::vector<int> planWithin(const PlacementProgram &program, const std::vector<ValueEnds> &ends,
                            std::vector<std::vector<PlacementDecision>> &options, llvm::ArrayRef<int> now,
                            double limit, llvm::ArrayRef<AxisRef> idle, ReshardCosts &costs);

} // namespace tessera
#endif
