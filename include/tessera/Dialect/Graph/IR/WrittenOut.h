//===- WrittenOut.h - What an op was before it was written out --*- C++ -*-===//
//
// A softmax over a split dimension becomes a maximum, an exponential, a sum. Nobody who reads an explanation
// wrote those: they are known as parts of the softmax. Like names of calls (CallNames.h) that travels in
// locations, and generated code is the same with and without.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_GRAPH_IR_WRITTENOUT_H
#define TESSERA_DIALECT_GRAPH_IR_WRITTENOUT_H

#include "mlir/IR/Operation.h"

namespace tessera::graph {

/// `location` of an op that is a part of the op `whole` ("softmax").
mlir::Location markPartOf(mlir::Location location, llvm::StringRef whole);
/// `location` of a view that a value takes on its way from one sharding to another: a part of nothing.
mlir::Location markView(mlir::Location location);
bool isView(mlir::Operation *op);
/// What people know the op as: the whole that it is a part of, else what it is itself; without its dialect.
llvm::StringRef knownAs(mlir::Operation *op);

} // namespace tessera::graph
#endif
