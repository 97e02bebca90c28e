#include "tessera/runtime/comm/Transfers.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tessera::runtime {

static int64_t product(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<int64_t>());
}

// The digits of `axes`, major to minor, cut so that each lies either within `taken` or outside of it.
static AxisList cutAt(const AxisList &axes, const AxisList &taken) {
  AxisList digits;
  for (const SubAxis &axis : axes) {
    Shape cuts = {axis.pre, axis.pre * axis.size};
    for (const SubAxis &other : taken)
      if (other.axis == axis.axis)
        for (int64_t cut : {other.pre, other.pre * other.size})
          if (cut > axis.pre && cut < axis.pre * axis.size)
            cuts.push_back(cut);
    std::sort(cuts.begin(), cuts.end());
    for (size_t i = 0; i + 1 < cuts.size(); ++i)
      if (cuts[i + 1] > cuts[i])
        digits.push_back({axis.axis, cuts[i], cuts[i + 1] / cuts[i]});
  }
  return digits;
}

// False where one axis is cut in ways that do not go together, 12 as 4 x 3 and as 3 x 4: then there are no
// common digits.
static bool nest(const AxisList &a, const AxisList &b) {
  for (const SubAxis &one : a)
    for (const SubAxis &other : b)
      for (int64_t cut : {one.pre, one.pre * one.size})
        for (int64_t otherCut : {other.pre, other.pre * other.size})
          if (one.axis == other.axis && cut % otherCut != 0 && otherCut % cut != 0)
            return false;
  return true;
}

// The ranks that differ from `rank` in the axes that `a` or `b` have a part of, ascending.
static std::vector<int64_t> ranksOverWhole(const Mesh &mesh, const AxisList &a, const AxisList &b,
                                           int64_t rank) {
  AxisList whole;
  for (const MeshAxis &axis : mesh.axes())
    for (const AxisList *list : {&a, &b})
      if (std::any_of(list->begin(), list->end(),
                      [&](const SubAxis &part) { return part.axis == axis.name; })) {
        whole.push_back({axis.name, 1, axis.size});
        break;
      }
  return mesh.group(rank, whole);
}

static bool within(const SubAxis &digit, const AxisList &axes) {
  return std::any_of(axes.begin(), axes.end(), [&](const SubAxis &axis) {
    return axis.axis == digit.axis && axis.pre <= digit.pre && digit.pre * digit.size <= axis.pre * axis.size;
  });
}

// Those of `axes` that are not in `taken`, in the order of the mesh: the first varies slowest in rank
// numbers.
static AxisList without(const Mesh &mesh, const AxisList &axes, const AxisList &taken) {
  AxisList rest;
  for (const SubAxis &digit : cutAt(axes, taken))
    if (!within(digit, taken))
      rest.push_back(digit);
  auto place = [&](const SubAxis &digit) {
    size_t i = 0;
    while (mesh.axes()[i].name != digit.axis)
      ++i;
    return std::make_pair(i, digit.pre);
  };
  std::sort(rest.begin(), rest.end(),
            [&](const SubAxis &a, const SubAxis &b) { return place(a) < place(b); });
  return rest;
}

static AxisList allAxes(const Sharding &sharding) {
  AxisList all;
  for (const AxisList &dim : sharding)
    all.insert(all.end(), dim.begin(), dim.end());
  return all;
}

namespace {

// Boxes of a grouped send between this rank and others.
struct Boxes {
  const Mesh &mesh;
  const Shape &global;
  const Box &part;
  const Sharding &from, &to;
  Shape have, want; // of a whole piece

  // Calls use(sender, box in the part) for each box of the new piece of `receiver`.
  template <typename F> void received(int64_t receiver, F use) const {
    Box box{Shape(global.size()), Shape(global.size())};
    receivedFrom(0, receiver, receiver, box, use);
  }
  template <typename F>
  void receivedFrom(size_t d, int64_t receiver, int64_t sender, Box &box, F &use) const {
    if (d == global.size())
      return use(sender, box);
    ShardRange wanted = shardRange(part.size[d], want[d], mesh.index(receiver, to[d]));
    for (int64_t begin = wanted.begin; begin < wanted.end;) {
      int64_t shard = (begin + part.begin[d]) / have[d],
              end = std::min(wanted.end, (shard + 1) * have[d] - part.begin[d]);
      box.begin[d] = begin, box.size[d] = end - begin;
      receivedFrom(d + 1, receiver, mesh.member(sender, from[d], shard), box, use);
      begin = end;
    }
  }

  // Calls use(receiver, box in the part) for each box that `sender` gives away or keeps. A receiver
  // has the sender's coordinates outside of the axes of `from`, and may have any on these.
  template <typename F> void sent(int64_t sender, F use) const {
    AxisList before = allAxes(from);
    if (!nest(before, allAxes(to))) {
      // Whoever may receive is asked: rare, and these axes are small.
      for (int64_t receiver : ranksOverWhole(mesh, before, {}, sender))
        received(receiver, [&](int64_t from, const Box &box) {
          if (from == sender)
            use(receiver, box);
        });
      return;
    }
    AxisList free = without(mesh, before, allAxes(to));
    std::vector<AxisList> digits;
    for (const AxisList &dim : to)
      digits.push_back(cutAt(dim, before));
    Box box{Shape(global.size()), Shape(global.size())};
    auto everyCopy = [&](int64_t receiver, const Box &sentBox) {
      for (int64_t i = 0, n = shardCount(free); i < n; ++i)
        use(mesh.member(receiver, free, i), sentBox);
    };
    sentTo(0, sender, sender, digits, before, box, everyCopy);
  }
  template <typename F>
  void sentTo(size_t d, int64_t sender, int64_t receiver, const std::vector<AxisList> &digits,
              const AxisList &before, Box &box, F &use) const {
    if (d == global.size())
      return use(receiver, box);
    ShardRange held = shardRange(global[d], have[d], mesh.index(sender, from[d]));
    held.begin = std::max<int64_t>(0, held.begin - part.begin[d]);
    held.end = std::min(part.size[d], held.end - part.begin[d]);
    if (held.begin >= held.end || want[d] == 0)
      return;
    int64_t shards = shardCount(to[d]);
    // Digit by digit: only those whose shards meet what is held.
    auto pick = [&](auto &&self, size_t i, int64_t prefix, int64_t left, int64_t holder) -> void {
      if (i == digits[d].size()) {
        ShardRange wanted = shardRange(part.size[d], want[d], prefix);
        box.begin[d] = std::max(held.begin, wanted.begin);
        box.size[d] = std::min(held.end, wanted.end) - box.begin[d];
        if (box.size[d] > 0)
          sentTo(d + 1, sender, holder, digits, before, box, use);
        return;
      }
      const SubAxis &digit = digits[d][i];
      int64_t below = left / digit.size, first = prefix * digit.size, extent = below * want[d];
      int64_t low = std::max<int64_t>(0, held.begin / extent - first),
              high = std::min(digit.size - 1, (held.end - 1) / extent - first);
      if (!within(digit, before))
        low = std::max(low, mesh.coordinate(sender, digit)),
        high = std::min(high, mesh.coordinate(sender, digit));
      for (int64_t value = low; value <= high; ++value)
        self(self, i + 1, first + value, below, mesh.member(holder, {digit}, value));
    };
    pick(pick, 0, 0, shards, receiver);
  }
};

} // namespace

Transfers groupedSend(const Mesh &mesh, const Shape &global, const Sharding &from, const Sharding &to,
                      int64_t rank) {
  return groupedSend(mesh, global, from, to, rank, {Shape(global.size(), 0), global});
}

Transfers groupedSend(const Mesh &mesh, const Shape &global, const Sharding &from, const Sharding &to,
                      int64_t rank, const Box &part) {
  Transfers transfers;
  transfers.src = localShape(global, from);
  transfers.dst = localShape(part.size, to);
  Boxes boxes{mesh, global, part, from, to, transfers.src, transfers.dst};
  auto inPiece = [&](const Box &box, const Shape &piece) {
    Shape begin(box.begin);
    for (size_t d = 0; d < begin.size(); ++d)
      begin[d] %= piece[d];
    return begin;
  };
  auto inSource = [&](Box box) {
    for (size_t d = 0; d < box.begin.size(); ++d)
      box.begin[d] += part.begin[d];
    return inPiece(box, transfers.src);
  };
  int64_t filled = 0;
  boxes.received(rank, [&](int64_t sender, const Box &box) {
    filled += product(box.size);
    if (sender != rank) {
      transfers.comes.push_back({sender, {inPiece(box, transfers.dst), box.size}});
      return;
    }
    transfers.kept = Box{inSource(box), box.size};
    transfers.keptAt = inPiece(box, transfers.dst);
  });
  transfers.padded = filled < product(transfers.dst);
  boxes.sent(rank, [&](int64_t receiver, const Box &box) {
    if (receiver != rank)
      transfers.goes.push_back({receiver, {inSource(box), box.size}});
  });
  return transfers;
}

Transfers permute(const Mesh &mesh, int64_t elements, const Sharding &from, const Sharding &to,
                  int64_t rank) {
  Transfers transfers;
  transfers.src = transfers.dst = {elements};
  Box whole{{0}, {elements}};
  auto pieceOf = [&](int64_t who, const Sharding &sharding) {
    Shape piece;
    for (const AxisList &dim : sharding)
      piece.push_back(mesh.index(who, dim));
    return piece;
  };
  // The ranks that have `piece` under one sharding and another one under the other.
  auto ranksWith = [&](const Shape &piece, const Sharding &here, const Sharding &there) {
    int64_t one = rank;
    for (size_t d = 0; d < here.size(); ++d)
      one = mesh.member(one, here[d], piece[d]);
    AxisList hereAxes = allAxes(here), thereAxes = allAxes(there);
    std::vector<int64_t> ranks = nest(hereAxes, thereAxes)
                                     ? mesh.group(one, without(mesh, thereAxes, hereAxes))
                                     : ranksOverWhole(mesh, hereAxes, thereAxes, rank);
    ranks.erase(std::remove_if(
                    ranks.begin(), ranks.end(),
                    [&](int64_t who) { return pieceOf(who, here) != piece || pieceOf(who, there) == piece; }),
                ranks.end());
    return ranks;
  };
  Shape has = pieceOf(rank, from), needs = pieceOf(rank, to);
  if (has == needs) {
    transfers.kept = whole;
    transfers.keptAt = {0};
    return transfers;
  }
  auto peer = [&](const std::vector<int64_t> &mine, const std::vector<int64_t> &theirs) {
    if (mine.size() != theirs.size())
      throw Error("cannot exchange data", "collective_permute",
                  std::to_string(mine.size()) + " ranks are to exchange a piece with " +
                      std::to_string(theirs.size()),
                  "compile the program again with this version of llm-compile");
    return theirs[std::find(mine.begin(), mine.end(), rank) - mine.begin()];
  };
  transfers.comes.push_back({peer(ranksWith(needs, to, from), ranksWith(needs, from, to)), whole});
  transfers.goes.push_back({peer(ranksWith(has, from, to), ranksWith(has, to, from)), whole});
  return transfers;
}

Transfers mirror(const Mesh &mesh, int64_t elements, const AxisList &axes, int64_t rank) {
  Transfers transfers;
  transfers.src = transfers.dst = {elements};
  Box whole{{0}, {elements}};
  int64_t peer = mesh.member(rank, axes, shardCount(axes) - 1 - mesh.index(rank, axes));
  if (peer == rank) {
    transfers.kept = whole;
    transfers.keptAt = {0};
  } else {
    transfers.comes.push_back({peer, whole});
    transfers.goes.push_back({peer, whole});
  }
  return transfers;
}

void copyBox(const void *src, const Shape &from, const Shape &fromBegin, void *dst, const Shape &to,
             const Shape &toBegin, const Shape &size, size_t elementBytes) {
  // Rows of the last dimension; the others count like the digits of a number.
  int64_t rank = int64_t(size.size()), row = rank > 0 ? size[rank - 1] : 1,
          rows = row > 0 ? product(size) / row : 0;
  Shape index(rank, 0);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t at = 0, target = 0;
    for (int64_t d = 0; d < rank; ++d) {
      at = at * from[d] + fromBegin[d] + index[d];
      target = target * to[d] + toBegin[d] + index[d];
    }
    memcpy(static_cast<char *>(dst) + target * elementBytes,
           static_cast<const char *>(src) + at * elementBytes, row * elementBytes);
    for (int64_t d = rank - 2; d >= 0; --d) {
      if (++index[d] < size[d])
        break;
      index[d] = 0;
    }
  }
}

} // namespace tessera::runtime
