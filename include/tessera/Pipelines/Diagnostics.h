//===- Diagnostics.h - MLIR's diagnostics as our error lines ----*- C++ -*-===//
#ifndef TESSERA_PIPELINES_DIAGNOSTICS_H
#define TESSERA_PIPELINES_DIAGNOSTICS_H

#include "tessera/runtime/Result.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace tessera {

/// While it lives, keeps the first error that `context` reports instead of printing it. Remarks go to
/// `remarks` and warnings to `warnings`, one line each, if those are given; notes are dropped. Safe with
/// MLIR's threads.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext &context, llvm::raw_ostream *remarks = nullptr,
                               llvm::raw_ostream *warnings = nullptr);

  /// The first error as `what (LOCATION): MESSAGE`; `what` with a sentence of its own if none was reported.
  Failure failure(const std::string &what, const std::string &where) const;

private:
  llvm::LogicalResult handle(mlir::Diagnostic &diagnostic);

  struct Error {
    std::string where, why;
  };
  std::mutex mutex;
  std::optional<Error> first;
  llvm::raw_ostream *remarks, *warnings;
  mlir::ScopedDiagnosticHandler handler;
};

/// Prints every decision that passes report from now on (MLIR's remarks), as `remark: DECISION (WHERE):
/// MESSAGE`.
llvm::LogicalResult explainDecisions(mlir::MLIRContext &context, llvm::raw_ostream &os);

/// Where an op comes from, for people: a file and line, or the weight or block it was made for. Empty if
/// unknown.
std::string describeLocation(mlir::Location location);

} // namespace tessera
#endif
