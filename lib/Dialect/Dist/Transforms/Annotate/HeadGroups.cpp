//===- HeadGroups.cpp - Axes dealt between KV heads and their groups ------===//
#include "Annotate/HeadGroups.h"

#include <optional>

using namespace tessera;
using namespace tessera::dist;

/// The first `size` shards of `axes` and the rest; none if `size` cuts an axis where it has no digit.
static std::optional<HeadSplit> cut(llvm::ArrayRef<AxisRef> axes, int64_t size) {
  HeadSplit split;
  for (const AxisRef &axis : axes) {
    if (size % axis.size == 0) {
      split.kvHeads.push_back(axis);
      size /= axis.size;
      continue;
    }
    if (axis.size % size != 0)
      return std::nullopt;
    if (size > 1)
      split.kvHeads.push_back({axis.axis, axis.pre, size});
    split.group.push_back({axis.axis, axis.pre * size, axis.size / size});
    size = 1;
  }
  return split;
}

HeadSplit tessera::dist::splitHeads(llvm::ArrayRef<AxisRef> axes, llvm::ArrayRef<HeadTensor> tensors) {
  auto perShard = [](int64_t size, int64_t shards) { return double((size + shards - 1) / shards); };
  int64_t ranks = axesSize(axes);
  std::optional<HeadSplit> best;
  for (int64_t size = ranks; size >= 1; --size) {
    if (ranks % size != 0)
      continue;
    auto split = cut(axes, size);
    if (!split)
      continue;
    for (const HeadTensor &tensor : tensors) {
      split->bytesPerRank += tensor.otherBytes * perShard(tensor.kvHeads, size) *
                             (tensor.hasGroup ? perShard(tensor.group, ranks / size) : 1);
      split->evenBytes +=
          tensor.otherBytes * double(tensor.kvHeads * (tensor.hasGroup ? tensor.group : 1)) / double(ranks);
    }
    if (!best || split->bytesPerRank < best->bytesPerRank)
      best = std::move(split);
  }
  return *best; // all axes on kv_heads are always a split
}
