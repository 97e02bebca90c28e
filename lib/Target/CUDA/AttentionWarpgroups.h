//===- AttentionWarpgroups.h - Attention by products of warpgroups -*- C++ -*-===//
//
// For sm_90a. A block has one or two warpgroups of 64 rows each. While a tile's scores become weights, the
// values of the tile before are multiplied: both products are given at once, and only the first is waited
// for. So what a stage of the ring brings belongs to two tiles: a step has the keys of one and the values of
// the one before.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_TARGET_CUDA_ATTENTIONWARPGROUPS_H
#define TESSERA_LIB_TARGET_CUDA_ATTENTIONWARPGROUPS_H

#include "AttentionBlock.h"

namespace tessera {

class WarpgroupAttention : public AttentionBlock {
public:
  using AttentionBlock::AttentionBlock;

private:
  void attend() override;
  void copySwizzled(Value to, int64_t line, int64_t rows, int64_t width,
                    llvm::function_ref<Source(Value)> source);
  /// How far from their own place the keys of a step's tile stand, and the values of the one before.
  struct Shifts {
    Value keys, values;
  };
  Shifts shiftsOf(Value step, int64_t least);
  void copyStep(Value step, int64_t least, Value last, Shifts shifts);
  void openStep(Value ahead, int64_t least, Value last, Shifts shifts);
  Values startScores(Value tile);
  Values startValues(mlir::ArrayRef<Value> sums, mlir::ArrayRef<Value> weights, Value tile);
  Values pack(mlir::ArrayRef<Value> weights);
};

} // namespace tessera

#endif
