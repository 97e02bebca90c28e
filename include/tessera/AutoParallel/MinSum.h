//===- MinSum.h - Exact minimum of a sum of small tables --------*- C++ -*-===//
//
// Variables with small domains, and tables that give a cost to each combination of the variables they name.
// Finds the combination with the least sum by eliminating variables one at a time (bucket elimination:
// Dechter 1999): exact, in time of the largest intermediate table. Where a table would grow beyond the limit,
// its tables are minimized apart (mini-buckets): that gives a lower bound, and the combination found,
// improved by changing one variable at a time, comes with the gap to it.
//
// Costs of tables may be changed between searches: what does not depend on the changed ones is kept. Where
// some solution is known, values that none as good has can be taken out before (MinSumPrune.cpp), so that
// larger problems are solved exactly.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_AUTOPARALLEL_MINSUM_H
#define TESSERA_AUTOPARALLEL_MINSUM_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera {

class MinSum {
public:
  /// A variable that takes 0 .. size-1.
  int addVariable(int size);
  /// Adds cost[row-major index over `variables`]; a variable stands once. Costs may be infinite. The table's
  /// number.
  int addTable(std::vector<int> variables, std::vector<double> costs);
  /// Other costs for table number `table`, in the same order.
  void changeTable(int table, std::vector<double> costs);

  struct Solution {
    std::vector<int> values;
    double cost = 0;
    double lowerBound = 0; ///< equal to cost (but for rounding) if the search was exact
  };
  /// Deterministic; of equal solutions the one with smaller values in the variables eliminated last. The same
  /// whatever was solved before. Where tables would grow beyond `largestTable`, another order is tried, with
  /// tables of up to `largestExact`, if that makes the search exact; 0: none is.
  Solution solve(int64_t largestTable = 1 << 22, int64_t largestExact = 0);

  /// What `solve` with these limits does.
  struct Effort {
    bool exact;  ///< no bucket is split
    double sums; ///< entries of tables that are made, times the values that each is the least of
  };
  Effort effort(int64_t largestTable, int64_t largestExact = 0);

  /// Takes out values of variables that no combination of cost at most `upper` has, so that tables become
  /// smaller; variables keep their numbering. Costs must not become less afterwards. A lower bound on all
  /// costs, at most `upper`. Takes a few dozen times as long as reading all tables.
  double prune(double upper);

  /// Sum of all tables.
  double costOf(const std::vector<int> &values) const;

private:
  /// A table as given, or (behind those) the minimum over `eliminated` of the sum of `parts`.
  struct Table {
    std::vector<int> variables;
    std::vector<double> costs;
    std::vector<int> parts; ///< numbers of tables
    int eliminated = -1;
    bool outdated = false;
  };
  /// What became of a variable: the tables that it was in when its turn came.
  struct Bucket {
    int variable;
    std::vector<int> tables;
  };

  /// Of values numbered as they are left.
  double at(const Table &table, const std::vector<int> &values) const;
  double costOf(int table, const std::vector<int> &values) const;
  /// Changes one variable at a time for as long as the sum becomes less.
  void improve(std::vector<int> &values) const;
  /// The entries that are left of a table's.
  std::vector<double> restrict(const std::vector<int> &variables, const std::vector<double> &costs) const;
  double entries(const std::vector<int> &variables) const;
  void plan(int64_t largestTable, int64_t largestExact);
  void planWith(int64_t largestTable, double weightOfPairs);
  void minimize(Table &table);

  std::vector<int> sizes; ///< of what is left
  std::vector<int> wholeSizes;
  std::vector<std::vector<int>>
      kept; ///< values that are left of each variable; none where nothing was taken out
  std::vector<std::vector<double>> whole; ///< costs of the given tables, where something was
  std::vector<Table> tables;
  size_t given = 0;            ///< tables that are not minima
  std::vector<Bucket> buckets; ///< in order of elimination
  std::vector<int> constants;  ///< tables without variables, in the order in which they are added up
  std::pair<int64_t, int64_t> planned = {0, 0}; ///< the limits that buckets were made for; 0: none are
  bool exact = true;
};

} // namespace tessera
#endif
