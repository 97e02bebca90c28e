//===- Differentiate.h - Gradients in reverse mode --------------*- C++ -*-===//
//
// What gradients are made of say the ops (DerivativeOpInterface); here is their order: docs/Derivatives.md.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_DIFFERENTIATE_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_DIFFERENTIATE_H

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/Transforms/Recompute.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::graph {

/// Emits, in front of `block`'s terminator, the gradients of the sum over i of <seeds[i], operand i of the
/// terminator> with respect to each of `wanted`, floats all. Seeds are of the operands' types; null: the
/// operand does not count. Gradients are of the arguments' types, null where nothing that counts depends on
/// one. Forward ops are replaced where backward needs more of them: loops return what it reads, attentions
/// their log-sum-exp, and ops without a derivative are written out. Fails, with an error at the op, where
/// gradients would have to flow through one that has no derivative, or if `recompute` names what no loop has.
/// Rungs graph and step: types without shardings. Linear in the number of ops, times the depth of loops.
llvm::FailureOr<llvm::SmallVector<mlir::Value>> differentiate(mlir::Block &block,
                                                              llvm::ArrayRef<mlir::Value> seeds,
                                                              llvm::ArrayRef<mlir::BlockArgument> wanted,
                                                              const Recompute &recompute = {});

/// Makes of `func` a function that takes, behind its arguments, a gradient for each of its float results and
/// gives, behind its results, what follows for each of its float arguments (zeros where nothing does): what
/// tests compare with differences.
llvm::LogicalResult addVectorJacobianProduct(mlir::func::FuncOp func, const Recompute &recompute = {});

} // namespace tessera::graph
#endif
