//===- WeightGathers.h - How often stored weights are gathered --*- C++ -*-===//
//
// On rung spmd. The memory policy: a weight that is stored in pieces is gathered just before use, once for
// all that read it in the same block, and held until its last use there; layers of a stack are gathered one
// at a time, again in every loop that reads them, so that never more than a layer is held.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_DIST_TRANSFORMS_WEIGHTGATHERS_H
#define TESSERA_DIALECT_DIST_TRANSFORMS_WEIGHTGATHERS_H

#include "tessera/Analysis/Sharding/Mesh.h"
#include "tessera/Interfaces/Collective.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::dist {

/// The parameter that a value is, or is a layer of, in another layout or seen otherwise; null if it is none.
mlir::BlockArgument storedWeight(mlir::Value value);

/// Whether a collective moves elements and combines none, and rows along the last dimension stay as long as
/// they are: what is kept in blocks of a row's elements can move so.
bool movesWholeRows(CollectiveOpInterface op);

/// Bytes of an element of `value` in memory if it is a cache in blocks, a layer of one, or what ranks have
/// moved of it.
std::optional<double> cachedElementBytes(mlir::Value value);

/// Bytes of an element of `value` as it is gathered: of a weight that its checkpoint has in quantized blocks,
/// and of a cache in blocks, those of the blocks, else those of its type: of a weight, too, that some op
/// takes a part of, for it is expanded at load.
double gatheredElementBytes(mlir::Value value);

/// Bytes of `value` in memory, of a stored weight and of a cache in the blocks that they are held in.
double heldBytes(mlir::Value value);

/// Bytes that a rank sends by `op`, once: a weight in quantized blocks is gathered as it is held, and rows of
/// a cache in blocks move so.
int64_t bytesSent(CollectiveOpInterface op, const Mesh &mesh);

struct GatheredWeight {
  mlir::BlockArgument weight; ///< of a function
  int times = 0;              ///< gathers in the text of the function; those in a loop once
  std::string text; ///< `gathered over {fsdp} twice, in loops of 3 iterations: one layer is held at a time,
                    ///< 16384 bytes; ...`
};

/// Parameters that are gathered somewhere, in order of the first gather. Several gathers in a row (of several
/// dimensions) are one.
std::vector<GatheredWeight> gatheredWeights(mlir::ModuleOp module, const Mesh &mesh);

} // namespace tessera::dist
#endif
