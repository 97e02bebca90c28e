//===- ThreadCode.h - Code of one thread of a block -------------*- C++ -*-===//
//
// What kernels that are written for threads by hand are written with: 32-bit integers and floats, addresses,
// warps, matrices of a warp, copies that run beside. Everything that is NVIDIA's alone stands here.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_TARGET_CUDA_THREADCODE_H
#define TESSERA_LIB_TARGET_CUDA_THREADCODE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera {

using Values = llvm::SmallVector<mlir::Value>;

class ThreadCode {
public:
  using Value = mlir::Value;

  explicit ThreadCode(mlir::ImplicitLocOpBuilder &builder) : b(builder) {}

  // Integers (32 bits where nothing else is said) and conditions.
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value add(Value x, Value y) { return b.createOrFold<mlir::arith::AddIOp>(x, y); }
  Value add(Value x, int64_t y) { return add(x, constantLike(x, y)); }
  Value sub(Value x, Value y) { return b.createOrFold<mlir::arith::SubIOp>(x, y); }
  Value mul(Value x, Value y) { return b.createOrFold<mlir::arith::MulIOp>(x, y); }
  Value mul(Value x, int64_t y) { return mul(x, constantLike(x, y)); }
  /// Of numbers that are not negative.
  Value div(Value x, int64_t y) { return b.createOrFold<mlir::arith::DivUIOp>(x, constantLike(x, y)); }
  Value div(Value x, Value y) { return b.createOrFold<mlir::arith::DivUIOp>(x, y); }
  Value rem(Value x, int64_t y) { return b.createOrFold<mlir::arith::RemUIOp>(x, constantLike(x, y)); }
  Value min(Value x, Value y) { return b.createOrFold<mlir::arith::MinSIOp>(x, y); }
  Value max(Value x, Value y) { return b.createOrFold<mlir::arith::MaxSIOp>(x, y); }
  Value less(Value x, Value y) { return compare(mlir::arith::CmpIPredicate::slt, x, y); }
  Value lessOrEqual(Value x, Value y) { return compare(mlir::arith::CmpIPredicate::sle, x, y); }
  Value equal(Value x, int64_t y) { return compare(mlir::arith::CmpIPredicate::eq, x, constantLike(x, y)); }
  Value both(Value x, Value y) { return b.createOrFold<mlir::arith::AndIOp>(x, y); }
  Value select(Value c, Value x, Value y) { return b.createOrFold<mlir::arith::SelectOp>(c, x, y); }
  Value wide(Value x); ///< to 64 bits
  Value fromIndex(Value x);

  // Floats, alone or as vectors.
  Value f32(double value);
  Value addf(Value x, Value y) { return mlir::arith::AddFOp::create(b, x, y); }
  Value subf(Value x, Value y) { return mlir::arith::SubFOp::create(b, x, y); }
  Value mulf(Value x, Value y) { return mlir::arith::MulFOp::create(b, x, y); }
  Value divf(Value x, Value y) { return mlir::arith::DivFOp::create(b, x, y); }
  Value maxf(Value x, Value y) { return mlir::arith::MaxNumFOp::create(b, x, y); }
  Value minf(Value x, Value y) { return mlir::arith::MinNumFOp::create(b, x, y); }
  Value greater(Value x, Value y) {
    return mlir::arith::CmpFOp::create(b, mlir::arith::CmpFPredicate::OGT, x, y);
  }
  Value fma(Value x, Value y, Value z);
  Value tanh(Value x);
  Value log2(Value x);
  /// 2^x by ex2.approx.ftz: at most 2 units in the last place off, and 0 where the result is subnormal.
  Value exp2(Value x);
  mlir::VectorType vectorOf(mlir::Type element, int64_t size) {
    return mlir::VectorType::get({size}, element);
  }
  Value element(Value vector, int64_t i);
  Value pack(Values elements);
  Value splat(Value x, int64_t size) { return pack(Values(size, x)); }
  Value zero(mlir::Type type);
  /// To and from float32; the same value where it is that already.
  Value widenf(Value x);
  Value narrowf(Value x, mlir::Type element);
  Value bitcast(Value x, mlir::Type type);

  // Memory.
  Value address(Value memref);
  /// `bytes` of the block's shared memory, aligned to 1024 bytes where the kernel has no other.
  Value sharedMemory(int64_t bytes);
  /// 32-bit integers of the image: zero when it is loaded, and kept from launch to launch.
  Value imageMemory(int64_t count);
  Value at(Value pointer, Value bytes);
  Value at(Value pointer, int64_t bytes) { return bytes ? at(pointer, i32(bytes)) : pointer; }
  Value load(mlir::Type type, Value pointer, int64_t align);
  void store(Value value, Value pointer, int64_t align);
  /// Copies 4, 8 or 16 bytes from global to shared memory, beside what the thread goes on with; zeros where
  /// `valid` does not hold (the source is not read then).
  void copyAsync(Value shared, Value global, int64_t bytes, Value valid);
  void commitCopies();                 ///< the copies since the last call are a group
  void awaitCopies(int64_t mayBeLeft); ///< groups, the latest ones, that need not have landed
  /// Adds 1 to the number at `pointer`, 0 following upon `last`; what was written before is seen by whoever
  /// comes later. Returns the number before.
  Value countArrival(Value pointer, Value last);

  // Threads.
  Value threadNumber();
  void barrier();
  /// A barrier, and whether `condition` holds for any thread.
  Value barrierAny(Value condition);
  void warpBarrier();
  /// The float, or integer, of the lane whose number differs by `lanes` (xor).
  Value shuffle(Value x, int64_t lanes);
  Value warpMax(Value x);
  Value warpMin(Value x);

  // Matrices of a warp, of 16-bit elements.
  /// Four matrices of 8 x 8; lane 8m + r gives the address of row r of matrix m. `transposed`: of its
  /// transpose.
  Values loadMatrices(Value row, bool transposed);
  /// acc + a b: a [16, 16], b [16, 8], acc [16, 8] of float32.
  Values multiply(mlir::Type element, mlir::ArrayRef<Value> a, mlir::ArrayRef<Value> b,
                  mlir::ArrayRef<Value> acc);

  // Matrices of a warpgroup: four warps from a multiple of four on, on sm_90a alone. Their products run
  // beside, and read shared memory by another way than loads and stores do.
  /// fence.proxy.async: what was written to shared memory before is there for products after a barrier.
  void fenceProducts();
  /// Registers that products add to, or take, are as they should be: what is computed with them comes before.
  void openProducts() { call("llvm.nvvm.wgmma.fence.sync.aligned", {}, {}); }
  /// The products since the last call are a group.
  void commitProducts() { call("llvm.nvvm.wgmma.commit_group.sync.aligned", {}, {}); }
  void awaitProducts(int64_t mayBeLeft); ///< groups, the latest ones, that need not be done
  /// The same values, which code beyond this works with: what gives or takes registers to and from products
  /// stays on its side.
  Values hold(mlir::ArrayRef<Value> values);
  /// Gives `sums` [64, n] + a [64, 16] b [16, n], as thread t of the warpgroup has them: of every 8 columns
  /// 2, in two rows. `sums` empty: 0. a: 4 words of 2 elements, or a descriptor; b: a descriptor, `across`
  /// where neighbours in memory are its columns.
  Values startProduct(mlir::Type element, int64_t n, mlir::ArrayRef<Value> sums, mlir::ArrayRef<Value> a,
                      Value b, bool across);
  /// Ends the kernel as a fault where `condition`, which never holds, does. ptxas moves waits up over what
  /// they do not hang on, so that nothing would go on beside products; over a branch it moves none.
  void waitBehind(Value condition);
  /// A matrix at `pointer` whose lines of `line` bytes (32, 64, 128: the swizzle) follow each other; from the
  /// columns of a line to the next ones, across, it is `leading` bytes.
  struct SharedMatrix {
    Value low;     ///< the half of its descriptor that says where it begins
    uint64_t high; ///< the rest
  };
  SharedMatrix describeMatrix(Value pointer, int64_t line, int64_t leading);
  /// The descriptor of what stands `bytes` behind its begin.
  Value descriptor(const SharedMatrix &matrix, int64_t bytes);

  // Control.
  Values loop(Value lower, Value upper, int64_t step, mlir::ValueRange carried,
              llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  void loop(Value lower, Value upper, int64_t step, llvm::function_ref<void(Value)> body);
  void when(Value condition, llvm::function_ref<void()> body);
  Values either(Value condition, llvm::function_ref<Values()> then, llvm::function_ref<Values()> otherwise);

  mlir::Type floatType() const { return b.getF32Type(); }
  mlir::Type intType() const { return b.getI32Type(); }

protected:
  Value constantLike(Value x, int64_t value);
  Value compare(mlir::arith::CmpIPredicate predicate, Value x, Value y) {
    return b.createOrFold<mlir::arith::CmpIOp>(predicate, x, y);
  }
  Value call(llvm::StringRef name, mlir::Type result, mlir::ValueRange args);
  mlir::Type pointerType(unsigned space = 0);

  mlir::ImplicitLocOpBuilder &b;
};

} // namespace tessera

#endif
