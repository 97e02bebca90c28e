//===- WrittenOut.h - What an op was before it was written out --*- C++ -*-===//
//
// A softmax over a split dimension becomes a maximum, an exponential, a sum, and a pass adds what chooses the
// next token. Nobody who reads an explanation wrote those: they are known as parts of the softmax, or by what
// they are for. Like names of calls (CallNames.h) that travels in
// locations, and generated code is the same with and without.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_GRAPH_IR_WRITTENOUT_H
#define TESSERA_DIALECT_GRAPH_IR_WRITTENOUT_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace tessera::graph {

/// `location` of an op that is a part of the op `whole` ("softmax"), or of what a pass makes for a purpose
/// ("choice of the next token"). `number` tells this whole from others of the name; without one the location
/// does.
mlir::Location markPartOf(mlir::Location location, llvm::StringRef whole,
                          std::optional<int64_t> number = std::nullopt);
/// The number of the whole that `op` is a part of, if it has one.
std::optional<int64_t> partNumber(mlir::Operation *op);
/// The same for all parts of one whole; null: `op` is no part.
mlir::Attribute identityOfWhole(mlir::Operation *op);
/// `location` of a view that a value takes on its way from one sharding to another: a part of nothing.
mlir::Location markView(mlir::Location location);
bool isView(mlir::Operation *op);
/// What people know the op as: the whole that it is a part of, else what it is itself; without its dialect.
llvm::StringRef knownAs(mlir::Operation *op);

} // namespace tessera::graph
#endif
