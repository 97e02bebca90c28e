//===- Draw.h - Drawing tokens as a kernel of a target ----------*- C++ -*-===//
//
// The kernel of graph.draw, written once for whatever number of threads draw a row together: a target says
// how its threads add up numbers. Weights are integers, so that sums are the same in whatever order they are
// made, and tokens on every target and on all ranks.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_FORMS_DRAW_H
#define TESSERA_TARGET_FORMS_DRAW_H

#include "tessera/Dialect/Exec/IR/KernelFunction.h"
#include "tessera/Target/LibraryForm.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera {

/// The threads that draw one row together. All of them call everything, in the same order. What a thread
/// wrote before sum() all may read after it.
class DrawThreads {
public:
  virtual ~DrawThreads() = default;
  virtual int64_t count() const { return 1; }
  /// The number of this thread: an index below count().
  virtual mlir::Value number(mlir::ImplicitLocOpBuilder &b) = 0;
  /// The sum of all threads' numbers, an i64.
  virtual mlir::Value sum(mlir::ImplicitLocOpBuilder &b, mlir::Value own) { return own; }
  /// The largest of all threads' float32, none of which is a NaN.
  virtual mlir::Value largest(mlir::ImplicitLocOpBuilder &b, mlir::Value own) { return own; }
  /// Runs `body` on one thread.
  virtual void once(mlir::ImplicitLocOpBuilder &b, llvm::function_ref<void()> body) { body(); }
};

struct DrawShape {
  int64_t rows = 1, vocab = 1;
  mlir::Type elementType; ///< of the logits: f32, bf16 or f16
};

/// A kernel of one iteration a row:
///   name(logits [rows, vocab], stream i32 [rows], count i32 [rows], seed i64 [], temperature f64 [],
///        top_k i32 [], top_p f64 [], min_p f64 [], ids i32 [rows], scratch i64 [rows, 2, vocab],
///        begin: index, end: index) -> (ids, scratch)
/// The scratch is memory of the kernel's own use.
mlir::func::FuncOp buildDrawKernel(mlir::Location loc, llvm::StringRef name, const DrawShape &shape,
                                   DrawThreads &threads);
/// The same for one thread.
mlir::func::FuncOp buildDrawKernel(mlir::Location loc, llvm::StringRef name, const DrawShape &shape);

/// draw -> a launch of a kernel of the target.
class DrawForm : public LibraryForm {
public:
  llvm::LogicalResult lower(mlir::Operation *self, KernelLowering &lowering) const override;

protected:
  virtual mlir::func::FuncOp build(mlir::Location loc, llvm::StringRef name,
                                   const DrawShape &shape) const = 0;
};

} // namespace tessera
#endif
