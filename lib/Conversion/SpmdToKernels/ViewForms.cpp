//===- ViewForms.cpp - ops that move nothing --------------------------------===//
//
// Another shape of the same elements -> a view; nothing else but a name, say -> the operand.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "tessera/Interfaces/Interfaces.h"

namespace tessera::kernels {
namespace {

struct ViewForm : LibraryForm {
  bool takes(Operation *op) const override { return isa<SameElementsOpInterface>(op); }
  LogicalResult lower(Operation *op, KernelLowering &) const override {
    Value source = cast<SameElementsOpInterface>(op).getSource(), result = op->getResult(0);
    OpBuilder builder(op);
    if (source.getType() != result.getType())
      source = exec::ReshapeOp::create(builder, op->getLoc(), result.getType(), source);
    result.replaceAllUsesWith(source);
    op->erase();
    return success();
  }
};

} // namespace

const LibraryForm &viewForm() {
  static const ViewForm form;
  return form;
}

} // namespace tessera::kernels
