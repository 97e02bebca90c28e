//===- ShardItems.h - Items of --shard against a program --------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_ANNOTATE_SHARDITEMS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_ANNOTATE_SHARDITEMS_H

#include "Annotate/ShardableValue.h"

#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"

namespace tessera::dist {

class ShardItems {
public:
  ShardItems(mlir::Location loc, const Mesh &mesh, llvm::ArrayRef<ShardItem> items, const DimNames &names,
             const ShardableValues &subjects)
      : loc(loc), mesh(mesh), items(items), names(names), subjects(subjects) {}

  std::vector<ShardItem> &all() { return items; }
  /// Some item is about dimensions called `dim`.
  bool has(llvm::StringRef dim) const;
  /// The item about `dim` of `subject` itself, or else of its class, or else of every value; null: none.
  const ShardItem *find(const ShardableValue &subject, llvm::StringRef dim) const;
  /// Some item names this value itself, or its class.
  bool pins(const ShardableValue &subject) const;

  /// Every item is about a value and a dimension that there are.
  mlir::LogicalResult check() const;
  /// Takes out those that are not, and gives their texts.
  std::vector<std::string> takeUnknown();
  /// Names of one value that lie directly upon each other: their pins must be the same.
  mlir::LogicalResult checkSameValue(graph::NameOp op) const;
  /// The error for two items that want one axis for two dimensions of a tensor.
  mlir::LogicalResult contradiction(const ShardableValue &subject, const ShardItem &first,
                                    const ShardItem &second, const AxisRef &axis) const;

private:
  const ShardItem *pinOf(const ShardableValue &subject, llvm::StringRef dim) const;

  mlir::Location loc; ///< of the program
  const Mesh &mesh;
  std::vector<ShardItem> items;
  const DimNames &names;
  const ShardableValues &subjects;
};

} // namespace tessera::dist
#endif
