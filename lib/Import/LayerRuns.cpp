//===- LayerRuns.cpp - Layers of several kinds as loops -------------------===//
#include "tessera/Import/LayerRuns.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace tessera::importer {

namespace {
/// The best way to have the layers from one on: the run that begins there, and what it takes with all behind.
struct Best {
  int64_t bodies = 0, runs = 0;
  int64_t order = 0, end = 0; ///< kinds of the run, and the layer behind it

  std::tuple<int64_t, int64_t, int64_t> cost() const { return {bodies, runs, -end}; }
};
} // namespace

LayerRun beginOf(LayerRun run) {
  const auto kinds = int64_t(run.kinds.size());
  run.layers = std::min(run.layers, std::max(kinds, 2 * run.step()));
  return run;
}

std::vector<LayerRun> layerRuns(const ModelConfig &config) {
  std::vector<LayerKind> period = kindPeriod(config);
  bool shares = std::all_of(period.begin(), period.end(),
                            [&](const LayerKind &kind) { return kind.hasWeightsOf(period.front()); });
  if (shares && int64_t(period.size()) <= kMostBodies)
    return {{0, config.layers, std::move(period)}};
  if (config.layers > kMostMixedLayers)
    return {};

  // From the last layer to the first. A run of an order of n kinds goes as far as each layer is like the one
  // n before it. A shorter one is better only where the next run then begins with another kind of its order:
  // so the last few ends are tried, and none before.
  const int64_t layers = config.layers;
  std::vector<Best> best(size_t(layers) + 1);
  std::array<int64_t, kMostBodies + 1> alike = {}; // [n]: layers from here on like those n behind them
  for (int64_t first = layers; first-- > 0;) {
    Best &here = best[size_t(first)];
    LayerKind kind = config.kind(first);
    bool sharesStacks = true;
    for (int64_t n = 1; n <= std::min(kMostBodies, layers - first); ++n) {
      bool isAlike = first + n < layers && kind == config.kind(first + n);
      alike[size_t(n)] = isAlike ? alike[size_t(n)] + 1 : 0;
      sharesStacks &= config.kind(first + n - 1).hasWeightsOf(kind);
      const int64_t step = sharesStacks ? 1 : n, longest = n + alike[size_t(n)];
      int64_t length = longest - longest % step;
      for (int64_t tried = 0; tried < kMostBodies && length >= n; ++tried, length -= step) {
        const Best &rest = best[size_t(first + length)];
        Best found = {n + rest.bodies, 1 + rest.runs, n, first + length};
        if (here.order == 0 || found.cost() < here.cost())
          here = found;
      }
    }
  }

  std::vector<LayerRun> runs;
  for (int64_t first = 0; first < layers; first = best[size_t(first)].end) {
    LayerRun run;
    run.first = first;
    run.layers = best[size_t(first)].end - first;
    run.kinds.clear();
    for (int64_t i = 0; i < best[size_t(first)].order; ++i)
      run.kinds.push_back(config.kind(first + i));
    run.sharesStacks = std::all_of(run.kinds.begin(), run.kinds.end(), [&](const LayerKind &kind) {
      return kind.hasWeightsOf(run.kinds.front());
    });
    run.isModel = false;
    runs.push_back(std::move(run));
  }
  return runs;
}

} // namespace tessera::importer
