//===- Check.h - The executable against one device --------------*- C++ -*-===//
#ifndef TESSERA_EXECUTION_CHECK_H
#define TESSERA_EXECUTION_CHECK_H

#include "tessera/Execution/CompiledProgram.h"
#include "tessera/Pipelines/Compile.h"

namespace tessera {

/// --check: runs the object on its mesh, every rank a thread, two calls of every entry on random inputs with
/// weights of the model (without: random ones), and compares with the program of one rank. Then both halves
/// again with a program of 16 positions and a few layers of each run, every kind once and of each stack two
/// slices, against the interpreter. A mesh of more than 64 ranks has its axes halved, largest first. The line
/// for the user: `equal to one device: largest difference X at Y`, with what was cut and made up in
/// parentheses; a Failure beyond 1e-4 of the largest element. Of programs that round to 16 bits or fewer the
/// bound is what rounding at random does to the interpreter (Compare.h, Bounds), on the whole program as much
/// more as its own roundings add up to (ShortRounding.h); these alone say it where the program is too large
/// to interpret. Cost: two more compilations, two loads of the weights, some seconds of interpretation.
class OneDeviceCheck final : public ExecutableCheck {
public:
  /// `fault` may change rung spmd, for tests of what is found.
  explicit OneDeviceCheck(std::function<void(mlir::ModuleOp)> fault = {}) : fault(std::move(fault)) {}

  void onStep(mlir::ModuleOp module) override { step = module.clone(); }
  void onSpmd(mlir::ModuleOp module) override;
  Result<std::string> check(const std::string &object, const CompileOptions &options) override;

private:
  std::function<void(mlir::ModuleOp)> fault;
  mlir::OwningOpRef<mlir::ModuleOp> step;
  std::vector<EntryPorts> ports; ///< on rung spmd
};

} // namespace tessera
#endif
