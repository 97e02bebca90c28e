//===- BlockPlacement.h - A block as a placement program --------*- C++ -*-===//
//
// The bridge from IR to `placeProgram`: values of a block, its ops by their rules and costs, and what the
// rest of the world needs.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_BLOCKPLACEMENT_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_BLOCKPLACEMENT_H

#include "tessera/AutoParallel/ProgramPlacement.h"
#include "tessera/AutoParallel/SearchWork.h"

#include "mlir/IR/Operation.h"

#include <functional>
#include <limits>

namespace tessera::dist {

/// Values, and the shardings in which they are needed.
using ValueNeeds = std::vector<std::pair<mlir::Value, Sharding>>;

/// What the pass knows about values and about ops without a rule.
struct BlockFacts {
  /// Sharding of a value that the block does not compute: final.
  std::function<Sharding(mlir::Value)> known;
  /// What propagation wants of an op's result; final if the op has no rule.
  std::function<Sharding(mlir::OpResult)> wanted;
  /// What an op needs that is placed by other means (regions, annotations, terminators), value by value; none
  /// for ops with a rule.
  std::function<std::optional<ValueNeeds>(mlir::Operation *)> needs;
};

/// Axes that ops may be split over.
AxisList freeAxes(const ReshardCosts &costs);

using BlockDecisions = llvm::DenseMap<mlir::Operation *, PlacementDecision>;

/// How every op with a rule runs; emits an error and fails if some value is wanted as a sum that nobody
/// makes. `liveBytes`: that a rank may have at once of what the block makes (ProgramPlacementOptions);
/// `ahead`: what placeAhead searched for it.
mlir::FailureOr<BlockDecisions> placeBlock(mlir::Block &block, const BlockFacts &facts, ReshardCosts &costs,
                                           double liveBytes = std::numeric_limits<double>::infinity(),
                                           const SearchWork &ahead = {});

/// Keeps the decision that placeBlock will come to by the same facts if bytes are not limited; what it
/// searched. Blocks of several functions are placed ahead side by side.
SearchWork placeAhead(mlir::Block &block, const BlockFacts &facts, ReshardCosts &costs);

struct BlockPrice : ProgramPrice {
  double messages = 0; ///< of reshards (programMessages), where ops are offered more than hints
};

/// What one execution of the block takes, placed at best; infinite if it cannot be. Nothing is reported.
/// Without `widen` nothing is offered to ops beyond what is hinted: a first look, for a fifth of the time.
/// Where `decisions` are asked for, they are added to it. Without `widen` what takes `below` seconds or more
/// may be called infinite: that costs less to see.
BlockPrice priceBlock(mlir::Block &block, const BlockFacts &facts, ReshardCosts &costs, bool widen = true,
                      BlockDecisions *decisions = nullptr,
                      double below = std::numeric_limits<double>::infinity());

/// The price of a block, with all that ops are offered, under facts that change from one time to the next.
/// The block and `facts` must stay, and its ops.
class BlockPricer {
public:
  /// `idle`: ops may be split over axes that nothing lies over, as where blocks are placed.
  BlockPricer(mlir::Block &block, const BlockFacts &facts, ReshardCosts &costs, bool idle = false);

  /// priceBlock's; under the last few facts it is known.
  const BlockPrice &price();
  /// The best placement among what ops were offered when it was priced last; what takes `below` or more may
  /// be called infinite. A first look, for a small part of the work.
  BlockPrice lookBelow(double below);

private:
  struct Known {
    std::vector<Sharding> shardings; ///< that the facts say
    BlockPrice price;
    std::vector<std::vector<PlacementDecision>> options;
  };

  std::vector<mlir::Operation *> order; ///< of the block, as it was written at first
  const BlockFacts &facts;
  ReshardCosts &costs;
  ProgramPlacementOptions settings;
  std::vector<Known> known; ///< the last one first
};

/// Partial values that ops of the block can make, each with a sharding that says of what kind and over which
/// axes.
std::vector<std::pair<mlir::Value, Sharding>> possibleSums(mlir::Block &block, const BlockFacts &facts,
                                                           ReshardCosts &costs);

/// placeBlock for `ops` alone, what an op was written out with (neighbours in one block, with rules all; none
/// is written out again), some of whose values are needed so outside.
mlir::FailureOr<BlockDecisions> placeOps(llvm::ArrayRef<mlir::Operation *> ops, const ValueNeeds &uses,
                                         const BlockFacts &facts, ReshardCosts &costs);

} // namespace tessera::dist
#endif
