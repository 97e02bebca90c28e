//===- LayoutGraph.cpp - Boxes and lines of a layered graph ---------------===//
#include "LayoutGraph.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tessera::report {
namespace {

constexpr double kGapX = 18, kGapY = 30, kPointWidth = 6;

/// A box, or a place where a line crosses a rank.
struct LayerPosition {
  int rank = 0;
  double width = 0, center = 0;
  double weight = 1; ///< places of lines pull harder: long lines become straight
  std::vector<int> up, down;
};

class Layouter {
public:
  explicit Layouter(GraphDrawing &layout) : layout(layout) {}

  void run() {
    rankBoxes();
    splitLines();
    orderRanks();
    placeRanks();
    emit();
  }

private:
  void rankBoxes() {
    size_t n = layout.boxes.size();
    std::vector<int> rank(n, 0), lowest(n, std::numeric_limits<int>::max());
    std::vector<bool> entered(n, false);
    // Lines go from earlier to later boxes, so one sweep in order is enough.
    std::vector<std::vector<int>> next(n);
    for (const Line &line : layout.lines) {
      next[line.from].push_back(line.to);
      entered[line.to] = true;
    }
    for (size_t i = 0; i < n; ++i)
      for (int to : next[i])
        rank[to] = std::max(rank[to], rank[i] + 1);
    // What nothing leads to stands right above its first use.
    for (size_t i = 0; i < n; ++i) {
      for (int to : next[i])
        lowest[i] = std::min(lowest[i], rank[to] - 1);
      if (!entered[i] && !next[i].empty())
        rank[i] = lowest[i];
    }
    for (size_t i = 0; i < n; ++i) {
      LayerPosition place;
      place.rank = rank[i];
      place.width = layout.boxes[i].width;
      places.push_back(place);
    }
  }

  void splitLines() {
    paths.resize(layout.lines.size());
    for (size_t i = 0; i < layout.lines.size(); ++i) {
      const Line &line = layout.lines[i];
      std::vector<int> &path = paths[i];
      path.push_back(line.from);
      for (int rank = places[line.from].rank + 1; rank < places[line.to].rank; ++rank) {
        LayerPosition place;
        place.rank = rank;
        place.width = kPointWidth;
        place.weight = 4;
        path.push_back(int(places.size()));
        places.push_back(place);
      }
      path.push_back(line.to);
      for (size_t j = 1; j < path.size(); ++j) {
        places[path[j - 1]].down.push_back(path[j]);
        places[path[j]].up.push_back(path[j - 1]);
      }
    }
    for (size_t i = 0; i < places.size(); ++i) {
      ranks.resize(std::max(ranks.size(), size_t(places[i].rank) + 1));
      ranks[places[i].rank].push_back(int(i));
    }
  }

  void orderRanks() {
    std::vector<double> position(places.size(), 0), key(places.size(), 0);
    auto number = [&](const std::vector<int> &rank) {
      for (size_t i = 0; i < rank.size(); ++i)
        position[rank[i]] = double(i) - double(rank.size() - 1) / 2;
    };
    for (const std::vector<int> &rank : ranks)
      number(rank);
    auto sweep = [&](std::vector<int> &rank, bool down) {
      for (int place : rank) {
        const std::vector<int> &others = down ? places[place].up : places[place].down;
        key[place] = position[place];
        if (others.empty())
          continue;
        key[place] = 0;
        for (int other : others)
          key[place] += position[other] / double(others.size());
      }
      std::stable_sort(rank.begin(), rank.end(), [&](int a, int b) { return key[a] < key[b]; });
      number(rank);
    };
    for (int round = 0; round < 6; ++round) {
      for (size_t r = 1; r < ranks.size(); ++r)
        sweep(ranks[r], true);
      for (size_t r = ranks.size(); r-- > 1;)
        sweep(ranks[r - 1], false);
    }
    for (size_t r = 1; r < ranks.size(); ++r)
      sweep(ranks[r], true);
  }

  /// Centers of one rank nearest to `wanted`, in order and apart: isotonic regression by pooling neighbours
  /// that violate the order.
  void placeRank(const std::vector<int> &rank, const std::vector<double> &wanted) {
    struct Pool {
      double value, weight;
      size_t count;
    };
    std::vector<Pool> pools;
    std::vector<double> offset(rank.size(), 0);
    for (size_t i = 0; i < rank.size(); ++i) {
      if (i)
        offset[i] = offset[i - 1] + (places[rank[i - 1]].width + places[rank[i]].width) / 2 + kGapX;
      pools.push_back({wanted[i] - offset[i], places[rank[i]].weight, 1});
      while (pools.size() > 1 && pools[pools.size() - 2].value > pools.back().value) {
        Pool last = pools.back();
        pools.pop_back();
        Pool &pool = pools.back();
        double weight = pool.weight + last.weight;
        pool = {(pool.value * pool.weight + last.value * last.weight) / weight, weight,
                pool.count + last.count};
      }
    }
    size_t i = 0;
    for (const Pool &pool : pools)
      for (size_t k = 0; k < pool.count; ++k, ++i)
        places[rank[i]].center = pool.value + offset[i];
  }

  void placeRanks() {
    auto mean = [&](const std::vector<int> &others, double otherwise) {
      if (others.empty())
        return otherwise;
      double sum = 0;
      for (int other : others)
        sum += places[other].center;
      return sum / double(others.size());
    };
    for (const std::vector<int> &rank : ranks)
      placeRank(rank, std::vector<double>(rank.size(), 0));
    auto pull = [&](const std::vector<int> &rank, bool useUp, bool useDown) {
      std::vector<double> wanted;
      for (int i : rank) {
        const LayerPosition &place = places[i];
        double up = mean(place.up, place.center), down = mean(place.down, place.center);
        if (useUp && useDown && !place.up.empty() && !place.down.empty())
          wanted.push_back((up + down) / 2);
        else if (useUp && (!useDown || !place.up.empty()))
          wanted.push_back(up);
        else
          wanted.push_back(down);
      }
      placeRank(rank, wanted);
    };
    for (int round = 0; round < 40; ++round) {
      bool both = round >= 8;
      for (size_t r = 0; r < ranks.size(); ++r)
        pull(ranks[r], true, both);
      for (size_t r = ranks.size(); r-- > 0;)
        pull(ranks[r], both, true);
    }
  }

  void emit() {
    double left = std::numeric_limits<double>::max(), right = std::numeric_limits<double>::lowest();
    for (const LayerPosition &place : places) {
      left = std::min(left, place.center - place.width / 2);
      right = std::max(right, place.center + place.width / 2);
    }
    if (places.empty())
      return;
    layout.width = right - left;
    std::vector<double> top(ranks.size(), 0), height(ranks.size(), 0);
    for (size_t i = 0; i < layout.boxes.size(); ++i)
      height[places[i].rank] = std::max(height[places[i].rank], layout.boxes[i].height);
    for (size_t r = 1; r < ranks.size(); ++r)
      top[r] = top[r - 1] + height[r - 1] + kGapY;
    layout.height = top.back() + height.back();
    for (size_t i = 0; i < layout.boxes.size(); ++i) {
      Box &box = layout.boxes[i];
      int r = places[i].rank;
      box.x = places[i].center - box.width / 2 - left;
      box.y = top[r] + (height[r] - box.height) / 2;
    }
    for (size_t i = 0; i < paths.size(); ++i) {
      Line &line = layout.lines[i];
      const Box &from = layout.boxes[line.from], &to = layout.boxes[line.to];
      line.points.push_back({from.x + from.width / 2, from.y + from.height});
      // Beside its own box a line goes down straight to the end of the rank.
      line.points.push_back(
          {from.x + from.width / 2, top[places[line.from].rank] + height[places[line.from].rank]});
      for (size_t j = 1; j + 1 < paths[i].size(); ++j) {
        double x = places[paths[i][j]].center - left, y = top[places[paths[i][j]].rank];
        line.points.push_back({x, y});
        line.points.push_back({x, y + height[places[paths[i][j]].rank]});
      }
      line.points.push_back({to.x + to.width / 2, top[places[line.to].rank]});
      line.points.push_back({to.x + to.width / 2, to.y});
    }
  }

  GraphDrawing &layout;
  std::vector<LayerPosition> places; ///< boxes first
  std::vector<std::vector<int>> ranks, paths;
};

} // namespace

void layOut(GraphDrawing &layout) { Layouter(layout).run(); }

} // namespace tessera::report
