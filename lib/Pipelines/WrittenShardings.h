//===- WrittenShardings.h - What a program says of shardings ----*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_WRITTENSHARDINGS_H
#define TESSERA_LIB_PIPELINES_WRITTENSHARDINGS_H

#include "tessera/Dialect/Dist/IR/Dist.h"

#include <set>
#include <string>
#include <vector>

namespace tessera {

/// A sharding that a person wrote into a program: of an argument, of a result, or a pin on the way.
struct WrittenSharding {
  std::string what;  ///< `argument w`, `result logits`, `the pin of residual`
  std::string where; ///< file and line; may be empty
  dist::ShardingAttr sharding;
};

/// Those of `step` (rung step), in its order; a copy of the module has the same.
std::vector<WrittenSharding> writtenShardings(mlir::ModuleOp step);
/// Takes those with these numbers out of the program.
void leaveOut(mlir::ModuleOp step, const std::set<size_t> &numbers);

} // namespace tessera
#endif
