//===- VerifyOrder.cpp - That streams and events order what they must -------===//

#include "EntryProgram.h"

#include "tessera/Analysis/Order/Order.h"
#include "tessera/Dialect/Exec/Transforms/Passes.h"

namespace tessera::exec {
#define GEN_PASS_DEF_EXECVERIFYORDER
#include "tessera/Dialect/Exec/Transforms/Passes.h.inc"

using namespace mlir;

namespace {

LogicalResult report(const EntryProgram &program, const OrderViolation &violation) {
  InFlightDiagnostic error = program.op(violation.tag)->emitOpError();
  if (violation.access >= 0)
    error << program.accessName(violation.tag, violation.access) << " ";
  error << violation.what;
  if (violation.other >= 0) {
    Diagnostic &note = error.attachNote(program.op(violation.other)->getLoc()) << "this is the other op";
    if (violation.otherAccess >= 0)
      note << ": its " << program.accessName(violation.other, violation.otherAccess);
  }
  return error;
}

/// Everything is given to streams that there are.
LogicalResult checkStreams(ModuleOp module, int64_t streams) {
  WalkResult result = module.walk([&](ExecStreamOpInterface op) {
    if (op.getStreamNumber() < streams)
      return WalkResult::advance();
    op->emitOpError() << "is given to stream " << op.getStreamNumber() << ", but the module has " << streams
                      << (streams == 1 ? " stream" : " streams") << " (" << kStreamsAttr << ")";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

struct ExecVerifyOrder : impl::ExecVerifyOrderBase<ExecVerifyOrder> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    FailureOr<int64_t> streams = countStreams(getOperation());
    if (failed(streams) || failed(checkStreams(getOperation(), *streams)))
      return signalPassFailure();
    SmallVector<func::FuncOp> entries = entriesOf(getOperation());
    for (func::FuncOp entry : entries) {
      EntryProgram program(entry);
      if (failed(program.build(entries)))
        return signalPassFailure();
      if (std::optional<OrderViolation> violation = checkOrder(program.get(), int(*streams)))
        if (failed(report(program, *violation)))
          return signalPassFailure();
    }
  }
};

} // namespace
} // namespace tessera::exec
