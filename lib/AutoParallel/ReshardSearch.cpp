//===- ReshardSearch.cpp - A* over placements of axis digits --------------===//
#include "ReshardState.h"
#include "tessera/AutoParallel/SearchWork.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <unordered_map>

using namespace tessera;
using namespace tessera::reshard;

namespace {
struct StateHash {
  size_t operator()(const State &state) const {
    uint64_t hash = 0;
    for (const DigitUse &place : state) {
      hash = (hash ^ (uint64_t(place.dim + 2) << 48 ^ uint64_t(place.split() ? place.pre : 0))) *
             0x9E3779B97F4A7C15ull;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

struct Node {
  const State *state; ///< the map's
  double cost;        ///< from the start
  double bound;       ///< at least, to the goal
  int parent;         ///< -1: the start
  StepKind kind;
  double received, messages, sent;
};

struct Entry {
  double total, cost;
  int node;
  /// Lowest total first; among equals the one that has come further, then the older: the order is the same on
  /// every machine.
  bool operator<(const Entry &o) const {
    if (total != o.total)
      return total > o.total;
    if (cost != o.cost)
      return cost < o.cost;
    return node > o.node;
  }
};
} // namespace

/// What the rest of the way may cost, no bound: an exchange of the device's piece for every second digit that
/// is elsewhere.
static double estimate(const Problem &problem, const State &state) {
  int elsewhere = 0;
  for (auto [place, goal] : llvm::zip(state, problem.goal))
    elsewhere += place != goal && place.dim != DigitUse::kUnused;
  return 0.5 * elsewhere * localSize(problem, state);
}

std::optional<std::vector<Move>> reshard::search(const Problem &problem, bool limitMemory, bool greedy) {
  // Among plans of equal cost the shorter one: a step costs a little even where nothing is said of latency.
  const double tie = 1e-7 * std::max(1.0, problem.maxLocal);
  std::vector<Node> nodes;
  std::unordered_map<State, int, StateHash> best;
  std::priority_queue<Entry> open;
  double bestGoal = std::isfinite(problem.options.below) ? problem.options.below : -1;
  bool found = false;
  auto reach = [&](State state, double cost, int parent, StepKind kind, double received, double messages,
                   double sent) {
    if (bestGoal >= 0 && cost >= bestGoal)
      return;
    int index = int(nodes.size());
    auto [it, isNew] = best.try_emplace(std::move(state), index);
    if (!isNew && nodes[it->second].cost <= cost)
      return;
    double bound = isNew ? costLeft(problem, it->first) : nodes[it->second].bound;
    if (it->first == problem.goal) {
      bestGoal = cost;
      found = true;
    }
    it->second = index;
    nodes.push_back({&it->first, cost, bound, parent, kind, received, messages, sent});
    if (bestGoal >= 0 && cost + bound > bestGoal)
      return;
    double remaining = greedy ? bound + estimate(problem, it->first) : bound;
    open.push({cost + remaining, cost, index});
  };
  reach(problem.start, 0, -1, StepKind::AllSlice, 0, 1, 0);
  int expanded = 0, steps = 0, goal = -1;
  ++searchWork().reshards;
  while (!open.empty()) {
    Entry entry = open.top();
    open.pop();
    const State &state = *nodes[entry.node].state;
    if (best.find(state)->second != entry.node)
      continue;
    if (state == problem.goal) {
      goal = entry.node;
      break;
    }
    // What takes time is looking at steps, some hundreds from states of many digits.
    constexpr int kSteps = 60;
    if (++expanded > problem.options.maxExpansions || steps > kSteps * problem.options.maxExpansions ||
        (!found && expanded > problem.options.maxInVain))
      break;
    for (Move &move : movesFrom(problem, state, limitMemory)) {
      ++steps;
      ++searchWork().reshardSteps;
      double cost = entry.cost + priceOf(move, problem.options) + tie;
      reach(std::move(move.after), cost, entry.node, move.kind, move.received, move.messages, move.sent);
    }
  }
  if (goal < 0) {
    auto it = best.find(problem.goal);
    if (it == best.end())
      return std::nullopt;
    goal = it->second;
  }
  std::vector<Move> moves;
  for (int i = goal; nodes[i].parent >= 0; i = nodes[i].parent)
    moves.push_back({nodes[i].kind, *nodes[i].state, nodes[i].received, nodes[i].messages, nodes[i].sent});
  std::reverse(moves.begin(), moves.end());
  return moves;
}
