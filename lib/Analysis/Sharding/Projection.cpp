//===- Projection.cpp - Tensor shardings as factor shardings --------------===//
#include "tessera/Analysis/Sharding/Projection.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace tessera;

namespace {
/// Reads the axes of one dimension digit by digit.
class AxisReader {
public:
  explicit AxisReader(llvm::ArrayRef<AxisRef> axes) : axes(axes) { load(); }
  bool done() const { return index == axes.size(); }
  int64_t size() const { return current.size; }
  /// The next `size` values of the current axis, its major digits first.
  AxisRef take(int64_t size) {
    AxisRef taken = {current.axis, current.pre, size};
    current.pre *= size;
    current.size /= size;
    if (current.size == 1) {
      ++index;
      load();
    }
    return taken;
  }
  void takeRest(AxisList &into) {
    while (!done())
      into.push_back(take(current.size));
    mergeAdjacent(into);
  }

private:
  void load() {
    if (!done())
      current = axes[index];
  }
  llvm::ArrayRef<AxisRef> axes;
  size_t index = 0;
  AxisRef current;
};
} // namespace

TensorProjection tessera::project(const TensorFactors &tensor, const Sharding &sharding,
                                  llvm::ArrayRef<Factor> factors) {
  TensorProjection result;
  result.factors.resize(factors.size());
  result.blocked = sharding.replicated;
  result.blocked.append(sharding.partial.begin(), sharding.partial.end());
  for (auto [d, dim] : llvm::enumerate(tensor.dims)) {
    // The op does not see this dimension, but its axes are in use.
    if (dim.empty())
      result.blocked.append(sharding.dims[d].axes.begin(), sharding.dims[d].axes.end());
    AxisReader reader(sharding.dims[d].axes);
    bool overflowed = false;
    for (auto [i, f] : llvm::enumerate(dim)) {
      FactorSharding &factor = result.factors[f];
      factor.present = true;
      factor.minorMost = i + 1 == dim.size();
      factor.open = sharding.dims[d].open && !overflowed;
      if (overflowed)
        continue;
      if (factor.minorMost) {
        reader.takeRest(factor.axes);
        continue;
      }
      int64_t left = factors[f].size;
      while (!reader.done()) {
        int64_t part = std::gcd(left, reader.size());
        if (part == 1 && reader.size() != 1)
          break;
        factor.axes.push_back(reader.take(part));
        left /= part;
      }
      mergeAdjacent(factor.axes);
      if (left > 1 && !reader.done()) {
        reader.takeRest(factor.overflow);
        overflowed = true;
      }
    }
  }
  return result;
}

Sharding tessera::unproject(const TensorProjection &projection, const TensorFactors &tensor,
                            const Sharding &old, llvm::ArrayRef<Factor> factors) {
  Sharding result = old;
  for (auto [d, dim] : llvm::enumerate(tensor.dims)) {
    if (dim.empty())
      continue;
    DimSharding &sharding = result.dims[d];
    sharding.axes.clear();
    sharding.open = true;
    for (int f : dim) {
      const FactorSharding &factor = projection.factors[f];
      sharding.open &= factor.open;
      sharding.axes.append(factor.axes.begin(), factor.axes.end());
      sharding.axes.append(factor.overflow.begin(), factor.overflow.end());
      if (!factor.overflow.empty() || axesSize(factor.axes) < factors[f].size)
        break;
    }
    mergeAdjacent(sharding.axes);
    if (old.dims[d].open == false)
      sharding.open = false;
  }
  return result;
}

AxisList tessera::fittingPrefix(llvm::ArrayRef<AxisRef> axes, int64_t size, bool minorMost) {
  if (minorMost)
    return AxisList(axes.begin(), axes.end());
  AxisList result;
  for (AxisRef axis : axes) {
    int64_t part = std::gcd(size, axis.size);
    if (part == 1 && axis.size != 1)
      break;
    bool whole = part == axis.size;
    axis.size = part;
    result.push_back(axis);
    size /= part;
    if (!whole)
      break;
  }
  return result;
}
