// What kernels of ops by expert are written with.
#ifndef TESSERA_LIB_TARGET_CPU_EXPERTEMITTER_H
#define TESSERA_LIB_TARGET_CPU_EXPERTEMITTER_H

#include "tessera/Dialect/Exec/IR/KernelFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/FormatVariadic.h"

namespace tessera::experts {

using Values = llvm::SmallVector<mlir::Value>;

/// A kernel's function under construction, its arrays as buffers.
class Kernel {
public:
  Kernel(mlir::Location loc, llvm::StringRef name, llvm::ArrayRef<mlir::Type> inputs,
         llvm::ArrayRef<mlir::Type> outputs, unsigned scalars);

  /// The body: a loop over the launch's iterations.
  mlir::func::FuncOp overIterations(llvm::function_ref<void(mlir::Value)> body);

  mlir::Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(b, value); }
  mlir::Value i32(int64_t value) {
    return mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  }
  mlir::Value f32(float value) { return mlir::arith::ConstantOp::create(b, b.getF32FloatAttr(value)); }
  mlir::Value zero(mlir::Type type) { return mlir::arith::ConstantOp::create(b, b.getZeroAttr(type)); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::AddIOp>(x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::SubIOp>(x, y); }
  mlir::Value mul(mlir::Value x, int64_t y) { return b.createOrFold<mlir::arith::MulIOp>(x, index(y)); }
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::slt, x, y);
  }
  mlir::Value both(mlir::Value x, mlir::Value y) { return mlir::arith::AndIOp::create(b, x, y); }
  mlir::Value toIndex(mlir::Value x) { return mlir::arith::IndexCastOp::create(b, b.getIndexType(), x); }
  mlir::Value toI32(mlir::Value x) { return mlir::arith::IndexCastOp::create(b, b.getI32Type(), x); }
  /// A vector of float32.
  mlir::Type floats(int64_t lanes) { return mlir::VectorType::get({lanes}, b.getF32Type()); }
  /// A float of any type in all lanes of a vector of float32.
  mlir::Value spread(mlir::Value x, int64_t lanes) {
    return mlir::vector::BroadcastOp::create(b, floats(lanes), widened(x));
  }

  mlir::Value load(mlir::Value buffer, mlir::ValueRange at) {
    return mlir::memref::LoadOp::create(b, buffer, at);
  }
  void store(mlir::Value value, mlir::Value buffer, mlir::ValueRange at) {
    mlir::memref::StoreOp::create(b, value, buffer, at);
  }
  /// A float as float32.
  mlir::Value widened(mlir::Value x);
  /// A float32 as `element`.
  mlir::Value narrowed(mlir::Value x, mlir::Type element);
  /// `lanes` elements from `at` on, of which `active` are there; the rest is 0.
  mlir::Value loadVector(mlir::Value buffer, mlir::ValueRange at, int64_t lanes, int64_t active);
  void storeVector(mlir::Value value, mlir::Value buffer, mlir::ValueRange at, int64_t active);

  void loop(mlir::Value lower, mlir::Value upper, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  Values loop(mlir::Value lower, mlir::Value upper, int64_t step, mlir::ValueRange carried,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = {});

  /// `body(start, active)` on stretches of `lanes` of `width` elements, the last one maybe shorter.
  void forStretches(int64_t width, int64_t lanes, llvm::function_ref<void(mlir::Value, int64_t)> body);
  /// The same with values that go from stretch to stretch: what comes out of the last one.
  Values forStretches(int64_t width, int64_t lanes, Values carried,
                      llvm::function_ref<Values(mlir::Value, int64_t, mlir::ValueRange)> body);
  /// `body(start, size)` on tiles of `size` of [first, last), then on those of 1 that are left.
  void inTiles(mlir::Value first, mlir::Value last, int64_t size,
               llvm::function_ref<void(mlir::Value, int64_t)> body);

  /// Row `r`, of `width` elements, of the kernel's first output: `elements(start, active)` for each stretch,
  /// zeros if `token` is -1.
  void writeRow(mlir::Value r, mlir::Value token, int64_t width, int64_t lanes,
                llvm::function_ref<mlir::Value(mlir::Value, int64_t)> elements);

  /// The sum of the lanes.
  mlir::Value total(mlir::Value vector);
  /// A tile of sums of outer products, for all i of [first, last): `row(i, r)`, a float, times `column(i,
  /// v)`, a vector of float32; `give(r, v, sum)` gets them. No sum waits for another.
  void outerTile(mlir::Value first, mlir::Value last, int64_t rows, size_t columns, int64_t lanes,
                 llvm::function_ref<mlir::Value(mlir::Value, int64_t)> row,
                 llvm::function_ref<mlir::Value(mlir::Value, size_t)> column,
                 llvm::function_ref<void(int64_t, size_t, mlir::Value)> give);

  exec::KernelShell shell;
  mlir::ImplicitLocOpBuilder b;
  Values in, out;
};

inline mlir::Type array(llvm::ArrayRef<int64_t> sizes, mlir::Type element) {
  return mlir::RankedTensorType::get(sizes, element);
}
inline mlir::Type numbers(mlir::Location loc, llvm::ArrayRef<int64_t> sizes) {
  return array(sizes, mlir::IntegerType::get(loc.getContext(), 32));
}

} // namespace tessera::experts
#endif
