//===- LoopPrices.cpp - What the bodies of loops take ---------------------===//
#include "Reshard/LoopPrices.h"

#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

LoopPrices::LoopPrices(const ShardingAttributes &written, RegionCosts &costs)
    : costs(costs), facts(written.facts()) {}

void LoopPrices::forEachBody(DataFlowOpInterface loop,
                             llvm::function_ref<void(BlockPricer &, double)> visit) {
  for (Region &region : loop->getRegions())
    for (Block &block : region)
      visit(pricers.try_emplace(&block, block, facts, costs.in(block)).first->second,
            double(loop.getExecutions(region.getRegionNumber())));
}

BlockPrice LoopPrices::price(DataFlowOpInterface loop) {
  BlockPrice total;
  forEachBody(loop, [&](BlockPricer &pricer, double times) {
    const BlockPrice &price = pricer.price();
    total.time += times * price.time;
    total.sent += times * price.sent;
  });
  return total;
}

double LoopPrices::timeBelow(DataFlowOpInterface loop, double below) {
  double total = 0;
  forEachBody(loop, [&](BlockPricer &pricer, double times) {
    if (total < below)
      total += times * pricer.lookBelow((below - total) / times).time;
  });
  return total < below ? total : std::numeric_limits<double>::infinity();
}

bool LoopPrices::mayBeLess(llvm::ArrayRef<LoopTimes> loops, double outside, double most) {
  double total = outside;
  SmallVector<double, 4> looks;
  for (auto [loop, times] : loops)
    if (total += looks.emplace_back(times * timeBelow(loop, (most - total) / times)); !(total < most))
      return false;
  for (auto [one, look] : llvm::zip(loops, looks))
    if (total += one.second *price(one.first).time - look; !(total < most))
      return false;
  return true;
}
