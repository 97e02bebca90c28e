//===- AttentionForm.cpp - attention as a launch on a GPU -------------------===//
//
// attention -> the CUDA target's attention kernel. What that has no code for (heads wider than 256,
// queries that say the first key they see, sinks, keys in a ring) stays as
// it is, to be written out in smaller ops. Where products of warpgroups take the shape, a second kernel does.
//
//===----------------------------------------------------------------------===//

#include "AttentionForm.h"

#include "tessera/Target/CUDA/AttentionKernel.h"

using namespace mlir;

namespace tessera {
namespace {

struct CUDAAttentionForm : AttentionForm {
  bool takes(Operation *op) const override {
    AttentionShape shape = shapeOf(cast<graph::AttentionOp>(op));
    return !shape.firsts && !shape.dropout && !shape.sinkType && !shape.ring &&
           tileAttention(shape).has_value();
  }

protected:
  Kernel build(Location loc, StringRef name, const AttentionShape &shape) const override {
    std::optional<AttentionTiling> tiling = tileAttention(shape);
    assert(tiling && "an op that this form does not take");
    int64_t scratch = attentionScratch(shape, *tiling);
    Kernel kernel = {buildCUDAAttentionKernel(loc, name, shape, *tiling, scratch), tiling->blocks};
    if (std::optional<AttentionTiling> other = tileWarpgroupAttention(shape))
      kernel.siblings.push_back(
          {buildCUDAAttentionKernel(loc, name, shape, *other, scratch), "wgmma", other->blocks});
    return kernel;
  }
};

} // namespace

void addCUDAAttentionForm(LibraryForms &forms) {
  forms.add<graph::AttentionOp>(std::make_unique<CUDAAttentionForm>());
}

} // namespace tessera
