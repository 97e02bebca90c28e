//===- Tensor.h - Values of the reference interpreter ----------*- C++ -*-===//
#ifndef TESSERA_REFERENCE_TENSOR_H
#define TESSERA_REFERENCE_TENSOR_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace tessera {

/// A dense row-major value: float elements as float64, integer (and i1) elements as int64. `elementType` is
/// the type in the program.
struct ReferenceTensor {
  mlir::Type elementType;
  llvm::SmallVector<int64_t> shape;
  std::vector<double> f;  ///< used iff elementType is a float
  std::vector<int64_t> i; ///< used iff elementType is an integer

  ReferenceTensor() = default;
  /// Zeros of `type` (a ranked tensor with static shape).
  explicit ReferenceTensor(mlir::RankedTensorType type);
  ReferenceTensor(mlir::Type elementType, llvm::ArrayRef<int64_t> shape);

  bool isFloat() const { return llvm::isa<mlir::FloatType>(elementType); }
  int64_t size() const { return isFloat() ? int64_t(f.size()) : int64_t(i.size()); }
  int64_t rank() const { return int64_t(shape.size()); }
  llvm::SmallVector<int64_t> strides() const;
  /// Rounds every float element to `elementType` (f64: nothing).
  void roundToType();
};

/// Where the present rank's pieces lie. On every rung but `spmd` nothing is split: offset 0, the size of the
/// type.
class ReferenceContext {
public:
  virtual ~ReferenceContext() = default;
  /// Global index of the first element of `value` along `dim` on this rank.
  virtual int64_t offset(mlir::Value value, int dim) const { return 0; }
  /// Global, unpadded size of `value` along `dim`.
  virtual int64_t globalSize(mlir::Value value, int dim) const {
    return llvm::cast<mlir::RankedTensorType>(value.getType()).getDimSize(dim);
  }
  /// What float32 may make of a value inside an op, where rounding it shows more than rounding the result: 1
  /// + tanh(x). Exact unless the interpreter rounds at random.
  virtual double inner(double x) const { return x; }
};

} // namespace tessera
#endif
