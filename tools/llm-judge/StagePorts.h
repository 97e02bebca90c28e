//===- StagePorts.h - What stages of a pipeline hand each other -*- C++ -*-===//
#ifndef TESSERA_TOOLS_LLM_JUDGE_STAGEPORTS_H
#define TESSERA_TOOLS_LLM_JUDGE_STAGEPORTS_H

#include "tessera/Dialect/Graph/IR/Entries.h"
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

using graph::argumentName, graph::fillOf, graph::resultName, graph::givesOf;

/// The functions of the step that runs: one, or its parts.
llvm::SmallVector<mlir::func::FuncOp> functionsOf(const Stage &stage);

/// Of steps that are one function: gives `to` what `from` has sent.
void hand(Stage &from, graph::Gives gives, Stage &to);
/// Whether it has parameters that another stage has, too.
bool givesShared(const Stage &stage);

} // namespace tessera
#endif
