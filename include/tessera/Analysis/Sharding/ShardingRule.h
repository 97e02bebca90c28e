//===- ShardingRule.h - What an op does with dimensions ---------*- C++ -*-===//
//
// Plain data, no IR. An op maps every dimension of its operands and results to factors. Propagation, reshard
// placement, padding, partial sums, tiling and cost all read this one rule. Notation:
//   ([b, s, h], [f, h]) -> ([b, s, f]) reduction={h}
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_SHARDING_SHARDINGRULE_H
#define TESSERA_ANALYSIS_SHARDING_SHARDINGRULE_H

#include "tessera/Analysis/Sharding/Sharding.h"

namespace tessera {

enum class FactorKind {
  PassThrough,     ///< each value of the factor is independent of the others
  Reduction,       ///< appears in operands only: sharding it makes the results partial
  NeedReplication, ///< may not be sharded
  Permutation, ///< may be sharded if it divides: piece i of n works on what piece n - 1 - i of the operand
               ///< holds (order reversed)
  Window, ///< only in ShardingRule::withWindows: of a dimension of the operand the result has a part; both
          ///< may be sharded alike, and grouped sends bring the part's pieces to their places
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::PassThrough;
  /// For Reduction: how the pieces combine.
  PartialKind combine = PartialKind::Sum;
};

/// Factors of one tensor: per dimension, major to minor. An empty list: a dimension of size 1 (or broadcast)
/// with no factor.
struct TensorFactors {
  llvm::SmallVector<llvm::SmallVector<int, 2>, 4> dims;
};

/// The dimension of factor `part` has the elements of that of factor `whole` from `begin` on.
struct Window {
  int whole, part;
  int64_t begin;
};

struct ShardingRule {
  llvm::SmallVector<Factor, 8> factors;
  llvm::SmallVector<TensorFactors, 4> operands, results;

  /// The op is linear in these operands taken together, e.g. add: {{0, 1}}; multiply, linear: {{0}, {1}};
  /// reshape: {{0}}. If exactly the operands of one group are partial sums over an axis, the results are
  /// partial sums over it.
  llvm::SmallVector<llvm::SmallVector<int, 2>, 2> linear;
  /// Likewise for partial maxima: the op is monotone and commutes with max in these operands together.
  llvm::SmallVector<llvm::SmallVector<int, 2>, 2> maxLinear;
  /// The op knows where its shard begins (ids, positions, masks) on these factors: sharding them is local
  /// although the values depend on the place. Informational: the local op computes its offset from the rank.
  llvm::SmallVector<int, 2> offsetAware;
  /// Reduction factors along which the op looks up by index: every rank goes over all indices and gives zeros
  /// for what others hold and for padding. Sharding them divides no work, and their padding needs no mask.
  llvm::SmallVector<int, 1> lookedUp;
  /// The one result has these parts of the one operand, whose other dimensions it has whole. Their factors
  /// are the only ones of their dimensions and need replication: the op runs on whole dimensions.
  llvm::SmallVector<Window, 1> windows;
  /// The results are this neutral element everywhere (zeros: of a sum), so they may be partial over any axes
  /// as they are.
  PartialKind neutral = PartialKind::None;
  /// Finite operands may give infinities or NaN (logarithms, roots, quotients). What computes on padding then
  /// leaves some there.
  bool unbounded = false;

  int addFactor(int64_t size, FactorKind kind = FactorKind::PassThrough,
                PartialKind combine = PartialKind::Sum) {
    factors.push_back({size, kind, combine});
    return int(factors.size()) - 1;
  }
  /// The rule of an op that need not run as it is: where a window's dimension is sharded, sends stand in its
  /// place (dist-partition). The factor `whole` is of kind Window then, and stands in the result, too; `part`
  /// stands nowhere. The others keep their numbers.
  ShardingRule withWindows() const;
  /// `([i, j], [j]) -> ([i]) reduction={j}`; factors named i, j, k, ... The same with windows and without.
  std::string toString() const;
  /// Error text if sizes of factors and of dimensions disagree (a dimension's size is the product of its
  /// factors), a factor is out of range or stands twice in one tensor; empty if sound.
  std::string verify(llvm::ArrayRef<llvm::SmallVector<int64_t>> operandShapes,
                     llvm::ArrayRef<llvm::SmallVector<int64_t>> resultShapes) const;
};

} // namespace tessera
#endif
