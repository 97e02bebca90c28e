//===- RandomReshards.cpp - Reshards drawn at random ----------------------===//
#include "tessera/AutoParallel/RandomReshards.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace tessera;

static constexpr int64_t kSmall[] = {2, 2, 2, 3, 4, 5, 7, 8, 16};
static constexpr int64_t kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61};

RandomReshard RandomReshards::next(std::optional<bool> divides, std::optional<bool> partial) {
  RandomReshard result;
  // A third of the meshes are small enough to replay on every device.
  bool small = pick(0, 2) == 0;
  int axes = int(std::min<int64_t>(limits.axes, pick(1, 8)));
  int64_t devices = 1;
  llvm::SmallVector<AxisRef, 10> pieces;
  for (int i = 0; i < axes; ++i) {
    int64_t kind = pick(0, 2), size = small       ? kSmall[pick(0, std::size(kSmall) - 1)]
                                      : kind == 0 ? kPrimes[pick(0, std::size(kPrimes) - 1)]
                                      : kind == 1 ? int64_t(1) << pick(1, 6)
                                                  : pick(2, 64);
    if (size > limits.axisSize || size > limits.devices / devices)
      size = 2;
    if (size > limits.devices / devices)
      break;
    devices *= size;
    result.mesh.axes.push_back({std::string(1, char('a' + i)), size});
    int64_t major = 2;
    while (size % major != 0)
      ++major;
    if (major < size && pick(0, 3) == 0) {
      pieces.push_back({i, 1, major});
      pieces.push_back({i, major, size / major});
    } else {
      pieces.push_back(wholeAxis(result.mesh, i));
    }
  }
  int rank = int(pick(1, 4));
  result.from = sharding(result.mesh, pieces, rank, partial.value_or(pick(0, 4) == 0));
  result.to = sharding(result.mesh, pieces, rank, false);
  bool even = divides.value_or(pick(0, 1) == 0);
  for (int d = 0; d < rank; ++d) {
    int64_t n = pick(1, std::min<int64_t>(limits.dimSize, pick(0, 2) == 0 ? 64 : 5000)),
            shards = std::lcm(result.from.shards(d), result.to.shards(d));
    if (even)
      n = shards * pick(1, 2);
    result.divides &= n % shards == 0;
    result.shape.push_back(n);
  }
  return result;
}

Sharding RandomReshards::sharding(const Mesh &mesh, llvm::ArrayRef<AxisRef> pieces, int rank, bool partial) {
  Sharding result(rank);
  llvm::SmallVector<AxisRef, 10> order(pieces.begin(), pieces.end());
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[size_t(pick(0, int64_t(i) - 1))]);
  for (const AxisRef &piece : order) {
    int64_t where = pick(0, rank + partial);
    if (where < rank)
      result.dims[size_t(where)].axes.push_back(piece);
    else if (where > rank)
      result.partial.push_back(piece);
  }
  for (DimSharding &dim : result.dims)
    mergeAdjacent(dim.axes);
  llvm::sort(result.partial);
  mergeAdjacent(result.partial);
  if (!result.partial.empty())
    result.partialKind = PartialKind::Sum;
  return result;
}
