//===- PricedLoops.cpp - Loops as they are written, and their prices ------===//
#include "Reshard/PricedLoops.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// By other facts ops are offered other things: so much less than what is free may be possible.
static constexpr double kFreeIsNotLeast = 0.01;

static void addTo(BlockPrice &to, const BlockPrice &price, double times = 1) {
  to.time += times * price.time;
  to.sent += times * price.sent;
  to.messages += times * price.messages;
}

PricedLoops::PricedLoops(const ShardingAttributes &written, ReshardCosts &costs)
    : asWritten(written.facts()), costs(costs) {}

bool PricedLoops::has(DataFlowOpInterface loop) const {
  return llvm::any_of(all, [&](const Priced &one) { return one.loop == loop; });
}

SmallVector<DataFlowOpInterface, 4> PricedLoops::loops() const {
  SmallVector<DataFlowOpInterface, 4> result;
  for (const Priced &one : all)
    if (one.loop)
      result.push_back(one.loop);
  return result;
}

void PricedLoops::touch(DataFlowOpInterface loop) {
  for (Priced &one : all)
    one.touched |= one.loop == loop;
}

void PricedLoops::touchAround(Operation &user) {
  for (Priced &one : all)
    one.touched |= !one.loop || one.loop->isProperAncestor(&user);
}

void PricedLoops::forgetTouched() {
  for (Priced &one : all)
    one.touched = false;
}

BlockPrice PricedLoops::priceOf(Priced one, const BlockFacts &facts, BlockDecisions &decided, bool widen,
                                double below) const {
  if (one.around)
    return priceBlock(*one.around, facts, costs, widen, &decided, below);
  BlockPrice total;
  for (Region &region : one.loop->getRegions())
    for (Block &block : region) {
      if (!(total.time < below))
        return {kInfinity, 0};
      const auto times = double(one.loop.getExecutions(region.getRegionNumber()));
      addTo(total, priceBlock(block, facts, costs, widen, &decided, (below - total.time) / times), times);
    }
  return total;
}

BlockPrice PricedLoops::priceAll() {
  decided.clear();
  BlockPrice total;
  for (Priced &one : all) {
    one.price = priceOf(one, asWritten, decided);
    one.touched = false;
    addTo(total, one.price);
  }
  return total;
}

BlockPrice PricedLoops::priceFreely(const BlockFacts &free, BlockDecisions &decided) {
  BlockPrice total;
  for (Priced &one : all) {
    const BlockPrice price = priceOf(one, free, decided);
    one.free = price.time * (1 - kFreeIsNotLeast);
    addTo(total, price);
  }
  return total;
}

void PricedLoops::forgetFree() {
  for (Priced &one : all)
    one.free = 0;
}

bool PricedLoops::isLess(BlockPrice &least, bool alsoSent) {
  double left = 0; // of those that are not priced yet
  for (const Priced &one : all)
    left += one.touched ? one.free : one.price.time;
  const double most = least.time * (1 - kNothing);
  BlockPrice total;
  BlockDecisions made;
  SmallVector<BlockPrice, 4> prices;
  for (const Priced &one : all) {
    if (!(total.time + left < most))
      return false;
    left -= one.touched ? one.free : one.price.time;
    prices.push_back(one.touched ? priceOf(one, asWritten, made, /*widen=*/false, most - total.time - left)
                                 : one.price);
    addTo(total, prices.back());
  }
  if (!(total.time < most) || (alsoSent && !sendsLess(total, least)))
    return false;
  least = total;
  for (auto [one, price] : llvm::zip(all, prices))
    one.price = price;
  for (auto &[op, decision] : made)
    decided[op] = std::move(decision);
  return true;
}

BlockPrice PricedLoops::priceWidely(bool every) {
  BlockPrice total;
  for (Priced &one : all) {
    BlockDecisions unused;
    if (every || one.touched)
      one.wide = priceOf(one, asWritten, unused, /*widen=*/true);
    one.touched = false;
    addTo(total, one.wide);
  }
  return total;
}
