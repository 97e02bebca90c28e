//===- ViewForms.cpp - ops that move nothing --------------------------------===//
//
// reshape -> a view, name -> its operand.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

namespace tessera::kernels {
namespace {

struct ReshapeForm : LibraryForm {
  bool isView() const override { return true; }
  LogicalResult lower(Operation *self, KernelLowering &) const override {
    auto op = cast<graph::ReshapeOp>(self);
    OpBuilder builder(op);
    Value view = exec::ReshapeOp::create(builder, op.getLoc(), op.getType(), op.getInput());
    op.replaceAllUsesWith(view);
    op.erase();
    return success();
  }
};

struct NameForm : LibraryForm {
  LogicalResult lower(Operation *self, KernelLowering &) const override {
    self->replaceAllUsesWith(self->getOperands());
    self->erase();
    return success();
  }
};

} // namespace

const LibraryForms &viewForms() {
  static const LibraryForms forms = [] {
    LibraryForms views;
    views.add<graph::ReshapeOp>(std::make_unique<ReshapeForm>());
    views.add<graph::NameOp>(std::make_unique<NameForm>());
    return views;
  }();
  return forms;
}

} // namespace tessera::kernels
