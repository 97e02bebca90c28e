//===- HeldExpansion.h - What it costs to expand a weight -------*- C++ -*-===//
#ifndef TESSERA_LIB_AUTOPARALLEL_HELDEXPANSION_H
#define TESSERA_LIB_AUTOPARALLEL_HELDEXPANSION_H

#include "tessera/AutoParallel/ProgramPlacement.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace tessera {

/// A weight that is expanded takes the memory that its blocks were to save, for as long as the program runs.
/// Placement has a price for time alone, so expanding costs as much as this many reads of the copy: it
/// happens only where a pin leaves nothing else.
inline constexpr double kReadsOfPlainCopy = 1000;

/// Seconds that expanding a rank's part of `value` counts as; 0: it is in no blocks.
inline double plainCopyTime(const ProgramValue &value, const Machine &machine) {
  double bytes = std::max(value.plainBytes - value.elementBytes, 0.0);
  for (int64_t size : value.sharding.localShape(value.shape))
    bytes *= double(size);
  return value.plainBytes == 0 ? 0 : kReadsOfPlainCopy * bytes / machine.memoryBandwidth;
}

/// The same if `needed` is a sharding that gathering alone does not give: blocks are not cut once they are
/// held. Otherwise 0.
inline double expansionTime(const ProgramValue &value, const Sharding &needed, const Machine &machine) {
  if (value.plainBytes == 0)
    return 0;
  bool gathers = true;
  int gathered = 0;
  for (size_t d = 0; d < needed.dims.size(); ++d) {
    const AxisList &held = value.sharding.dims[d].axes, &wanted = needed.dims[d].axes;
    gathers &= wanted.size() <= held.size() && std::equal(wanted.begin(), wanted.end(), held.begin());
    gathered += wanted.size() < held.size();
  }
  if (gathers && gathered <= 1) // gathers one after the other are of elements
    return 0;
  return plainCopyTime(value, machine);
}

/// The same for an op that looks rows up: it reads blocks where they are stored, and no pieces that ranks
/// gathered. Looking rows up first and moving those is nearly always less, too.
inline double lookupExpansionTime(const ProgramValue &value, const Sharding &needed, const Machine &machine) {
  for (auto [held, wanted] : llvm::zip(value.sharding.dims, needed.dims))
    if (held.axes != wanted.axes)
      return plainCopyTime(value, machine);
  return 0;
}

} // namespace tessera
#endif
