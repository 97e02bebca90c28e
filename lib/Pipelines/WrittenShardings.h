//===- WrittenShardings.h - What a program says of shardings ----*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_WRITTENSHARDINGS_H
#define TESSERA_LIB_PIPELINES_WRITTENSHARDINGS_H

#include "tessera/Dialect/Dist/IR/Dist.h"

#include <set>
#include <string>
#include <vector>

namespace tessera {

/// A sharding that a person wrote into a program: of an argument, of a result, or a pin on the way; last
/// the manual regions, which are written for pieces over some axes.
struct WrittenSharding {
  std::string what;            ///< `argument w`, `result logits`, `the pin of residual`
  std::string where;           ///< file and line; may be empty
  dist::ShardingAttr sharding; ///< null: a manual region, which no person could do without
};

/// Those of `step` (rung step), in its order; a copy of the module has the same.
std::vector<WrittenSharding> writtenShardings(mlir::ModuleOp step);
/// Takes those with these numbers out of the program. In the place of a manual region come arguments that
/// lie as their readers like: what such a program computes means nothing, only what it sends.
void leaveOut(mlir::ModuleOp step, const std::set<size_t> &numbers);

} // namespace tessera
#endif
