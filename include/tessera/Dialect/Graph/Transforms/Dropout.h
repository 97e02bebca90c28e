//===- Dropout.h - Dropout at the sites of a program ------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_DROPOUT_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_DROPOUT_H

#include "tessera/Dialect/Graph/IR/Graph.h"

namespace tessera::graph {

/// Whether `op` says `drops`.
bool isDropoutSite(mlir::Operation *op);
/// Ops in `block`, and in loops there, that do, in their order.
llvm::SmallVector<DropSiteOpInterface> dropoutSites(mlir::Block &block);

/// What sites draw from. Which elements go follows from the key, the number of the site, the layer and the
/// places of elements in the rows of the whole step: docs/Dropout.md.
struct DropoutInputs {
  mlir::Value key;         ///< i64 scalar, another one in every step
  mlir::Value probability; ///< f32 scalar
  mlir::Value firstRow;    ///< i64 scalar: which row of the step row 0 is; null: it is that
  mlir::Value firstLayer;  ///< i32 scalar: which layer the first of the outermost loop is; null: it is that
};

/// Says on each of `sites`, in kDropSiteAttr, its number and how many there are: what they are in a part of
/// the program.
void numberSites(llvm::ArrayRef<DropSiteOpInterface> sites);

/// Makes `sites`, which are numbered by their order if they say nothing else, drop elements, and no sites any
/// more. Their values' first dimension is the row; an error where it is not, as far as shapes can tell.
/// Layers are those of the loops between a site and `outer`. Gives what is left of each site's result, which
/// its readers read.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
dropAtSites(llvm::ArrayRef<DropSiteOpInterface> sites, const DropoutInputs &inputs, mlir::Operation *outer);
/// They drop nothing, and are no sites any more.
void keepAtSites(llvm::ArrayRef<DropSiteOpInterface> sites);

} // namespace tessera::graph
#endif
