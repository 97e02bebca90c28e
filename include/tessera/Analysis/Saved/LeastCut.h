//===- LeastCut.h - The least cut of a directed graph -----------*- C++ -*-===//
#ifndef TESSERA_ANALYSIS_SAVED_LEASTCUT_H
#define TESSERA_ANALYSIS_SAVED_LEASTCUT_H

#include <cstdint>
#include <utility>
#include <vector>

namespace tessera {

/// A directed graph, each of whose edges costs something to cut. Found as the largest flow, along shortest
/// paths (Edmonds and Karp).
class LeastCut {
public:
  /// Of an edge that no cut may have. Sums of other edges stay below.
  static constexpr int64_t unlimited = int64_t(1) << 60;

  int addNode();
  void addEdge(int from, int to, int64_t capacity);

  /// What the edges of the least cut between `source` and `sink` cost; `unlimited` or more: there is none.
  /// Call once.
  int64_t cut(int source, int sink);

  /// After `cut`: nodes that are on `sink`'s side of the least cut, of equal ones the one that has fewest
  /// there.
  std::vector<bool> reaching(int sink) const;
  /// After `cut`: nodes on `source`'s side, of equal cuts the one that has fewest there.
  std::vector<bool> reachedFrom(int source) const;

private:
  int64_t push(int source, int sink);

  struct End {
    int to;
    int64_t left;
  };
  std::vector<std::vector<int>> edges;
  std::vector<End> ends; ///< an edge and the other way of it lie side by side
  std::vector<int> by;
};

} // namespace tessera
#endif
