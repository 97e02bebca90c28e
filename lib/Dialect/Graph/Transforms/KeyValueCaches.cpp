//===- KeyValueCaches.cpp -------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/KeyValueCaches.h"

#include "tessera/Dialect/Graph/IR/AttentionWindow.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/Dialect/Graph/Transforms/PositionWise.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tessera::graph {

static StringRef argumentName(func::FuncOp function, unsigned arg) {
  auto name = function.getArgAttrOfType<StringAttr>(arg, kNameAttr);
  return name ? name.getValue() : StringRef();
}

Port cachePort(Builder &builder, const Cache &cache) {
  return {cache.type, Kind::State, cache.name, cache.dims,
          builder.getNamedAttr(kClearAttr, ClearAttr::get(builder.getContext(), Clear::BeforePrompts))};
}

Port KeyValueCaches::pagesPort(Builder &builder, StringRef name) const {
  int64_t count = caches_.front().type.getDimSize(2) / page_;
  return {RankedTensorType::get({batch_, count}, builder.getI32Type()),
          Kind::State,
          name.str(),
          {"batch", "page"},
          builder.getNamedAttr(kFillAttr, FillAttr::get(builder.getContext(), FillSource::Pages))};
}

LogicalResult KeyValueCaches::find() {
  if (page_ < 0)
    return function_.emitError() << "cannot run with pages of " << page_
                                 << " positions: expected 1 or more, or 0 for none";
  if (failed(findIn({})))
    return failure();
  for (auto repeat : function_.getOps<RepeatOp>())
    if (failed(findIn(repeat)))
      return failure();
  countLayers();
  addPages();
  return checkBlocks();
}

/// Of an attention with its keys alone in caches, or its values, the others are plain: no kernel reads both.
LogicalResult KeyValueCaches::checkBlocks() {
  if (!inBlocks_)
    return success();
  for (CachedAttention &cached : attentions_) {
    if (cached.keyCache < 0 && cached.valueCache < 0)
      continue;
    if (cached.keyCache < 0 || cached.valueCache < 0)
      return cached.op.emitError()
             << "has only its keys or its values in a cache, which is in no blocks then; "
                "choose bf16 or f16";
    for (int number : {cached.keyCache, cached.valueCache})
      if (const Cache &cache = caches_[unsigned(number)]; !fitsCacheBlocks(cache.type))
        return cached.op.emitError() << "has rows of " << cache.type.getShape().back()
                                     << " elements to keep, which are no whole blocks of " << kCacheBlock
                                     << "; choose bf16 or f16";
  }
  if (page_)
    return function_.emitError()
           << "keeps keys and values in pages, which are in no blocks; choose bf16 or f16";
  return success();
}

/// A cache has a layer for each time that one of its bodies runs.
void KeyValueCaches::countLayers() {
  for (const CachedAttention &cached : attentions_) {
    auto repeat = dyn_cast<RepeatOp>(cached.op->getParentOp());
    for (int number : {cached.keyCache, cached.valueCache}) {
      if (!repeat || number < 0)
        continue;
      Cache &cache = caches_[unsigned(number)];
      SmallVector<int64_t> shape(cache.type.getShape());
      shape[0] = 0;
      for (unsigned body : cache.bodies)
        shape[0] += repeat.getExecutions(body);
      cache.type = cache.type.clone(shape);
    }
  }
}

Value KeyValueCaches::layerIn(OpBuilder &builder, const Cache &cache, Value index, unsigned body,
                              unsigned period) {
  if (cache.bodies.size() == period) // all of them
    return index;
  auto before = llvm::find(cache.bodies, body) - cache.bodies.begin();
  return StackLayerOp::create(builder, index.getLoc(), index.getType(), index, uint64_t(period),
                              uint64_t(cache.bodies.size()), uint64_t(before));
}

/// Positions of the ring that holds the keys and values of `attention`; 0: their caches are none. Each query
/// of a chunk sees the window behind it when all of the chunk is written: a query's window and what is
/// written behind it must have places of their own.
int64_t KeyValueCaches::ringOf(AttentionOp attention) {
  std::optional<int32_t> window = hidingWindow(attention);
  PositionWise positions(function_, names_);
  if (!ringChunk_ || page_ || !window || positions.find(attention.getKey(), "seq") != 1 ||
      positions.find(attention.getValue(), "seq") != 1 || attention.getDropKeys())
    return 0;
  int64_t ring = *window + ringChunk_;
  return ring < context_ ? ring : 0;
}

/// Rounds contexts up to whole pages. Where an attention has only its keys cached, or only its values, the
/// others are not in pages, and nothing is.
void KeyValueCaches::addPages() {
  if (caches_.empty() || llvm::any_of(attentions_, [](const CachedAttention &cached) {
        return (cached.keyCache < 0) != (cached.valueCache < 0);
      }))
    page_ = 0;
  if (!page_)
    return;
  for (Cache &cache : caches_) {
    SmallVector<int64_t> shape(cache.type.getShape());
    shape[2] = int64_t(llvm::alignTo(shape[2], page_));
    cache.type = cache.type.clone(shape);
  }
}

/// Caches of the attentions directly in `repeat`'s bodies, or (null) directly in the function.
LogicalResult KeyValueCaches::findIn(RepeatOp repeat) {
  SmallVector<Block *> blocks;
  if (repeat)
    for (Region &body : repeat.getBodies())
      blocks.push_back(&body.front());
  else
    blocks.push_back(&function_.getBody().front());
  for (Block *block : blocks) {
    // Attentions of several bodies share a cache if they stand at the same place and have equal types.
    unsigned ordinal = 0;
    for (Operation &op : *block) {
      if (repeat && isa<RepeatOp>(op))
        return op.emitError() << "is nested in a repeat, where KV caches are not supported";
      if (!isa<RepeatOp>(op) && op.getNumRegions() &&
          op.walk([](AttentionOp) { return WalkResult::interrupt(); }).wasInterrupted())
        return op.emitError() << "has an attention in a branch, where KV caches are not supported";
      auto attention = dyn_cast<AttentionOp>(op);
      if (!attention)
        continue;
      CachedAttention cached{attention};
      int64_t ring = ringOf(attention);
      if (ring) // the last `ring` positions are there, and the first query sees a window, itself included
        rewind_ = ringChunk_ + 1;
      if (PositionWise(function_, names_).find(attention.getKey(), "seq") == 1)
        cached.keyCache = add(attention, attention.getKey(), ordinal, "k_cache", ring);
      if (PositionWise(function_, names_).find(attention.getValue(), "seq") == 1)
        cached.valueCache = add(attention, attention.getValue(), ordinal, "v_cache", ring);
      attentions_.push_back(cached);
      ++ordinal;
    }
  }
  return success();
}

/// Stacked weights are called PREFIX.something. Gives the prefix of the stack that `keyOrValue` is made from
/// in a body of `repeat`, of several the one that the fewest ops stand between: a body may hold several
/// layers, whose stacks have prefixes of their own.
std::string KeyValueCaches::prefixOf(RepeatOp repeat, Value keyOrValue) {
  auto prefix = [&](Value stack) {
    auto arg = dyn_cast<BlockArgument>(stack);
    if (!arg || arg.getOwner() != &function_.getBody().front())
      return StringRef();
    auto [before, after] = argumentName(function_, arg.getArgNumber()).rsplit('.');
    return after.empty() ? StringRef() : before;
  };
  llvm::SetVector<Value> reached;
  reached.insert(keyOrValue);
  const unsigned firstSlice = 1 + repeat.getInits().size();
  for (size_t i = 0; i < reached.size(); ++i) {
    if (Operation *op = reached[i].getDefiningOp()) {
      if (op->getParentOp() == repeat)
        reached.insert(op->operand_begin(), op->operand_end());
      continue;
    }
    auto arg = cast<BlockArgument>(reached[i]);
    if (arg.getOwner()->getParentOp() == repeat && arg.getArgNumber() >= firstSlice)
      if (StringRef found = prefix(repeat.getStacks()[arg.getArgNumber() - firstSlice]); !found.empty())
        return found.str();
  }
  for (Value stack : repeat.getStacks())
    if (StringRef found = prefix(stack); !found.empty())
      return found.str();
  return "layers";
}

std::string KeyValueCaches::nameOf(AttentionOp attention, StringRef suffix, unsigned ordinal) {
  std::string prefix;
  if (auto repeat = dyn_cast<RepeatOp>(attention->getParentOp())) {
    auto of = [&](AttentionOp op) {
      return prefixOf(repeat, suffix == "k_cache" ? op.getKey() : op.getValue());
    };
    std::string own = of(attention);
    ordinal = 0; // among those of the same prefix
    for (auto other : attention->getBlock()->getOps<AttentionOp>()) {
      if (other == attention)
        break;
      ordinal += of(other) == own;
    }
    prefix = own + ".";
  }
  std::string base = prefix + suffix.str() + (ordinal ? std::to_string(ordinal) : "");
  llvm::StringSet<> taken;
  for (unsigned arg = 0; arg < function_.getNumArguments(); ++arg)
    taken.insert(argumentName(function_, arg));
  for (const Cache &cache : caches_)
    taken.insert(cache.name);
  std::string name = base;
  for (unsigned i = 1; taken.contains(name); ++i)
    name = base + "_" + std::to_string(i);
  return name;
}

int KeyValueCaches::add(AttentionOp attention, Value keyOrValue, unsigned ordinal, StringRef suffix,
                        int64_t ring) {
  auto repeat = dyn_cast<RepeatOp>(attention->getParentOp());
  auto type = cast<RankedTensorType>(keyOrValue.getType());
  Cache cache;
  cache.type = type.clone({1, batch_, ring ? ring : context_, type.getDimSize(2), type.getDimSize(3)});
  if (element_)
    cache.type = cache.type.clone(element_);
  cache.isRing = ring != 0;
  cache.isInBlocks = inBlocks_;
  cache.dims = {"layer", "batch", "context", "kv_heads", "head_dim"};
  ArrayRef<StringRef> known = names_.names(keyOrValue);
  for (unsigned d : {2u, 3u})
    if (d < known.size() && !known[d].empty())
      cache.dims[d + 1] = known[d];
  unsigned body = attention->getParentRegion()->getRegionNumber();
  // Another body of the same repeat may have made it.
  for (const CachedAttention &other : attentions_) {
    if (!repeat || other.op->getParentOp() != repeat || other.op->getBlock() == attention->getBlock())
      continue;
    auto siblings = other.op->getBlock()->getOps<AttentionOp>();
    unsigned place = unsigned(std::distance(siblings.begin(), llvm::find(siblings, other.op)));
    int candidate = suffix == "k_cache" ? other.keyCache : other.valueCache;
    if (place == ordinal && candidate >= 0 && caches_[unsigned(candidate)].type == cache.type &&
        caches_[unsigned(candidate)].isRing == cache.isRing) {
      SmallVector<unsigned> &bodies = caches_[unsigned(candidate)].bodies;
      if (bodies.back() != body)
        bodies.push_back(body);
      return candidate;
    }
  }
  cache.bodies = {body};
  cache.name = nameOf(attention, suffix, ordinal);
  caches_.push_back(cache);
  return int(caches_.size()) - 1;
}

} // namespace tessera::graph
