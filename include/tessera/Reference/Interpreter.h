//===- Interpreter.h - The judge: runs programs of the upper rungs -*- C++ -*-===//
//
// Runs a function of a module on rung graph, step, sharded or spmd with simple loops over float64. See
// docs/Judge.md.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_REFERENCE_INTERPRETER_H
#define TESSERA_REFERENCE_INTERPRETER_H

#include "tessera/Reference/CloseChoices.h"
#include "tessera/Reference/ShardedShape.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

struct InterpreterOptions {
  /// Round every result to its element type (float64 otherwise: the same program, exactly).
  bool programRounding = false;
  /// Round every result to its element type, each element up or down at random, by this seed: how far
  /// rounding of whatever kind may carry the program (stochastic arithmetic, as CESTAC has it).
  std::optional<uint64_t> randomRounding = {};
  /// Sees what `graph.top_k` chooses from; outlives the run.
  CloseChoices *choices = nullptr;
  /// How many ranks run; 0: as `numRanks` finds. A part of a program may hold no value that says it.
  int64_t ranks = 0;
};

/// What a local tensor type says (rung spmd), looked up from `from`; none if the type is not local.
/// Scalars with a sharding have one on rung sharded too: their types look the same.
std::optional<ShardedShape> getShardedShape(mlir::Operation *from, mlir::Type type);
/// Ranks that run `func`: the devices of its mesh on rung spmd, else 1.
int64_t numRanks(mlir::func::FuncOp func);

/// Runs `func`. `arguments[i]` is argument i on every rank (`numRanks` values of the argument's local shape);
/// so are the results. On rungs graph, step and sharded there is one rank with global values; `dist.reshard`
/// and `dist.constraint` are the identity. On spmd all ranks run in lockstep; collectives move values between
/// them. Emits errors at the op that cannot be run. Cost: the program's own, about 1e9 multiply-adds a second
/// in `linear`; memory: 8 bytes an element of every live value.
llvm::FailureOr<std::vector<RankValues>> interpretFunction(mlir::func::FuncOp func,
                                                           std::vector<RankValues> arguments,
                                                           const InterpreterOptions &options = {});

/// The same from global values to global values: arguments are sharded as their types say (padding of
/// parameters zero, of everything else poisoned), results are put together again, where copies must agree.
llvm::FailureOr<std::vector<ReferenceTensor>> interpretGlobally(mlir::func::FuncOp func,
                                                                std::vector<ReferenceTensor> arguments,
                                                                const InterpreterOptions &options = {});

/// One argument, and one result, of that: what each of `ranks` ranks has of a global value as the type says,
/// and back.
llvm::FailureOr<RankValues> piecesOfArgument(mlir::func::FuncOp func, unsigned argument,
                                             const ReferenceTensor &global, int64_t ranks);
llvm::FailureOr<ReferenceTensor> globalResult(mlir::func::FuncOp func, unsigned result, RankValues pieces,
                                              const InterpreterOptions &options = {});

} // namespace tessera
#endif
