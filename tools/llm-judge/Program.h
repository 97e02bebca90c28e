//===- Program.h - Same numbers before and after a pipeline? ---*- C++ -*-===//
#ifndef TESSERA_TOOLS_LLM_JUDGE_PROGRAM_H
#define TESSERA_TOOLS_LLM_JUDGE_PROGRAM_H

#include "Coverage.h"

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace tessera {

/// How a program is judged.
struct ProgramJudgement {
  std::string pipeline; ///< passes as inside builtin.module(...)
  std::string entry;    ///< function to run; empty: the first public one; "*": all public ones
  std::string where;    ///< the file, for error messages
  std::string breakOp;  ///< a fault put in after the pipeline, to test the judge: see applyBreak
  uint64_t seed = 1;    ///< of the inputs of the first run
  unsigned runs = 1;
  double tolerance = 1e-9; ///< largest difference over largest element
  /// The least that a result's largest element counts as, relative to the largest of all results: gradients
  /// that are zero but for rounding have no size of their own.
  double floor = 0;
  bool print = false;       ///< the program after the pipeline, to stdout
  bool everyResult = false; ///< print the error of good results too
  /// kernels, exec or binary: in place of the pipeline the program is compiled through the text of that rung,
  /// run by all ranks and every entry called twice; `tolerance` is the bound of float32.
  std::optional<Rung> machine;
  std::string mesh, shard;    ///< of `machine`: as --mesh and --shard of llm-compile
  std::string target = "cpu"; ///< the same: what to compile for
  std::string targetOptions;  ///< of `machine`: "cpu=x86-64-v3"
  std::string runner;         ///< of `machine`: a command that runs it too, with the same bits

  /// The flags that say so again.
  std::string flags() const;
};

/// Runs `before` before and after the pipeline. The number of results above the tolerance, or failure with
/// the error printed. `coverage`, if given, counts what the program after the pipeline holds.
llvm::FailureOr<unsigned> judgeProgram(mlir::ModuleOp before, const ProgramJudgement &judgement,
                                       Coverage *coverage = nullptr);

/// What became of a judged program.
struct Outcome {
  enum Kind { Good, Numbers, Refused, Crash, Timeout } kind = Good;
  std::string text;     ///< errors, or what it crashed with
  std::string coverage; ///< Coverage::toJson of a good one
  /// Fails in the same way: the same kind; refused with the same first error but for names and numbers.
  bool same(const Outcome &other) const;
};

/// `judge` in a child process, killed after `seconds`; it returns what judgeProgram does. The context must
/// not be multithreaded.
Outcome isolated(unsigned seconds, llvm::function_ref<llvm::FailureOr<unsigned>(Coverage &)> judge);
Outcome judgeIsolated(mlir::ModuleOp before, const ProgramJudgement &judgement, unsigned seconds);

/// The smallest program found that fails the same way as `module` did with `outcome`: functions, results,
/// ops, loops, annotations are dropped one by one, sizes of dimensions and axes made smaller, until nothing
/// more can go. Deterministic; each try is one judgeIsolated.
mlir::OwningOpRef<mlir::ModuleOp> shrinkProgram(mlir::ModuleOp module, const ProgramJudgement &judgement,
                                                const Outcome &outcome, unsigned seconds);

} // namespace tessera
#endif
