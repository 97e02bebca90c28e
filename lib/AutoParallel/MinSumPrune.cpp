//===- MinSumPrune.cpp - Values that no good combination has ---------------===//
//
// Sequential tree-reweighted message passing (Kolmogorov 2006): messages move cost between tables that share
// a variable until the sum of the least entries of all tables, a lower bound, is large. What that bound
// becomes if a variable takes a certain value is more; where it is more than a known solution costs, the
// value goes. Fewer values make better messages, and so on.
//
//===----------------------------------------------------------------------===//
#include "tessera/AutoParallel/MinSum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

using namespace tessera;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
using Costs = std::vector<double>;

/// Costs of the values of two variables, row-major, and what was moved from them to either variable.
struct Edge {
  int u, v; ///< u < v
  Costs costs, toU, toV;
};

class Messages {
public:
  explicit Messages(const std::vector<int> &sizes)
      : kept(sizes.size()), unary(sizes.size()), edgesOf(sizes.size()) {
    for (size_t v = 0; v < sizes.size(); ++v) {
      unary[v].assign(size_t(sizes[v]), 0);
      for (int value = 0; value < sizes[v]; ++value)
        kept[v].push_back(value);
    }
  }

  void addTable(const std::vector<int> &variables, const Costs &costs) {
    if (variables.size() == 1) {
      add(unary[variables[0]], costs);
    } else if (variables.size() == 2) {
      int u = std::min(variables[0], variables[1]), v = std::max(variables[0], variables[1]);
      auto [it, made] = edgeOf.try_emplace({u, v}, int(edges.size()));
      if (made) {
        size_t rows = unary[u].size(), columns = unary[v].size();
        edges.push_back({u, v, Costs(rows * columns, 0), Costs(rows, 0), Costs(columns, 0)});
        edgesOf[u].push_back(it->second);
        edgesOf[v].push_back(it->second);
      }
      Edge &edge = edges[it->second];
      size_t rows = unary[u].size(), columns = unary[v].size();
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j)
          edge.costs[i * columns + j] += variables[0] == u ? costs[i * columns + j] : costs[j * rows + i];
    } else {
      constant += *std::min_element(costs.begin(),
                                    costs.end()); // a table of more variables bounds by its least entry
    }
  }

  /// Takes out values that cost more than `upper`, for as long as that helps. The lower bound.
  double run(double upper) {
    dropImpossible();
    double bound = -kInfinity;
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      for (size_t v = 0; v < unary.size(); ++v)
        passOn(int(v), /*forward=*/true);
      for (size_t v = unary.size(); v-- > 0;)
        passOn(int(v), /*forward=*/false);
      if (sweep != 1 && sweep % 4 != 3) // early once: tables are largest at first
        continue;
      size_t values = left();
      double before = bound;
      bound = std::max(bound, prune(upper));
      // Nothing left to find out, or hardly any headway.
      if (bound >= upper * (1 - 1e-9) || (left() > values * 9 / 10 && bound - before < (upper - bound) / 5))
        break;
    }
    return std::min(bound, upper);
  }

  std::vector<std::vector<int>> kept; ///< of each variable

private:
  static constexpr int kMostSweeps = 64;

  /// Messages are finite.
  void dropImpossible() {
    std::vector<std::vector<size_t>> stays(unary.size());
    for (size_t v = 0; v < unary.size(); ++v) {
      for (size_t i = 0; i < unary[v].size(); ++i)
        if (std::isfinite(unary[v][i]))
          stays[v].push_back(i);
      if (stays[v].empty()) { // nothing is possible
        stays[v].push_back(0);
        unary[v][0] = 0;
      }
    }
    shrink(stays);
  }

  static void add(Costs &to, const Costs &costs) {
    for (size_t i = 0; i < costs.size(); ++i)
      to[i] += costs[i];
  }

  /// What a variable's values cost with all that came from its tables.
  Costs beliefOf(int v) const {
    Costs belief = unary[v];
    for (int e : edgesOf[v])
      add(belief, edges[e].u == v ? edges[e].toU : edges[e].toV);
    return belief;
  }

  /// Values of all variables.
  size_t left() const {
    return std::accumulate(kept.begin(), kept.end(), size_t(0),
                           [](size_t sum, const auto &values) { return sum + values.size(); });
  }
  size_t after(int v) const {
    return size_t(
        std::count_if(edgesOf[v].begin(), edgesOf[v].end(), [&](int e) { return edges[e].u == v; }));
  }
  /// The part of a variable's belief that it lends to each table with those behind it, or before it.
  double shareOf(int v) const {
    return 1.0 / double(std::max<size_t>({after(v), edgesOf[v].size() - after(v), 1}));
  }

  /// Messages from `v` to variables behind it, or before it.
  void passOn(int v, bool forward) {
    Costs belief = beliefOf(v);
    double share = shareOf(v);
    for (int e : edgesOf[v]) {
      Edge &edge = edges[e];
      if ((edge.u == v) != forward)
        continue;
      const Costs &back = forward ? edge.toU : edge.toV;
      Costs &message = forward ? edge.toV : edge.toU;
      Costs own(belief.size());
      for (size_t i = 0; i < own.size(); ++i)
        own[i] = share * belief[i] - back[i];
      size_t columns = edge.toV.size();
      std::fill(message.begin(), message.end(), kInfinity);
      if (forward) {
        for (size_t i = 0; i < own.size(); ++i)
          for (size_t j = 0; j < columns; ++j)
            message[j] = std::min(message[j], own[i] + edge.costs[i * columns + j]);
      } else {
        for (size_t i = 0; i < message.size(); ++i)
          for (size_t j = 0; j < columns; ++j)
            message[i] = std::min(message[i], own[j] + edge.costs[i * columns + j]);
      }
      double least = *std::min_element(message.begin(), message.end());
      for (double &cost : message) // infinite: this value is impossible, which the table itself says
        cost = std::isfinite(cost) ? cost - least : 0;
    }
  }

  /// The bound as messages are after a sweep backward; values beyond `upper` go.
  double prune(double upper) {
    double bound = constant;
    std::vector<Costs> least(unary.size()); // by which the bound grows if a variable takes a value
    std::vector<Costs> lent(unary.size());  // to each table with a variable before
    for (size_t v = 0; v < unary.size(); ++v) {
      least[v] = lent[v] = beliefOf(int(v));
      double share = shareOf(int(v)), rest = 1 - share * double(edgesOf[v].size() - after(int(v)));
      for (double &cost : lent[v])
        cost *= share;
      for (double &cost : least[v])
        cost *= rest;
      bound += offset(least[v]);
    }
    for (const Edge &edge : edges) {
      Costs rows(edge.toU.size(), kInfinity), columns(edge.toV.size(), kInfinity);
      for (size_t i = 0; i < rows.size(); ++i)
        for (size_t j = 0; j < columns.size(); ++j) {
          double cost = edge.costs[i * columns.size() + j] - edge.toU[i] - edge.toV[j] + lent[edge.v][j];
          rows[i] = std::min(rows[i], cost);
          columns[j] = std::min(columns[j], cost);
        }
      bound += offset(rows);
      offset(columns);
      add(least[edge.u], rows);
      add(least[edge.v], columns);
    }
    std::vector<std::vector<size_t>> stays(unary.size());
    bool pruned = false;
    for (size_t v = 0; v < unary.size(); ++v) {
      for (size_t i = 0; i < least[v].size(); ++i)
        if (bound + least[v][i] <= upper * (1 + 1e-9))
          stays[v].push_back(i);
      if (stays[v].empty()) // not unless `upper` is less than anything costs
        for (size_t i = 0; i < least[v].size(); ++i)
          stays[v].push_back(i);
      pruned |= stays[v].size() < least[v].size();
    }
    if (pruned)
      shrink(stays);
    return bound;
  }

  /// Subtracts the least entry, which it returns.
  static double offset(Costs &costs) {
    double least = *std::min_element(costs.begin(), costs.end());
    for (double &cost : costs)
      cost -= least;
    return least;
  }

  void shrink(const std::vector<std::vector<size_t>> &stays) {
    auto pick = [](auto &list, const std::vector<size_t> &indices) {
      for (size_t to = 0; to < indices.size(); ++to)
        list[to] = list[indices[to]];
      list.resize(indices.size());
    };
    for (Edge &edge : edges) {
      size_t columns = edge.toV.size(), to = 0;
      for (size_t i : stays[edge.u])
        for (size_t j : stays[edge.v])
          edge.costs[to++] = edge.costs[i * columns + j];
      edge.costs.resize(to);
      pick(edge.toU, stays[edge.u]);
      pick(edge.toV, stays[edge.v]);
    }
    for (size_t v = 0; v < unary.size(); ++v) {
      pick(unary[v], stays[v]);
      pick(kept[v], stays[v]);
    }
  }

  double constant = 0;
  std::vector<Costs> unary;
  std::vector<Edge> edges;
  std::vector<std::vector<int>> edgesOf;
  std::map<std::pair<int, int>, int> edgeOf;
};
} // namespace

double MinSum::prune(double upper) {
  Messages messages(sizes);
  for (size_t table = 0; table < given; ++table)
    messages.addTable(tables[table].variables, tables[table].costs);
  double bound = messages.run(upper);
  if (kept.empty())
    kept = std::move(messages.kept);
  else
    for (size_t v = 0; v < kept.size(); ++v) {
      for (int &value : messages.kept[v])
        value = kept[v][value];
      kept[v] = std::move(messages.kept[v]);
    }
  for (size_t v = 0; v < sizes.size(); ++v)
    sizes[v] = int(kept[v].size());
  tables.resize(given);
  planned = {0, 0};
  whole.resize(given);
  for (size_t table = 0; table < given; ++table) {
    if (whole[table].empty())
      whole[table] = std::move(tables[table].costs);
    tables[table].costs = restrict(tables[table].variables, whole[table]);
  }
  return bound;
}

std::vector<double> MinSum::restrict(const std::vector<int> &variables,
                                     const std::vector<double> &costs) const {
  std::vector<double> result;
  size_t count = size_t(entries(variables));
  result.reserve(count);
  std::vector<int> at(variables.size(), 0);
  for (size_t entry = 0; entry < count; ++entry) {
    size_t index = 0;
    for (size_t i = 0; i < variables.size(); ++i)
      index = index * size_t(wholeSizes[variables[i]]) + size_t(kept[variables[i]][at[i]]);
    result.push_back(costs[index]);
    for (size_t i = variables.size(); i-- > 0 && ++at[i] == sizes[variables[i]];)
      at[i] = 0;
  }
  return result;
}
