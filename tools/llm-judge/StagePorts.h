//===- StagePorts.h - What stages of a pipeline hand each other -*- C++ -*-===//
#ifndef TESSERA_TOOLS_LLM_JUDGE_STAGEPORTS_H
#define TESSERA_TOOLS_LLM_JUDGE_STAGEPORTS_H

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Execution/Weights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

/// A stage of the pipeline, and what is known of its inputs and outputs so far, by name.
struct Stage {
  mlir::ModuleOp module;
  int64_t first = 0, layers = 0;
  mlir::func::FuncOp function;                          ///< the step that runs
  std::map<graph::StagePart, mlir::func::FuncOp> parts; ///< or its parts
  NamedValues inputs, outputs;
};

Failure cannot(const std::string &what, const std::string &where, const std::string &why);

std::string argumentName(mlir::func::FuncOp function, unsigned argument);
std::optional<graph::FillSource> fillOf(mlir::func::FuncOp function, unsigned argument);
std::string resultName(mlir::func::FuncOp function, unsigned result);
std::optional<graph::Gives> givesOf(mlir::func::FuncOp function, unsigned result);

/// The functions of the step that runs: one, or its parts.
llvm::SmallVector<mlir::func::FuncOp> functionsOf(const Stage &stage);

/// Whether all that `from` gives so is what `to` is filled with so: once, under the same name, with the same
/// type. Several parts may read one value, or none.
Status checkPorts(const Stage &from, graph::Gives gives, const Stage &to, graph::FillSource source);
/// Of steps that are one function: gives `to` what `from` has sent.
void hand(Stage &from, graph::Gives gives, Stage &to);
/// Whether it has parameters that another stage has, too.
bool givesShared(const Stage &stage);

} // namespace tessera
#endif
