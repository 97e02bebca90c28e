//===- HandedOn.h - Values that bodies of loops hand on ---------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_HANDEDON_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_HANDEDON_H

#include "tessera/Analysis/Sharding/Sharding.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Interfaces/Interfaces.h"

#include "llvm/ADT/STLExtras.h"

#include <vector>

namespace tessera::dist {

/// How a value lies that bodies hand on, and how else it could. Of a stack: one layer.
struct HandedOn {
  llvm::SmallVector<int64_t> shape;
  Sharding first; ///< as propagation has it
  Sharding now;   ///< as it is written
  std::vector<Sharding> others = {};

  bool isChanged() const { return !now.samePlacement(first); }
};

/// Of a rank.
inline int64_t elementsOf(llvm::ArrayRef<int64_t> shape, const Sharding &sharding) {
  int64_t count = 1;
  for (int64_t size : sharding.localShape(shape))
    count *= size;
  return count;
}

/// Shapes and how values of them lie, each once.
using Layouts = std::vector<std::pair<llvm::SmallVector<int64_t>, Sharding>>;
inline void addNew(Layouts &layouts, const HandedOn &value, const Sharding &sharding) {
  if (llvm::none_of(layouts, [&](const auto &known) {
        return known.first == value.shape && known.second.samePlacement(sharding);
      }))
    layouts.push_back({value.shape, sharding});
}

/// How a value of this shape lies if one axis of `lies` moves to the end of another dimension, where a rank
/// then holds no more of it: each way.
inline std::vector<Sharding> withOneMoved(llvm::ArrayRef<int64_t> shape, const Sharding &lies) {
  std::vector<Sharding> result;
  for (auto [from, dim] : llvm::enumerate(lies.dims))
    for (const AxisRef &axis : dim.axes)
      for (size_t to = 0; to < shape.size(); ++to) {
        if (to == from)
          continue;
        Sharding moved = lies;
        llvm::erase(moved.dims[from].axes, axis);
        mergeAdjacent(moved.dims[from].axes);
        moved.dims[to].axes.push_back(axis);
        mergeAdjacent(moved.dims[to].axes);
        if (elementsOf(shape, moved) <= elementsOf(shape, lies))
          result.push_back(std::move(moved));
      }
  return result;
}

/// With one more axis, or all that `lies` leaves, at the end of a dimension of which a rank then holds less:
/// each way.
inline std::vector<Sharding> withAxesAdded(llvm::ArrayRef<int64_t> shape, const Sharding &lies,
                                           const AxisList &axes) {
  AxisList left;
  const AxisList used = lies.usedAxes();
  for (const AxisRef &axis : axes)
    if (llvm::none_of(used, [&](const AxisRef &one) { return one.overlaps(axis); }))
      left.push_back(axis);
  std::vector<AxisList> added;
  for (const AxisRef &axis : left)
    added.push_back({axis});
  if (left.size() > 1)
    added.push_back(left);
  std::vector<Sharding> result;
  for (const AxisList &more : added)
    for (size_t to = 0; to < shape.size(); ++to)
      if (lies.shards(int(to)) < shape[to]) {
        Sharding longer = lies;
        longer.dims[to].axes.append(more.begin(), more.end());
        if (elementsOf(shape, longer) < elementsOf(shape, lies))
          result.push_back(std::move(longer));
      }
  return result;
}

/// A stack that one loop returns and others read, and nobody else.
struct Stack : HandedOn {
  StackEdge made;
  llvm::SmallVector<std::pair<DataFlowOpInterface, StackEdge>, 2> reads = {};
};

/// What one iteration of a loop hands to the next.
struct Carried : HandedOn {
  DataFlowOpInterface loop;
  DataFlowEdge edge;
  size_t number;

  /// `op` is the loop, or what ends its body, and hands on `end`, one of the edge's values.
  bool isGivenBy(mlir::Operation &op, mlir::Value end) const {
    const bool ends = op.hasTrait<mlir::OpTrait::IsTerminator>() && op.getParentOp() == loop;
    return (ends || &op == loop) && !llvm::is_contained(edge.places, end) &&
           llvm::is_contained(op.getOperands(), end);
  }

  /// `end` is what the first iteration has, and no op made it: the caller gives it, or a loop around.
  bool isGiven(mlir::Value end) const {
    auto given = mlir::dyn_cast<mlir::BlockArgument>(end);
    return given && !loop->isAncestor(given.getOwner()->getParentOp());
  }
  bool isGiven() const {
    return llvm::any_of(edge.values, [&](mlir::Value end) { return isGiven(end); });
  }
  /// Whatever is added up in it may stay open as a sum (keepCarriedSums): more than pieces would save.
  bool isZeroAtFirst() const {
    return llvm::any_of(edge.values, [](mlir::Value end) {
      auto made = end.getDefiningOp<ShardingRuleOpInterface>();
      return made && made.getShardingRule().neutral != PartialKind::None;
    });
  }

  /// Somebody annotates what is carried.
  bool isWished() const {
    return llvm::any_of(edge.values, [](mlir::Value end) { return end.getDefiningOp<ConstraintOp>(); });
  }
};

/// Of values that nobody annotates.
inline Layouts unaskedLayouts(llvm::ArrayRef<Carried> carried) {
  Layouts result;
  for (const Carried &value : carried)
    if (!value.isWished())
      addNew(result, value, value.now);
  return result;
}

} // namespace tessera::dist
#endif
