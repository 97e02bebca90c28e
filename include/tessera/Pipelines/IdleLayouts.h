//===- IdleLayouts.h - Values over axes that no weight lies over -*- C++ -*-===//
//
// What --memory tries where nothing fits as it is asked for: states, gradients and weights in pieces along
// axes of the mesh that would hold each weight whole.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_PIPELINES_IDLELAYOUTS_H
#define TESSERA_PIPELINES_IDLELAYOUTS_H

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <set>
#include <string>
#include <vector>

namespace tessera {

/// Weights and states of all functions of `module`.
llvm::SmallVector<std::pair<mlir::func::FuncOp, mlir::BlockArgument>> heldArguments(mlir::ModuleOp module);
/// Names of the axes that weights of `module`, on rung sharded or below, lie over.
std::set<std::string> axesOfWeights(mlir::ModuleOp module);

/// With an item of --shard besides.
CompileOptions withShardItem(CompileOptions options, const std::string &item);
/// Whether an item of --shard says how the values of a class lie, or one of them, whose names begin with
/// `prefix` (empty: no value of the class can be named so).
bool saysLayout(const CompileOptions &options, llvm::StringRef valueClass, llvm::StringRef prefix);

struct IdleLayout {
  CompileOptions options;
  llvm::StringRef valueClass; ///< that the last item speaks of
};
/// `dp+fsdp`: axes that weights lie over by their names, and `idle` ones.
std::string axesOfLayout(const CompileOptions &options, llvm::ArrayRef<std::string> idle);
/// What else may lie over `idle` axes: states, then gradients where a step adds some up, then the weights
/// themselves, which are gathered to be used, or what is computed with them is moved. What somebody said
/// stays.
std::vector<IdleLayout> idleLayouts(const CompileOptions &options, llvm::ArrayRef<std::string> idle,
                                    bool addsUpGradients);

} // namespace tessera
#endif
