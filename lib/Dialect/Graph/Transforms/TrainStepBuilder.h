//===- TrainStepBuilder.h - @train and @evaluate from @forward --*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_TRAINSTEPBUILDER_H
#define TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_TRAINSTEPBUILDER_H

#include "LossInChunks.h"

#include "tessera/Dialect/Graph/Transforms/KeptRows.h"
#include "tessera/Dialect/Graph/Transforms/PositionWise.h"
#include "tessera/Dialect/Graph/Transforms/Recompute.h"
#include "tessera/Dialect/Graph/Transforms/TrainPorts.h"

#include "mlir/IR/IRMapping.h"

namespace tessera::graph {

/// Builds both functions in front of @forward, which stays as it is: docs/TrainStep.md.
class TrainStepBuilder {
public:
  TrainStepBuilder(mlir::func::FuncOp forward, const DimNames &names, TrainSizes sizes,
                   const Optimizer &optimizer, mlir::FloatType moments, double lossScale, Recompute recompute,
                   int64_t lossChunks)
      : forward(forward), positionWise(forward, names), names(names), sizes(sizes), optimizer(optimizer),
        moments(moments), lossScale(lossScale), recompute(std::move(recompute)), lossChunks(lossChunks),
        builder(forward.getContext()) {}

  /// Finds inputs and weights. Fails with an error if the program cannot be trained.
  llvm::LogicalResult analyze(int64_t forwardSeq);
  /// Chooses between a loss of all positions at once and one of parts of them.
  llvm::LogicalResult chooseChunks();
  llvm::LogicalResult buildTrain();
  void buildEvaluate();
  TrainAttr attribute();

private:
  llvm::LogicalResult analyzeInput(unsigned argument);
  llvm::LogicalResult analyzeWeight(unsigned argument);
  Port rowsPort(llvm::StringRef name, FillSource source);
  Port numberPort(FillSource source);
  Port weightPort(const TrainedWeight &weight, llvm::StringRef name, Kind kind = Kind::Parameter);
  llvm::SmallVector<Port> inputPorts(llvm::ArrayRef<FillSource> numbers);
  mlir::NamedAttribute fill(FillSource source) {
    return builder.getNamedAttr(kFillAttr, FillAttr::get(builder.getContext(), source));
  }
  Port gives(llvm::StringRef name, Gives what) {
    return {mlir::RankedTensorType::get({}, builder.getF32Type()),
            Kind::Output,
            freeName(name, taken),
            {},
            builder.getNamedAttr(kGivesAttr, GivesAttr::get(builder.getContext(), what))};
  }
  mlir::func::FuncOp begin(llvm::StringRef name, Role role, llvm::ArrayRef<Port> ports);
  void end(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Value> values, llvm::ArrayRef<Port> results);

  /// Gives the gradient of a weight, summed up so far, the name that --shard knows it by.
  mlir::Value named(TrainedWeight &weight, mlir::Value gradient);
  /// @forward on one micro-batch, with the function's weights, without its tail if the loss goes in chunks.
  mlir::IRMapping emitForward(mlir::Block &entry, mlir::ValueRange rows);
  /// The loss of what `values` maps @forward's values to: each target costs as much as any other of the step.
  /// If the loss goes in chunks, with a `seed`, the gradients of what they read.
  llvm::FailureOr<mlir::Value> emitLoss(mlir::IRMapping &values, mlir::Value targets, mlir::Value seed,
                                        llvm::SmallVectorImpl<LossInChunks::Gradient> &known);
  /// Dropout at the sites of one micro-batch.
  llvm::LogicalResult emitDropout(mlir::Block &block, mlir::IRMapping &values);
  llvm::FailureOr<llvm::SmallVector<mlir::Value>>
  emitMicroBatches(mlir::Block &entry, llvm::ArrayRef<mlir::BlockArgument> wanted);
  llvm::FailureOr<llvm::SmallVector<mlir::Value>> emitMicroBatch(mlir::Block &entry, mlir::Block &block,
                                                                 mlir::ValueRange rows,
                                                                 llvm::ArrayRef<mlir::BlockArgument> wanted);

  mlir::func::FuncOp forward;
  PositionWise positionWise;
  const DimNames &names;
  TrainSizes sizes;
  const Optimizer &optimizer;
  mlir::FloatType moments; ///< the type of what the optimizer keeps
  double lossScale;        ///< the first one; 0: the loss is not scaled
  Recompute recompute;
  int64_t lossChunks;      ///< 0 until chosen
  PositionWise::Tail tail; ///< of @forward, if the loss goes in chunks
  mlir::OpBuilder builder;
  llvm::SmallVector<std::pair<unsigned, FillSource>> inputs; ///< arguments of @forward that take rows
  llvm::SmallVector<TrainedWeight> weights;
  llvm::StringSet<> taken; ///< names of @forward's arguments, and of those added
  Hyperparameters numbers; ///< of the function that is built
};

} // namespace tessera::graph
#endif
