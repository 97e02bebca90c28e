//===- SpmdFacts.h - What stands on rung spmd, counted ----------*- C++ -*-===//
#ifndef TESSERA_PIPELINES_SPMDFACTS_H
#define TESSERA_PIPELINES_SPMDFACTS_H

#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/AutoParallel/Machine.h"
#include "tessera/Interfaces/Collective.h"
#include "tessera/Pipelines/Explanation.h"

namespace tessera {

/// Reads one program of rung spmd; suggestions stay empty. Times are the cost model's, for the machine that
/// the module names.
class SpmdFacts {
public:
  explicit SpmdFacts(mlir::ModuleOp module);

  const Mesh &mesh() const { return meshOfModule; }
  const Machine &machineOfModule() const { return machine; }
  std::vector<StepTotals> totals();
  /// Predicted, of all executions of `op` in one run of its function; what it has inside is not counted.
  double seconds(mlir::Operation *op) const;
  int64_t bytesSent(CollectiveOpInterface op) const;
  std::vector<CollectiveExplanation> collectives();
  dist::PaddingCost padding() { return dist::paddingCost(module, meshOfModule, names); }
  /// All parameters, states and inputs, and the `activations` largest other values of each function.
  std::vector<TensorExplanation> tensors(size_t activations);

private:
  CollectiveExplanation describe(CollectiveOpInterface collective);
  Endpoint producerOf(mlir::Value value);
  Endpoint consumerOf(mlir::Value value);
  std::string opText(mlir::Operation *op);
  std::string disagreement(CollectiveOpInterface collective);
  std::string factorText(ShardingRuleOpInterface op, const ShardingRule &rule, int factor) const;
  std::vector<std::string> activationReasons(mlir::Value value);
  TensorExplanation tensor(mlir::Value value, llvm::StringRef function);

  mlir::ModuleOp module;
  /// Arguments that parts of a whole read, by function and identity.
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Attribute>, std::vector<std::string>> readByWhole;
  Mesh meshOfModule;
  Machine machine;
  DimNames names;
};

/// What an argument or result is called that has no name: `number 2`.
std::string numberedName(unsigned number);
/// What an argument of a function is called.
std::string argumentName(mlir::BlockArgument argument);
/// `every rank along dp holds the same: WHY; spread over it, 4096 bytes would be 2048`
std::string sameOnAllRanks(const MeshAxis &axis, const std::string &why, int64_t bytes,
                           llvm::ArrayRef<int64_t> shape);

} // namespace tessera
#endif
