//===- HeldExpansion.h - What it costs to expand a weight -------*- C++ -*-===//
#ifndef TESSERA_LIB_AUTOPARALLEL_HELDEXPANSION_H
#define TESSERA_LIB_AUTOPARALLEL_HELDEXPANSION_H

#include "tessera/AutoParallel/ProgramPlacement.h"

#include <algorithm>

namespace tessera {

/// A plain copy takes its memory for as long as the program runs, in place of the blocks that were to save
/// it. Placement knows time alone, so the copy counts as this many reads: it is made where a pin leaves
/// nothing else.
inline constexpr double kReadsOfPlainCopy = 1000;

/// Seconds that a plain copy of what a rank holds of a weight counts as, if somebody needs it in a sharding
/// that is not made by gathering alone: blocks are not cut once they are held.
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
