//===- LowerLibraryOps.cpp - ops with a form of their own -----------------===//

#include "LibraryOps.h"

#include "tessera/Conversion/SpmdToKernels/SpmdToKernels.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "tessera/Interfaces/LibraryOpInterface.cpp.inc"

namespace tessera {

void registerLibraryOps(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, graph::GraphDialect *) {
    kernels::attachAttentionOps(context);
    kernels::attachPackedOps(context);
    kernels::attachScatterOps(context);
    kernels::attachViewOps(context);
  });
}

namespace kernels {

Value fresh(OpBuilder &builder, Value like) {
  RankedTensorType type = tensorOf(like);
  return tensor::EmptyOp::create(builder, like.getLoc(), type.getShape(), type.getElementType(),
                                 type.getEncoding());
}

LogicalResult lowerLibraryOps(Lowering &lowering) {
  SmallVector<LibraryOpInterface> ops;
  lowering.module.walk([&](LibraryOpInterface op) { ops.push_back(op); });
  for (LibraryOpInterface op : ops)
    if (failed(op.lowerToLibrary(lowering)))
      return failure();
  return success();
}

} // namespace kernels
} // namespace tessera
