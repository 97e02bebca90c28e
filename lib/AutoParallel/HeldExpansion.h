//===- HeldExpansion.h - What it costs to expand a weight -------*- C++ -*-===//
#ifndef TESSERA_LIB_AUTOPARALLEL_HELDEXPANSION_H
#define TESSERA_LIB_AUTOPARALLEL_HELDEXPANSION_H

#include "tessera/AutoParallel/ProgramPlacement.h"

#include <algorithm>

namespace tessera {

/// Seconds to read what a rank holds of a weight as plain elements, beyond what its blocks take, if somebody
/// needs it in a sharding that is not made by gathering alone: blocks are not cut once they are held.
inline double expansionTime(const ProgramValue &value, const Sharding &needed, const Machine &machine) {
  if (value.plainBytes <= value.elementBytes)
    return 0;
  bool gathers = true;
  for (size_t d = 0; d < needed.dims.size(); ++d) {
    const AxisList &held = value.sharding.dims[d].axes, &wanted = needed.dims[d].axes;
    gathers &= wanted.size() <= held.size() && std::equal(wanted.begin(), wanted.end(), held.begin());
  }
  if (gathers)
    return 0;
  double bytes = value.plainBytes - value.elementBytes;
  for (int64_t size : value.sharding.localShape(value.shape))
    bytes *= double(size);
  return bytes / machine.memoryBandwidth;
}

} // namespace tessera
#endif
