//===- ShardedShape.cpp - Global values and the pieces of ranks -----------------===//
#include "tessera/Reference/ShardedShape.h"
#include "Groups.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;

void tessera::poison(ReferenceTensor &tensor, int64_t index) {
  // Weyl sequence with a mixing step; small enough that exp and products of a few of them stay finite.
  uint64_t x = (uint64_t(index) + uint64_t(tensor.size()) * 0x9E3779B97F4A7C15u + 1) * 0xD1342543DE82EF95u;
  x ^= x >> 29;
  if (tensor.isFloat())
    tensor.f[index] = (x & 1 ? 1.0 : -1.0) * (3.0 + double(x >> 11) * 0x1p-53 * 4.0);
  else if (tensor.elementType.isInteger(1))
    tensor.i[index] = int64_t(x & 1);
  else
    tensor.i[index] = int64_t(x % 1009) - 3;
}

int64_t ShardedShape::shard(int dim, int64_t rank) const {
  return judge::indexOver(mesh, sharding.dims[size_t(dim)].axes, rank);
}

/// Walks all multi-indices of `shape`, row-major; `fn(flat, index)`.
template <typename Fn> static void forEachIndex(ArrayRef<int64_t> shape, Fn fn) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t flat = 0;; ++flat) {
    fn(flat, index);
    size_t d = shape.size();
    while (d-- > 0) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
    if (d == size_t(-1))
      return;
  }
}

static void copyElement(const ReferenceTensor &from, int64_t at, ReferenceTensor &to, int64_t toAt) {
  if (from.isFloat())
    to.f[toAt] = from.f[at];
  else
    to.i[toAt] = from.i[at];
}

static void setNeutral(ReferenceTensor &tensor, int64_t at, PartialKind kind) {
  bool max = kind == PartialKind::Max;
  if (tensor.isFloat())
    tensor.f[at] = max ? -std::numeric_limits<double>::infinity() : 0;
  else
    tensor.i[at] = max ? std::numeric_limits<int64_t>::min() : 0;
}

static void combineElement(const ReferenceTensor &from, int64_t at, ReferenceTensor &to, int64_t toAt,
                           PartialKind kind) {
  // A NaN is larger than all.
  auto combine = [kind](auto &x, auto y) { x = kind != PartialKind::Max ? x + y : x != x || x > y ? x : y; };
  if (from.isFloat())
    combine(to.f[toAt], from.f[at]);
  else
    combine(to.i[toAt], from.i[at]);
}

RankValues tessera::shard(const ReferenceTensor &global, const ShardedShape &sharded, Padding padding) {
  RankValues pieces;
  SmallVector<int64_t> local = sharded.localShape(), strides = global.strides();
  for (int64_t rank = 0, ranks = sharded.mesh.numDevices(); rank < ranks; ++rank) {
    ReferenceTensor piece(global.elementType, local);
    SmallVector<int64_t> begin;
    for (size_t d = 0; d < local.size(); ++d)
      begin.push_back(sharded.shard(int(d), rank) * local[d]);
    bool first = judge::indexOver(sharded.mesh, sharded.sharding.partial, rank) == 0;
    forEachIndex(local, [&](int64_t flat, ArrayRef<int64_t> index) {
      int64_t at = 0;
      bool inside = true;
      for (size_t d = 0; d < local.size(); ++d) {
        at += (begin[d] + index[d]) * strides[d];
        inside &= begin[d] + index[d] < sharded.global[d];
      }
      if (!inside && padding == Padding::Poison)
        poison(piece, flat);
      else if (inside && first)
        copyElement(global, at, piece, flat);
      else if (inside)
        setNeutral(piece, flat, sharded.sharding.partialKind);
    });
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

static std::string indexText(ArrayRef<int64_t> index) {
  std::string text;
  for (int64_t i : index)
    text += (text.empty() ? "" : ", ") + std::to_string(i);
  return "[" + text + "]";
}

static double elementOf(const ReferenceTensor &tensor, int64_t at) {
  return tensor.isFloat() ? tensor.f[at] : double(tensor.i[at]);
}

FailureOr<ReferenceTensor> tessera::unshard(const RankValues &pieces, const ShardedShape &sharded,
                                            double tolerance, std::string &error) {
  ReferenceTensor global(sharded.elementType, sharded.global);
  SmallVector<int64_t> local = sharded.localShape(), strides = global.strides();
  // The rank that gave an element first; ranks that differ in partial axes only add up to one copy.
  std::vector<int64_t> giver(size_t(global.size()), -1);
  double largest = 0;
  for (const ReferenceTensor &piece : pieces)
    for (int64_t i = 0; global.isFloat() && i < piece.size(); ++i)
      largest = std::isfinite(piece.f[i]) ? std::max(largest, std::fabs(piece.f[i])) : largest;
  for (int64_t rank = 0, ranks = sharded.mesh.numDevices(); rank < ranks; ++rank) {
    if (judge::indexOver(sharded.mesh, sharded.sharding.partial, rank) != 0)
      continue;
    auto group = judge::membersOver(sharded.mesh, sharded.sharding.partial, rank);
    SmallVector<int64_t> begin;
    for (size_t d = 0; d < local.size(); ++d)
      begin.push_back(sharded.shard(int(d), rank) * local[d]);
    ReferenceTensor whole = pieces[group.front()];
    for (int64_t other : ArrayRef<int64_t>(group).drop_front())
      for (int64_t i = 0; i < whole.size(); ++i)
        combineElement(pieces[other], i, whole, i, sharded.sharding.partialKind);
    forEachIndex(local, [&](int64_t flat, ArrayRef<int64_t> index) {
      int64_t at = 0;
      for (size_t d = 0; d < local.size(); ++d) {
        if (begin[d] + index[d] >= sharded.global[d])
          return;
        at += (begin[d] + index[d]) * strides[d];
      }
      if (giver[at] < 0) {
        giver[at] = rank;
        copyElement(whole, flat, global, at);
        return;
      }
      double have = elementOf(global, at), mine = elementOf(whole, flat);
      bool same = have == mine || std::fabs(have - mine) <= tolerance * largest ||
                  (std::isnan(have) && std::isnan(mine));
      if (!same && error.empty()) {
        SmallVector<int64_t> place(index);
        for (size_t d = 0; d < place.size(); ++d)
          place[d] += begin[d];
        error = "element " + indexText(place) + " is " + std::to_string(have) + " on rank " +
                std::to_string(giver[at]) + " and " + std::to_string(mine) + " on rank " +
                std::to_string(rank) + ", which should hold copies";
      }
    });
  }
  if (!error.empty())
    return failure();
  return global;
}

FailureOr<RankValues> tessera::exchange(const RankValues &pieces, const ShardedShape &from,
                                        const ShardedShape &to, ArrayRef<AxisRef> axes, std::string &error,
                                        ArrayRef<int64_t> at) {
  const Mesh &mesh = from.mesh;
  SmallVector<int64_t> localFrom = from.localShape(), localTo = to.localShape();
  size_t rank = localTo.size();
  SmallVector<int64_t> strides = ReferenceTensor(from.elementType, localFrom).strides();
  bool sameKind = from.sharding.partialKind == to.sharding.partialKind;
  AxisList combined =
      sameKind ? axesWithout(from.sharding.partial, to.sharding.partial) : from.sharding.partial;
  // Who contributes to a sum: one of each group; to a maximum everybody can.
  AxisList contributed =
      sameKind ? axesWithout(to.sharding.partial, from.sharding.partial) : to.sharding.partial;
  bool isSum = to.sharding.partialKind == PartialKind::Sum;
  RankValues results;
  for (int64_t r = 0, ranks = mesh.numDevices(); r < ranks; ++r) {
    SmallVector<int64_t> reachable = judge::membersOver(mesh, axes, r);
    // Per dimension and place of the result: the step to the source rank (digits of dimensions are
    // independent) and the place there; place -1: padding.
    struct Source {
      int64_t step, place;
    };
    SmallVector<SmallVector<Source>> sources(rank);
    for (size_t d = 0; d < rank; ++d)
      for (int64_t l = 0; l < localTo[d]; ++l) {
        int64_t g = to.shard(int(d), r) * localTo[d] + l;
        if (g >= to.global[d]) {
          // Padding stays what it was where the dimension stays as it was (a parameter's zeros are relied
          // upon).
          bool same =
              from.sharding.dims[d].axes == to.sharding.dims[d].axes && from.global[d] == to.global[d];
          sources[d].push_back({0, same ? l : -1});
          continue;
        }
        g += at.empty() ? 0 : at[d];
        int64_t source = judge::memberOver(mesh, from.sharding.dims[d].axes, r, g / localFrom[d]);
        if (!llvm::is_contained(reachable, source)) {
          error = "rank " + std::to_string(r) + " needs element " + std::to_string(g) + " of dimension " +
                  std::to_string(d) + ", which lies on rank " + std::to_string(source) +
                  ", not in its group: pieces of " + std::to_string(localFrom[d]) +
                  " do not line up with pieces of " + std::to_string(localTo[d]);
          return failure();
        }
        sources[d].push_back({source - r, g % localFrom[d]});
      }
    // Steps from a source to the other ranks it is combined with.
    std::vector<SmallVector<int64_t>> groups;
    groups.resize(size_t(ranks));
    ReferenceTensor result(to.elementType, localTo);
    forEachIndex(localTo, [&](int64_t flat, ArrayRef<int64_t> index) {
      int64_t source = r, at = 0;
      for (size_t d = 0; d < rank; ++d) {
        const Source &s = sources[d][index[d]];
        if (s.place < 0) {
          poison(result, flat);
          return;
        }
        source += s.step;
        at += s.place * strides[d];
      }
      if (combined.empty()) {
        copyElement(pieces[source], at, result, flat);
        return;
      }
      if (groups[source].empty())
        groups[source] = judge::membersOver(mesh, combined, source);
      copyElement(pieces[groups[source].front()], at, result, flat);
      for (int64_t other : ArrayRef<int64_t>(groups[source]).drop_front())
        combineElement(pieces[other], at, result, flat, from.sharding.partialKind);
    });
    if (isSum && judge::indexOver(mesh, contributed, r) != 0)
      for (int64_t i = 0; i < result.size(); ++i)
        setNeutral(result, i, PartialKind::Sum);
    results.push_back(std::move(result));
  }
  return results;
}
