// Compiles programs to machine code and runs them on all their ranks with the real runtime.
#ifndef TESSERA_TEST_UNIT_EXECUTE_EXECUTEHARNESS_H
#define TESSERA_TEST_UNIT_EXECUTE_EXECUTEHARNESS_H

#include "tessera/Execution/CompiledProgram.h"
#include "tessera/runtime/device/Rank.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

#include <functional>
#include <memory>
#include <string>

namespace tessera::test {

/// A context with everything the pipelines need.
std::unique_ptr<mlir::MLIRContext> createContext();

/// A program of rung exec, written by hand, as a loaded library. `onBinary`: ExecutionOptions.
Result<CompiledProgram> compileExec(const std::string &text,
                                    std::function<void(mlir::ModuleOp)> onBinary = {});

struct ExecuteResult {
  std::string error; ///< why it could not be run; empty if it ran
  double worst = 0;  ///< largest relative error of a result against the interpreter
  int64_t ranks = 0;
};

/// Runs every entry of a program of rung step once on random inputs, with `threads` threads a rank; compares
/// with the unpartitioned program in float64.
ExecuteResult execute(mlir::ModuleOp module, uint64_t seed, int threads);
ExecuteResult execute(const std::string &text, uint64_t seed, int threads = 1);

} // namespace tessera::test
#endif
