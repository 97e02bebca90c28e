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

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/AnalysisManager.h"

#include <memory>
#include <vector>

namespace tessera::dist {

class CachedReshardCosts {
public:
  explicit CachedReshardCosts(mlir::Operation *) {}

  /// Those of `function` on `mesh` and `machine`, which are the module's; of another mesh or machine nothing
  /// is kept. Functions share none: a search goes by what is planned already, and no function is to lie in
  /// another way because of what was planned for those before it. In manual regions over `reserved` they are
  /// others, for whose plans those axes are not there.
  ReshardCosts &on(const Mesh &mesh, const Machine &machine, llvm::StringRef function,
                   const AxisList &reserved) {
    if (!known.empty() &&
        (!(known.front().costs->mesh == mesh) || !(known.front().costs->machine == machine)))
      known.clear();
    for (const Known &one : known)
      if (one.function == function && one.costs->reserved == reserved)
        return *one.costs;
    known.push_back({function.str(), std::make_unique<ReshardCosts>(mesh, machine, reserved)});
    return *known.back().costs;
  }

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &) const { return false; }

private:
  struct Known {
    std::string function;
    std::unique_ptr<ReshardCosts> costs;
  };
  std::vector<Known> known;
};

/// Of a module's blocks: in a manual computation its axes are not the compiler's.
class RegionCosts {
public:
  RegionCosts(CachedReshardCosts &plans, const Mesh &mesh, const Machine &machine)
      : plans(plans), onMesh(mesh), machine(machine) {}

  const Mesh &mesh() const { return onMesh; }

  ReshardCosts &in(mlir::Block &block) {
    auto function = llvm::dyn_cast<mlir::FunctionOpInterface>(block.getParentOp());
    if (!function)
      function = block.getParentOp()->getParentOfType<mlir::FunctionOpInterface>();
    return plans.on(onMesh, machine, function ? function.getName() : llvm::StringRef(),
                    reservedAxes(block, onMesh));
  }

private:
  CachedReshardCosts &plans;
  const Mesh onMesh;
  const Machine machine;
};

} // namespace tessera::dist
#endif
