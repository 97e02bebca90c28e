//===- PinConflicts.h - Pins that do not agree with each other --*- C++ -*-===//
//
// Two named values may be pinned so that what stands between them cannot run without moving data. That is no
// error, but only the pins are to blame for the reshard: a remark says which two, and which ops are between.
// Another one says of a pin that all readers of its value need it otherwise.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_PINCONFLICTS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_PINCONFLICTS_H

#include "tessera/Dialect/Dist/IR/Dist.h"

#include "llvm/ADT/MapVector.h"

#include <set>

namespace tessera::dist {

class PinConflicts {
public:
  /// Bytes that a rank receives in a reshard.
  using Price = std::function<double(ReshardOp)>;
  PinConflicts(const Mesh &mesh, Price price) : mesh(mesh), price(std::move(price)) {}

  /// `value`, called `name`, lies as `pin` wants; what it is made from has been placed. A missed remark
  /// `pins` for each pinned value that it is made from, the nearest on every path, if a reshard between them
  /// moves an axis of one of the two. Looks at most at some hundred ops.
  void add(mlir::Value value, llvm::StringRef name, const Sharding &pin);
  /// When all readers have been placed: a missed remark `pins` for each pinned value that none of them reads
  /// as its pin wants it, so that it is moved to the pin and on from there. Forgets all pins.
  void finish();

private:
  struct Path;
  void tell(const Path &path, mlir::Value from, mlir::Value to, llvm::StringRef name);
  /// Once, of however many functions and paths it is true.
  void say(mlir::Location loc, const std::string &text);

  const Mesh &mesh;
  Price price;
  struct Pin {
    std::string name;
    Sharding sharding; ///< of its open dimensions the pin says nothing
  };
  llvm::MapVector<mlir::Value, Pin> pins;
  std::set<std::string> said;
};

} // namespace tessera::dist
#endif
