//===- IterationTiles.h - The tiles that one iteration takes ----*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_SPMDTOKERNELS_ITERATIONTILES_H
#define TESSERA_LIB_CONVERSION_SPMDTOKERNELS_ITERATIONTILES_H

#include "Clusters.h"

namespace tessera::kernels {

/// Where one iteration stands along each axis.
struct Iteration {
  SmallVector<Value> number; ///< of the tile
  SmallVector<Value> begin;  ///< its first element
  ArrayRef<Axis> axes;
};

/// Where tile number `number` stands; the last axis runs fastest.
Iteration delinearize(OpBuilder &builder, Location loc, Value number, ArrayRef<Axis> axes);

/// The type of a tile of `value`.
RankedTensorType tileType(Value value, const Parts &parts, ArrayRef<Axis> axes);

/// The part of `array`, which is seen as `parts` of `value`, that belongs to this iteration.
Value tileOf(OpBuilder &builder, Location loc, Value array, Value value, const Parts &parts,
             const Iteration &at);

/// `into` with the tile of a result. What every iteration along some axis computes one of them stores.
Value store(OpBuilder &builder, Location loc, Value value, Value into, const Parts &parts,
            const Iteration &at);

} // namespace tessera::kernels
#endif
