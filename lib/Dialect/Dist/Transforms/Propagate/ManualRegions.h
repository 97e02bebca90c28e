//===- ManualRegions.h - Manual computations as boundaries ------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PROPAGATE_MANUALREGIONS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PROPAGATE_MANUALREGIONS_H

#include "tessera/Analysis/Sharding/Propagation.h"
#include "tessera/Dialect/Dist/IR/Manual.h"

namespace tessera::dist {

class ManualRegions {
public:
  ManualRegions(PropagationGraph &graph, llvm::StringRef meshName) : graph(graph), meshName(meshName) {}

  /// Boundaries between operands and what the body takes, and between what it yields and results. `tensorOf`:
  /// of a value. Returns how many ops the graph has got.
  size_t add(ManualComputationOp op, llvm::function_ref<int(mlir::Value)> tensorOf);
  /// Writes how operands, arguments and results of `op` lie: dimensions that manual axes cut into pieces
  /// which others do not divide are cut by those alone.
  void write(ManualComputationOp op, llvm::function_ref<int(mlir::Value)> tensorOf) const;

private:
  void addBoundary(int outside, int inside, const AxisList &manual);
  int addOutside(int tensor, Sharding sharding, const AxisList &manual);
  Sharding found(int tensor, const AxisList &manual) const;

  PropagationGraph &graph;
  std::string meshName;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int>> taken; ///< operands, as the regions have them
};

} // namespace tessera::dist
#endif
