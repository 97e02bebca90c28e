//===- Entries.h - The entries of a program that generates -----*- C++ -*-===//
#ifndef TESSERA_TOOLS_LLM_JUDGE_ENTRIES_H
#define TESSERA_TOOLS_LLM_JUDGE_ENTRIES_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace tessera {

/// The public function of `module` with this role; @forward, on rung graph, has none. Of those for prompts
/// the one that takes `width` positions of a row. Null if there is none.
mlir::func::FuncOp entryFor(mlir::ModuleOp module, std::optional<graph::Role> role, int64_t width = 1);

/// The positions of a row that an entry for prompts takes which takes fewer than `longest`; 0 if none does.
int64_t shortPromptWidth(mlir::ModuleOp module, int64_t longest);

} // namespace tessera
#endif
