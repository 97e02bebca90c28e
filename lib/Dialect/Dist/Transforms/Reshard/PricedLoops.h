//===- PricedLoops.h - Loops as they are written, and their prices -*- C++ -*-===//
//
// Some loops of one block, and the block itself, while something is chosen that loops carry or hand on.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_PRICEDLOOPS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_PRICEDLOOPS_H

#include "Propagate/ShardingAttributes.h"
#include "Reshard/BlockPlacement.h"

namespace tessera::dist {

class PricedLoops {
public:
  /// A part of time that is no more than what is left of numbers that cancel each other.
  static constexpr double kNothing = 1e-9;
  static bool sendsLess(const BlockPrice &now, const BlockPrice &otherwise) {
    return otherwise.sent - now.sent > kNothing * otherwise.time;
  }

  PricedLoops(const ShardingAttributes &written, ReshardCosts &costs);

  /// Of their bodies, and of the block around.
  void add(DataFlowOpInterface loop) { all.push_back({loop, {}}); }
  void add(mlir::Block &around) { all.push_back({{}, &around}); }
  void removeLast() { all.pop_back(); }

  bool has(DataFlowOpInterface loop) const;
  llvm::SmallVector<DataFlowOpInterface, 4> loops() const;

  /// The loop's bodies are written otherwise than they were priced.
  void touch(DataFlowOpInterface loop);
  /// So are the bodies that `user` stands in, and the block around.
  void touchAround(mlir::Operation &user);
  /// All are written as they were priced, or as they were before.
  void forgetTouched();

  /// As everything is written. Its decisions are kept.
  BlockPrice priceAll();
  /// By other facts, under which they take about the least that they can; `decided`: how ops then run.
  BlockPrice priceFreely(const BlockFacts &free, BlockDecisions &decided);
  /// What they took by those facts bounds nothing from now on.
  void forgetFree();

  /// Whether all together take less than `least`, which becomes less; and, if `alsoSent`, send less. Those
  /// that are touched are priced one by one, for as long as they may.
  bool isLess(BlockPrice &least, bool alsoSent);

  /// With all that ops are offered when they are placed: all, or those that are touched since the last time.
  BlockPrice priceWidely(bool every);

  /// As they were priced last.
  const BlockDecisions &decisions() const { return decided; }
  /// What they are priced by.
  const BlockFacts &facts() const { return asWritten; }

private:
  struct Priced {
    DataFlowOpInterface loop;
    mlir::Block *around; ///< in place of a loop
    BlockPrice price = {}, wide = {};
    double free = 0; ///< about the least time
    bool touched = false;
  };

  /// Of all iterations; of no use from `below` seconds on, and then infinite.
  BlockPrice priceOf(Priced one, const BlockFacts &facts, BlockDecisions &decided, bool widen = false,
                     double below = std::numeric_limits<double>::infinity()) const;

  const BlockFacts asWritten;
  ReshardCosts &costs;
  llvm::SmallVector<Priced, 4> all;
  BlockDecisions decided;
};

} // namespace tessera::dist
#endif
