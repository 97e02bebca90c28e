//===- HostCode.h - The host's code of an entry -----------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_EXEC_IR_HOSTCODE_H
#define TESSERA_DIALECT_EXEC_IR_HOSTCODE_H

#include "tessera/Dialect/Exec/IR/Calls.h"

namespace tessera::exec {

class ForOp;
class LaunchOp;

/// The code of one entry while it is emitted: pointers stand for arrays, i64 for indices and tokens.
class HostCode {
public:
  virtual ~HostCode() = default;

  /// The tables of the manifest, whose rows calls of the runtime name by number.
  virtual ManifestTables &tables() = 0;

  /// What stands for `value`, an operand of the op.
  virtual mlir::Value at(mlir::Value value) = 0;
  mlir::Value orNull(mlir::Value array) { return array ? at(array) : null(); }
  mlir::Value orZero(mlir::Value index) { return index ? at(index) : constant(0); }

  virtual mlir::Value constant(int64_t value) = 0;   ///< of type i64
  virtual mlir::Value constant32(int64_t value) = 0; ///< of type i32
  virtual mlir::Value null() = 0;                    ///< the pointer to nothing
  virtual mlir::Value add(mlir::Value x, mlir::Value y) = 0;
  virtual mlir::Value subtract(mlir::Value x, mlir::Value y) = 0;
  virtual mlir::Value multiply(mlir::Value x, mlir::Value y) = 0;
  virtual mlir::Value divide(mlir::Value x, mlir::Value y) = 0; ///< unsigned

  /// The place `offset` bytes from the beginning of the arena.
  virtual mlir::Value inArena(int64_t offset) = 0;
  /// The plain form of a parameter.
  virtual mlir::Value plain(mlir::FlatSymbolRefAttr param) = 0;
  /// The place `bytes` behind `array`.
  virtual mlir::Value behind(mlir::Value array, mlir::Value bytes) = 0;

  /// Calls a function of the runtime (tessera/runtime/abi.h). In front of `arguments` go this rank and, of an
  /// op that is given to a stream, that stream.
  virtual void call(llvm::StringRef function, llvm::ArrayRef<mlir::Value> arguments) = 0;
  /// The same for one that returns an i64.
  virtual mlir::Value callForNumber(llvm::StringRef function, llvm::ArrayRef<mlir::Value> arguments) = 0;
  virtual void launch(LaunchOp op) = 0;
  /// The loop and what stands in it.
  virtual mlir::LogicalResult loop(ForOp op) = 0;
};

} // namespace tessera::exec

#include "tessera/Dialect/Exec/IR/ExecHostCodeInterface.h.inc"

#endif
