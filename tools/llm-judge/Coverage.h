//===- Coverage.h - What partitioned programs held -------------*- C++ -*-===//
#ifndef TESSERA_TOOLS_LLM_JUDGE_COVERAGE_H
#define TESSERA_TOOLS_LLM_JUDGE_COVERAGE_H

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace tessera {

/// Counts of op, factor kind and collective in programs of rung spmd. A collective counts for an op if it
/// touches a dimension of that factor kind of an operand (before the op) or of a result (behind it); one that
/// combines partial values counts for the reduced factor of the op that made them. `local`: the factor is
/// split and nothing moves. `uneven`: it is split into pieces that do not divide. `masked`: padding along it
/// is masked before the op.
class Coverage {
public:
  /// Counts the ops of a program on rung step.
  void countOps(mlir::ModuleOp step);
  /// Counts the factors and collectives of a program after the pipeline; nothing if it has no mesh.
  void countCollectives(mlir::ModuleOp spmd);
  /// Counts pairs of op, element type, collective and loop form of a program of rung spmd: `op|type`,
  /// `op|loop`, `collective|type`, `collective|loop`, `type|loop`, `op|collective` (one gives the other its
  /// operand). Loop forms: `none`, `forward`, `reverse` (one body), `period`, `remainder` (several bodies,
  /// the last round whole or not), both also in `reverse`, `nested` (in a loop of a loop).
  void countPairs(mlir::ModuleOp spmd);
  /// Counts programs by what they are as a whole, from rung spmd: `ranks|4`, `entries|two`, `states|kept`,
  /// `parameter|flat in the file`, `attention|window`, ...
  void countTraits(mlir::ModuleOp spmd);
  /// The same of how products read their weights, from rung exec: `weights|packed`, `weights|plain`.
  void countWeights(mlir::ModuleOp exec);
  /// Counts programs that were drawn in vain.
  void countRedrawn(int programs) { inVain += programs; }
  int64_t redrawn() const { return inVain; }
  /// {"redrawn": programs, "ops": {op: count}, "cells": {"op|kind|collective": count}, "pairs": {"table:
  /// a|b": count}, "traits": {"what|which": programs}}.
  std::string toJson() const;
  /// Adds what toJson gave.
  void add(llvm::StringRef json);
  /// toJson to a file, with {"dialect": [every op of graph that stands in functions]}.
  bool write(llvm::StringRef path, mlir::MLIRContext &context) const;

private:
  std::map<std::string, int64_t> ops, cells, pairs, traits;
  int64_t inVain = 0;
};

} // namespace tessera
#endif
