//===- ModelBuilder.h - Builds @forward -------------------------*- C++ -*-===//
//
// Collects parameters while ops are made. Families use it through the blocks of Layers.h.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_IMPORT_MODELBUILDER_H
#define TESSERA_IMPORT_MODELBUILDER_H

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Import/Import.h"
#include "tessera/Import/LayerRuns.h"
#include "tessera/Import/ModelConfig.h"
#include "tessera/Import/WeightTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tessera::importer {

/// What a weight begins as where it is made up, by the family's deviations.
enum class Init { Plain, ToResidual, Zero, One };

class ModelBuilder {
public:
  /// Begins `func @forward(tokens [batch, seq] i32, positions [batch, seq] i32, ...)`. `cutsRuns`: runs of
  /// layers end early, where they have said all (beginOf).
  ModelBuilder(mlir::MLIRContext &context, int64_t batch, int64_t seq, NumberFormat dtype,
               Deviations madeUp = {}, bool cutsRuns = false);

  mlir::Value tokens() const { return tokens_; }
  mlir::Value positions() const { return positions_; }

  /// A weight [dims...]: inside `repeat` one layer of a stack. Asked for again under the same name, with the
  /// same dims, it is the same weight; in another body of the same repeat it is another layer of the same
  /// stack.
  mlir::Value weight(llvm::StringRef name, const Dims &dims, int inDims = 0, Init init = Init::Plain);

  /// Makes one layer: its input -> its output, of the same type.
  using Body = llvm::function_ref<mlir::Value(mlir::Value)>;
  /// Runs `count` >= 1 layers, one after another: layer i is made by body i mod (number of bodies). `count`
  /// need not be a multiple of the period, and bodies that no layer would run are left out. Weights asked for
  /// in a body are stacked, [count, dims...].
  mlir::Value repeat(int64_t count, mlir::Value init, llvm::ArrayRef<Body> period);
  /// Runs the layers of `run`, which `period` makes, one of each of its kinds. Where these do not share
  /// stacks, the loop has one body with a layer of each. In a run that is not all of the model a weight
  /// `layers.X` is the stack `layersN.X`, where N is the number of the first layer that it holds.
  mlir::Value repeat(const LayerRun &run, mlir::Value init, llvm::ArrayRef<Body> period);

  /// A value of `shape` in the program's element type.
  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape);
  /// Creates an op at the present place.
  template <typename Op, typename... Args> mlir::Value make(llvm::ArrayRef<int64_t> shape, Args &&...args) {
    return Op::create(builder_, location_, type(shape), std::forward<Args>(args)...).getResult();
  }
  /// The same with elements of `element`: logits are float32 whatever the program computes in.
  template <typename Op, typename... Args>
  mlir::Value makeOf(mlir::Type element, llvm::ArrayRef<int64_t> shape, Args &&...args) {
    return Op::create(builder_, location_, mlir::RankedTensorType::get(shape, element),
                      std::forward<Args>(args)...)
        .getResult();
  }
  mlir::OpBuilder &builder() { return builder_; }
  mlir::Location location() const { return location_; }
  /// Ops made from now on are said to come from the weight or block `name`.
  void setPlace(llvm::StringRef name);

  int64_t batch() const { return batch_; }
  int64_t seq() const { return seq_; }
  llvm::ArrayRef<Weight> weights() const { return weights_; }

  /// Ends the function with `logits` and declares the parameters with their sources (in the order of
  /// weights()). Call once.
  mlir::OwningOpRef<mlir::ModuleOp> finish(mlir::Value logits, llvm::ArrayRef<WeightSource> sources);

private:
  struct Stack {
    size_t weight;        // number in weights_
    mlir::Value argument; // of the function
  };
  struct Scope { // a repeat whose bodies are being built
    int64_t count;
    bool isModel;             // stacks have the names of weights
    int64_t firstLayer, step; // of the stacks of the layer that is being built
    mlir::Block *body;        // the one that is being built
    llvm::MapVector<llvm::StringRef, Stack> stacks;
    llvm::StringMap<mlir::Value> slices; // what `body` takes of them, by name
  };

  mlir::Value addArgument(const Weight &weight);
  /// What the program calls the layers' weight or block `name` in the run that is being built.
  std::string nameHere(llvm::StringRef name) const;

  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::OpBuilder builder_;
  mlir::Location location_;
  mlir::func::FuncOp forward_;
  mlir::Type elementType_;
  mlir::Value tokens_, positions_;
  int64_t batch_, seq_;
  Deviations madeUp_;
  bool cutsRuns_;
  std::vector<Weight> weights_;         // weight i is function argument 2 + i
  llvm::StringMap<mlir::Value> values_; // weights outside of repeats, by name: seen everywhere
  std::optional<Scope> scope_;
};

} // namespace tessera::importer
#endif
