//===- CachedReshardCosts.h - Planned reshards, kept from pass to pass --*- C++ -*-===//
//
// What dist-insert-reshards weighed, dist-partition carries out: the same reshards on the same mesh and
// machine. An analysis of the module, but of nothing in it, so no pass invalidates it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_CACHEDRESHARDCOSTS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_CACHEDRESHARDCOSTS_H

#include "tessera/AutoParallel/Placement.h"

#include "mlir/Pass/AnalysisManager.h"

#include <memory>

namespace tessera::dist {

class CachedReshardCosts {
public:
  explicit CachedReshardCosts(mlir::Operation *) {}

  /// Those on `mesh` and `machine`, which are the module's; of another mesh or machine nothing is kept.
  ReshardCosts &on(const Mesh &mesh, const Machine &machine) {
    if (!costs || !(costs->mesh == mesh) || !(costs->machine == machine))
      costs = std::make_unique<ReshardCosts>(mesh, machine);
    return *costs;
  }

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &) const { return false; }

private:
  std::unique_ptr<ReshardCosts> costs;
};

} // namespace tessera::dist
#endif
