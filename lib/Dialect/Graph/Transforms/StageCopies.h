//===- StageCopies.h - Parameters that two stages have ----------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_STAGECOPIES_H
#define TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_STAGECOPIES_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera::graph {

/// The programs of a pipeline's stages, modules that nothing holds yet.
struct StagePrograms {
  llvm::SmallVector<mlir::ModuleOp> modules;
  llvm::SmallVector<unsigned> ofStage; ///< the number of its program

  mlir::ModuleOp of(size_t stage) { return modules[ofStage[stage]]; }
  std::string nextName() const { return "stage" + std::to_string(modules.size()); }

  /// Says on each parameter that two stages have, in kCopyAttr, which copy it is. Stages of one program that
  /// have different copies get a program each. Fails, with an error at `where`, if more than two have one.
  mlir::LogicalResult markCopies(mlir::Operation *where);
};

} // namespace tessera::graph
#endif
