//===- HeldCaches.cpp - caches in blocks as arrays of bytes -----------------===//
//
// Down to rung spmd a cache in blocks (graph.held) has the type that is read, and graph.cache_update rounds
// what it writes. From here on its type says how it lies in memory: the last dimension are the bytes of a
// row's blocks. What hands a cache on, or moves pieces of it, moves bytes; attention of the target reads
// them. Any other op reads a layer that is expanded for it, by a graph.cast with graph.held, which a form of
// the target makes a kernel.
//
//===----------------------------------------------------------------------===//

#include "HeldCaches.h"

#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"

namespace tessera::kernels {
namespace {

/// `type` with elements `element` and rows of another size, whole or of a rank.
RankedTensorType withRows(RankedTensorType type, Type element, int64_t (*sizeOf)(int64_t)) {
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = sizeOf(shape.back());
  Attribute encoding = type.getEncoding();
  if (auto sharding = dist::getShardingAttr(type); sharding && sharding.isLocal()) {
    SmallVector<int64_t> global(sharding.getGlobal().asArrayRef());
    global.back() = sizeOf(global.back());
    encoding = dist::ShardingAttr::get(
        type.getContext(), sharding.getMesh(), sharding.getDims(), sharding.getReplicated(),
        sharding.getPartialKind(), sharding.getPartial(), DenseI64ArrayAttr::get(type.getContext(), global));
  }
  return RankedTensorType::get(shape, element, encoding);
}

RankedTensorType asBytes(RankedTensorType type) {
  return withRows(type, IntegerType::get(type.getContext(), 8), graph::cacheRowBytes);
}
RankedTensorType asFloats(RankedTensorType type) {
  return withRows(type, Float32Type::get(type.getContext()),
                  [](int64_t bytes) { return bytes / graph::kCacheBlockBytes * graph::kCacheBlock; });
}

bool isBytes(Value value) { return tensorOf(value).getElementType().isInteger(8); }

/// Whether the result of `op` has rows of its operand as they are: a layer of a cache, or what ranks move of
/// one.
bool handsRowsOn(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return (collective && dist::movesWholeRows(collective)) || viewsLayer(op);
}

/// Follows caches from the arguments of entries to all that is made of them.
class HeldCaches {
public:
  explicit HeldCaches(Lowering &lowering) : lowering(lowering) {}

  LogicalResult hold(BlockArgument state) {
    auto func = cast<func::FuncOp>(state.getOwner()->getParentOp());
    auto refuse = [&](const Twine &why) {
      auto name = func.getArgAttrOfType<StringAttr>(state.getArgNumber(), graph::kNameAttr);
      return func.emitOpError() << "keeps "
                                << (name ? name.getValue().str()
                                         : "argument #" + std::to_string(state.getArgNumber()))
                                << " in blocks of " << graph::kCacheBlocks << ", " << why
                                << "; choose bf16 or f16 for caches";
    };
    if (!lowering.target.holdsBlocks(io::DType::Q8_0))
      return refuse("which the target does not read");
    RankedTensorType type = tensorOf(state);
    if (!graph::fitsCacheBlocks(type) || lowering.shardAxes(type, type.getRank() - 1))
      return refuse("which a rank's rows are not made of: their last dimension is sharded");
    setBytes(state);
    if (auto sharding = dist::getShardingAttr(state.getType()))
      func.setArgAttr(state.getArgNumber(), exec::kShardingAttr, sharding);
    while (!work.empty())
      if (failed(followUses(work.pop_back_val())))
        return failure();
    return success();
  }

private:
  void setBytes(Value value) {
    if (isBytes(value))
      return;
    value.setType(asBytes(tensorOf(value)));
    work.push_back(value);
  }

  LogicalResult followUses(Value value) {
    SmallVector<OpOperand *> others;
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      unsigned number = use.getOperandNumber();
      if (auto loop = dyn_cast<exec::ForOp>(op)) {
        setBytes(loop.getCarried()[number]);
        setBytes(loop.getResult(number));
      } else if (auto update = dyn_cast<graph::CacheUpdateOp>(op); update && number == 0) {
        if (!update->hasAttr(graph::kHeldAttr))
          return update.emitOpError() << "writes a cache in blocks of " << graph::kCacheBlocks
                                      << " and does not round to them: it needs " << graph::kHeldAttr;
        setBytes(update.getResult());
      } else if (handsRowsOn(op)) {
        setBytes(op->getResult(0));
      } else if (auto branch = dyn_cast<exec::ForOp>(op->getParentOp());
                 branch && branch.getNumber() && isa<exec::YieldOp>(op)) {
        return branch.emitOpError() << "gives a cache in blocks of " << graph::kCacheBlocks
                                    << " from a branch of graph.if: it must be given outside of it";
      } else if (!isa<exec::YieldOp, func::ReturnOp>(op) && !readsBlocks(op, number)) {
        others.push_back(&use);
      }
    }
    return expand(value, others);
  }

  /// Keys and values of an attention are both in blocks, or both expanded.
  bool readsBlocks(Operation *op, unsigned operand) {
    auto attention = dyn_cast<graph::AttentionOp>(op);
    if (!attention || !lowering.formOf(op))
      return false;
    return (operand == 1 && isKept(attention.getValue())) || (operand == 2 && isKept(attention.getKey()));
  }
  /// Made of a cache in blocks, by nothing but what hands bytes on.
  bool isKept(Value value) {
    for (;;) {
      if (isBytes(value))
        return true;
      Operation *maker = value.getDefiningOp();
      if (auto update = dyn_cast_or_null<graph::CacheUpdateOp>(maker))
        return update->hasAttr(graph::kHeldAttr);
      if (!maker || !handsRowsOn(maker))
        return false;
      value = maker->getOperand(0);
    }
  }

  /// Gives `uses` of `value` the numbers that its blocks stand for.
  LogicalResult expand(Value value, ArrayRef<OpOperand *> uses) {
    if (uses.empty())
      return success();
    // Whole caches are never expanded.
    Operation *maker = value.getDefiningOp();
    if (!maker || !handsRowsOn(maker))
      return uses.front()->getOwner()->emitOpError() << "reads all layers of a cache in blocks of "
                                                     << graph::kCacheBlocks << ", which nothing expands";
    OpBuilder builder(maker->getContext());
    builder.setInsertionPointAfter(maker);
    auto numbers = graph::CastOp::create(builder, maker->getLoc(), asFloats(tensorOf(value)), value);
    numbers->setAttr(graph::kHeldAttr, builder.getStringAttr(graph::kCacheBlocks));
    for (OpOperand *use : uses)
      use->set(numbers.getResult());
    return success();
  }

  Lowering &lowering;
  SmallVector<Value> work;
};

} // namespace

LogicalResult holdCaches(Lowering &lowering) {
  HeldCaches caches(lowering);
  for (auto func : lowering.module.getOps<func::FuncOp>()) {
    if (func.isExternal() || !func->hasAttr(exec::kEntryAttr))
      continue;
    for (BlockArgument arg : func.getArguments())
      if (func.getArgAttr(arg.getArgNumber(), graph::kHeldAttr) && failed(caches.hold(arg)))
        return failure();
    for (auto [i, value] : llvm::enumerate(func.getBody().front().getTerminator()->getOperands()))
      if (func.getResultAttr(unsigned(i), graph::kHeldAttr))
        if (auto sharding = dist::getShardingAttr(value.getType()))
          func.setResultAttr(unsigned(i), exec::kShardingAttr, sharding);
  }
  WalkResult plain = lowering.module.walk([&](graph::CacheUpdateOp op) {
    if (!op->hasAttr(graph::kHeldAttr) || isBytes(op.getCache()))
      return WalkResult::advance();
    op.emitOpError() << "rounds to blocks of " << graph::kCacheBlocks
                     << ", and its cache is kept in none: the state needs " << graph::kHeldAttr;
    return WalkResult::interrupt();
  });
  return failure(plain.wasInterrupted());
}

} // namespace tessera::kernels
