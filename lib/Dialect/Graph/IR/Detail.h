//===- Detail.h - What verifiers and rules of graph ops share --*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_IR_DETAIL_H
#define TESSERA_LIB_DIALECT_GRAPH_IR_DETAIL_H

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/Shapes.h"

#include <algorithm>
#include <cmath>

namespace tessera::graph::inner {

using Tensors = llvm::ArrayRef<ReferenceTensor>;
using Results = llvm::SmallVectorImpl<ReferenceTensor>;

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
inline int64_t rankOf(mlir::Value value) { return typeOf(value).getRank(); }
inline int64_t sizeOf(mlir::Value value, int64_t dim) { return typeOf(value).getDimSize(dim); }

/// No tensor is larger: products of sizes cannot overflow.
inline constexpr int64_t kMaxElements = int64_t(1) << 48;

/// A value as messages call it.
struct NamedValue {
  llvm::StringRef name;
  mlir::Value value;
};

/// One type: static shape, sizes of at least 1, at most kMaxElements, an element type the project computes
/// with.
llvm::LogicalResult verifyTensor(mlir::Operation *op, const llvm::Twine &what, mlir::RankedTensorType type);
/// That for all operands and results. Every verifier starts with it.
llvm::LogicalResult verifyTensors(mlir::Operation *op);
llvm::LogicalResult expectRank(mlir::Operation *op, NamedValue value, int64_t rank);
llvm::LogicalResult expectSize(mlir::Operation *op, NamedValue value, int64_t dim, int64_t size);
/// Dimension `da` of `a` is as long as dimension `db` of `b`. Compares present (on rung spmd: local) sizes.
llvm::LogicalResult expectSameSize(mlir::Operation *op, NamedValue a, int64_t da, NamedValue b, int64_t db);
/// That for `count` dimensions from `da` and `db` on.
llvm::LogicalResult expectSameSizes(mlir::Operation *op, NamedValue a, int64_t da, NamedValue b, int64_t db,
                                    int64_t count);
llvm::LogicalResult expectSameElements(mlir::Operation *op, NamedValue a, NamedValue b);
/// The elements of `result` are those of `terms`, or if these are floats of 16 bits float32: what they are
/// added up in.
llvm::LogicalResult expectElementsOrSums(mlir::Operation *op, NamedValue result, NamedValue terms);
/// `dims` are strictly increasing dimensions of a tensor of rank `rank`.
llvm::LogicalResult expectDims(mlir::Operation *op, llvm::StringRef what, llvm::ArrayRef<int64_t> dims,
                               int64_t rank);
/// Shapes of `operands` broadcast (aligned at the last dimension) to `result`.
llvm::LogicalResult verifyBroadcast(mlir::Operation *op, mlir::OperandRange operands, mlir::Value result);

/// Operands and attributes that attention and its gradients have in common.
llvm::LogicalResult verifyAttentionOperands(mlir::Operation *op, mlir::ValueRange operands,
                                            llvm::APFloat scale, std::optional<uint64_t> window,
                                            std::optional<llvm::APFloat> softcap);

/// What an attention, or a gradient of one, drops weights by.
llvm::LogicalResult verifyDropped(mlir::Operation *op, NamedValue query, mlir::Value keys, mlir::Value share);

/// A table of pages as `graph.cache_update` has it, of one row after another.
struct PageTable {
  const ReferenceTensor *pages = nullptr; ///< null: every position stands at its own place
  int64_t page = 1;

  /// Where position `j` of row `row` stands. Of rows that are padding the table holds anything: they stay
  /// within their context.
  int64_t place(int64_t row, int64_t j) const {
    if (!pages)
      return j;
    int64_t count = pages->shape[1], number = j / page, to = number + pages->i[size_t(row * count + number)];
    return std::clamp<int64_t>(to, 0, count - 1) * page + j % page;
  }
};

/// One dimension of an operand or result of the op whose rule is being built.
struct TensorDim {
  bool result;
  int tensor, dim;
};
inline TensorDim operandDim(int tensor, int dim) { return {false, tensor, dim}; }
inline TensorDim resultDim(int tensor, int dim) { return {true, tensor, dim}; }

/// Builds a rule out of places. Sizes are global sizes.
class RuleBuilder {
public:
  explicit RuleBuilder(mlir::Operation *op);
  int64_t size(TensorDim place) const;
  /// A factor that stands in all `places` (the minor-most there so far); its size is that of the first
  /// place's dimension.
  int add(llvm::ArrayRef<TensorDim> places, FactorKind kind = FactorKind::PassThrough,
          PartialKind combine = PartialKind::Sum);
  /// Likewise with a size of its own.
  int addSized(int64_t size, llvm::ArrayRef<TensorDim> places, FactorKind kind = FactorKind::PassThrough);
  /// One pass-through factor per dimension, shared by `count` dimensions of two tensors.
  void pair(TensorDim from, TensorDim to, int count);
  ShardingRule rule;

private:
  llvm::SmallVector<llvm::SmallVector<int64_t>> operandShapes, resultShapes;
};

/// Multi-index over `shape`, row-major; `next` returns false after the last.
struct Odometer {
  llvm::SmallVector<int64_t> shape, index;
  explicit Odometer(llvm::ArrayRef<int64_t> shape)
      : shape(shape.begin(), shape.end()), index(shape.size(), 0) {}
  bool next() {
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        return true;
      index[d] = 0;
    }
    return false;
  }
};
/// `value` as an integer of `bits` bits; infinities become the least and largest one.
inline int64_t integerOf(double value, unsigned bits) {
  double limit = std::ldexp(1.0, int(bits) - 1);
  if (value >= limit)
    return int64_t((uint64_t(1) << (bits - 1)) - 1);
  return value <= -limit ? -int64_t((uint64_t(1) << (bits - 1)) - 1) - 1 : int64_t(value);
}
/// Visits every element of `shape`, to which `operands` are broadcast (aligned at the last dimension), in
/// row-major order: where each operand is read, and the element's number.
void forEachBroadcast(llvm::ArrayRef<int64_t> shape, Tensors operands,
                      llvm::function_ref<void(llvm::ArrayRef<int64_t> at, int64_t number)> visit);
/// result[j] = input[base + sum of index * stride], in row-major order of `shape`: the loop under every op
/// that only moves elements.
void gatherStrided(const ReferenceTensor &input, ReferenceTensor &result, llvm::ArrayRef<int64_t> shape,
                   llvm::ArrayRef<int64_t> strides, int64_t base);

/// Sum of x[i] * y[i]. Several running sums: one alone waits for itself at every step.
double dot(const double *x, const double *y, int64_t n);

} // namespace tessera::graph::inner
#endif
