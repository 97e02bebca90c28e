//===- MinSum.h - Exact minimum of a sum of small tables --------*- C++ -*-===//
//
// Variables with small domains, and tables that give a cost to each combination of the variables they name. Finds the combination with
// the least sum by eliminating variables one at a time (bucket elimination: Dechter 1999): exact, in time of the largest intermediate table.
// Where a table would grow beyond the limit, its tables are minimized apart (mini-buckets): that gives a lower bound, and the combination
// found, improved by changing one variable at a time, comes with the gap to it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_AUTOPARALLEL_MINSUM_H
#define TESSERA_AUTOPARALLEL_MINSUM_H

#include <cstdint>
#include <vector>

namespace tessera {

class MinSum {
public:
  /// A variable that takes 0 .. size-1.
  int addVariable(int size);
  /// Adds cost[row-major index over `variables`]; a variable stands once. Costs may be infinite.
  void addTable(std::vector<int> variables, std::vector<double> costs);

  struct Solution {
    std::vector<int> values;
    double cost = 0;
    double lowerBound = 0; ///< equal to cost (but for rounding) if the search was exact
  };
  /// Deterministic; of equal solutions the one with smaller values in the variables eliminated last.
  Solution solve(int64_t largestTable = 1 << 22) const;

  /// Sum of all tables.
  double costOf(const std::vector<int> &values) const;

private:
  struct Table {
    std::vector<int> variables;
    std::vector<double> costs;
  };
  double at(const Table &table, const std::vector<int> &values) const;
  std::vector<int> sizes;
  std::vector<Table> tables;
};

} // namespace tessera
#endif
