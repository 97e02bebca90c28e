// A second opinion on times and order: the graph of computing actions, and its longest path.
#ifndef TESSERA_SCHEDULE_TEST_ACTIONGRAPH_H
#define TESSERA_SCHEDULE_TEST_ACTIONGRAPH_H

#include "tessera/runtime/schedule/Simulate.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera::schedule {

// The length of the longest path, or nothing if there is a circle or an action is missing that another needs.
inline std::optional<double> longestPath(const Schedule &schedule, const Costs &costs) {
  struct Edge {
    size_t to;
    double delay;
  };
  std::vector<const Action *> nodes;
  std::vector<std::vector<Edge>> edges;
  std::map<std::tuple<bool, int32_t, int32_t>, size_t> makers; // forward, stage, micro-batch
  for (const ActionList &list : schedule.ranks)
    for (const Action &action : list) {
      for (const Action &part : partsOf(action))
        if (part.kind != Kind::BackwardWeight)
          makers[{part.kind == Kind::Forward, part.stage, part.microBatch}] = nodes.size();
      nodes.push_back(&action);
    }
  edges.resize(nodes.size());
  std::vector<int> waitsFor(nodes.size(), 0);
  bool missing = false;
  auto edge = [&](bool forward, int32_t stage, int32_t microBatch, size_t to, double delay) {
    auto found = makers.find({forward, stage, microBatch});
    if (found == makers.end())
      return void(missing = true);
    edges[found->second].push_back({to, delay});
    ++waitsFor[to];
  };
  size_t node = 0;
  for (const ActionList &list : schedule.ranks)
    for (size_t i = 0; i < list.size(); ++i, ++node) {
      if (i > 0) {
        edges[node - 1].push_back({node, 0});
        ++waitsFor[node];
      }
      for (const Action &part : partsOf(list[i])) {
        auto link = [&](int32_t other) {
          return schedule.rankOfStage[size_t(other)] == schedule.rankOfStage[size_t(part.stage)]
                     ? 0
                     : Costs::of(costs.link, std::min(other, part.stage));
        };
        if (part.kind == Kind::Forward && part.stage > 0)
          edge(true, part.stage - 1, part.microBatch, node, link(part.stage - 1));
        if (givesInputGradient(part.kind)) {
          edge(true, part.stage, part.microBatch, node, 0);
          if (part.stage + 1 < schedule.numStages())
            edge(false, part.stage + 1, part.microBatch, node, link(part.stage + 1));
        }
        if (part.kind == Kind::BackwardWeight)
          edge(false, part.stage, part.microBatch, node, 0);
      }
    }
  std::vector<double> begin(nodes.size(), 0);
  std::vector<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waitsFor[i] == 0)
      ready.push_back(i);
  double longest = 0;
  size_t done = 0;
  for (; done < ready.size(); ++done) {
    size_t at = ready[done];
    double end = begin[at] + costs.duration(*nodes[at]);
    longest = std::max(longest, end);
    for (const Edge &to : edges[at]) {
      begin[to.to] = std::max(begin[to.to], end + to.delay);
      if (--waitsFor[to.to] == 0)
        ready.push_back(to.to);
    }
  }
  return missing || done < nodes.size() ? std::nullopt : std::optional(longest);
}

} // namespace tessera::schedule
#endif
