//===- ViewOps.cpp - ops that move nothing --------------------------------===//
//
// reshape -> a view, name -> its operand.
//
//===----------------------------------------------------------------------===//

#include "LibraryOps.h"

namespace tessera::kernels {
namespace {

struct LibraryReshape : LibraryOpInterface::ExternalModel<LibraryReshape, graph::ReshapeOp> {
  LogicalResult lowerToLibrary(Operation *self, Lowering &) const {
    auto op = cast<graph::ReshapeOp>(self);
    OpBuilder builder(op);
    Value view = exec::ReshapeOp::create(builder, op.getLoc(), op.getType(), op.getInput());
    op.replaceAllUsesWith(view);
    op.erase();
    return success();
  }
};

struct LibraryName : LibraryOpInterface::ExternalModel<LibraryName, graph::NameOp> {
  LogicalResult lowerToLibrary(Operation *self, Lowering &) const {
    self->replaceAllUsesWith(self->getOperands());
    self->erase();
    return success();
  }
};

} // namespace

void attachViewOps(MLIRContext *context) {
  graph::ReshapeOp::attachInterface<LibraryReshape>(*context);
  graph::NameOp::attachInterface<LibraryName>(*context);
}

} // namespace tessera::kernels
