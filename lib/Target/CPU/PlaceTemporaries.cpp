//===- PlaceTemporaries.cpp - one place per temporary, outside of all loops -===//

#include "tessera/Target/CPU/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {
#define GEN_PASS_DEF_PLACETEMPORARIES
#include "tessera/Target/CPU/Passes.h.inc"

using namespace mlir;

namespace {

constexpr int64_t kAlignment = 64;

struct Temporary {
  int64_t bytes;
  size_t number; // in the order of the function
  memref::AllocOp alloc;
};

/// The function argument that `value` is all of, through views that keep the whole in sight; null otherwise.
BlockArgument wholeArgument(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<memref::CastOp, memref::ExpandShapeOp, memref::CollapseShapeOp>(op))
      return nullptr;
    value = op->getOperand(0);
  }
  auto arg = cast<BlockArgument>(value);
  return isa<func::FuncOp>(arg.getOwner()->getParentOp()) ? arg : nullptr;
}

/// Iterations run in any order on several threads: none may work on a private copy of an output.
LogicalResult rejectOutputCopies(func::FuncOp func) {
  // A kernel that does not look at its range has one iteration, which may.
  if (func.getArgument(func.getNumArguments() - 2).use_empty())
    return success();
  WalkResult walk = func.walk([&](memref::CopyOp copy) {
    BlockArgument arg = wholeArgument(copy.getSource());
    if (!arg || !func.getArgAttr(arg.getArgNumber(), kOutputAttr) ||
        !copy.getTarget().getDefiningOp<memref::AllocOp>())
      return WalkResult::advance();
    copy.emitError() << "kernel '" << func.getName() << "' needs a private copy of output argument "
                     << arg.getArgNumber() << ": an iteration reads what another writes";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

struct PlaceTemporaries : impl::PlaceTemporariesBase<PlaceTemporaries> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func->hasAttr(kKernelAttr) || func.isExternal())
      return;
    if (failed(rejectOutputCopies(func)))
      return signalPassFailure();
    DataLayout layout = DataLayout::closest(func);
    SmallVector<Temporary> temporaries;
    WalkResult walk = func.walk([&](memref::AllocOp alloc) {
      MemRefType type = alloc.getType();
      if (!type.hasStaticShape() || !type.getLayout().isIdentity()) {
        alloc.emitError() << "kernel '" << func.getName() << "' has a temporary of type " << type
                          << "; tiles must have static shapes";
        return WalkResult::interrupt();
      }
      int64_t bytes =
          type.getNumElements() * int64_t(layout.getTypeSize(type.getElementType()).getFixedValue());
      temporaries.push_back({int64_t(llvm::alignTo(bytes, kAlignment)), temporaries.size(), alloc});
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();

    // The smallest first: they get the stack.
    llvm::sort(temporaries, [](const Temporary &x, const Temporary &y) {
      return std::tie(x.bytes, x.number) < std::tie(y.bytes, y.number);
    });
    Block &entry = func.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    OpBuilder atEnd(entry.getTerminator());
    IntegerAttr alignment = builder.getI64IntegerAttr(kAlignment);
    int64_t total = 0;
    for (auto &[bytes, number, alloc] : temporaries) {
      total += bytes;
      // Anew each time: the op at the start may be the one erased last.
      builder.setInsertionPointToStart(&entry);
      Value place;
      if (total <= stackLimit) {
        place = memref::AllocaOp::create(builder, alloc.getLoc(), alloc.getType(), alignment);
      } else {
        place = memref::AllocOp::create(builder, alloc.getLoc(), alloc.getType(), alignment);
        memref::DeallocOp::create(atEnd, alloc.getLoc(), place);
      }
      alloc.replaceAllUsesWith(place);
      alloc.erase();
    }
  }
};

} // namespace
} // namespace tessera
