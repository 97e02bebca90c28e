//===- HeldExpansion.h - What it costs to expand a weight -------*- C++ -*-===//
#ifndef TESSERA_LIB_AUTOPARALLEL_HELDEXPANSION_H
#define TESSERA_LIB_AUTOPARALLEL_HELDEXPANSION_H

#include "tessera/AutoParallel/ProgramPlacement.h"

#include <algorithm>

namespace tessera {

/// A weight that is expanded takes the memory that its blocks were to save, for as long as the program runs.
/// Placement has a price for time alone, so expanding costs as much as this many reads of the copy: it
/// happens only where a pin leaves nothing else.
inline constexpr double kReadsOfPlainCopy = 1000;

/// Seconds that expanding a rank's part of a weight counts as, if `needed` is a sharding that gathering alone
/// does not give: blocks are not cut once they are held. Otherwise 0.
inline double expansionTime(const ProgramValue &value, const Sharding &needed, const Machine &machine) {
  if (value.plainBytes <= value.elementBytes)
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
  double bytes = value.plainBytes - value.elementBytes;
  for (int64_t size : value.sharding.localShape(value.shape))
    bytes *= double(size);
  return kReadsOfPlainCopy * bytes / machine.memoryBandwidth;
}

} // namespace tessera
#endif
