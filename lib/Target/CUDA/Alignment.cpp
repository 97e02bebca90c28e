//===- Alignment.cpp - how kernels' buffers are aligned ---------------------===//

#include "Alignment.h"

#include "tessera/Target/CUDA/Passes.h"
#include "tessera/Target/KernelSibling.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <numeric>

namespace tessera {
#define GEN_PASS_DEF_CUDAPROMISEALIGNMENT
#include "tessera/Target/CUDA/Passes.h.inc"

using namespace mlir;

using exec::kBufferAlignment;

int64_t bytesInMemory(Type element) {
  return element.isIndex() ? 8 : std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

int64_t knownAlignment(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  int64_t element = bytesInMemory(type.getElementType());
  if (auto arg = dyn_cast<BlockArgument>(memref)) {
    auto func = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
    auto attr = func ? func.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(), kAlignAttr) : IntegerAttr();
    return attr ? attr.getInt() : element;
  }
  Operation *op = memref.getDefiningOp();
  if (isa<memref::AllocOp, memref::GetGlobalOp>(op))
    return kBufferAlignment;
  if (isa<memref::CastOp, memref::ExpandShapeOp, memref::CollapseShapeOp>(op))
    return knownAlignment(op->getOperand(0));
  if (auto view = dyn_cast<memref::SubViewOp>(op)) {
    int64_t known = knownAlignment(view.getSource());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(view.getSourceType().getStridesAndOffset(strides, offset)))
      return element;
    for (auto [place, stride] : llvm::zip_equal(view.getStaticOffsets(), strides)) {
      if (ShapedType::isDynamic(stride))
        return element;
      int64_t step = stride * element;
      known = std::gcd(known, ShapedType::isDynamic(place) ? step : place * step);
    }
    return known;
  }
  return element;
}

int64_t accessAlignment(linalg::LinalgOp op, OpOperand &operand, int64_t dim, int64_t multiple) {
  auto type = cast<MemRefType>(operand.get().getType());
  int64_t element = bytesInMemory(type.getElementType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return element;
  int64_t known = knownAlignment(operand.get());
  for (auto [expr, stride] : llvm::zip_equal(op.getMatchingIndexingMap(&operand).getResults(), strides)) {
    if (ShapedType::isDynamic(stride))
      return element;
    auto only = dyn_cast<AffineDimExpr>(expr);
    int64_t step = stride * element;
    if (only && op.getStaticLoopRanges()[only.getPosition()] == 1)
      continue; // it is always 0
    known = std::gcd(known, only && int64_t(only.getPosition()) == dim ? multiple * step : step);
  }
  return known;
}

namespace {

struct CUDAPromiseAlignment : impl::CUDAPromiseAlignmentBase<CUDAPromiseAlignment> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::DenseMap<StringAttr, SmallVector<int64_t>> least;
    module.walk([&](exec::LaunchOp launch) {
      SmallVector<int64_t> &known = least[launch.getKernelAttr().getAttr()];
      SmallVector<Value> buffers(launch.getInputs());
      llvm::append_range(buffers, launch.getOutputs());
      known.resize(buffers.size(), kBufferAlignment);
      for (auto [value, buffer] : llvm::zip_equal(known, buffers))
        value = std::gcd(value, exec::alignmentOf(buffer));
    });
    Builder builder(&getContext());
    auto launchedName = [](func::FuncOp func) {
      auto sibling = func->getAttrOfType<DictionaryAttr>(kSiblingAttr);
      return sibling ? KernelSibling::of(sibling).kernel.getAttr() : func.getSymNameAttr();
    };
    for (auto func : module.getOps<func::FuncOp>())
      if (auto it = least.find(launchedName(func)); func->hasAttr(kKernelAttr) && it != least.end())
        for (auto [i, bytes] : llvm::enumerate(it->second))
          func.setArgAttr(i, kAlignAttr, builder.getI64IntegerAttr(bytes));
  }
};

} // namespace
} // namespace tessera
