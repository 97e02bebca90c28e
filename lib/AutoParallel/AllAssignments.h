//===- AllAssignments.h - The best of all assignments of axes ---*- C++ -*-===//
//
// Every op with every assignment of axes to its factors, in any order: of a few ops these can all be
// searched, and what is found then is the best there is, whatever anybody hinted.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_AUTOPARALLEL_ALLASSIGNMENTS_H
#define TESSERA_LIB_AUTOPARALLEL_ALLASSIGNMENTS_H

#include "ValueEnds.h"

namespace tessera {

/// Programs with more assignments are not searched (each op's, multiplied; sums that stay open not counted),
/// nor those whose ops have very many, added up. Bounds leave most of them out.
inline constexpr double kMostAssignments = 1 << 25;

struct AllAssignments {
  bool complete = false;               ///< no plan takes less than `time`
  double time;                         ///< of the best plan: of `plan`, or of the one that was known
  std::vector<PlacementDecision> plan; ///< takes less than the one that was known; empty: none found
};

/// Searches for less than `time` seconds among `options` (of each op) and all assignments of
/// the axes that some value of the program lies over, with every sum left open that an op could leave. Those
/// of `idle` count as such; if there are any, and values lie over all of them, nothing is searched. Branch
/// and bound, op after op; reshards count as their floors until a whole plan takes them. Deterministic; not
/// complete if that would take too long.
AllAssignments searchAllAssignments(const PlacementProgram &program, const std::vector<ValueEnds> &ends,
                                    const std::vector<std::vector<PlacementDecision>> &options, double time,
                                    ReshardCosts &costs, const AxisList &idle = {});

} // namespace tessera
#endif
