//===- GenerateStepBuilder.h - The entries that generate text ---*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_GENERATESTEPBUILDER_H
#define TESSERA_LIB_DIALECT_GRAPH_TRANSFORMS_GENERATESTEPBUILDER_H

#include "tessera/Dialect/Graph/Transforms/DrawEntry.h"
#include "tessera/Dialect/Graph/Transforms/KeyValueCaches.h"
#include "tessera/Dialect/Graph/Transforms/PositionWise.h"

#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/StringSet.h"

namespace tessera::graph {

/// Builds the entries in front of @forward, which stays as it is: docs/Step.md. Of a stage of a pipeline:
/// docs/Pipelines.md.
class GenerateStepBuilder {
public:
  GenerateStepBuilder(mlir::func::FuncOp forward, const DimNames &names, int64_t batch, int64_t chunk,
                      const CacheSizes &sizes)
      : forward(forward), names(names), positionWise(forward, names), builder(forward.getContext()),
        batch(batch), maxSeqLen(sizes.context), chunk(chunk), isStage(forward->hasAttr(kStageAttr)),
        found(forward, names, batch, sizes) {}

  /// Finds caches and tail. Fails with an error if the program has no step form.
  mlir::LogicalResult analyze();
  /// False: no op looks back at earlier positions. After analyze().
  bool hasCaches() const { return !caches.empty(); }
  /// What the runtime needs to know of the program as a whole.
  GenerateAttr sizes();
  /// False: a stage of a pipeline that hands on what it makes.
  bool hasLogits() const { return bool(logits); }
  /// For prompts in pieces of `seq` positions: @prefill for `chunk`, whose other positions @head has logits
  /// of.
  void buildPrefill(llvm::StringRef name, int64_t seq);
  void buildDecode();
  /// The next two only where hasLogits().
  void buildHead();
  void buildDraw();

private:
  mlir::LogicalResult analyzeInputs();
  mlir::LogicalResult analyzeResults();
  mlir::func::FuncOp begin(llvm::StringRef name, Role role, llvm::ArrayRef<Port> inputs,
                           mlir::IRMapping &mapping);
  void end(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Value> values, llvm::ArrayRef<Port> results);
  llvm::SmallVector<Port> resizedInputs(int64_t seq);
  void mapInputs(mlir::Block &entry, mlir::IRMapping &mapping);

  mlir::Operation *cloneResized(mlir::Operation &op, int64_t seq, mlir::IRMapping &mapping);
  void cloneAll(int64_t seq, mlir::IRMapping &mapping, bool withTail);
  void cacheRepeat(RepeatOp original, mlir::IRMapping &mapping);
  void cacheOperands(const CachedAttention &cached, mlir::Value index, mlir::IRMapping &mapping,
                     llvm::MutableArrayRef<mlir::Value> states);
  mlir::Value nextToken(mlir::Value logits);
  mlir::Value wantedPositions(mlir::Value hidden, mlir::Value index, mlir::Location location);
  void endStage(mlir::func::FuncOp function, int64_t seq, mlir::IRMapping &mapping);
  Port port(mlir::Value value, Kind kind, std::string name, int64_t seq);
  Port index();
  mlir::NamedAttribute fill(FillAttr from) { return builder.getNamedAttr(kFillAttr, from); }
  Port gives(Port of, Gives what) {
    of.fact = builder.getNamedAttr(kGivesAttr, GivesAttr::get(builder.getContext(), what));
    return of;
  }

  mlir::func::FuncOp forward;
  const DimNames &names;
  PositionWise positionWise;
  mlir::OpBuilder builder;
  int64_t batch, maxSeqLen, chunk;
  bool isStage;
  mlir::Value logits; // what @forward returns, unless that goes to another stage

  llvm::SmallVector<unsigned> inputArgs, weightArgs; // numbers of @forward's arguments
  llvm::ArrayRef<Cache> caches;
  llvm::ArrayRef<CachedAttention> attentions;
  KeyValueCaches found;
  PositionWise::Tail tail;
  llvm::StringSet<> taken; // names of @forward's arguments and of the caches
  KeptRows kept;
  std::string endsName;
  llvm::SmallVector<mlir::Value> keptValues; // what a function finds of them, while it is built
  mlir::Value ends;                          // and of the ids that end a row
  llvm::SmallVector<mlir::Value> states;     // current value of every cache while a function is built
  std::string pagesName; // of the state that says where pages of caches stand; empty: there is none
  mlir::Value pages;     // that state while a function is built
};

} // namespace tessera::graph
#endif
