// A sharding drawn at random: every axis, or both parts of one that is cut in two, splits some dimension or
// none.
#ifndef TESSERA_TEST_UNIT_DRAWSHARDING_H
#define TESSERA_TEST_UNIT_DRAWSHARDING_H

#include "tessera/Analysis/Sharding/Sharding.h"

#include <algorithm>
#include <random>

namespace tessera {

/// Half of the axes that can be are cut, at any divisor: 6 as 2 x 3 or as 3 x 2.
inline Sharding drawSharding(std::mt19937 &random, const Mesh &mesh, int rank) {
  Sharding result(rank);
  AxisList pieces;
  for (int axis = 0; axis < int(mesh.axes.size()); ++axis) {
    int64_t size = mesh.axes[axis].size;
    llvm::SmallVector<int64_t, 4> divisors;
    for (int64_t major = 2; major < size; ++major)
      if (size % major == 0)
        divisors.push_back(major);
    if (!divisors.empty() && random() % 2) {
      int64_t major = divisors[random() % divisors.size()];
      pieces.push_back({axis, 1, major});
      pieces.push_back({axis, major, size / major});
    } else {
      pieces.push_back({axis, 1, size});
    }
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  for (const AxisRef &piece : pieces)
    if (size_t d = random() % (rank + 1); d < size_t(rank))
      result.dims[d].axes.push_back(piece);
  for (DimSharding &dim : result.dims)
    mergeAdjacent(dim.axes);
  return result;
}

} // namespace tessera
#endif
