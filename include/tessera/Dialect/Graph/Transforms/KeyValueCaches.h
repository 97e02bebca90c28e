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

/// A state: keys or values of one attention, of the layers that have it.
struct Cache {
  std::string name;
  llvm::SmallVector<llvm::StringRef> dims;
  mlir::RankedTensorType type; ///< [layer, batch, context, heads, d]
  /// Of a repeat the numbers of the bodies whose layers are in it, ascending: those of one period after those
  /// of the one before.
  llvm::SmallVector<unsigned> bodies;
  bool isRing = false;     ///< position j stands at j mod context
  bool isInBlocks = false; ///< kept as blocks of kCacheBlocks; `type` is what is read
};

Port cachePort(mlir::Builder &builder, const Cache &cache);

/// How long caches are, and of what.
struct CacheSizes {
  int64_t context = 0; ///< positions of a text
  int64_t page = 0;    ///< positions of a page; 0: caches have none
  /// Positions that one entry takes at most. Where it is not 0 and there are no pages, caches of attentions
  /// with a window are rings if these are shorter than `context`.
  int64_t ringChunk = 0;
  mlir::FloatType element = {}; ///< null: as keys and values have
  bool inBlocks = false;        ///< kept as blocks of kCacheBlocks, which are read as `element`, f32
};

/// Key and value of one attention live in these caches; -1: not cached.
struct CachedAttention {
  AttentionOp op;
  int keyCache = -1, valueCache = -1;
};

class KeyValueCaches {
public:
  /// Caches for `batch` rows.
  KeyValueCaches(mlir::func::FuncOp function, const DimNames &names, int64_t batch, const CacheSizes &sizes)
      : function_(function), names_(names), batch_(batch), context_(sizes.context), page_(sizes.page),
        ringChunk_(sizes.ringChunk), element_(sizes.element), inBlocks_(sizes.inBlocks) {}

  /// Finds all of the function. Fails, with an error, where a repeat holds another one, a page is negative,
  /// or blocks are asked for that rows are not made of.
  mlir::LogicalResult find();

  llvm::ArrayRef<Cache> caches() const { return caches_; }
  llvm::ArrayRef<CachedAttention> attentions() const { return attentions_; }
  /// Positions of a page, of which the context of every cache is a multiple then; 0: there are no pages.
  int64_t page() const { return page_; }
  /// By how many positions a row may be set back from the end of what was written of it, such that what it
  /// sees then is still there; -1: by any number.
  int64_t rewind() const { return rewind_; }
  /// The number of layer `index`, of body `body` of a repeat of `period` bodies, in `cache`.
  static mlir::Value layerIn(mlir::OpBuilder &builder, const Cache &cache, mlir::Value index, unsigned body,
                             unsigned period);
  /// The state that says where each page of a row's caches stands, the same in all of them. Entries only read
  /// it.
  Port pagesPort(mlir::Builder &builder, llvm::StringRef name) const;

private:
  mlir::LogicalResult findIn(RepeatOp repeat);
  int64_t ringOf(AttentionOp attention);
  int add(AttentionOp attention, mlir::Value keyOrValue, unsigned ordinal, llvm::StringRef suffix,
          int64_t ring);
  void countLayers();
  std::string prefixOf(RepeatOp repeat, mlir::Value keyOrValue);
  std::string nameOf(AttentionOp attention, llvm::StringRef suffix, unsigned ordinal);
  void addPages();
  mlir::LogicalResult checkBlocks();

  mlir::func::FuncOp function_;
  const DimNames &names_;
  int64_t batch_, context_, page_, ringChunk_;
  mlir::FloatType element_;
  bool inBlocks_;
  int64_t rewind_ = -1;
  std::vector<Cache> caches_;
  std::vector<CachedAttention> attentions_;
};

} // namespace tessera::graph
#endif
