//===- VerifyExecMemory.cpp - What entries do to the arena ------------------===//
//
// Turns every entry into an ArenaProgram (plain data: ranges and loops) and has `checkArena` run it.
//
//===----------------------------------------------------------------------===//

#include "EntryProgram.h"

#include "tessera/Dialect/Exec/Transforms/Passes.h"

namespace tessera::exec {
#define GEN_PASS_DEF_VERIFYEXECMEMORY
#include "tessera/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace tessera::exec

using namespace mlir;
using namespace tessera;
using namespace tessera::exec;

namespace {

LogicalResult report(func::FuncOp entry, const EntryProgram &program, const ArenaViolation &violation) {
  InFlightDiagnostic error =
      (violation.tag < 0 ? entry.getOperation() : program.op(violation.tag))->emitOpError();
  if (violation.tag < 0)
    error << program.portName(violation.access) << ": ";
  else if (violation.access >= 0)
    error << program.accessName(violation.tag, violation.access) << " ";
  error << violation.what;
  if (violation.other >= 0)
    error.attachNote(program.op(violation.other)->getLoc()) << "this is the other op";
  return error;
}

struct VerifyExecMemory : public tessera::exec::impl::VerifyExecMemoryBase<VerifyExecMemory> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    SmallVector<func::FuncOp> entries = entriesOf(getOperation());
    for (func::FuncOp entry : entries) {
      EntryProgram program(entry);
      if (failed(program.build(entries, unread)))
        return signalPassFailure();
      if (std::optional<ArenaViolation> violation = checkArena(program.get()))
        if (failed(report(entry, program, *violation)))
          return signalPassFailure();
    }
  }
};

} // namespace
