//===- FormKernel.h - What forms made of kernels share ----------*- C++ -*-===//
#ifndef TESSERA_TARGET_FORMS_FORMKERNEL_H
#define TESSERA_TARGET_FORMS_FORMKERNEL_H

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Exec/IR/KernelFunction.h"
#include "tessera/Target/LibraryForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tessera {

inline mlir::RankedTensorType tensorOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// The place of `index` in this rank's shard, the `shard`-th of `size` (null: there is one); outside of it
/// out of range, below zero too.
inline mlir::Value indexInShard(mlir::OpBuilder &b, mlir::Location loc, mlir::Value index, mlir::Value shard,
                                int64_t size) {
  if (!shard)
    return index;
  mlir::Value length = mlir::arith::ConstantIndexOp::create(b, loc, size);
  return mlir::arith::SubIOp::create(b, loc, index, mlir::arith::MulIOp::create(b, loc, shard, length));
}

/// Replaces `op`, of one result, by a launch of the shell's kernel over `count` iterations that touch
/// `elements` elements each.
inline void replaceByLaunch(mlir::Operation *op, KernelLowering &lowering, const exec::KernelShell &shell,
                            mlir::ValueRange inputs, mlir::Value output, mlir::ValueRange scalars,
                            int64_t count, int64_t elements) {
  mlir::OpBuilder builder(op);
  auto launch = exec::LaunchOp::create(builder, op->getLoc(), mlir::TypeRange(op->getResultTypes()),
                                       lowering.addKernel(shell.func), inputs, output, scalars,
                                       builder.getI64IntegerAttr(count),
                                       builder.getI64IntegerAttr(lowering.grain(elements, count)));
  op->replaceAllUsesWith(launch.getResults());
  op->erase();
}

} // namespace tessera
#endif
