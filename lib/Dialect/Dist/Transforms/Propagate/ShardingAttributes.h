//===- ShardingAttributes.h - Shardings that stand in attributes --*- C++ -*-===//
//
// Between dist-propagate and the end of dist-insert-reshards types carry no shardings; attributes say what
// each value should be. This reads them, and says what ops need whose shardings are given: annotations,
// region ops, terminators.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PROPAGATE_SHARDINGATTRIBUTES_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PROPAGATE_SHARDINGATTRIBUTES_H

#include "Reshard/BlockPlacement.h"

#include "tessera/Dialect/Dist/IR/Dist.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::dist {

class ShardingAttributes {
public:
  ShardingAttributes(llvm::StringRef meshName, const Mesh &mesh) : meshName(meshName), mesh(mesh) {}

  /// What propagation wrote for a tensor; nothing written: whole.
  Sharding read(mlir::Attribute attr, mlir::Type type) const;
  Sharding of(mlir::OpResult result) const;
  Sharding of(mlir::BlockArgument arg) const;
  /// The sharding of its type if that has one already, else what is written.
  Sharding of(mlir::Value value) const;
  /// A stack that a region op reads is whole along the dimension of its layers, and no sum.
  Sharding ofStack(mlir::Value stack) const;
  /// One layer of it.
  Sharding ofSlice(mlir::Value stack) const;
  /// What is wanted of each edge, written at its places.
  std::vector<Sharding> ofEdges(DataFlowOpInterface flow) const;
  /// Appends the slices of stacks that `flow` returns, as edges, and their shardings.
  void addCollected(DataFlowOpInterface flow, llvm::SmallVectorImpl<DataFlowEdge> &edges,
                    std::vector<Sharding> &shardings) const;
  /// Writes `sharding` at places of `flow`: its block arguments and results.
  void write(DataFlowOpInterface flow, llvm::ArrayRef<mlir::Value> places, const Sharding &sharding) const;
  /// Writes it at an annotation.
  void write(ConstraintOp pin, const Sharding &sharding) const;
  /// Writes it at an argument, or a result, of a function.
  void write(mlir::func::FuncOp function, unsigned i, bool isResult, const Sharding &sharding) const;

  /// What ops need whose shardings are given; none for ops that are placed.
  std::optional<ValueNeeds> outsideNeeds(mlir::Operation *op) const;
  /// Of a block, as all that is written; they refer to this.
  BlockFacts facts() const;

  /// An operand of `flow` that goes nowhere, the condition of a branch: it decides what every rank does.
  static bool isReadWhole(DataFlowOpInterface flow, mlir::Value value);
  /// Operands of the op or of a terminator belong to edges in order: the first that has not been taken.
  static void forEachSource(llvm::ArrayRef<DataFlowEdge> edges, llvm::ArrayRef<Sharding> shardings,
                            llvm::MutableArrayRef<mlir::OpOperand> operands,
                            llvm::function_ref<void(mlir::OpOperand &, const Sharding &)> visit);

private:
  static void addSources(llvm::ArrayRef<DataFlowEdge> edges, llvm::ArrayRef<Sharding> shardings,
                         llvm::MutableArrayRef<mlir::OpOperand> operands, ValueNeeds &needs);

  std::string meshName;
  const Mesh &mesh;
};

} // namespace tessera::dist
#endif
