//===- StageCollectives.cpp - Within nodes, and between them --------------===//
//
// Last of what is done to collectives: before, a collective over many nodes is one op, which others can join
// or cancel. Its time was that of its stages all along (collectiveTime).
//
//===----------------------------------------------------------------------===//
#include "Explain.h"
#include "Partition/EmitCollective.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"

#include "llvm/Support/FormatVariadic.h"

namespace tessera::dist {
#define GEN_PASS_DEF_DISTSTAGECOLLECTIVESPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
struct StagePass : public tessera::dist::impl::DistStageCollectivesPassBase<StagePass> {
  void runOnOperation() override {
    const Machine machine = machineOf(getOperation());
    MeshOp meshOp = machine.ranksPerNode == 0 ? MeshOp() : dist::getMesh(getOperation());
    if (!meshOp)
      return markAllAnalysesPreserved();
    const Mesh mesh = meshOp.getMesh().toMesh();
    SmallVector<CollectiveOpInterface> collectives;
    getOperation().walk([&](CollectiveOpInterface op) { collectives.push_back(op); });
    for (CollectiveOpInterface op : collectives)
      if (std::optional<ReshardPlan> stages = stagesOf(machine, mesh, op))
        if (failed(stage(op, *stages, meshOp.getSymName(), mesh, machine)))
          return signalPassFailure();
  }

private:
  static LogicalResult stage(CollectiveOpInterface op, const ReshardPlan &stages, StringRef meshName,
                             const Mesh &mesh, const Machine &machine) {
    Value value = op->getOperand(0);
    auto type = cast<RankedTensorType>(op.getArrived().getType());
    SmallVector<int64_t> shape = globalShape(type);
    auto steps = asCollectives(shape, getShardingAttr(value.getType()).toSharding(mesh), stages);
    if (!steps)
      return op->emitOpError("has stages that no collectives do");
    OpBuilder builder(op);
    auto why = op->getAttrOfType<StringAttr>("why");
    std::string text;
    for (const CollectiveStep &step : *steps) {
      value = emitCollective(builder, op->getLoc(), value, step, type.getElementType(), meshName, mesh, why);
      if (Attribute bundled = op->getAttr(kBundledAttr))
        value.getDefiningOp()->setAttr(kBundledAttr, bundled);
      if (step.isView)
        continue;
      bool crosses =
          llvm::any_of(step.axes, [&](const AxisRef &axis) { return machine.crossesNodes(mesh, axis); });
      text += (text.empty() ? "" : ", then ") + value.getDefiningOp()->getName().stripDialect().str() +
              (crosses ? " between nodes over " : " within nodes over ") + axesText(step.axes, mesh);
    }
    if (value.getType() != type)
      return op->emitOpError("has stages that end elsewhere: ") << value.getType();
    explain(op->getLoc(), "stages",
            llvm::formatv("{0} over {1} on {2}: {3}", op->getName().stripDialect(),
                          axesText(op.getGroupAxes(mesh), mesh), machine.name, text));
    op.getArrived().replaceAllUsesWith(value);
    op->erase();
    return success();
  }
};
} // namespace
