//===- PlaceShared.cpp - temporaries in shared memory -----------------------===//

#include "Architectures.h"

#include "tessera/Target/CUDA/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

  LogicalResult place(memref::AllocOp alloc, int64_t &end) {
    MemRefType type = alloc.getType();
    if (!type.hasStaticShape() || !type.getLayout().isIdentity())
      return alloc.emitError() << "kernel '" << getOperation().getName() << "' has a temporary of type "
                               << type << "; tiles must have static shapes";
    alloc->setAttr(kSharedOffsetAttr, Builder(&getContext()).getI64IntegerAttr(end));
    int64_t bytes = type.getNumElements() *
                    int64_t(DataLayout::closest(alloc).getTypeSize(type.getElementType()).getFixedValue());
    end += int64_t(llvm::alignTo(bytes, kAlignment));
    return success();
  }

  /// Places the temporaries of `region` from `end` on, and moves `end` behind them. All threads of a block
  /// take the same branch, for barriers stand in branches: so both have their temporaries in one place.
  /// Rounds of a loop may take either, and no barrier stands between them.
  LogicalResult place(Region &region, int64_t &end, bool inLoop = false) {
    for (Operation &op : region.getOps()) {
      if (auto alloc = dyn_cast<memref::AllocOp>(op); alloc && !alloc->hasAttr(kImageMemoryAttr))
        if (failed(place(alloc, end)))
          return failure();
      bool exclusive = isa<scf::IfOp>(op) && !inLoop;
      int64_t begin = end;
      for (Region &inner : op.getRegions()) {
        int64_t innerEnd = exclusive ? begin : end;
        if (failed(place(inner, innerEnd, inLoop || !isa<scf::IfOp>(op))))
          return failure();
        end = std::max(end, innerEnd);
      }
    }
    return success();
  }

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func->hasAttr(kKernelAttr) || func.isExternal())
      return;
    int64_t total = 0;
    if (failed(place(func.getBody(), total)))
      return signalPassFailure();
    int64_t most = limit ? int64_t(limit) : sharedBytesOf();
    if (auto chip = func->getAttrOfType<StringAttr>(kChipAttr))
      most = std::max(most, sharedBytesOf(chip));
    if (total > most) {
      func.emitError() << "kernel '" << func.getName() << "' keeps " << total
                       << " bytes of temporaries in a block; a block has " << most
                       << " bytes of shared memory";
      return signalPassFailure();
    }
    func->setAttr(kSharedBytesAttr, Builder(&getContext()).getI64IntegerAttr(total));
    func.walk([](memref::DeallocOp dealloc) { dealloc.erase(); });
  }
};

} // namespace
} // namespace tessera
