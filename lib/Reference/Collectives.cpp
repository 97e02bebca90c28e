//===- Collectives.cpp - What collectives mean by their attributes --------===//
#include "Collectives.h"
#include "Groups.h"

#include "tessera/Dialect/Dist/IR/ExchangeRows.h"
#include "tessera/Reference/Interpreter.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;

namespace {
/// Axes that leave one dimension, or come to one.
struct Move {
  AxisList axes;
  int64_t dim;
};

/// A collective of the kinds that name axes and dimensions. Whatever the kind: the sums over `reduced` are
/// taken, the axes of `left` no longer split their dimensions (pieces are put together by place), those of
/// `come` do (each rank keeps the piece of its place).
struct CollectiveSemantics {
  std::vector<Move> left, come;
  AxisList reduced;
};

/// `axes` in the order in which they split dimension `dim` of the operand, major first.
AxisList inOrderOf(const Sharding &sharding, int64_t dim, AxisList axes) {
  auto place = [&](const AxisRef &axis) {
    const auto &list = sharding.dims[size_t(dim)].axes;
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].overlaps(axis))
        return std::pair(int64_t(i), axis.pre);
    return std::pair(int64_t(list.size()), axis.pre);
  };
  llvm::stable_sort(axes, [&](const AxisRef &a, const AxisRef &b) { return place(a) < place(b); });
  return axes;
}

/// The move of `dim` in `moves`, made if there is none.
Move &moveOf(std::vector<Move> &moves, int64_t dim) {
  for (Move &move : moves)
    if (move.dim == dim)
      return move;
  return moves.emplace_back(Move{{}, dim});
}

std::optional<CollectiveSemantics> semanticsOf(Operation *op, const ShardedShape &from) {
  auto axes = [&](ArrayAttr attr) { return AxisList(dist::fromAxesAttr(attr, from.mesh)); };
  return llvm::TypeSwitch<Operation *, std::optional<CollectiveSemantics>>(op)
      .Case([&](dist::AllGatherOp gather) {
        return CollectiveSemantics{{{axes(gather.getAxes()), int64_t(gather.getDim())}}, {}, {}};
      })
      .Case([&](dist::AllSliceOp slice) {
        return CollectiveSemantics{{}, {{axes(slice.getAxes()), int64_t(slice.getDim())}}, {}};
      })
      .Case([&](dist::AllReduceOp reduce) { return CollectiveSemantics{{}, {}, axes(reduce.getAxes())}; })
      .Case([&](dist::ReduceScatterOp scatter) {
        return CollectiveSemantics{
            {}, {{axes(scatter.getAxes()), int64_t(scatter.getDim())}}, axes(scatter.getAxes())};
      })
      .Case([&](dist::AllToAllOp exchange) {
        CollectiveSemantics semantics;
        for (auto [axis, source, target] :
             llvm::zip_equal(axes(exchange.getAxes()), exchange.getFrom(), exchange.getTo())) {
          moveOf(semantics.left, source).axes.push_back(axis);
          moveOf(semantics.come, target).axes.push_back(axis);
        }
        for (Move &move : semantics.left)
          move.axes = inOrderOf(from.sharding, move.dim, move.axes);
        return semantics;
      })
      .Case([&](dist::ExchangeRowsOp rows) {
        int64_t experts = int64_t(from.global.size()) - 2, dim = int64_t(rows.getDim());
        bool toExperts = rows.getToExperts();
        return CollectiveSemantics{{{axes(rows.getAxes()), toExperts ? dim : experts}},
                                   {{axes(rows.getAxes()), toExperts ? experts : dim}},
                                   {}};
      })
      .Default([](Operation *) { return std::nullopt; });
}

double elementOf(const ReferenceTensor &tensor, int64_t at) {
  return tensor.isFloat() ? tensor.f[size_t(at)] : double(tensor.i[size_t(at)]);
}

/// A NaN is larger than all, as in the runtime's table of types.
double larger(double x, double y) { return std::isnan(x) || x > y ? x : y; }

/// result[at] = the combined elements of `members` at `from`.
void combine(const RankValues &pieces, ArrayRef<int64_t> members, int64_t from, PartialKind kind,
             ReferenceTensor &result, int64_t at) {
  bool max = kind == PartialKind::Max;
  if (!result.isFloat()) {
    int64_t value = pieces[size_t(members.front())].i[size_t(from)];
    for (int64_t member : members.drop_front()) {
      int64_t other = pieces[size_t(member)].i[size_t(from)];
      value = max ? std::max(value, other) : value + other;
    }
    result.i[size_t(at)] = value;
    return;
  }
  double value = pieces[size_t(members.front())].f[size_t(from)];
  for (int64_t member : members.drop_front()) {
    double other = pieces[size_t(member)].f[size_t(from)];
    value = max ? larger(value, other) : value + other;
  }
  result.f[size_t(at)] = value;
}

/// The piece of `rank` after the collective. Where an attribute leads outside of a piece the result keeps its
/// neutral first value.
ReferenceTensor pieceOf(int64_t rank, const CollectiveSemantics &semantics, const RankValues &pieces,
                        const ShardedShape &from, ArrayRef<int64_t> shape) {
  const Mesh &mesh = from.mesh;
  ReferenceTensor result(from.elementType, shape);
  const SmallVector<int64_t> &before = pieces.front().shape;
  SmallVector<int64_t> strides = pieces.front().strides(), index(shape.size(), 0);
  std::vector<SmallVector<int64_t>> groups(pieces.size()); // by source, once it was needed
  for (int64_t flat = 0; flat < result.size(); ++flat) {
    int64_t rest = flat, source = rank, at = 0;
    bool inside = true;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
      index[d] = rest % shape[d];
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t place = index[d];
      for (const Move &move : semantics.come)
        if (move.dim == int64_t(d))
          place += judge::indexOver(mesh, move.axes, rank) * shape[d];
      for (const Move &move : semantics.left)
        if (move.dim == int64_t(d)) {
          source = judge::memberOver(mesh, move.axes, source, place / before[d]);
          place %= before[d];
        }
      inside &= place < before[d];
      at += place * strides[d];
    }
    if (inside) {
      if (groups[size_t(source)].empty())
        groups[size_t(source)] = judge::membersOver(mesh, semantics.reduced, source);
      combine(pieces, groups[size_t(source)], at, from.sharding.partialKind, result, flat);
    }
  }
  return result;
}

/// What two sums of the ranks' terms may differ by, added up in different orders: terms may cancel.
double roundingOf(const RankValues &terms) {
  double largest = 0;
  for (const ReferenceTensor &piece : terms)
    for (int64_t flat = 0; flat < piece.size(); ++flat)
      if (double term = std::fabs(elementOf(piece, flat)); std::isfinite(term))
        largest = std::max(largest, term);
  return largest * double(terms.size()) * std::numeric_limits<double>::epsilon();
}

/// Elements of `have` that are no padding must be those of `want`, but for `rounding`; the first that is not.
std::string firstDifference(const RankValues &have, const RankValues &want, const ShardedShape &to,
                            double rounding) {
  SmallVector<int64_t> local = to.localShape();
  for (int64_t rank = 0; rank < int64_t(have.size()); ++rank) {
    const ReferenceTensor &x = have[size_t(rank)], &y = want[size_t(rank)];
    for (int64_t flat = 0; flat < x.size(); ++flat) {
      int64_t rest = flat;
      bool padding = false;
      for (size_t d = local.size(); d-- > 0; rest /= local[d])
        padding |= to.shard(int(d), rank) * local[d] + rest % local[d] >= to.global[d];
      double a = elementOf(x, flat), b = elementOf(y, flat);
      bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                  std::fabs(a - b) <= rounding + 1e-12 * std::max(std::fabs(a), std::fabs(b));
      if (!padding && !same)
        return "its axes and dimensions give rank " + std::to_string(rank) + " " + std::to_string(a) +
               " at place " + std::to_string(flat) + " of its piece, the types of operand and result say " +
               std::to_string(b);
    }
  }
  return "";
}

/// The axes whose ranks may take part; a permutation reaches every rank, what moves nothing none.
AxisList reachOf(CollectiveOpInterface op, const Mesh &mesh) {
  AxisList axes;
  if (op.getStepKind() == StepKind::CollectivePermute) {
    for (int i = 0; i < int(mesh.axes.size()); ++i)
      axes.push_back(wholeAxis(mesh, i));
  } else if (op.getStepKind() != StepKind::AllSlice && op.getStepKind() != StepKind::Contribute) {
    // Of what nobody sends, too: a piece may be empty along one dimension and be another rank's along others.
    axes = op.getGroupAxes(mesh);
  }
  return axes;
}
} // namespace

FailureOr<RankValues> tessera::runCollective(Operation *op, const RankValues &pieces,
                                             const ShardedShape &from, const ShardedShape &to,
                                             std::string &error) {
  if (auto permute = dyn_cast<dist::CollectivePermuteOp>(op); permute && permute.getMirrored()) {
    AxisList axes(dist::fromAxesAttr(*permute.getMirrored(), from.mesh));
    RankValues moved;
    for (int64_t rank = 0; rank < int64_t(pieces.size()); ++rank) {
      int64_t last = axesSize(axes) - 1;
      moved.push_back(pieces[size_t(
          judge::memberOver(from.mesh, axes, rank, last - judge::indexOver(from.mesh, axes, rank)))]);
    }
    return moved;
  }
  auto collective = cast<CollectiveOpInterface>(op);
  ArrayRef<int64_t> at;
  if (auto send = dyn_cast<dist::GroupedSendOp>(op))
    at = send.getAt().value_or(at);
  auto byTypes = exchange(pieces, from, to, reachOf(collective, from.mesh), error, at);
  if (failed(byTypes))
    return failure();
  // Permutations, sends and contributions say nothing that the types do not.
  std::optional<CollectiveSemantics> semantics = semanticsOf(op, from);
  if (!semantics)
    return byTypes;
  RankValues byAttributes;
  for (int64_t rank = 0; rank < int64_t(pieces.size()); ++rank)
    byAttributes.push_back(pieceOf(rank, *semantics, pieces, from, to.localShape()));
  error = firstDifference(byAttributes, *byTypes, to, roundingOf(pieces));
  if (!error.empty())
    return failure();
  return byTypes;
}

FailureOr<RankValues> tessera::runExchange(Operation *self, const RankValues &rows, const RankValues &sent,
                                           const RankValues &received, std::string &error) {
  auto op = cast<dist::ExchangeRowsOp>(self);
  auto shapeOf = [&](Value value) { return *getShardedShape(op, value.getType()); };
  ShardedShape to = shapeOf(op.getResult()), known = shapeOf(op.getReceivedIds());
  auto moved = runCollective(op, rows, shapeOf(op.getInput()), to, error);
  auto same = exchange(sent, shapeOf(op.getSentIds()), known, op.getGroupAxes(to.mesh), error);
  if (failed(moved) || failed(same))
    return failure();
  if (std::string difference = firstDifference(received, *same, known, /*rounding=*/0); !difference.empty()) {
    error = "both sides have other choices: " + difference;
    return failure();
  }
  int dim = int(to.global.size()) - 2;
  for (int64_t rank = 0; rank < int64_t(moved->size()); ++rank) {
    ReferenceTensor &piece = (*moved)[size_t(rank)];
    const ReferenceTensor &ids = received[size_t(rank)];
    int64_t experts = piece.shape[size_t(dim)], size = piece.shape.back(), choices = ids.shape.back();
    int64_t first = to.shard(dim, rank) * experts;
    for (int64_t row = 0; row < piece.size() / size; ++row) {
      const int64_t *own = &ids.i[size_t(row / experts * choices)];
      if (std::find(own, own + choices, first + row % experts) == own + choices)
        for (int64_t d = 0; d < size; ++d)
          poison(piece, row * size + d);
    }
  }
  return moved;
}
