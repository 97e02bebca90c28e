//===- LeastCut.cpp - The least cut of a directed graph -------------------===//
#include "tessera/Analysis/Saved/LeastCut.h"

#include <algorithm>

namespace tessera {

int LeastCut::addNode() {
  edges.emplace_back();
  return int(edges.size()) - 1;
}

void LeastCut::addEdge(int from, int to, int64_t capacity) {
  edges[size_t(from)].push_back(int(ends.size()));
  ends.push_back({to, capacity});
  edges[size_t(to)].push_back(int(ends.size()));
  ends.push_back({from, 0});
}

int64_t LeastCut::cut(int source, int sink) {
  int64_t flow = 0;
  while (int64_t more = push(source, sink))
    if ((flow += more) >= unlimited)
      break; // no end: there is no cut
  return flow;
}

/// One shortest path, filled: what flows along it now, 0 if there is none.
int64_t LeastCut::push(int source, int sink) {
  by.assign(edges.size(), -1);
  std::vector<int> queue{source};
  for (size_t next = 0; next < queue.size() && by[size_t(sink)] < 0; ++next)
    for (int edge : edges[size_t(queue[next])])
      if (int to = ends[size_t(edge)].to; ends[size_t(edge)].left > 0 && by[size_t(to)] < 0 && to != source) {
        by[size_t(to)] = edge;
        queue.push_back(to);
      }
  if (by[size_t(sink)] < 0)
    return 0;
  int64_t amount = unlimited;
  auto along = [&](auto use) {
    for (int node = sink; node != source; node = ends[size_t(by[size_t(node)] ^ 1)].to)
      use(size_t(by[size_t(node)]));
  };
  along([&](size_t edge) { amount = std::min(amount, ends[edge].left); });
  along([&](size_t edge) {
    ends[edge].left -= amount;
    ends[edge ^ 1].left += amount;
  });
  return amount;
}

std::vector<bool> LeastCut::reaching(int sink) const {
  std::vector<bool> reached(edges.size());
  std::vector<int> queue{sink};
  reached[size_t(sink)] = true;
  while (!queue.empty()) {
    int node = queue.back();
    queue.pop_back();
    for (int edge : edges[size_t(node)])
      if (int from = ends[size_t(edge)].to; !reached[size_t(from)] && ends[size_t(edge) ^ 1].left > 0) {
        reached[size_t(from)] = true;
        queue.push_back(from);
      }
  }
  return reached;
}

std::vector<bool> LeastCut::reachedFrom(int source) const {
  std::vector<bool> reached(edges.size());
  std::vector<int> queue{source};
  reached[size_t(source)] = true;
  while (!queue.empty()) {
    int node = queue.back();
    queue.pop_back();
    for (int edge : edges[size_t(node)])
      if (int to = ends[size_t(edge)].to; !reached[size_t(to)] && ends[size_t(edge)].left > 0) {
        reached[size_t(to)] = true;
        queue.push_back(to);
      }
  }
  return reached;
}

} // namespace tessera
