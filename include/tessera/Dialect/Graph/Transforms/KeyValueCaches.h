//===- KeyValueCaches.h - Which states a step needs -------------*- C++ -*-===//
//
// Every attention whose keys (values) have a row per position needs those of earlier positions: a cache
// (docs/Step.md).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_GRAPH_TRANSFORMS_KEYVALUECACHES_H
#define TESSERA_DIALECT_GRAPH_TRANSFORMS_KEYVALUECACHES_H

#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/Transforms/StepPorts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::graph {

/// A state: keys or values of one attention, of all layers.
struct Cache {
  std::string name;
  llvm::SmallVector<llvm::StringRef> dims;
  mlir::RankedTensorType type; ///< [layer, batch, context, heads, d]
};

Port cachePort(mlir::Builder &builder, const Cache &cache);

/// Key and value of one attention live in these caches; -1: not cached.
struct CachedAttention {
  AttentionOp op;
  int keyCache = -1, valueCache = -1;
};

class KeyValueCaches {
public:
  /// Caches for `batch` rows of `context` positions, in pages of `page` (0: without), of elements `element`
  /// (null: as keys and values have).
  KeyValueCaches(mlir::func::FuncOp function, const DimNames &names, int64_t batch, int64_t context,
                 int64_t page, mlir::FloatType element = {})
      : function_(function), names_(names), batch_(batch), context_(context), page_(page), element_(element) {
  }

  /// Finds all of the function. Fails, with an error, where a repeat holds another one or a page is negative.
  mlir::LogicalResult find();

  llvm::ArrayRef<Cache> caches() const { return caches_; }
  llvm::ArrayRef<CachedAttention> attentions() const { return attentions_; }
  /// Positions of a page, of which the context of every cache is a multiple then; 0: there are no pages.
  int64_t page() const { return page_; }
  /// The state that says where each page of a row's caches stands, the same in all of them. Entries only read
  /// it.
  Port pagesPort(mlir::Builder &builder, llvm::StringRef name) const;

private:
  mlir::LogicalResult findIn(RepeatOp repeat);
  int add(RepeatOp repeat, mlir::Value keyOrValue, unsigned ordinal, llvm::StringRef suffix);
  std::string nameOf(RepeatOp repeat, llvm::StringRef suffix, unsigned ordinal);
  void addPages();

  mlir::func::FuncOp function_;
  const DimNames &names_;
  int64_t batch_, context_, page_;
  mlir::FloatType element_;
  std::vector<Cache> caches_;
  std::vector<CachedAttention> attentions_;
};

} // namespace tessera::graph
#endif
