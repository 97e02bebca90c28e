//===- ReshardCollectives.h - A plan as collectives -------------*- C++ -*-===//
//
// Steps of a plan may leave a digit of a dimension unsplit while a minor one is split, or take axes from the
// middle of a dimension. No sharding says that; but the same memory, seen as a tensor whose dimension is cut
// into its digits, has a plain one: [_2,y] of 16 is
// [-/y/-] of 2x2x4. So between reshapes that move nothing every step is a collective that takes axes from the
// minor end of dimensions and puts them at the minor end of others. Plain data, no IR.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_AUTOPARALLEL_RESHARDCOLLECTIVES_H
#define TESSERA_AUTOPARALLEL_RESHARDCOLLECTIVES_H

#include "tessera/AutoParallel/ReshardPlanner.h"

namespace tessera {

/// One collective, or (isView) the same pieces as a tensor of another shape.
struct CollectiveStep {
  bool isView = false;
  StepKind kind = StepKind::AllSlice;
  llvm::SmallVector<int64_t> shape; ///< global, of the result
  Sharding result;                  ///< of `shape`; closed
  /// AllGather, AllSlice, ReduceScatter, AllReduce, AllToAll, Contribute; in group order, major to minor.
  AxisList axes;
  /// One per axis, where it leaves a dimension and where it comes to one; empty where none does.
  llvm::SmallVector<int64_t> from, to;
  double received = 0; ///< elements that the busiest device receives
};

/// The plan's steps as collectives on `shape` and views of it; the last has `shape` itself. `received` adds
/// up to the plan's. None if no view says a state of the plan.
std::optional<std::vector<CollectiveStep>> asCollectives(llvm::ArrayRef<int64_t> shape, const Sharding &from,
                                                         const ReshardPlan &plan);

} // namespace tessera
#endif
