//===- RequireMesh.h - The mesh that a pass needs ---------------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_REQUIREMESH_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_REQUIREMESH_H

#include "tessera/Dialect/Dist/IR/Dist.h"

namespace tessera::dist {

/// The mesh of the module; null after an error if it has none.
inline MeshOp requireMesh(mlir::ModuleOp module) {
  MeshOp mesh = getMesh(module);
  if (!mesh)
    module.emitError("has no dist.mesh: run dist-annotate before");
  return mesh;
}

} // namespace tessera::dist
#endif
