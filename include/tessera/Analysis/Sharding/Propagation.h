//===- Propagation.h - Spreading shardings through a program ----*- C++ -*-===//
//
// Given shardings on some tensors of a program, finds shardings for the others, through each op's sharding
// rule, until nothing changes. Plain data in, plain data out. After openxla/shardy (its page propagation.md):
// a ladder of strategies,
//   1. user priorities: dimensions annotated p0 first, then p1, ...; annotations of later rounds are not
//   seen, nor overwritten, before;
//   2. op priorities: ops that only pass through (elementwise, reshape, transpose) first, among them those
//   whose operands have no other
//      use; then pass-through factors of every op, then all factors, broadcasts only backward; then
//      everything;
//   3. within each, conflicts are resolved (aggressive).
// Shardings only ever grow: axes are appended to open dimensions, never taken away. Therefore it ends, after
// at most (tensors x axes) updates; each costs one projection of an op.
//
// The basic, conflict-free strategy gives a factor the axes on which all its tensors agree (longest
// compatible prefix), if no tensor of the op uses them elsewhere, blocks them (replicated, partial) or is
// closed. The aggressive one decides per tensor; where two factors want one axis, the factor that gets it is
// the one with the larger source tensor; for elementwise ops then the more sharded one; then the first.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_SHARDING_PROPAGATION_H
#define TESSERA_ANALYSIS_SHARDING_PROPAGATION_H

#include "tessera/Analysis/Sharding/Projection.h"

#include <functional>
#include <vector>

namespace tessera {

/// Bits: 1 from operands to results, 2 from results to operands.
enum class Direction { None = 0, Forward = 1, Backward = 2, Both = 3 };

struct PropagationTensor {
  llvm::SmallVector<int64_t> shape;
  /// In: the annotation (all open: none). Out: the result, without priorities.
  Sharding sharding;
};

struct PropagationOp {
  ShardingRule rule;
  llvm::SmallVector<int, 4> operands, results; ///< tensors
  bool elementwise = false;                    ///< aggressive: no axes go sideways that a result cannot take
  bool dataFlow = false;                       ///< an edge: from all that flows into one place to that place
  Direction first = Direction::None;           ///< in the rounds of pass-through ops, along all factors
  Direction second = Direction::Both;          ///< in the rounds of pass-through factors, then of all factors
  Direction allowed = Direction::Both;         ///< always: a barrier allows less
  /// Manual region boundary: operands are seen from outside, results inside; these axes shard the outside
  /// only and stand first there.
  AxisList manual;

  PropagationOp() = default;
  /// Derives elementwise, first and second from the rule (see classify).
  PropagationOp(ShardingRule rule, llvm::ArrayRef<int> operands, llvm::ArrayRef<int> results);
  /// From the rule's shape alone, so that no op kind is named: all factors pass through and every tensor has
  /// all of them, or operands have fewer but one has all: elementwise, or reshape and transpose: first =
  /// Both. One operand that has fewer factors than the result: a broadcast: second = Backward.
  void classify();
};

/// What happened, for explanations: `op` changed `tensor` from `before` to `after`. op -1: a sharding group
/// did.
struct PropagationStep {
  int op, tensor;
  Sharding before, after;
};

enum class PropagationStrategy {
  Basic,      ///< conflict-free only; no op priorities
  Aggressive, ///< conflicts resolved at once; no op priorities
  Full,       ///< the ladder
};

struct PropagationGraph {
  Mesh mesh;
  std::vector<PropagationTensor> tensors;
  std::vector<PropagationOp> ops; ///< in program order
  /// Sets of tensors of one shape that have one sharding.
  std::vector<llvm::SmallVector<int, 4>> groups;

  int addTensor(llvm::ArrayRef<int64_t> shape, std::optional<Sharding> sharding = std::nullopt);
  /// Values that flow into one: loop inits and yields into the carried value, branch results into the op's.
  /// All values that are one place (body argument, loop result) are one tensor here: the target.
  void addDataFlowEdge(llvm::ArrayRef<int> sources, int target);
};

/// A member of a group whose annotations clash: the member keeps its own; `constrained` is a new tensor, a
/// copy of it in the group's sharding, that its users read instead.
struct GroupConstraint {
  int member, constrained;
};

struct PropagationResult {
  std::vector<std::string> warnings; ///< one a clashing group, with its number
  std::vector<GroupConstraint> constraints;
};

/// Spreads shardings until nothing changes. In a group with clashing annotations the last annotated member's
/// sharding, opened, holds.
PropagationResult propagate(PropagationGraph &graph, PropagationStrategy strategy = PropagationStrategy::Full,
                            std::vector<PropagationStep> *trace = nullptr);

/// Rule of `operands` tensors and one result, all of `shape`, dimension by dimension.
ShardingRule elementwiseRule(llvm::ArrayRef<int64_t> shape, int operands);

//===--- One op, for tests and for reuse ------------------------------------===//

struct OpProjection {
  llvm::SmallVector<TensorProjection, 4> tensors; ///< operands, then results
  int numOperands = 0;
};

/// Direction along each factor.
using FactorDirections = llvm::SmallVector<Direction, 8>;

/// Axes that all tensors of the op agree on for `factor`, conflicts with other factors ignored.
AxisList compatibleAxes(const OpProjection &op, int factor, Direction direction);
/// Both return whether anything grew.
bool propagateBasic(OpProjection &op, llvm::ArrayRef<Factor> factors, llvm::ArrayRef<Direction> directions);
bool propagateAggressive(OpProjection &op, llvm::ArrayRef<Factor> factors,
                         llvm::ArrayRef<Direction> directions, bool elementwise);

} // namespace tessera
#endif
