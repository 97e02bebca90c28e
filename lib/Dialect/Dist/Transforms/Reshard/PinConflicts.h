//===- PinConflicts.h - Pins that do not agree with each other --*- C++ -*-===//
//
// Two named values may be pinned so that what stands between them cannot run without moving data. That is no
// error, but nobody else than the pins is to blame for the reshard: it is said which two, and which ops are
// between.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_PINCONFLICTS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_PINCONFLICTS_H

#include "tessera/Dialect/Dist/IR/Dist.h"

#include "llvm/ADT/DenseMap.h"

namespace tessera::dist {

class PinConflicts {
public:
  /// Bytes that a rank receives in a reshard.
  using Price = std::function<double(ReshardOp)>;
  PinConflicts(const Mesh &mesh, Price price) : mesh(mesh), price(std::move(price)) {}

  /// `value`, called `name`, lies as its pin wants; what it is made from has been placed. A missed remark
  /// `pins` for each pinned value that it is made from, the nearest on every path, if a reshard between them
  /// moves an axis of one of the two. Looks at most at some hundred ops.
  void add(mlir::Value value, llvm::StringRef name);

private:
  struct Path;
  void tell(const Path &path, mlir::Value from, mlir::Value to, llvm::StringRef name) const;

  const Mesh &mesh;
  Price price;
  llvm::DenseMap<mlir::Value, std::string> pins;
};

} // namespace tessera::dist
#endif
