//===- LoopPrices.h - What the bodies of loops take -------------*- C++ -*-===//
//
// Asked many times while something is chosen that loops carry or hand on: from one time to the next a single
// value lies otherwise.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_LOOPPRICES_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_LOOPPRICES_H

#include "Propagate/ShardingAttributes.h"
#include "Reshard/CachedReshardCosts.h"

#include <map>

namespace tessera::dist {

class LoopPrices {
public:
  LoopPrices(const ShardingAttributes &written, RegionCosts &costs);

  /// All iterations of `loop`, as it is written.
  BlockPrice price(DataFlowOpInterface loop);

  /// Seconds; infinite if they are `below` or more as far as a first look shows.
  double timeBelow(DataFlowOpInterface loop, double below);

  /// A loop, and how often it runs.
  using LoopTimes = std::pair<DataFlowOpInterface, double>;

  /// Whether `loops` and `outside` seconds are less than `most`: at a look, then one by one in full, and no
  /// further than they are less with what the others take at a look.
  bool mayBeLess(llvm::ArrayRef<LoopTimes> loops, double outside, double most);

  /// What they are priced by.
  const BlockFacts &allFacts() const { return facts; }

private:
  void forEachBody(DataFlowOpInterface loop, llvm::function_ref<void(BlockPricer &, double times)> visit);

  RegionCosts &costs;
  BlockFacts facts;
  std::map<mlir::Block *, BlockPricer> pricers;
};

} // namespace tessera::dist
#endif
