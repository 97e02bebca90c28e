//===- Phases.h - One pipeline per rung -------------------------*- C++ -*-===//
//
// The only place where passes are put in order. llm-compile, llm-opt (the pipelines `tessera-shard`,
// `tessera-to-kernels`, ...), llm-judge, the explanation and the tests all build their pipelines here, so
// that what is judged is what ships (test/Pipelines/one-builder.test).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_PIPELINES_PHASES_H
#define TESSERA_PIPELINES_PHASES_H

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/Pass/PassManager.h"

namespace tessera {

/// Adds the passes that make `rung` out of the rung before it, and the check that stands between them. Of
/// `binary` these are the passes up to a module of the LLVM dialect alone, ready for emitObject.
void buildPhase(mlir::OpPassManager &pm, Rung rung, const CompileOptions &options);
/// The phases `first` to `last`, both included.
void buildPhases(mlir::OpPassManager &pm, Rung first, Rung last, const CompileOptions &options);

/// On an empty module: the program of an executable that holds these versions of one (`options.version`).
void buildVersionTable(mlir::OpPassManager &pm, llvm::ArrayRef<std::string> versions);

/// From rung graph to `last` (step, sharded or spmd): a training program that is cut into stages of a
/// pipeline, with so many layers each. Stages are modules beside `dist.pipeline`, and every pass runs on each
/// of them, on the mesh that `options.mesh` says: the pipeline's axis is none of it. `inParts`: with steps as
/// the entries that ship; without, rung spmd has each step as one function.
void buildStagePhases(mlir::OpPassManager &pm, Rung last, const CompileOptions &options,
                      llvm::ArrayRef<int64_t> layers, bool inParts = false);

/// Two parts of phase `spmd`, for those who weigh what loops save between them: everything up to the choice,
/// and the choice (`options.savedBytes`) with all that follows.
void buildLocalProgram(mlir::OpPassManager &pm);
void buildBundledProgram(mlir::OpPassManager &pm, const CompileOptions &options);

/// Two parts of phase `binary`, for tests that ask what its checks refuse, and what runs without them: the
/// checks, and all that follows.
void buildExecChecks(mlir::OpPassManager &pm);
void buildUncheckedBinary(mlir::OpPassManager &pm, const CompileOptions &options);

/// `tessera-shard`: rung step to rung spmd; `tessera-to-kernels`, `tessera-to-exec`, `tessera-to-llvm`: rung
/// spmd to the rung named.
void registerPhasePipelines();

} // namespace tessera
#endif
