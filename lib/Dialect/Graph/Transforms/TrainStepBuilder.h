//===- TrainStepBuilder.h - @train and @evaluate from @forward --*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_TRAINSTEPBUILDER_H
#define TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_TRAINSTEPBUILDER_H

#include "LossInChunks.h"

#include "tessera/Dialect/Graph/Transforms/KeptRows.h"
#include "tessera/Dialect/Graph/Transforms/PositionWise.h"
#include "tessera/Dialect/Graph/Transforms/Recompute.h"
#include "tessera/Dialect/Graph/Transforms/TrainPorts.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

namespace tessera::graph {

/// A value that a stage of a pipeline receives or sends in each micro-batch.
struct StageValue {
  mlir::Value value; ///< of @forward: an argument, or what it returns
  std::string name;
  llvm::SmallVector<llvm::StringRef> dims;
  bool hasGradient() const { return mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(value)); }
};

/// What a micro-batch gives. Behind the loop over them: sums, and stacks of what stages exchange.
struct MicroBatchValues {
  mlir::Value loss;                         ///< null in a stage that has none
  llvm::SmallVector<mlir::Value> gradients; ///< of weights; null where the loss depends on none
  llvm::SmallVector<mlir::Value> sent;
  llvm::SmallVector<mlir::Value> sentGradients; ///< of what is received and is a float
};

/// Builds both functions in front of @forward, which stays as it is: docs/TrainStep.md.
class TrainStepBuilder {
public:
  TrainStepBuilder(mlir::func::FuncOp forward, const DimNames &names, TrainSizes sizes,
                   const Optimizer &optimizer, mlir::FloatType moments, double lossScale, Recompute recompute,
                   int64_t lossChunks)
      : forward(forward), positionWise(forward, names), names(names), sizes(sizes), optimizer(optimizer),
        moments(moments), lossScale(lossScale), recompute(std::move(recompute)), lossChunks(lossChunks),
        builder(forward.getContext()), isStage(forward->hasAttr(kStageAttr)) {
    this->recompute.isOfPart = isStage;
  }

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
  llvm::LogicalResult analyzeResults();
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
            givesFact(what)};
  }
  mlir::func::FuncOp begin(llvm::StringRef name, Role role, llvm::ArrayRef<Port> ports);
  void end(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Value> values, llvm::ArrayRef<Port> results);

  // Of stages of a pipeline: StageStep.cpp.

  /// If a stage's @forward is filled with `source`, takes note of argument `argument`.
  bool takeStageInput(unsigned argument, FillSource source);
  /// The stack of a value of all micro-batches.
  mlir::RankedTensorType stackOf(mlir::Type slice);
  /// A stack of `value`, or of its gradient, called `name`.
  Port stackPort(const StageValue &value, const llvm::Twine &name, Kind kind, mlir::NamedAttribute fact);
  /// Behind the rows: what is received, then gradients of what is sent.
  void addStackPorts(llvm::SmallVectorImpl<Port> &ports);
  /// Sums over all stages, and gradients of parameters that others have, too.
  void addSumPorts(llvm::SmallVectorImpl<Port> &ports);
  /// Appends what a micro-batch sends: slices of stacks.
  void yieldStacks(MicroBatchValues &found, llvm::SmallVectorImpl<mlir::Value> &yielded);
  /// Gives the stacks.
  void sendStacks(const MicroBatchValues &found);
  /// Adds to gradients of parameters that another stage has, too, what that one found.
  void addSharedGradients(llvm::MutableArrayRef<mlir::Value> gradients);
  /// Gives `own`, this stage's part of a sum, and returns the sum over all stages.
  mlir::Value sumOverStages(llvm::StringRef name, mlir::Value own);
  void give(const Port &port, mlir::Value value) {
    givenPorts.push_back(port);
    given.push_back(value);
  }
  mlir::NamedAttribute givesFact(Gives what) {
    return builder.getNamedAttr(kGivesAttr, GivesAttr::get(builder.getContext(), what));
  }

  /// Gives the gradient of a weight, summed up so far, the name that --shard knows it by.
  mlir::Value named(TrainedWeight &weight, mlir::Value gradient);
  /// @forward on one micro-batch, with the function's weights, without its tail if the loss goes in chunks.
  /// `slices` are those of the function's stacks.
  mlir::IRMapping emitForward(mlir::Block &entry, mlir::ValueRange slices);
  /// The loss of what `values` maps @forward's values to: each target costs as much as any other of the step.
  /// If the loss goes in chunks, with a `seed`, the gradients of what they read.
  llvm::FailureOr<mlir::Value> emitLoss(mlir::IRMapping &values, mlir::Value targets, mlir::Value seed,
                                        llvm::SmallVectorImpl<LossInChunks::Gradient> &known);
  /// Dropout at the sites of one micro-batch.
  llvm::LogicalResult emitDropout(mlir::Block &block, mlir::IRMapping &values);
  /// Gradients are those of `wanted`, the function's weights.
  llvm::FailureOr<MicroBatchValues> emitMicroBatches(mlir::Block &entry,
                                                     llvm::ArrayRef<mlir::BlockArgument> wanted);
  llvm::FailureOr<MicroBatchValues> emitMicroBatch(mlir::Block &entry, mlir::Block &block,
                                                   mlir::ValueRange slices,
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
  mlir::Value logits;      ///< of @forward; null: a stage that has none

  bool isStage; ///< of a pipeline
  llvm::SmallVector<StageValue> received, sent;
  std::optional<unsigned> firstLayer; ///< the argument of @forward

  // Of the function that is built.
  bool trains = false;
  size_t stacks = 0;        ///< its first so many inputs have a slice for each micro-batch
  unsigned firstWeight = 0; ///< the argument
  Hyperparameters numbers;
  llvm::StringMap<mlir::Value> stageInputs; ///< sums and shared gradients, by their names
  llvm::SmallVector<Port> givenPorts;       ///< what it gives to other stages
  llvm::SmallVector<mlir::Value> given;
};

} // namespace tessera::graph
#endif
