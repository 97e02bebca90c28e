//===- Notation.h - Meshes, shardings and rules as text ---------*- C++ -*-===//
//
// The small text form of docs/Sharding.md, used by tests, development tools and messages:
//   mesh      a2 b4                 (axis name and size; name=4 where a name ends in a digit)
//   sharding  [a,b?/-/?/c:(1)2 p1] R{d} U{e}   (Umax{e}: a partial maximum)
//   shape     8x4x4
//   rule      ([b, s, h], [f, h]) -> ([b, s, f]) reduction={h}
//
// Every parser returns none and sets `error` to one line if the text is wrong; what it returns has been
// verified.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_SHARDING_NOTATION_H
#define TESSERA_ANALYSIS_SHARDING_NOTATION_H

#include "tessera/Analysis/Sharding/ShardingRule.h"

namespace tessera {

using Shape = llvm::SmallVector<int64_t>;

std::optional<Mesh> parseMesh(llvm::StringRef text, std::string &error, int64_t maxRanks = kMaxRanks);
/// Sizes from 0 to 2^40, as shapeText (tessera/Support/Shapes.h) writes them.
std::optional<Shape> parseShape(llvm::StringRef text, std::string &error);

/// Rank is what the text says.
std::optional<Sharding> parseSharding(llvm::StringRef text, const Mesh &mesh, std::string &error);

/// `a,b:(1)2`; an empty text or `-` is the empty list.
std::optional<AxisList> parseAxes(llvm::StringRef text, const Mesh &mesh, std::string &error);

/// A rule as ShardingRule::toString prints it, factor names free (letters and digits, a letter first), `*`
/// between the factors of one dimension, `1` for none. Attributes after the results, in any order:
/// `reduction={..}`, `max_reduction={..}`, `need_replication={..}`, `permutation={..}`, `sizes={i=2, j=4}`
/// (only for factors that share every dimension they stand in), `linear={0 1; 2}`, `max_linear={..}` (operand
/// numbers, groups separated by `;`). Factor sizes come from the shapes; a dimension's missing factor size is
/// what the others leave.
std::optional<ShardingRule> parseShardingRule(llvm::StringRef text, llvm::ArrayRef<Shape> operandShapes,
                                              llvm::ArrayRef<Shape> resultShapes, std::string &error);

/// Shorthand for tests and tables: aborts with the message if the text is wrong.
Mesh mesh(llvm::StringRef text);
Sharding sharding(llvm::StringRef text, const Mesh &mesh);

} // namespace tessera
#endif
