//===- AxisLists.cpp - Arithmetic on lists of axes ------------------------===//
#include "AxisLists.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <numeric>
#include <set>

using namespace tessera;

bool tessera::overlap(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b) {
  return llvm::any_of(
      a, [&](const AxisRef &x) { return llvm::any_of(b, [&](const AxisRef &y) { return x.overlaps(y); }); });
}

std::optional<std::pair<AxisList, AxisList>> tessera::cutToFit(llvm::ArrayRef<AxisRef> axes, int64_t size) {
  if (axesSize(axes) <= size)
    return std::nullopt;
  AxisList major, minor;
  int64_t left = size;
  for (const AxisRef &axis : axes) {
    int64_t part = minor.empty() ? std::gcd(left, axis.size) : 1;
    if (part > 1)
      major.push_back({axis.axis, axis.pre, part});
    if (part < axis.size)
      minor.push_back({axis.axis, axis.pre * part, axis.size / part});
    left /= part;
  }
  if (major.empty())
    return std::nullopt;
  return std::make_pair(std::move(major), std::move(minor));
}

AxisList tessera::cutAlike(llvm::ArrayRef<AxisRef> axes) {
  std::map<int, std::set<int64_t>> cuts;
  for (const AxisRef &axis : axes)
    cuts[axis.axis].insert({axis.pre, axis.pre * axis.size});
  AxisList pieces;
  for (const auto &[axis, at] : cuts)
    for (auto low = at.begin(), high = std::next(low); high != at.end(); ++low, ++high) {
      AxisRef piece = {axis, *low, *high / *low};
      if (*high % *low == 0 &&
          llvm::any_of(axes, [&](const AxisRef &whole) { return whole.overlaps(piece); }))
        pieces.push_back(piece);
    }
  return pieces;
}

double tessera::countAssignments(size_t axes, size_t lists, size_t placed) {
  if (axes == 0)
    return 1;
  return countAssignments(axes - 1, lists, placed) +
         double(placed + lists) * countAssignments(axes - 1, lists, placed + 1);
}
