//===- Made.h - What is said at the end of compiling ------------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_MADE_H
#define TESSERA_LIB_PIPELINES_MADE_H

#include "tessera/Pipelines/CompileOptions.h"
#include "tessera/runtime/core/Manifest.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// What was made, and a command to try, in one line: "made smol (9.1 MB, 3 ranks, cpu); try: ./smol chat".
/// The command works: it fits the program's context and what the model's files hold. Only FILE (data) is left
/// to say.
std::string describeMade(const CompileOptions &options, const runtime::Manifest &manifest);

/// Warnings of plans that do nothing for the model, each a line; empty: there is none. `graph` is on rung
/// graph.
std::string idleAxes(mlir::ModuleOp graph, const CompileOptions &options);
/// The same of what stands in the model's files and is not used: weights in a format that is not read, end
/// tokens that the vocabulary does not have.
std::string unusedInFiles(mlir::ModuleOp graph, const CompileOptions &options);
/// The same of flags that change nothing where there is one rank.
std::string idleFlags(mlir::ModuleOp graph, const CompileOptions &options);
/// A hint, a line, where weights stay quantized and are multiplied in float32, and the machine that the
/// program is for (one of those) multiplies bfloat16 faster; empty: no such thing.
std::string fasterType(mlir::ModuleOp graph, const CompileOptions &options);
/// The same of ranks of a pipeline that has been planned.
std::string idleRanks(const CompileOptions &options);

} // namespace tessera
#endif
