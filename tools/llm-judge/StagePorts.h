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
  mlir::func::FuncOp function; ///< that runs
  NamedValues inputs, outputs;
};

Failure cannot(const std::string &what, const std::string &where, const std::string &why);

std::string argumentName(mlir::func::FuncOp function, unsigned argument);
std::optional<graph::FillSource> fillOf(mlir::func::FuncOp function, unsigned argument);
std::string resultName(mlir::func::FuncOp function, unsigned result);
std::optional<graph::Gives> givesOf(mlir::func::FuncOp function, unsigned result);

/// Whether all that `from` gives so is what `to` is filled with so: once, under the same name, with the same
/// type.
Status checkPorts(mlir::func::FuncOp from, graph::Gives gives, mlir::func::FuncOp to,
                  graph::FillSource source);
/// Gives `to` what `from` has sent.
void hand(Stage &from, graph::Gives gives, Stage &to);
/// Whether it has parameters that another stage has, too.
bool givesShared(Stage &stage);

} // namespace tessera
#endif
