//===- VectorizeTiles.cpp - linalg ops of a kernel to vector loops ----------===//

#include "tessera/Target/CPU/Passes.h"
#include "tessera/Target/Kernels/TileVectorizer.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tessera {
#define GEN_PASS_DEF_VECTORIZETILES
#include "tessera/Target/CPU/Passes.h.inc"

using namespace mlir;

namespace {

struct VectorizeTiles : impl::VectorizeTilesBase<VectorizeTiles> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func->hasAttr(kKernelAttr) || func.isExternal())
      return;
    IRRewriter rewriter(&getContext());
    replaceCopies(rewriter, func);
    SmallVector<linalg::LinalgOp> ops;
    func.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops) {
      if (!op.hasPureBufferSemantics()) {
        op->emitError() << "kernel '" << func.getName() << "' still has a tile op on tensors";
        return signalPassFailure();
      }
      if (succeeded(vectorizeTileOp(rewriter, op, lanes)))
        continue;
      rewriter.setInsertionPoint(op);
      if (failed(linalg::linalgOpToLoops(rewriter, op))) {
        op->emitError() << "kernel '" << func.getName()
                        << "' has an op that neither vectors nor loops can express";
        return signalPassFailure();
      }
      rewriter.eraseOp(op);
    }
  }
};

} // namespace
} // namespace tessera
