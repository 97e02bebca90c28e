//===- Flight.h - What work in flight keeps busy ----------------*- C++ -*-===//
//
// Between a start and its wait nobody writes what is read, and nobody touches what is written. The verifier
// of tokens and the pass that places them (exec-start-collectives) ask here what that means of two ops.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_EXEC_IR_FLIGHT_H
#define TESSERA_DIALECT_EXEC_IR_FLIGHT_H

#include "tessera/Dialect/Exec/IR/Exec.h"

#include <optional>

namespace tessera::exec {

/// Memory that a buffer or a named parameter takes part in: bytes of the arena, or a form of a parameter
/// (whole: its layers are not told apart). Buffers that are neither meet nothing but themselves.
struct MemoryRange {
  mlir::FlatSymbolRefAttr parameter;
  bool packed = false;
  mlir::Value other;
  int64_t begin = 0, end = 0;

  explicit MemoryRange(const ParameterAccess &access) : parameter(access.param), packed(access.packed) {}
  explicit MemoryRange(mlir::Value buffer);
  bool overlaps(const MemoryRange &o) const;
};

/// What the work of one op reads and writes.
struct Flight {
  std::optional<MemoryRange> read, written;

  bool meets(const MemoryRange &range, AccessKind kind) const {
    return (written && written->overlaps(range)) ||
           (read && kind != AccessKind::Read && read->overlaps(range));
  }
};

/// An access that work in flight does not allow: of an operand, or (null) of a parameter by its name.
struct Meeting {
  ExecAccessOpInterface op;
  AccessKind kind;
  mlir::Value operand;
  mlir::FlatSymbolRefAttr parameter;
};
/// The first of `op` and what stands in it; none: they may run beside each other.
std::optional<Meeting> meeting(mlir::Operation *op, const Flight &flight);

} // namespace tessera::exec
#endif
