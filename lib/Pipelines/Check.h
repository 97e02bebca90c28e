//===- Check.h - The executable against one device --------------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_CHECK_H
#define TESSERA_LIB_PIPELINES_CHECK_H

#include "tessera/Execution/CompiledProgram.h"
#include "tessera/Pipelines/Compile.h"

namespace tessera {

/// What --check compares: the object that OUT is linked from, its ports on rung spmd, and its program on rung
/// step.
struct CheckedProgram {
  mlir::ModuleOp step;
  std::vector<EntryPorts> ports;
  std::function<void(mlir::ModuleOp)>
      onSpmd; ///< what was done to rung spmd beside the phases (tests of --check)
};

/// Runs the object on its mesh, every rank a thread, two calls of every entry on random inputs with weights
/// of the model (without: random ones), and compares with the program of one rank; then both halves again
/// with a program cut to two layers and 16 positions, against the interpreter. A mesh of more than 64 ranks
/// has its axes halved, largest first. The line for the user: `equal to one device: largest difference X at
/// Y`, with what was cut and made up in parentheses; a Failure beyond 1e-4 of the largest element (16 bits:
/// Compare.h, Bounds; on the whole model as many times more as it has more layers). Cost: two more
/// compilations, two loads of the weights, some seconds of interpretation.
Result<std::string> checkExecutable(const CheckedProgram &checked, const std::string &object,
                                    const CompileOptions &options);

} // namespace tessera
#endif
