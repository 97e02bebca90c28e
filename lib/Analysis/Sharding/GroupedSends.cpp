//===- GroupedSends.cpp - Who sends what where pieces do not line up ------===//
#include "tessera/Analysis/Sharding/GroupedSends.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>
#include <vector>

using namespace tessera;

namespace {
int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// What devices lack of their new pieces, each on its own.
class Receipts {
public:
  Receipts(const Mesh &mesh, const SentPart &part, const Sharding &from, const Sharding &to)
      : mesh(mesh), part(part), from(from), to(to), haveExtent(from.localShape(part.shape)),
        wantExtent(to.localShape(part.size)) {
    llvm::SmallVector<bool> splits(mesh.axes.size(), false);
    for (const Sharding *sharding : {&from, &to})
      for (const DimSharding &dim : sharding->dims)
        for (const AxisRef &axis : dim.axes)
          splits[axis.axis] = true;
    for (auto [i, axis] : llvm::enumerate(mesh.axes))
      if (splits[i]) {
        used.push_back(int(i));
        devices *= axis.size;
      }
  }

  double most() const {
    int64_t most = 0, whole = 1;
    for (int64_t extent : wantExtent)
      whole *= extent;
    if (devices > kMaxSearched)
      return double(whole);
    for (int64_t device = 0; device < devices && most < whole; ++device)
      most = std::max(most, lacks(device));
    return double(most);
  }

  double atLeast(int samples) const {
    int64_t most = 0;
    for (int64_t i = 0; i < std::min<int64_t>(samples, devices); ++i)
      // Multiples of the golden ratio fill an interval evenly.
      most = std::max(most, lacks(devices <= samples ? i
                                                     : int64_t((0x9E3779B97F4A7C15ull * uint64_t(i) >> 24) %
                                                               uint64_t(devices))));
    return double(most);
  }

  /// Of all devices, each receiver's boxes counted with their senders; `messages` a device at most.
  double mostSent(int64_t messages) const {
    if (devices * messages > kMaxSearched)
      return sentAtMost();
    std::vector<double> sent(size_t(devices), 0);
    std::vector<std::vector<std::vector<Overlap>>> overlaps;
    for (size_t d = 0; d < part.size.size(); ++d)
      overlaps.push_back(overlapsOf(d));
    llvm::SmallVector<llvm::ArrayRef<Overlap>, 4> lists;
    for (int64_t device = 0; device < devices; ++device) {
      auto coordinates = coordinatesOf(device);
      int64_t sender = device; // without what the overlaps say
      lists.clear();
      for (size_t d = 0; d < part.size.size(); ++d) {
        lists.push_back(overlaps[d][size_t(shard(to.dims[d], coordinates))]);
        for (const AxisRef &axis : from.dims[d].axes)
          sender -= axis.digit(coordinates[axis.axis], mesh) * weightOf(axis);
      }
      countBoxes(lists, sender, 1, device, sent);
    }
    return *llvm::max_element(sent);
  }

private:
  /// What of a dimension's new piece lies in one of its old pieces.
  struct Overlap {
    double elements;
    int64_t sender; ///< what that old piece adds to the number of a device
  };

  /// What one more in the digit `axis` adds to the number of a device.
  int64_t weightOf(const AxisRef &axis) const {
    int64_t weight = mesh.axes[axis.axis].size / (axis.pre * axis.size);
    for (int other : used)
      weight *= other > axis.axis ? mesh.axes[other].size : 1;
    return weight;
  }

  /// Of each new piece of dimension `d`.
  std::vector<std::vector<Overlap>> overlapsOf(size_t d) const {
    std::vector<std::vector<Overlap>> result(size_t(to.shards(int(d))));
    for (auto [want, list] : llvm::enumerate(result)) {
      int64_t begin = int64_t(want) * wantExtent[d], end = std::min(part.size[d], begin + wantExtent[d]);
      begin += part.beginOf(d), end += part.beginOf(d);
      while (begin < end) {
        int64_t piece = begin / haveExtent[d], next = std::min(end, (piece + 1) * haveExtent[d]), sender = 0;
        for (const AxisRef &axis : llvm::reverse(from.dims[d].axes)) {
          sender += piece % axis.size * weightOf(axis);
          piece /= axis.size;
        }
        list.push_back({double(next - begin), sender});
        begin = next;
      }
    }
    return result;
  }

  /// Adds what lies in the receiver's new piece to those that have it, dimension by dimension: one of
  /// `lists` for each, `sender` and `elements` of those before.
  static void countBoxes(llvm::ArrayRef<llvm::ArrayRef<Overlap>> lists, int64_t sender, double elements,
                         int64_t receiver, std::vector<double> &sent) {
    if (lists.empty()) {
      sent[size_t(sender)] += sender == receiver ? 0 : elements;
      return;
    }
    for (const Overlap &overlap : lists.front())
      countBoxes(lists.drop_front(), sender + overlap.sender, elements * overlap.elements, receiver, sent);
  }

  /// A device sends each element that it has to at most all in its group that want it, and only what anybody
  /// there wants.
  double sentAtMost() const {
    AxisList group = sendAxes(mesh, part, from, to);
    double sent = double(axesSize(group));
    for (auto [d, dim] : llvm::enumerate(to.dims)) {
      int64_t inside = axesSize(dim.axes) / axesSize(axesWithout(dim.axes, group)),
              outside = axesSize(dim.axes) / inside;
      sent *= double(std::min(haveExtent[d], ceilDiv(part.size[d], outside))) / double(inside);
    }
    return sent;
  }

  static constexpr int64_t kMaxSearched = int64_t(1) << 17;

  int64_t shard(const DimSharding &dim, llvm::ArrayRef<int64_t> coordinates) const {
    int64_t number = 0;
    for (const AxisRef &axis : dim.axes)
      number = number * axis.size + axis.digit(coordinates[axis.axis], mesh);
    return number;
  }

  /// `device`: a number among those that differ in the axes that split anything.
  llvm::SmallVector<int64_t, 4> coordinatesOf(int64_t device) const {
    llvm::SmallVector<int64_t, 4> coordinates(mesh.axes.size(), 0);
    for (int axis : llvm::reverse(used)) {
      coordinates[axis] = device % mesh.axes[axis].size;
      device /= mesh.axes[axis].size;
    }
    return coordinates;
  }

  int64_t lacks(int64_t device) const {
    auto coordinates = coordinatesOf(device);
    int64_t wanted = 1, shared = 1;
    for (size_t d = 0; d < part.size.size(); ++d) {
      int64_t have = shard(from.dims[d], coordinates) * haveExtent[d],
              want = shard(to.dims[d], coordinates) * wantExtent[d];
      int64_t wantEnd = std::min(part.size[d], want + wantExtent[d]);
      wanted *= std::max<int64_t>(0, wantEnd - want);
      want += part.beginOf(d), wantEnd += part.beginOf(d);
      shared *= std::max<int64_t>(0, std::min(wantEnd, have + haveExtent[d]) - std::max(want, have));
    }
    return wanted - shared;
  }

  const Mesh &mesh;
  SentPart part;
  const Sharding &from, &to;
  llvm::SmallVector<int64_t> haveExtent, wantExtent;
  llvm::SmallVector<int, 4> used;
  int64_t devices = 1;
};

/// Axes with which both dimensions begin, as long as pieces of both ends lie within the pieces that these
/// axes make.
size_t commonMajor(int64_t n, llvm::ArrayRef<AxisRef> before, llvm::ArrayRef<AxisRef> after) {
  size_t common = 0;
  while (common < before.size() && common < after.size() && before[common] == after[common])
    ++common;
  auto nests = [&](llvm::ArrayRef<AxisRef> axes) {
    int64_t pieces = axesSize(axes.take_front(common)), all = axesSize(axes);
    return ceilDiv(n, pieces) == all / pieces * ceilDiv(n, all);
  };
  while (common > 0 && before != after && !(nests(before) && nests(after)))
    --common;
  return common;
}
} // namespace

AxisList tessera::sendAxes(const Mesh &mesh, const SentPart &part, const Sharding &from, const Sharding &to) {
  AxisList axes;
  for (auto [d, before, after] : llvm::enumerate(from.dims, to.dims)) {
    llvm::ArrayRef<AxisRef> rest = before.axes;
    if (part.isAll(d))
      rest = rest.drop_front(commonMajor(part.shape[d], before.axes, after.axes));
    llvm::copy_if(rest, std::back_inserter(axes), [](const AxisRef &axis) { return axis.size > 1; });
  }
  llvm::sort(axes);
  mergeAdjacent(axes);
  return axes;
}

int64_t tessera::touchedPieces(int64_t n, int64_t have, int64_t want, int64_t begin) {
  // Pieces begin at multiples of `want` behind `begin`, so inside one of the others at multiples of the
  // common divisor behind what is left of it.
  int64_t step = std::gcd(have, want);
  return std::min(ceilDiv(have - step + begin % step + want, have), ceilDiv(n, have));
}

int64_t tessera::sendMessages(const SentPart &part, const Sharding &from, const Sharding &to) {
  int64_t messages = 1;
  auto have = from.localShape(part.shape), want = to.localShape(part.size);
  for (size_t d = 0; d < part.size.size(); ++d)
    messages *= part.size[d] > 0 ? touchedPieces(part.shape[d], have[d], want[d], part.beginOf(d)) : 0;
  return messages;
}

double tessera::mostReceived(const Mesh &mesh, const SentPart &part, const Sharding &from,
                             const Sharding &to) {
  return Receipts(mesh, part, from, to).most();
}

double tessera::mostSent(const Mesh &mesh, const SentPart &part, const Sharding &from, const Sharding &to) {
  return Receipts(mesh, part, from, to).mostSent(sendMessages(part, from, to));
}

double tessera::mostMoved(const Mesh &mesh, const SentPart &part, const Sharding &from, const Sharding &to) {
  return std::max(mostReceived(mesh, part, from, to), mostSent(mesh, part, from, to));
}

double tessera::someReceived(const Mesh &mesh, const SentPart &part, const Sharding &from, const Sharding &to,
                             int samples) {
  return Receipts(mesh, part, from, to).atLeast(samples);
}
