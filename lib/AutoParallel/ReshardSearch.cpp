//===- ReshardSearch.cpp - A* over placements of axis digits --------------===//
#include "ReshardState.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

using namespace tessera;
using namespace tessera::reshard;

namespace {
struct StateHash {
  size_t operator()(const State &state) const {
    size_t hash = 0;
    for (const Place &place : state)
      hash = llvm::hash_combine(hash, place.dim, place.split() ? place.pre : 0);
    return hash;
  }
};

struct Node {
  State state;
  double cost;  ///< from the start
  double bound; ///< at least, to the goal
  int parent;   ///< -1: the start
  StepKind kind;
  double received;
};

struct Entry {
  double total, cost;
  int node;
  /// Lowest total first; among equals the one that has come further, then the older: the order is the same on every machine.
  bool operator<(const Entry &o) const {
    if (total != o.total)
      return total > o.total;
    if (cost != o.cost)
      return cost < o.cost;
    return node > o.node;
  }
};
} // namespace

std::optional<std::vector<Move>> reshard::search(const Problem &problem, bool limitMemory) {
  // Among plans of equal cost the shorter one: a step costs a little even where nothing is said of latency.
  const double tie = 1e-7 * std::max(1.0, problem.maxLocal);
  std::vector<Node> nodes;
  std::unordered_map<State, int, StateHash> best;
  std::priority_queue<Entry> open;
  double bestGoal = -1;
  auto atLeast = [&](const State &state) {
    return lacking(problem, state) + problem.options.latency * double(stepsLeft(problem, state));
  };
  auto reach = [&](State state, double cost, int parent, StepKind kind, double received) {
    auto it = best.find(state);
    if (it != best.end() && nodes[it->second].cost <= cost)
      return;
    double bound = it == best.end() ? atLeast(state) : nodes[it->second].bound;
    if (bestGoal >= 0 && cost + bound >= bestGoal)
      return;
    if (state == problem.goal)
      bestGoal = cost;
    int index = int(nodes.size());
    best[state] = index;
    nodes.push_back({std::move(state), cost, bound, parent, kind, received});
    open.push({cost + bound, cost, index});
  };
  reach(problem.start, 0, -1, StepKind::AllSlice, 0);
  int expanded = 0, goal = -1;
  while (!open.empty()) {
    Entry entry = open.top();
    open.pop();
    if (best[nodes[entry.node].state] != entry.node)
      continue;
    if (nodes[entry.node].state == problem.goal) {
      goal = entry.node;
      break;
    }
    if (++expanded > problem.options.maxExpansions)
      break;
    State state = nodes[entry.node].state;
    for (Move &move : movesFrom(problem, state, limitMemory)) {
      double cost = entry.cost + move.received + tie + (move.received > 0 ? problem.options.latency : 0);
      reach(std::move(move.after), cost, entry.node, move.kind, move.received);
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
    moves.push_back({nodes[i].kind, nodes[i].state, nodes[i].received});
  std::reverse(moves.begin(), moves.end());
  return moves;
}
