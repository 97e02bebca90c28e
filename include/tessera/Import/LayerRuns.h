//===- LayerRuns.h - Layers of several kinds as loops -----------*- C++ -*-===//
#ifndef TESSERA_IMPORT_LAYERRUNS_H
#define TESSERA_IMPORT_LAYERRUNS_H

#include "tessera/Import/ModelConfig.h"

namespace tessera::importer {

/// Layers that follow one another and are one loop of the program: `kinds`, again and again.
struct LayerRun {
  int64_t first = 0; ///< number of its first layer in the model
  int64_t layers = 1;
  std::vector<LayerKind> kinds = {LayerKind()};
  /// All kinds have the same weights: a stack has a slice for each layer, an iteration is one of them, and
  /// the order may be cut short the last time. Otherwise each place of the order has stacks of its own, and
  /// an iteration is the whole order: `layers` is a multiple of its length.
  bool sharesStacks = true;
  bool isModel = true; ///< all layers of the model, in stacks they share

  /// Layers from a slice of a stack to the next one.
  int64_t step() const { return sharesStacks ? 1 : int64_t(kinds.size()); }
  int64_t iterations() const { return layers / step(); }
};

/// Bodies that a program has at most for layers of several kinds: more would cost compile time by depth.
inline constexpr int64_t kMostBodies = 16;

/// Layers that a model may have at most whose kinds are no short order.
inline constexpr int64_t kMostMixedLayers = 65536;

/// The first layers of `run`, as many as say all of it: each kind once, and two slices of each stack.
LayerRun beginOf(LayerRun run);

/// The layers in as few bodies as runs can have: one run where an order of kMostBodies kinds with the same
/// weights says it all, however many layers there are. Otherwise in time linear in the layers; empty if these
/// are more than kMostMixedLayers.
std::vector<LayerRun> layerRuns(const ModelConfig &config);

} // namespace tessera::importer
#endif
