//===- StartReductions.cpp - what reductions begin with, without memory -----===//

#include "StartReductions.h"
#include "Touches.h"

#include "tessera/Target/CUDA/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tessera {
#define GEN_PASS_DEF_CUDASTARTREDUCTIONS
#include "tessera/Target/CUDA/Passes.h.inc"

TypedAttr startOf(linalg::LinalgOp op, unsigned output) {
  auto starts = op->getAttrOfType<ArrayAttr>(kStartsAttr);
  return starts ? dyn_cast<TypedAttr>(starts[output]) : TypedAttr();
}

namespace {

/// Whether the op writes every element of an output that `map` places.
bool writesAll(AffineMap map, MemRefType type) {
  SmallVector<bool> seen(map.getNumDims(), false);
  for (auto [expr, size] : llvm::zip_equal(map.getResults(), type.getShape())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim && size != 1)
      return false;
    if (dim && std::exchange(seen[dim.getPosition()], true))
      return false;
  }
  return true;
}

bool usesMemory(Operation *op, Value root) {
  return op
      ->walk([&](Operation *inner) {
        if (isMemoryEffectFree(inner))
          return WalkResult::advance();
        for (Value operand : inner->getOperands())
          if (isa<MemRefType>(operand.getType()) && rootOf(operand) == root)
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// The constant that the op writes everywhere in its only output; null: it does something else.
TypedAttr filledWith(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || !op.hasPureBufferSemantics() ||
      !writesAll(op.getMatchingIndexingMap(op.getDpsInitOperand(0)),
                 cast<MemRefType>(op.getDpsInits()[0].getType())))
    return {};
  Value given = op.getBlock()->getTerminator()->getOperand(0);
  if (auto argument = dyn_cast<BlockArgument>(given); argument && argument.getOwner() == op.getBlock())
    given = op.getMatchingOpOperand(argument)->get();
  TypedAttr value;
  return matchPattern(given, m_Constant(&value)) ? value : TypedAttr();
}

/// The output that `fill` prepares and nothing else does anything with before: of an op behind it in the
/// block that writes all of it.
OpOperand *preparedOutput(linalg::LinalgOp fill) {
  Value filled = fill.getDpsInits()[0], root = rootOf(filled);
  for (Operation *next = fill->getNextNode(); next; next = next->getNextNode()) {
    if (!usesMemory(next, root))
      continue;
    auto tile = dyn_cast<linalg::LinalgOp>(next);
    if (!tile)
      return nullptr;
    OpOperand *found = nullptr;
    for (OpOperand &operand : tile->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()) || rootOf(operand.get()) != root)
        continue;
      if (found || operand.get() != filled || !tile.isDpsInit(&operand))
        return nullptr;
      found = &operand;
    }
    // Loads at computed places stand in the body.
    bool reads =
        tile->walk([&](memref::LoadOp load) {
              return rootOf(load.getMemref()) == root ? WalkResult::interrupt() : WalkResult::advance();
            })
            .wasInterrupted();
    bool all =
        found && !reads && writesAll(tile.getMatchingIndexingMap(found), cast<MemRefType>(filled.getType()));
    return all ? found : nullptr;
  }
  return nullptr;
}

struct CUDAStartReductions : impl::CUDAStartReductionsBase<CUDAStartReductions> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func->hasAttr(kKernelAttr) || func.isExternal())
      return;
    SmallVector<std::pair<linalg::LinalgOp, TypedAttr>> fills;
    func.walk([&](linalg::LinalgOp op) {
      if (TypedAttr value = filledWith(op))
        fills.push_back({op, value});
    });
    for (auto [fill, value] : fills) {
      OpOperand *output = preparedOutput(fill);
      if (!output)
        continue;
      auto op = cast<linalg::LinalgOp>(output->getOwner());
      unsigned number = output->getOperandNumber() - op.getNumDpsInputs();
      if (op.payloadUsesValueFromOperand(output)) {
        auto known = op->getAttrOfType<ArrayAttr>(kStartsAttr);
        SmallVector<Attribute> starts(unsigned(op.getNumDpsInits()), UnitAttr::get(&getContext()));
        if (known)
          starts.assign(known.begin(), known.end());
        starts[number] = value;
        op->setAttr(kStartsAttr, ArrayAttr::get(&getContext(), starts));
      }
      fill.erase();
    }
  }
};

} // namespace
} // namespace tessera
