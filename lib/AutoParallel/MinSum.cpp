//===- MinSum.cpp - Exact minimum of a sum of small tables ----------------===//
#include "tessera/AutoParallel/MinSum.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <set>

using namespace tessera;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

int MinSum::addVariable(int size) {
  assert(size > 0);
  sizes.push_back(size);
  return int(sizes.size()) - 1;
}

void MinSum::addTable(std::vector<int> variables, std::vector<double> costs) {
  size_t expected = 1;
  for (int variable : variables)
    expected *= size_t(sizes[variable]);
  assert(costs.size() == expected && "one cost for each combination");
  (void)expected;
  tables.push_back({std::move(variables), std::move(costs)});
}

double MinSum::at(const Table &table, const std::vector<int> &values) const {
  size_t index = 0;
  for (int variable : table.variables)
    index = index * size_t(sizes[variable]) + size_t(values[variable]);
  return table.costs[index];
}

double MinSum::costOf(const std::vector<int> &values) const {
  double cost = 0;
  for (const Table &table : tables)
    cost += at(table, values);
  return cost;
}

MinSum::Solution MinSum::solve(int64_t largestTable) const {
  int n = int(sizes.size());
  Solution solution;
  solution.values.assign(n, 0);
  std::vector<Table> work = tables;
  // By variable, in order of elimination: the tables it was in.
  std::vector<std::pair<int, std::vector<Table>>> buckets;
  std::vector<bool> eliminated(n, false);
  bool exact = true;
  double constant = 0;

  auto neighbours = [&](int variable) {
    std::set<int> result;
    for (const Table &table : work)
      if (std::find(table.variables.begin(), table.variables.end(), variable) != table.variables.end())
        result.insert(table.variables.begin(), table.variables.end());
    result.erase(variable);
    return result;
  };
  auto tableSize = [&](const std::set<int> &variables) {
    double size = 1;
    for (int variable : variables)
      size *= sizes[variable];
    return size;
  };
  /// The minimum over `variable` of the sum of `parts`, as a table over the others.
  auto minimize = [&](int variable, const std::vector<const Table *> &parts) {
    std::set<int> scope;
    for (const Table *part : parts)
      scope.insert(part->variables.begin(), part->variables.end());
    scope.erase(variable);
    Table result;
    result.variables.assign(scope.begin(), scope.end());
    std::vector<int> values(n, 0);
    result.costs.assign(size_t(tableSize(scope)), kInfinity);
    for (double &entry : result.costs) {
      for (values[variable] = 0; values[variable] < sizes[variable]; ++values[variable]) {
        double cost = 0;
        for (const Table *part : parts)
          cost += at(*part, values);
        entry = std::min(entry, cost);
      }
      // Next combination, last variable fastest.
      for (size_t i = result.variables.size(); i-- > 0;) {
        if (++values[result.variables[i]] < sizes[result.variables[i]])
          break;
        values[result.variables[i]] = 0;
      }
    }
    return result;
  };

  for (int step = 0; step < n; ++step) {
    int next = -1;
    double nextSize = 0;
    for (int variable = 0; variable < n; ++variable) {
      if (eliminated[variable])
        continue;
      double size = tableSize(neighbours(variable));
      if (next < 0 || size < nextSize) {
        next = variable;
        nextSize = size;
      }
    }
    eliminated[next] = true;
    std::vector<Table> bucket, rest;
    for (Table &table : work) {
      bool has = std::find(table.variables.begin(), table.variables.end(), next) != table.variables.end();
      (has ? bucket : rest).push_back(std::move(table));
    }
    work = std::move(rest);
    // Groups of tables small enough to be minimized together; one if all are.
    std::vector<const Table *> group;
    std::set<int> scope;
    auto flush = [&] {
      if (!group.empty())
        work.push_back(minimize(next, group));
      group.clear();
      scope.clear();
    };
    for (const Table &table : bucket) {
      std::set<int> wider = scope;
      wider.insert(table.variables.begin(), table.variables.end());
      if (!group.empty() && tableSize(wider) > double(largestTable)) {
        exact = false;
        flush();
        wider.clear();
        wider.insert(table.variables.begin(), table.variables.end());
      }
      group.push_back(&table);
      scope = std::move(wider);
    }
    flush();
    for (auto it = work.begin(); it != work.end();) {
      if (it->variables.empty()) {
        constant += it->costs[0];
        it = work.erase(it);
      } else {
        ++it;
      }
    }
    buckets.push_back({next, std::move(bucket)});
  }
  solution.lowerBound = constant;

  for (auto it = buckets.rbegin(); it != buckets.rend(); ++it) {
    double best = kInfinity;
    int bestValue = 0;
    for (int value = 0; value < sizes[it->first]; ++value) {
      solution.values[it->first] = value;
      double cost = 0;
      for (const Table &table : it->second)
        cost += at(table, solution.values);
      if (cost < best) {
        best = cost;
        bestValue = value;
      }
    }
    solution.values[it->first] = bestValue;
  }
  solution.cost = costOf(solution.values);
  for (bool improved = !exact; improved;) {
    improved = false;
    for (int variable = 0; variable < n; ++variable) {
      int before = solution.values[variable], best = before;
      for (int value = 0; value < sizes[variable]; ++value) {
        solution.values[variable] = value;
        double cost = costOf(solution.values);
        if (cost < solution.cost * (1 - 1e-12)) {
          solution.cost = cost;
          best = value;
          improved = true;
        }
      }
      solution.values[variable] = best;
    }
  }
  return solution;
}
