//===- CachedReshardCosts.h - Planned reshards, kept from pass to pass --*- C++ -*-===//
//
// What dist-insert-reshards weighed, dist-partition carries out: the same reshards on the same mesh and
// machine. An analysis of the module, but of nothing in it, so no pass invalidates it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_CACHEDRESHARDCOSTS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_CACHEDRESHARDCOSTS_H

#include "tessera/AutoParallel/Placement.h"
#include "tessera/Dialect/Dist/IR/Manual.h"

#include "mlir/Pass/AnalysisManager.h"

#include <memory>
#include <vector>

namespace tessera::dist {

class CachedReshardCosts {
public:
  explicit CachedReshardCosts(mlir::Operation *) {}

  /// Those on `mesh` and `machine`, which are the module's; of another mesh or machine nothing is kept. In
  /// manual regions over `reserved` they are others, for whose plans those axes are not there.
  ReshardCosts &on(const Mesh &mesh, const Machine &machine, const AxisList &reserved = {}) {
    if (!known.empty() && (!(known.front()->mesh == mesh) || !(known.front()->machine == machine)))
      known.clear();
    for (const auto &costs : known)
      if (costs->reserved == reserved)
        return *costs;
    return *known.emplace_back(std::make_unique<ReshardCosts>(mesh, machine, reserved));
  }

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &) const { return false; }

private:
  std::vector<std::unique_ptr<ReshardCosts>> known;
};

/// Of a module's blocks: in a manual computation its axes are not the compiler's.
class RegionCosts {
public:
  RegionCosts(CachedReshardCosts &plans, const Mesh &mesh, const Machine &machine)
      : plans(plans), mesh(mesh), machine(machine) {}

  ReshardCosts &outside() { return plans.on(mesh, machine); }
  ReshardCosts &in(mlir::Block &block) { return plans.on(mesh, machine, reservedAxes(block, mesh)); }

private:
  CachedReshardCosts &plans;
  const Mesh mesh;
  const Machine machine;
};

} // namespace tessera::dist
#endif
