//===- RowNumbers.h - Numbers of elements, of iotas -------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_ROWNUMBERS_H
#define TESSERA_DIALECT_GRAPH_IR_ROWNUMBERS_H

#include "tessera/Dialect/Graph/IR/Graph.h"

namespace tessera::graph {

/// The row-major number of every element of `shape`, as i64, made of ops that go by global indices: it stays
/// what it is however the program is sharded. `first` (i64 scalar, may be null): along dimension 0 counting
/// begins there.
mlir::Value rowNumbers(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<int64_t> shape,
                       mlir::Value first = {});
/// An i64 scalar.
mlir::Value integerConstant(mlir::OpBuilder &builder, mlir::Location loc, int64_t value);

} // namespace tessera::graph
#endif
