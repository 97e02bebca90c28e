//===- Clusters.h - Which ops share a kernel --------------------*- C++ -*-===//
//
// Neighbouring ops become one kernel when its loop can run over factors that all of them compute
// independently: pass-through factors of their sharding rules. Everything else happens within an iteration.
// No op kinds. Where rows are enough to keep the machine busy (`TilingChoices::parallelIterations` is 0) the
// loop runs over leading dimensions that lead every result; else over any factor (tessera/Analysis/Fusion).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CONVERSION_SPMDTOKERNELS_CLUSTERS_H
#define TESSERA_LIB_CONVERSION_SPMDTOKERNELS_CLUSTERS_H

#include "Lowering.h"

#include "tessera/Analysis/Fusion/Fusion.h"

namespace tessera::kernels {

using fusion::Axis;
using fusion::OpTiles;
using fusion::Part;
using fusion::Parts;

/// One loop of a kernel. The parts of an array are the shape in which the kernel sees it, row-major as the
/// array itself.
struct ClusterBody {
  SmallVector<Operation *> ops; ///< in order of execution
  std::vector<OpTiles> tiles;   ///< of each op
  SmallVector<Axis, 4> axes;
  int64_t tileElements = 0; ///< that one tile touches
  int64_t turns = 1;        ///< tiles of one iteration (fusion::Body)
  int64_t tileCount() const;
  int64_t iterations() const { return tileCount() / turns; }
};

/// The ops of one launch: the iterations of several bodies follow one another.
struct Cluster {
  SmallVector<ClusterBody, 1> bodies;
  int64_t iterations() const;
  SmallVector<Operation *> ops() const;
};

/// The operand of `op` that is updated in place, or -1.
int updatedOperand(Operation *op);
/// A constant that has to be whole: made in every kernel that reads it.
bool isWholeConstant(Operation *op);
/// The whole of every operand and result of `op`.
OpTiles wholeTiles(Operation *op);

/// Partitions the ops of `block` that can be lowered to tiles (TileLoweringOpInterface) and reorders the
/// block so that the ops of each cluster stand side by side. Producers join consumers if the rows agree and
/// nothing outside stands between them. O(n^2) in the ops of the block.
SmallVector<Cluster> formRowClusters(Block &block, const TilingChoices &tiling);
/// The same over any factor. What is computed again in several kernels is cloned.
SmallVector<Cluster> formFactorClusters(Block &block, const TilingChoices &tiling);

/// Makers of values (constants, iota) go to each reader: a kernel computes them where it needs them.
void cloneMakers(Block &block);
/// What only makes a stored array wider is made again in each other kernel that reads it: the wide array is
/// then neither stored nor read. Says whether there was such an op; clusters have to be formed anew then.
bool cloneWidenings(ArrayRef<Cluster> clusters);
/// Removes what nobody reads, of a loop's next bodies what they do not carry on: before kernels are made of
/// it.
void eraseDead(Block &block);
/// Long reductions of few rows become two ops each, where several iterations can share the first
/// (fusion::worthSplitting). Before clusters over any factor are formed.
LogicalResult splitReductions(Lowering &lowering, Block &block);
/// The op as data of the plan, its values apart; not fusable where it is no tile.
fusion::Op describe(Operation *op);
fusion::Choices choicesOf(const TilingChoices &tiling);

/// Reorders the block: units (a cluster or a single op) as soon as the units they wait for are done, in the
/// old order.
void scheduleClusters(Block &block, ArrayRef<Cluster> clusters);
/// Ops of the block that `op` waits for, nested uses included.
void collectDependencies(Block &block, Operation *op, SmallVectorImpl<Operation *> &result);

} // namespace tessera::kernels
#endif
