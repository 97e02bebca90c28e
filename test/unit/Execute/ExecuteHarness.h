// Compiles a program from rung step or spmd to machine code, runs it on all its ranks with the real runtime
// and compares with the judge.
#ifndef TESSERA_TEST_UNIT_EXECUTE_EXECUTEHARNESS_H
#define TESSERA_TEST_UNIT_EXECUTE_EXECUTEHARNESS_H

#include "tessera/Pipelines/Phases.h"
#include "tessera/runtime/device/Rank.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

#include <functional>
#include <memory>
#include <string>

namespace tessera::test {

/// A context with everything the pipelines need.
std::unique_ptr<mlir::MLIRContext> createContext();

/// A compiled program in this process.
struct Library {
  void *handle = nullptr;
  const ts_program &program() const;
  ~Library();
};
/// From a module on the rung before `first` to a loaded library; the error, or nothing.
std::string compile(mlir::ModuleOp module, Rung first, Library &library);
/// Runs `body` on every rank of a program, as threads of this process, or under mpirun on the one that this
/// process is; the error, or nothing.
std::string runOnRanks(const ts_program &program, const runtime::Driver &driver, int threads,
                       const std::function<void(runtime::Rank &)> &body);

struct ExecuteResult {
  std::string error; ///< why it could not be run; empty if it ran
  double worst = 0;  ///< largest relative error of a result against the interpreter
  int64_t ranks = 0;
};

/// `module` has one function @f of f32 and i32 tensors on rung step (with a mesh: it is partitioned first).
/// Runs it on random inputs with `threads` threads a rank; compares with the unpartitioned program in
/// float64.
ExecuteResult execute(mlir::ModuleOp module, uint64_t seed, int threads);
ExecuteResult execute(const std::string &text, uint64_t seed, int threads = 1);

} // namespace tessera::test
#endif
