//===- AttentionForm.cpp - attention as a launch --------------------------===//
//
// attention -> the CPU's attention kernel.
//
//===----------------------------------------------------------------------===//

#include "tessera/Target/CPU/AttentionForm.h"

#include "tessera/Target/CPU/AttentionKernel.h"

using namespace mlir;

namespace tessera {
namespace {

class CPUAttentionForm : public AttentionForm {
public:
  explicit CPUAttentionForm(const VectorUnit &unit) : unit(unit) {}

  /// This target's caches have no pages; an attention that has is written out in smaller ops.
  bool takes(Operation *op) const override { return !cast<graph::AttentionOp>(op).getPages(); }

protected:
  Kernel build(Location loc, StringRef name, const AttentionShape &shape) const override {
    return {buildAttentionKernel(loc, name, shape, unit), attentionIterations(shape, unit.lanes)};
  }

private:
  VectorUnit unit;
};

} // namespace

void addAttentionForm(LibraryForms &forms, const VectorUnit &unit) {
  forms.add<graph::AttentionOp>(std::make_unique<CPUAttentionForm>(unit));
}

} // namespace tessera
