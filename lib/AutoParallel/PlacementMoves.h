//===- PlacementMoves.h - Axes as no hint says them --------------*- C++ -*-===//
//
// Hints are lists of axes in the order in which somebody uses them, and what stands before a contested axis.
// A better plan may need a part of a list, or another order. Here groups of neighbouring ops that pay much
// are tried with every order and selection of the axes that they use.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_AUTOPARALLEL_PLACEMENTMOVES_H
#define TESSERA_LIB_AUTOPARALLEL_PLACEMENTMOVES_H

#include "ValueEnds.h"

namespace tessera {

/// How much `improvedPlan` may try: assignments, each counted once an op.
inline constexpr int64_t kMostMoves = 1 << 14;

/// A plan that takes less time than `chosen` (work and reshards, all planned), one option an op; empty if
/// none is found. Within a group of ops that meet in values no op makes outside of it, dimensions that go
/// through values have one list of axes each: all assignments where they are few (kAllAssignments), else one
/// axis after the other is moved for as long as time becomes less. Deterministic.
std::vector<PlacementDecision> improvedPlan(const PlacementProgram &program,
                                            const std::vector<ValueEnds> &ends,
                                            llvm::ArrayRef<const PlacementDecision *> chosen,
                                            ReshardCosts &costs);

} // namespace tessera
#endif
