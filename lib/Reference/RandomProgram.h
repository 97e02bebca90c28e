//===- RandomProgram.h - The parts of the generator ------------*- C++ -*-===//
#ifndef TESSERA_LIB_REFERENCE_RANDOMPROGRAM_H
#define TESSERA_LIB_REFERENCE_RANDOMPROGRAM_H

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Reference/RandomProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <random>

namespace tessera {

/// Draws. Not std::uniform_int_distribution: its numbers differ between libraries.
class Dice {
public:
  explicit Dice(uint64_t seed) : engine(seed * 0x9E3779B97F4A7C15u + 0x1234567) {}
  /// Dice that will fall the same way.
  Dice copy() const { return *this; }
  /// 0 .. n-1.
  int64_t below(int64_t n) { return int64_t(engine() % uint64_t(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename List> auto pick(const List &list) { return list[size_t(below(int64_t(list.size())))]; }

private:
  std::mt19937_64 engine;
};

/// Where ops are drawn: the function, or one body of a repeat under construction.
struct Scope {
  llvm::SmallVector<mlir::Value> values; ///< floats that ops may read
  mlir::Value layer;                     ///< index of the repeat's iteration
  int64_t layers = 0;                    ///< its count
  mlir::Block *body = nullptr;           ///< null: the function
  mlir::Block *outer = nullptr;          ///< of a body: where the repeat will stand
};

/// Draws the ops of one function.
class ProgramBuilder {
public:
  ProgramBuilder(mlir::MLIRContext &context, Dice &dice, const RandomProgramOptions &options);
  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  using Value = mlir::Value;
  using Shape = llvm::SmallVector<int64_t>;

  // Types and arguments.
  mlir::Type floatType() {
    using Floats = RandomProgramOptions::Floats;
    return options.floats == Floats::BF16  ? mlir::Type(b.getBF16Type())
           : options.floats == Floats::F16 ? mlir::Type(b.getF16Type())
                                           : mlir::Type(b.getF32Type());
  }
  /// The type of the program's floats, or in 16 bits at times another one: what an op may mix with them.
  mlir::Type mixedType();
  mlir::RankedTensorType floats(llvm::ArrayRef<int64_t> shape, mlir::Type type = {}) {
    return mlir::RankedTensorType::get(shape, type ? type : floatType());
  }
  /// What sums of the program's floats are kept in, where an op asks for it.
  mlir::Type sumType() { return b.getF32Type(); }
  /// `value` in the type of the program's floats: all that ops may read.
  Value inFloats(Value value);
  /// Constants of `floats(shape)`: one value for all, or one for each element.
  mlir::DenseElementsAttr numbers(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<float> values) {
    llvm::SmallVector<mlir::Attribute> list;
    for (float value : values)
      list.push_back(b.getFloatAttr(floats({}).getElementType(), double(value)));
    return mlir::DenseElementsAttr::get(floats(shape), list);
  }
  mlir::RankedTensorType ints(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, b.getI32Type());
  }
  static Shape shapeOf(Value value) {
    return llvm::to_vector(llvm::cast<mlir::RankedTensorType>(value.getType()).getShape());
  }
  bool fits(llvm::ArrayRef<int64_t> shape) const;
  int64_t size();
  Shape shape(int minRank, int maxRank);
  Value argument(mlir::Type type, graph::Kind kind, llvm::StringRef name,
                 std::optional<graph::FillSource> fill = std::nullopt);
  /// An argument that stays the same for one name and type. `fill`: what values make sense (randomInputs).
  Value sharedInput(mlir::Type type, llvm::StringRef name,
                    std::optional<graph::FillSource> fill = std::nullopt);
  /// A weight: an argument, or in a body mostly a slice of a stacked one.
  Value weight(llvm::ArrayRef<int64_t> shape, mlir::Type type = {});
  /// A layer of `stack`.
  static mlir::RankedTensorType sliceOf(Value stack);
  Value operand();
  Value operandOfRank(int minRank, int maxRank);

  // One draw each; null where the drawn operand does not fit. Families in RandomLayers.cpp and
  // RandomShapes.cpp.
  Value draw();
  Value drawUnary();
  Value unaryOf(Value x);
  Value drawBinary();
  Value drawConstant();
  Value drawIota();
  Value places(llvm::ArrayRef<int64_t> shape);
  Value drawSelect();
  Value drawCast();
  Value drawName();
  Value drawReshape();
  Value drawTranspose();
  Value drawBroadcast();
  Value drawSlice();
  Value drawReverse();
  Value drawConcat();
  Value drawReduce();
  Value drawTake();
  Value drawLinear();
  Value drawEinsum();
  Value drawEmbedding();
  Value drawNorm();
  Value drawAttention();
  Value withGradients(graph::AttentionOp op);
  Value rowKeys(llvm::ArrayRef<int64_t> rows);
  Value share();
  Value dropped(Value x);
  Value drawMlp();
  Value drawExperts(Value x); // RandomExperts.cpp
  Value drawRepeat();
  Value drawRepeatOver(mlir::ValueRange inits);
  Value drawForPlace(size_t to);
  Value drawProduct(Value value);
  static Shape stackOf(int64_t count, Value slice);
  Value withSumOf(Value value, Value last);
  Value drawLayerSlice();
  Value drawnFrom(Value scores);
  Value drawArgMax();
  Value drawScatterAdd();
  Value drawCrossEntropy();
  Value drawConstraint();
  Value drawBranch(); // RandomRegions.cpp
  Value drawManual();
  Value spokenOf(Value x);
  Value moved(Value x);
  Value followed(Value value);
  AxisList drawSumAxes();
  /// `positive`: of positive terms.
  Value openSum(llvm::ArrayRef<int64_t> shape, const AxisList &axes, graph::ReduceKind kind,
                bool positive = false);
  Value maybeOpenSum(llvm::ArrayRef<int64_t> shape, graph::ReduceKind kind, bool positive = false);
  Value drawJoin();
  Value joined(Value x);
  Value maybeJoined(Value x);
  Value drawAddend(llvm::ArrayRef<int64_t> shape);
  void drawBody(int64_t ops);
  void drawFunction(llvm::StringRef name, int64_t ops);

  // Shardings: RandomShardings.cpp.
  static constexpr llvm::StringLiteral kShardingAttr = "dist.sharding";
  void drawMesh();
  AxisList drawAxes(AxisList &free);
  dist::ShardingAttr drawSharding(llvm::ArrayRef<int64_t> shape);
  /// `stack` with its layers pinned whole, where no pipelines may be; else the same.
  Value wholeLayers(Value stack);
  /// What ops may read of a returned stack: where no pipelines may be, nothing that has a dimension `layer`.
  Value readable(Value stack);
  void annotateArguments();

  mlir::ImplicitLocOpBuilder b;
  Dice &dice;
  /// Draw among what was added later, later still and so on: programs of a seed stay as they were otherwise.
  Dice more, latest, newest, handing;
  RandomProgramOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp func;
  Scope *scope = nullptr;
  int depth = 0;
  int names = 0;
  Mesh mesh;
  llvm::SmallVector<Value> stacks; ///< of the repeat under construction
  llvm::SmallVector<Value> states; ///< caches at the end of @f, results under their argument's name
  llvm::SmallVector<mlir::StringAttr> stateNames;
  llvm::SmallVector<Value> integerResults;
  llvm::SmallVector<Value> returnedStacks; ///< of the function, that no op may split
  /// Weights of the function before, which the next one may read too.
  llvm::SmallVector<std::pair<mlir::RankedTensorType, mlir::StringAttr>> shared;
  llvm::DenseSet<mlir::StringAttr> pinned; ///< names of stacks whose layers stay whole
  llvm::DenseSet<mlir::StringAttr> known;  ///< names of arguments so far: annotated once, or never
};

} // namespace tessera
#endif
