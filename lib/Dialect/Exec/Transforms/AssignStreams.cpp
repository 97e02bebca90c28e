//===- AssignStreams.cpp - Communication beside computation -----------------===//

#include "EntryProgram.h"

#include "tessera/Analysis/Order/Order.h"
#include "tessera/Dialect/Exec/Transforms/Passes.h"

namespace tessera::exec {
#define GEN_PASS_DEF_EXECASSIGNSTREAMS
#include "tessera/Dialect/Exec/Transforms/Passes.h.inc"

using namespace mlir;

namespace {

constexpr int64_t kCommunication = 1;

/// What other ranks take part in goes to the stream of communication. Who waits for a token is who needs what
/// it gives: that stays with what computes.
void assignStreams(func::FuncOp entry) {
  entry.walk([](ExecAccessOpInterface op) {
    if (op.isNeededElsewhere() || op.getStartedToken())
      cast<ExecStreamOpInterface>(op.getOperation()).setStreamNumber(kCommunication);
  });
}

/// Carries out what was planned: ops beside the ops that the plan names.
void addEvents(func::FuncOp entry, const EntryProgram &program, const EventPlan &plan) {
  Block &body = entry.getBody().front();
  llvm::DenseMap<Operation *, Operation *> last; // after it, what was put there last
  Operation *first = &body.front();
  for (const EventPlan::Action &action : plan.actions) {
    Operation *beside = action.tag >= 0 ? program.op(action.tag)
                        : action.after  ? body.getTerminator()
                                        : first;
    OpBuilder builder(beside);
    bool after = action.tag >= 0 && action.after;
    if (after)
      builder.setInsertionPointAfter(last.try_emplace(beside, beside).first->second);
    IntegerAttr stream = action.stream ? builder.getI64IntegerAttr(action.stream) : IntegerAttr();
    IntegerAttr event = builder.getI64IntegerAttr(action.event);
    Operation *made = action.records
                          ? EventRecordOp::create(builder, beside->getLoc(), event, stream).getOperation()
                          : EventWaitOp::create(builder, beside->getLoc(), event, stream).getOperation();
    if (after)
      last[beside] = made;
  }
}

struct ExecAssignStreams : impl::ExecAssignStreamsBase<ExecAssignStreams> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> entries = entriesOf(module);
    if (!communication || entries.empty())
      return markAllAnalysesPreserved();
    Builder builder(module.getContext());
    module->setAttr(kStreamsAttr, builder.getStrArrayAttr({kComputeStream, kCommunicationStream}));
    for (func::FuncOp entry : entries) {
      assignStreams(entry);
      EntryProgram program(entry);
      if (failed(program.build(entries)))
        return signalPassFailure();
      addEvents(entry, program, planEvents(program.get(), /*streams=*/2));
    }
  }
};

} // namespace
} // namespace tessera::exec
