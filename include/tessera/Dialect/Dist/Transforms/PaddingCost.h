//===- PaddingCost.h - What sizes that do not divide cost -------*- C++ -*-===//
//
// A dimension of n elements over k shards holds ceil(n / k) on each rank (docs/Sharding.md): k ceil(n / k) -
// n of them are padding, which is held, computed on and sent like the rest. Counted on rung spmd, dimension
// by dimension.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_DIST_TRANSFORMS_PADDINGCOST_H
#define TESSERA_DIALECT_DIST_TRANSFORMS_PADDINGCOST_H

#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/Analysis/Sharding/Sharding.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace tessera::dist {

/// On a function of rung spmd with padding: FLOPs of a rank in one run that are padding, and all. The
/// manifest has them from here.
inline constexpr llvm::StringLiteral kPaddingFlopsAttr = "dist.padding_flops";

/// Bytes and work of a rank, the mean over ranks. One run of every function, loops as often as they run.
struct PaddingShare {
  double weightBytes = 0, stateBytes = 0; ///< held
  double activationBytes = 0;             ///< written by ops
  double sentBytes = 0;                   ///< by collectives
  double flops = 0;
};

/// Dimensions of one name and size over the same axes.
struct PaddedDim {
  std::string name;
  AxisList axes;
  std::string axesText;         ///< `tp:(1)2+dp`
  int64_t size = 0, padded = 0; ///< global, without and with padding
  PaddingShare
      share; ///< what of it is padding of this dimension; a value with two such dimensions counts for both
  std::vector<std::string>
      values; ///< arguments that have it, else ops that make such values; program order, each once
};

/// FLOPs of one run of a function on a rank. An element that two dimensions pad counts once.
struct FunctionFlops {
  double all = 0, padding = 0;
  std::string most; ///< headline of the dimension that pads most of it; empty: none does
};

struct PaddingCost {
  std::vector<PaddedDim> dims; ///< most FLOPs first, then most bytes held
  PaddingShare total;          ///< padding or not
  std::map<std::string, FunctionFlops> functions;
};

/// Linear in the program of rung spmd.
PaddingCost paddingCost(mlir::ModuleOp module, const Mesh &mesh, const DimNames &names);

/// `kv_heads over tp: from 3 to 4, 2 a rank (25.0 % padding)`
std::string headline(const PaddedDim &dim);
/// What of a rank's bytes and work is padding: one text for each kind of which some is.
std::vector<std::string> shares(const PaddedDim &dim, const PaddingShare &total);

} // namespace tessera::dist
#endif
