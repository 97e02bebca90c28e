//===- AxisText.h - Text of axis lists --------------------------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_IR_AXISTEXT_H
#define TESSERA_LIB_DIALECT_DIST_IR_AXISTEXT_H

#include "tessera/Dialect/Dist/IR/Dist.h"

namespace tessera::dist {

/// `{"a", "b":(1)2}`; with `open` given, a last `?` sets it.
mlir::ParseResult parseAxisSet(mlir::AsmParser &parser, llvm::SmallVectorImpl<AxisRefAttr> &axes,
                               bool *open = nullptr);
void printAxisSet(mlir::AsmPrinter &printer, llvm::ArrayRef<AxisRefAttr> axes, bool open = false);

/// The axes of a collective, as `custom<Axes>` of its format has them.
mlir::ParseResult parseAxes(mlir::OpAsmParser &parser, mlir::ArrayAttr &axes);
void printAxes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr axes);

} // namespace tessera::dist
#endif
