//===- Access.h - What an op does to an operand -----------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_EXEC_IR_ACCESS_H
#define TESSERA_DIALECT_EXEC_IR_ACCESS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/StringRef.h"

namespace tessera::exec {

enum class AccessKind {
  Read,   ///< reads; writes nothing
  Write,  ///< writes every element, whatever was there
  Update, ///< reads and changes what is there
  Layer,  ///< writes every element of one layer of the stack, and nothing else; the layer is the op's first
          ///< scalar
};

/// `read`, `write`, `update`, `layer`.
llvm::StringRef stringifyAccessKind(AccessKind kind);

struct Access {
  mlir::OpOperand *operand;
  AccessKind kind;
  mlir::Value layer;    ///< for Layer: its number
  bool inPlace = false; ///< for Read: the op may write exactly these bytes
};

/// What an op does to a form of a parameter that it names by its symbol.
struct ParameterAccess {
  mlir::FlatSymbolRefAttr param;
  mlir::Value layer; ///< its number; none: all of the parameter
  bool packed;       ///< the packed form, which the runtime keeps beside or instead of the plain one
  AccessKind kind;   ///< Read or Write
};

/// A stream's number is none below 0, and only buffers have streams.
mlir::LogicalResult verifyStream(mlir::Operation *op);

} // namespace tessera::exec
#endif
