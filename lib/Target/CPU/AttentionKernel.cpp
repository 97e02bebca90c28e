//===- AttentionKernel.cpp - attention as a kernel function -----------------===//

#include "tessera/Target/CPU/AttentionKernel.h"

#include "AttentionRows.h"

namespace tessera {

using namespace mlir;

int64_t attentionIterations(const AttentionShape &shape, unsigned lanes) {
  return RowLaneAttention::fits(shape, lanes) ? RowLaneAttention::iterations(shape, lanes)
                                              : KeyLaneAttention::iterations(shape);
}

func::FuncOp buildAttentionKernel(Location loc, StringRef name, const AttentionShape &shape,
                                  const VectorUnit &unit) {
  AttentionFunction function(loc, name, shape);
  ImplicitLocOpBuilder b(loc, function.builder);
  std::unique_ptr<AttentionEmitter> emitter;
  if (RowLaneAttention::fits(shape, unit.lanes))
    emitter = std::make_unique<RowLaneAttention>(b, shape, function.arguments, unit);
  else
    emitter = std::make_unique<KeyLaneAttention>(b, shape, function.arguments, unit.lanes);
  emitter->allocate();
  emitter->emit(function.openLoop(b));
  return function.func;
}

} // namespace tessera
