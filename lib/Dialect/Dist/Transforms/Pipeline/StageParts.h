//===- StageParts.h - Which part of a stage's step an op belongs to -*- C++ -*-===//
//
// The step of a stage is one function: what stands before the loop over micro-batches, its body, and what
// stands behind it. Parts follow from what flows where: forward is what values that are sent and the loss
// need, the input's gradient what the gradients that are sent need besides, the weights' gradients the rest.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PIPELINE_STAGEPARTS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_PIPELINE_STAGEPARTS_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::dist {

class StageParts {
public:
  using Part = graph::StagePart;

  /// `loop` runs over the micro-batches. `splitsBackward`: gradients of the input come first, then those of
  /// weights.
  StageParts(mlir::func::FuncOp function, graph::RepeatOp loop, bool splitsBackward)
      : function(function), loop(loop), splitsBackward(splitsBackward) {}

  /// Fails with an error where the function cannot be cut: what is sent is not made by the loop, say.
  llvm::LogicalResult analyze();

  /// Of an op beside the loop, or of its body.
  Part of(mlir::Operation *op) const { return parts.lookup(op); }
  /// Of a value: where it is made. Arguments of the body that only a neighbour gives are made by the part
  /// that gets them.
  std::optional<Part> of(mlir::Value value);
  /// Of a result of the function: which part gives it.
  Part ofResult(unsigned number) const { return resultParts[number]; }
  /// Of a carried value of the loop: which part makes its next one.
  Part ofCarried(unsigned number) const { return carriedParts[number]; }
  /// The stack of the loop that result `number` of the function is; -1: none.
  int64_t stackOf(unsigned number) const { return stackNumbers[number]; }

  /// Made again where it is needed, rather than kept: it follows from constants and from inputs that every
  /// part can be given, without a collective.
  bool isFree(mlir::Value value);
  /// Of the loop's body, and the same in every micro-batch: weights that are gathered or rounded there. Parts
  /// make it again as well: kept it would be kept once for each micro-batch.
  bool isOfNoMicroBatch(mlir::Value value);
  /// Of the ops behind the loop: made again rather than kept, where what it reads is there.
  static bool isCheap(mlir::Operation *op);

  static bool isInLoop(Part part) { return part >= Part::Forward && part <= Part::WeightGradient; }

private:
  /// The same, with what is known of other values: they share what they follow from.
  bool isFree(mlir::Value value, llvm::DenseMap<mlir::Value, bool> &known);
  bool followsFromInputs(mlir::Value value, llvm::DenseMap<mlir::Value, bool> &known);
  bool isOfNoMicroBatch(mlir::Value value, llvm::DenseMap<mlir::Value, bool> &known);
  /// There when forward ends, before there is any gradient.
  bool isOfForward(mlir::Value value);
  /// Puts what `value` needs into `part`, as far as no part has it.
  void take(mlir::Value value, Part part);
  llvm::LogicalResult findResults();
  /// Values of the body that the gradients which are sent are; in the first stage, which sends none, the
  /// gradients that loops over layers carry.
  llvm::SmallVector<mlir::Value> inputGradients();
  /// Cuts loops over layers that make both gradients that are sent and gradients of weights.
  void splitLoops();
  void takeLoss();
  void takeSent();
  /// Backward in two: gradients of the input first.
  void splitBackward();
  void moveReady();
  void findBodyParts();
  void findPartsBehind();

  mlir::func::FuncOp function;
  graph::RepeatOp loop;
  bool splitsBackward;
  llvm::DenseMap<mlir::Operation *, Part> parts;
  llvm::SmallVector<Part> resultParts, carriedParts;
  llvm::SmallVector<int64_t> stackNumbers;
};

} // namespace tessera::dist
#endif
