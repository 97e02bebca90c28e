//===- LibraryForm.h - How a target expresses an op -------------*- C++ -*-===//
//
// Ops with a form of their own on rung `kernels`: a call of a library, a kernel written by hand, a view. All
// others are tiles (TileLoweringOpInterface) and fuse with their neighbours. Every target has its own table
// of forms; what is shared by several stands in tessera/Target/Forms.h.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_LIBRARYFORM_H
#define TESSERA_TARGET_LIBRARYFORM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>

namespace tessera {

/// A parameter read as a packed matrix [out..., in...].
struct PackedUse {
  int64_t outDims;       ///< how many leading dimensions are `out`; all uses of a parameter have to agree
  bool profits;          ///< faster than from a plain array: packing is for these, the others read along
  bool gathered = false; ///< or from its pieces, gathered as they are held (PackedWeight::pieces)
};

/// What a form may ask of the conversion that it runs in (`spmd-to-kernels`). Types still have their
/// shardings.
class KernelLowering {
public:
  virtual ~KernelLowering() = default;

  /// Takes over `kernel` (not in a module yet) under a name that begins with its own; equal kernels share one
  /// symbol.
  virtual mlir::FlatSymbolRefAttr addKernel(mlir::func::FuncOp kernel) = 0;
  /// Axes that shard dimension `dim` of a local type (null: none).
  virtual mlir::ArrayAttr shardAxes(mlir::RankedTensorType type, int64_t dim) const = 0;
  /// This rank's shard number for these axes, computed at the entry of the function around `at`; null for
  /// null.
  virtual mlir::Value shardIndex(mlir::Operation *at, mlir::ArrayAttr axes) = 0;
  /// The index behind a tensor<i32> that holds a layer number: the induction variable of a loop or a
  /// constant; null if neither.
  virtual mlir::Value layerIndex(mlir::OpBuilder &builder, mlir::Value tensor) const = 0;
  /// Iterations worth a thread when one touches `elements` elements and there are `count`.
  virtual int64_t grain(int64_t elements, int64_t count) const = 0;
};

class LibraryForm {
public:
  virtual ~LibraryForm() = default;

  /// Whether this form is for `op` too; one that no form is for is a tile or is written out in smaller ops.
  virtual bool takes(mlir::Operation *op) const { return true; }
  /// Replaces `op` by ops of rung `kernels` and erases it, or leaves it as it is to be fused like any other.
  /// Fails with an error at the op.
  virtual llvm::LogicalResult lower(mlir::Operation *op, KernelLowering &lowering) const = 0;
  /// How the owner of `operand` reads it if that is a packed parameter; none if it has to be a plain array.
  virtual std::optional<PackedUse> packedUse(mlir::OpOperand &operand) const { return std::nullopt; }
};

/// The forms of a target, by the name of the op.
class LibraryForms {
public:
  template <typename OpT> void add(std::unique_ptr<LibraryForm> form) {
    forms[OpT::getOperationName()] = std::move(form);
  }
  /// Null: the op has no form of its own.
  const LibraryForm *find(mlir::Operation *op) const {
    auto it = forms.find(op->getName().getStringRef());
    return it == forms.end() || !it->second->takes(op) ? nullptr : it->second.get();
  }
  /// Whether any op called `name` may have one.
  bool has(llvm::StringRef name) const { return forms.count(name); }

private:
  llvm::StringMap<std::unique_ptr<LibraryForm>> forms;
};

} // namespace tessera
#endif
