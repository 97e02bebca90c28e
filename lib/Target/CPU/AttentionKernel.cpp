//===- AttentionKernel.cpp - attention as a kernel function -----------------===//

#include "tessera/Target/CPU/AttentionKernel.h"

#include "AttentionEmitter.h"

namespace tessera {

using namespace mlir;

int64_t attentionIterations(const AttentionShape &shape, unsigned lanes) {
  return RowLaneAttention::fits(shape, lanes) ? RowLaneAttention::iterations(shape, lanes)
                                              : KeyLaneAttention::iterations(shape);
}

func::FuncOp buildAttentionKernel(Location loc, StringRef name, const AttentionShape &shape, unsigned lanes) {
  AttentionFunction function(loc, name, shape);
  ImplicitLocOpBuilder b(loc, function.builder);
  std::unique_ptr<AttentionEmitter> emitter;
  if (RowLaneAttention::fits(shape, lanes))
    emitter = std::make_unique<RowLaneAttention>(b, shape, function.arguments, lanes);
  else
    emitter = std::make_unique<KeyLaneAttention>(b, shape, function.arguments, lanes);
  emitter->allocate();
  emitter->emit(function.openLoop(b));
  return function.func;
}

} // namespace tessera
