//===- KernelMemory.cpp - What a kernel keeps from launch to launch ---------===//

#include "tessera/Dialect/Exec/IR/KernelMemory.h"

#include "tessera/Dialect/Exec/IR/Exec.h"

using namespace mlir;

namespace tessera::exec {

int64_t imageMemoryBytes(Operation *kernel) {
  int64_t bytes = 0;
  kernel->walk([&](Operation *op) {
    if (op->hasAttr(kImageMemoryAttr) && op->getNumResults() == 1)
      if (auto type = dyn_cast<MemRefType>(op->getResult(0).getType()); type && type.hasStaticShape())
        bytes += arrayBytes(type);
  });
  return bytes;
}

} // namespace tessera::exec
