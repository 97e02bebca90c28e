//===- NumberedOption.h - An option by the numbers of its shardings -*- C++ -*-===//
#ifndef TESSERA_LIB_AUTOPARALLEL_NUMBEREDOPTION_H
#define TESSERA_LIB_AUTOPARALLEL_NUMBEREDOPTION_H

#include "tessera/AutoParallel/Placement.h"

#include <vector>

namespace tessera {

/// What a search has of an option (ReshardCosts::numberOf): it makes thousands, and shardings are large.
struct NumberedOption {
  /// `given`: what to hand back as it is, outlives this; else null.
  NumberedOption(const PlacementDecision &option, ReshardCosts &costs,
                 const PlacementDecision *given = nullptr);

  PlacementDecision decision(const ReshardCosts &costs) const;

  llvm::SmallVector<int, 4> operands, results;
  std::vector<AxisList> factorAxes;
  double workTime;

private:
  const PlacementDecision *given;
};

} // namespace tessera
#endif
