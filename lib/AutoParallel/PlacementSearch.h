//===- PlacementSearch.h - The choice among options -------------*- C++ -*-===//
#ifndef TESSERA_LIB_AUTOPARALLEL_PLACEMENTSEARCH_H
#define TESSERA_LIB_AUTOPARALLEL_PLACEMENTSEARCH_H

#include "LiveBytes.h"
#include "ValueEnds.h"

#include "tessera/AutoParallel/MinSum.h"

#include <memory>

namespace tessera {

/// The choice among the options that ops have, by time; where bytes have a price, by the sum of both.
class PlacementSearch {
public:
  using Options = std::vector<std::vector<PlacementDecision>>;

  /// `prices`: of each value, seconds for a byte that a rank has of it, in each sharding that it has it in;
  /// empty: none costs anything. All must stay.
  PlacementSearch(const PlacementProgram &program, const std::vector<ValueEnds> &ends, Options &options,
                  ReshardCosts &costs, llvm::ArrayRef<double> prices = {});
  ~PlacementSearch();

  /// Looks for what takes less than `upper`; whether there is something. At first with small tables; what is
  /// no better than a choice found goes, and where that proves nothing, larger tables do.
  bool run(double upper, int64_t largestTable);

  MinSum::Solution best;
  double bound = 0;

private:
  class ValueTables;

  bool proven(double upper) const;
  std::vector<double> workOf(size_t op) const;
  void choose(int64_t largestTable, int64_t largestExact = 0);

  const PlacementProgram &program;
  Options &options;
  ReshardCosts &costs;
  llvm::ArrayRef<double> prices;
  MinSum problem;
  std::vector<int> works;                           ///< tables
  std::vector<std::unique_ptr<ValueTables>> tables; ///< they stay where they are
};

} // namespace tessera
#endif
