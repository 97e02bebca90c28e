//===- PlaceShared.cpp - temporaries in shared memory -----------------------===//

#include "tessera/Target/CUDA/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {
#define GEN_PASS_DEF_CUDAPLACESHARED
#include "tessera/Target/CUDA/Passes.h.inc"

using namespace mlir;

namespace {

constexpr int64_t kAlignment = 64;

struct CUDAPlaceShared : impl::CUDAPlaceSharedBase<CUDAPlaceShared> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func->hasAttr(kKernelAttr) || func.isExternal())
      return;
    DataLayout layout = DataLayout::closest(func);
    Builder builder(&getContext());
    int64_t total = 0;
    WalkResult walk = func.walk([&](memref::AllocOp alloc) {
      if (alloc->hasAttr(kImageMemoryAttr))
        return WalkResult::advance();
      MemRefType type = alloc.getType();
      if (!type.hasStaticShape() || !type.getLayout().isIdentity()) {
        alloc.emitError() << "kernel '" << func.getName() << "' has a temporary of type " << type
                          << "; tiles must have static shapes";
        return WalkResult::interrupt();
      }
      alloc->setAttr(kSharedOffsetAttr, builder.getI64IntegerAttr(total));
      int64_t bytes =
          type.getNumElements() * int64_t(layout.getTypeSize(type.getElementType()).getFixedValue());
      total += int64_t(llvm::alignTo(bytes, kAlignment));
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    if (total > limit) {
      func.emitError() << "kernel '" << func.getName() << "' keeps " << total
                       << " bytes of temporaries in a block; a block has " << int64_t(limit)
                       << " bytes of shared memory";
      return signalPassFailure();
    }
    func->setAttr(kSharedBytesAttr, builder.getI64IntegerAttr(total));
    func.walk([](memref::DeallocOp dealloc) { dealloc.erase(); });
  }
};

} // namespace
} // namespace tessera
