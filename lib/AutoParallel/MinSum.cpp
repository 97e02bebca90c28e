//===- MinSum.cpp - Exact minimum of a sum of small tables ----------------===//
#include "tessera/AutoParallel/MinSum.h"
#include "tessera/AutoParallel/SearchWork.h"

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <cassert>
#include <limits>

using namespace tessera;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Of the tables that variables of two values make, in the second order.
static constexpr double kWeightOfPairs = 1e-2;

/// Inserts what is not there; both sorted.
static void unite(std::vector<int> &set, std::vector<int> other) {
  std::sort(other.begin(), other.end());
  std::vector<int> both;
  std::set_union(set.begin(), set.end(), other.begin(), other.end(), std::back_inserter(both));
  set = std::move(both);
}

int MinSum::addVariable(int size) {
  assert(size > 0);
  assert(kept.empty() && "all variables come before values go");
  sizes.push_back(size);
  wholeSizes.push_back(size);
  return int(sizes.size()) - 1;
}

int MinSum::addTable(std::vector<int> variables, std::vector<double> costs) {
  assert(kept.empty() && double(costs.size()) == entries(variables) && "one cost for each combination");
  tables.resize(given); // minima of another plan
  planned = {0, 0};
  tables.push_back({std::move(variables), std::move(costs), {}, -1, false});
  return int(given++);
}

void MinSum::changeTable(int table, std::vector<double> costs) {
  assert(size_t(table) < given && costs.size() == (kept.empty() ? tables[table].costs : whole[table]).size());
  if (kept.empty()) {
    tables[table].costs = std::move(costs);
  } else {
    tables[table].costs = restrict(tables[table].variables, costs);
    whole[table] = std::move(costs);
  }
  tables[table].outdated = true; // for those made of it; cleared when they are
}

double MinSum::entries(const std::vector<int> &variables) const {
  double size = 1;
  for (int variable : variables)
    size *= sizes[variable];
  return size;
}

double MinSum::at(const Table &table, const std::vector<int> &values) const {
  size_t index = 0;
  for (int variable : table.variables)
    index = index * size_t(sizes[variable]) + size_t(values[variable]);
  return table.costs[index];
}

double MinSum::costOf(const std::vector<int> &values) const {
  double cost = 0;
  for (size_t table = 0; table < given; ++table)
    cost += costOf(int(table), values);
  return cost;
}

double MinSum::costOf(int table, const std::vector<int> &values) const {
  size_t index = 0;
  for (int variable : tables[table].variables)
    index = index * size_t(wholeSizes[variable]) + size_t(values[variable]);
  return (kept.empty() ? tables[table].costs : whole[table])[index];
}

/// Decides in which order variables go and which tables meet, by sizes alone: least tables first. Where that
/// order has to split a bucket, variables of two values go earlier, as if their tables were smaller: one left
/// for long doubles every table that it meets, and there are many of them about one value of the program.
void MinSum::plan(int64_t largestTable, int64_t largestExact) {
  planWith(largestTable, 1);
  if (!exact && largestExact > 0) {
    planWith(largestExact, kWeightOfPairs);
    if (!exact)
      planWith(largestTable, 1);
  }
  planned = {largestTable, largestExact};
}

void MinSum::planWith(int64_t largestTable, double weightOfPairs) {
  int n = int(sizes.size());
  tables.resize(given);
  buckets.clear();
  constants.clear();
  exact = true;
  std::vector<bool> eliminated(n, false);
  std::vector<std::vector<int>> tablesOf(n); // those that are left, ascending
  auto addTable = [&](int table) {
    for (int variable : tables[table].variables)
      tablesOf[variable].push_back(table);
    if (tables[table].variables.empty())
      constants.push_back(table);
  };
  for (size_t table = 0; table < given; ++table)
    addTable(int(table));
  // Size of the table that eliminating a variable would make, weighted; negative: to be counted.
  std::vector<double> made(n, -1);
  std::vector<int> seen(n, -1);
  int stamp = 0;
  auto count = [&](int variable) {
    ++stamp;
    double size = sizes[variable] == 2 ? weightOfPairs : 1;
    for (int table : tablesOf[variable])
      for (int other : tables[table].variables)
        if (other != variable && seen[other] != stamp) {
          seen[other] = stamp;
          size *= sizes[other];
        }
    return size;
  };
  for (int step = 0; step < n; ++step) {
    int next = -1;
    for (int variable = 0; variable < n; ++variable) {
      if (eliminated[variable])
        continue;
      if (made[variable] < 0)
        made[variable] = count(variable);
      if (next < 0 || made[variable] < made[next])
        next = variable;
    }
    eliminated[next] = true;
    Bucket bucket = {next, std::move(tablesOf[next])};
    for (int table : bucket.tables)
      for (int variable : tables[table].variables)
        if (variable != next) {
          auto &left = tablesOf[variable];
          left.erase(std::find(left.begin(), left.end(), table));
        }
    // Groups of tables small enough to be minimized together; one if all are.
    std::vector<int> group, scope;
    auto flush = [&] {
      if (group.empty())
        return;
      for (int variable : scope)
        made[variable] = -1;
      scope.erase(std::find(scope.begin(), scope.end(), next));
      tables.push_back({std::move(scope), {}, std::move(group), next, true});
      addTable(int(tables.size()) - 1);
      group.clear();
      scope.clear();
    };
    for (int table : bucket.tables) {
      std::vector<int> wider = scope;
      unite(wider, tables[table].variables);
      if (!group.empty() && entries(wider) > double(largestTable)) {
        exact = false;
        flush();
        wider.clear();
        unite(wider, tables[table].variables);
      }
      group.push_back(table);
      scope = std::move(wider);
    }
    flush();
    buckets.push_back(std::move(bucket));
  }
}

//===--- The least over one variable ----------------------------------------===//
// Most of the search's time is spent here.

/// Sums that are worked out beside each other: they stay in a core's nearest cache.
static constexpr size_t kMostAtOnce = 2048;

/// The least of each `values` neighbours.
template <size_t kValues> static void leastOfFew(const double *sums, size_t count, double *least) {
  for (size_t i = 0; i < count; ++i) {
    double best = sums[i * kValues];
    for (size_t value = 1; value < kValues; ++value)
      best = sums[i * kValues + value] < best ? sums[i * kValues + value] : best;
    least[i] = best;
  }
}

/// The same of many, in lanes that run beside each other.
static double leastOfMany(const double *numbers, size_t count) {
  constexpr size_t kLanes = 8;
  double lanes[kLanes];
  std::fill(std::begin(lanes), std::end(lanes), kInfinity);
  size_t i = 0, whole = count / kLanes * kLanes;
  for (; i < whole; i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = numbers[i + lane] < lanes[lane] ? numbers[i + lane] : lanes[lane];
  for (; i < count; ++i)
    lanes[0] = std::min(lanes[0], numbers[i]);
  return *std::min_element(std::begin(lanes), std::end(lanes));
}

static void leastOf(const double *sums, size_t count, size_t values, double *least) {
  switch (values) {
  case 1:
    return leastOfFew<1>(sums, count, least);
  case 2:
    return leastOfFew<2>(sums, count, least);
  case 3:
    return leastOfFew<3>(sums, count, least);
  case 4:
    return leastOfFew<4>(sums, count, least);
  default:
    for (size_t i = 0; i < count; ++i)
      least[i] = leastOfMany(sums + i * values, values);
  }
}

/// Adds rows of `values` numbers, or sets sums to them, each `offsets` behind `from`.
template <size_t kValues, bool kFirst>
static void addRows(const double *from, llvm::ArrayRef<size_t> offsets, size_t values, double *sums) {
  const size_t length = kValues ? kValues : values;
  for (size_t offset : offsets) {
    const double *row = from + offset;
    for (size_t value = 0; value < length; ++value)
      sums[value] = kFirst ? row[value] : sums[value] + row[value];
    sums += length;
  }
}

template <bool kFirst>
static void addRows(const double *from, llvm::ArrayRef<size_t> offsets, size_t values, double *sums) {
  switch (values) {
  case 1:
    return addRows<1, kFirst>(from, offsets, values, sums);
  case 2:
    return addRows<2, kFirst>(from, offsets, values, sums);
  case 3:
    return addRows<3, kFirst>(from, offsets, values, sums);
  case 4:
    return addRows<4, kFirst>(from, offsets, values, sums);
  default:
    return addRows<0, kFirst>(from, offsets, values, sums);
  }
}

/// The minimum over the eliminated variable of the sum of the parts, for each combination of the others (last
/// variable fastest).
void MinSum::minimize(Table &table) {
  size_t count = table.parts.size(), rank = table.variables.size(), values = size_t(sizes[table.eliminated]);
  // Parts with the eliminated variable last, so that sums run over neighbours; and how far an entry is from
  // the next of each other variable.
  std::vector<std::vector<double>> turned(count);
  std::vector<const double *> costs(count);
  std::vector<size_t> strides(count * rank), index(count, 0);
  for (size_t p = 0; p < count; ++p) {
    const Table &part = tables[table.parts[p]];
    size_t place = size_t(std::find(part.variables.begin(), part.variables.end(), table.eliminated) -
                          part.variables.begin());
    size_t stride = values, minor = 1;
    for (size_t i = part.variables.size(); i-- > 0;) {
      if (i == place)
        continue;
      strides[p * rank + size_t(std::find(table.variables.begin(), table.variables.end(), part.variables[i]) -
                                table.variables.begin())] = stride;
      stride *= size_t(sizes[part.variables[i]]);
      minor *= i > place ? size_t(sizes[part.variables[i]]) : 1;
    }
    costs[p] = part.costs.data();
    if (minor == 1) // it is the last, or all behind it have one value
      continue;
    turned[p].resize(part.costs.size());
    for (size_t from = 0, major = 0; from < part.costs.size(); ++major)
      for (size_t value = 0; value < values; ++value)
        for (size_t m = 0; m < minor; ++m)
          turned[p][(major * minor + m) * values + value] = part.costs[from++];
    costs[p] = turned[p].data();
  }
  // The last variables make a block; of each part, where each combination of them is.
  size_t outer = rank, atOnce = 1;
  while (outer > 0 && atOnce * size_t(sizes[table.variables[outer - 1]]) * values <= kMostAtOnce)
    atOnce *= size_t(sizes[table.variables[--outer]]);
  std::vector<std::vector<size_t>> offsets(count, {0});
  for (size_t p = 0; p < count; ++p)
    for (size_t i = outer; i < rank; ++i) {
      std::vector<size_t> wider;
      for (size_t offset : offsets[p])
        for (size_t value = 0; value < size_t(sizes[table.variables[i]]); ++value)
          wider.push_back(offset + value * strides[p * rank + i]);
      offsets[p] = std::move(wider);
    }
  std::vector<bool> dense; // rows follow one another
  for (const std::vector<size_t> &rows : offsets) {
    bool isDense = true;
    for (size_t i = 0; i < rows.size(); ++i)
      isDense &= rows[i] == i * values;
    dense.push_back(isDense);
  }
  auto addPart = [&](auto isFirst, size_t p, double *sums) {
    const double *from = costs[p] + index[p];
    if (dense[p])
      addRows<0, isFirst>(from, size_t(0), atOnce * values, sums);
    else
      addRows<isFirst>(from, offsets[p], values, sums);
  };
  std::vector<int> at(outer, 0);
  std::vector<double> sums(atOnce * values);
  table.costs.resize(size_t(entries(table.variables)));
  searchWork().tableEntries += int64_t(table.costs.size() * values);
  for (size_t entry = 0; entry < table.costs.size(); entry += atOnce) {
    addPart(std::true_type(), 0, sums.data());
    for (size_t p = 1; p < count; ++p)
      addPart(std::false_type(), p, sums.data());
    leastOf(sums.data(), atOnce, values, table.costs.data() + entry);
    for (size_t i = outer; i-- > 0;) {
      bool wraps = ++at[i] == sizes[table.variables[i]];
      for (size_t p = 0; p < count; ++p)
        index[p] += wraps ? -strides[p * rank + i] * size_t(at[i] - 1) : strides[p * rank + i];
      if (!wraps)
        break;
      at[i] = 0;
    }
  }
}

MinSum::Effort MinSum::effort(int64_t largestTable, int64_t largestExact) {
  if (planned != std::make_pair(largestTable, largestExact))
    plan(largestTable, largestExact);
  Effort effort = {exact, 0};
  for (size_t table = given; table < tables.size(); ++table)
    effort.sums += entries(tables[table].variables) * sizes[tables[table].eliminated];
  return effort;
}

MinSum::Solution MinSum::solve(int64_t largestTable, int64_t largestExact) {
  if (planned != std::make_pair(largestTable, largestExact))
    plan(largestTable, largestExact);
  for (size_t table = given; table < tables.size(); ++table) {
    Table &made = tables[table];
    made.outdated |=
        std::any_of(made.parts.begin(), made.parts.end(), [&](int part) { return tables[part].outdated; });
    if (made.outdated)
      minimize(made);
  }
  for (Table &table : tables)
    table.outdated = false;
  int n = int(sizes.size());
  Solution solution;
  solution.values.assign(n, 0);
  for (int table : constants)
    solution.lowerBound += tables[table].costs[0];

  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) {
    double best = kInfinity;
    int bestValue = 0;
    for (int value = 0; value < sizes[bucket->variable]; ++value) {
      solution.values[bucket->variable] = value;
      double cost = 0;
      for (int table : bucket->tables)
        cost += at(tables[table], solution.values);
      if (cost < best) {
        best = cost;
        bestValue = value;
      }
    }
    solution.values[bucket->variable] = bestValue;
  }
  for (int variable = 0; variable < n && !kept.empty(); ++variable)
    solution.values[variable] = kept[variable][solution.values[variable]];
  if (!exact)
    improve(solution.values);
  solution.cost = costOf(solution.values);
  return solution;
}

void MinSum::improve(std::vector<int> &values) const {
  std::vector<std::vector<int>> tablesOf(sizes.size());
  for (size_t table = 0; table < given; ++table)
    for (int variable : tables[table].variables)
      tablesOf[variable].push_back(int(table));
  for (bool improved = true; improved;) {
    improved = false;
    for (size_t variable = 0; variable < sizes.size(); ++variable) {
      double least = kInfinity;
      int before = values[variable], best = before;
      for (int i = -1; i < sizes[variable]; ++i) { // as it is first
        int value = values[variable] = i < 0 ? before : kept.empty() ? i : kept[variable][i];
        double cost = 0;
        for (int table : tablesOf[variable])
          cost += costOf(table, values);
        if (i < 0 || cost < least * (1 - 1e-12)) {
          least = cost;
          best = value;
        }
      }
      values[variable] = best;
      improved |= best != before;
    }
  }
}
