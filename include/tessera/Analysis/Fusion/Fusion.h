//===- Fusion.h - Which ops share a kernel, and its loop --------*- C++ -*-===//
//
// Plain data, no IR. Fusion is tiling is sharding: a kernel is one loop over factors that its ops compute
// independently, and the sharding rules of the ops say which part of every array an iteration needs. Ops are
// known by their rules, by what they read and write, and by how much that is.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_FUSION_FUSION_H
#define TESSERA_ANALYSIS_FUSION_FUSION_H

#include "tessera/Analysis/Sharding/ShardingRule.h"

#include <limits>
#include <optional>
#include <vector>

namespace tessera::fusion {

/// An array that a tile of an op makes for itself beside its results.
struct Scratch {
  llvm::SmallVector<int, 4> factors; ///< one point for each combination
  int64_t bytes = 0;                 ///< of a point
};

/// One op of a block. Values are numbers, each made by at most one op of the block.
struct Op {
  llvm::SmallVector<int, 4> operands, results;
  /// Computes tiles of its results. What follows is of such ops alone; the others (calls, loops, the end of
  /// the block) only wait and are waited for.
  bool fusable = false;
  ShardingRule rule; ///< with the sizes that the factors have here
  llvm::SmallVector<llvm::SmallVector<int64_t, 4>, 4> operandShapes, resultShapes;
  /// Pass-through factors whose dimensions may stand as several in a tile, as if they had been reshaped.
  llvm::SmallVector<int, 2> splittable;
  int updated = -1; ///< the operand that result 0 is, changed in place where the other operands say
  int64_t work = 1; ///< elements that it reads and writes
  llvm::SmallVector<int64_t, 2> elementBytes; ///< of each result; none: a tile of it takes no place
  std::vector<Scratch> scratch;
  /// Each element of the result hangs on one of every operand: what only such ops read is never an array.
  bool pointwise = false;
};

/// What a machine wants of kernels, in elements read and written.
struct Choices {
  int64_t tileElements = 8192;    ///< of one iteration, at most
  int64_t smallElements = 1024;   ///< so little needs no second iteration
  int64_t parallelIterations = 1; ///< so many fill the machine
  /// Bytes that one iteration may keep for itself.
  int64_t keptBytes = std::numeric_limits<int64_t>::max();
};

/// A loop of a kernel over one factor: `size` elements in tiles of `tile`, which divides it.
struct Axis {
  int64_t size = 1, tile = 1;
  int64_t count() const { return size / tile; }
};

/// Part of a dimension of an array as a kernel sees it: looped over (`axis`) or whole in every iteration
/// (-1). A dimension is one part, or several, major to minor, where the loop runs over a part of it.
struct Part {
  int64_t size = 1;
  int axis = -1;
  bool operator==(const Part &other) const { return size == other.size && axis == other.axis; }
};
using Parts = llvm::SmallVector<Part, 6>;

/// The parts of every operand and result of an op.
struct OpTiles {
  llvm::SmallVector<Parts, 4> operands, results;
  /// No loop runs over any of them: every tile is the same.
  bool areWhole() const;
};

/// The loop of a kernel, or of one of those that share a launch: ops in order. A result that lacks an axis
/// of the loop is computed again in every iteration over that axis.
struct Body {
  llvm::SmallVector<int, 8> ops;
  llvm::SmallVector<int, 4> copies; ///< of these, those that another body has too and stores the results of
  std::vector<OpTiles> tiles;       ///< of each op
  llvm::SmallVector<Axis, 4> axes;  ///< major to minor
  int64_t tileElements = 1;         ///< that one iteration reads and writes
  int64_t againElements = 0;        ///< of these, by ops that every iteration computes again
  int64_t keptBytes = 0;            ///< that one iteration keeps for itself, at most
  int64_t turns =
      1; ///< tiles that one iteration takes, one after the other; what no tile changes it computes once
  int64_t iterations() const { return tileCount() / turns; }
  int64_t tileCount() const {
    int64_t n = 1;
    for (const Axis &axis : axes)
      n *= axis.count();
    return n;
  }
};

/// One launch: the iterations of its bodies, one body's after the other's. Bodies do not wait for each other.
struct Kernel {
  llvm::SmallVector<Body, 1> bodies;
};

/// The loop for `ops` (numbers, in order) as one body, of which `again` need not have all axes; none if they
/// cannot share one: what one makes is not what another reads in the same iteration.
std::optional<Body> chooseLoop(llvm::ArrayRef<Op> program, llvm::ArrayRef<int> ops, llvm::ArrayRef<int> again,
                               const Choices &choices);

/// A reduction in two ops: `parts` partial results along `factor`, then what puts them together.
struct Split {
  int factor = -1;
  int64_t parts = 1; ///< divides the factor
};

/// How the reduction of an op that would leave the machine idle is split: its loop has few iterations, and
/// what it reads is enough for many more of no less than a small one each, so many that they pay for
/// `launches` launches that this takes. None where nothing is gained, where no factor is reduced, or where
/// its divisors do not fit. Which values the op reads and makes does not count.
std::optional<Split> worthSplitting(const Op &op, const Choices &choices, int64_t launches = 1);

/// Partitions the fusable ops of a block:
/// 1. an op joins the kernel of what it reads if all of them share the axes of the loop and few iterations
///    are lost by it;
/// 2. a kernel whose work is small beside that of an iteration of its readers is computed again in each;
/// 3. kernels that read a common array and do not wait for each other share a launch.
/// O(n^2) in the ops of the block.
std::vector<Kernel> planFusion(llvm::ArrayRef<Op> program, const Choices &choices);

} // namespace tessera::fusion
#endif
