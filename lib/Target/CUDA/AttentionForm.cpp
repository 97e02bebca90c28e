//===- AttentionForm.cpp - attention as a launch on a GPU -------------------===//
//
// attention -> the CUDA target's attention kernel. What that has no code for (heads wider than 256) stays as
// it is, to be written out in smaller ops.
//
//===----------------------------------------------------------------------===//

#include "AttentionForm.h"

#include "tessera/Target/CUDA/AttentionKernel.h"

using namespace mlir;

namespace tessera {
namespace {

struct CUDAAttentionForm : AttentionForm {
  bool takes(Operation *op) const override {
    return tileAttention(shapeOf(cast<graph::AttentionOp>(op))).has_value();
  }

protected:
  Kernel build(Location loc, StringRef name, const AttentionShape &shape) const override {
    std::optional<AttentionTiling> tiling = tileAttention(shape);
    assert(tiling && "an op that this form does not take");
    return {buildCUDAAttentionKernel(loc, name, shape, *tiling), tiling->blocks};
  }
};

} // namespace

void addCUDAAttentionForm(LibraryForms &forms) {
  forms.add<graph::AttentionOp>(std::make_unique<CUDAAttentionForm>());
}

} // namespace tessera
