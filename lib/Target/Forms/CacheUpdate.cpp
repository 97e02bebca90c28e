//===- CacheUpdate.cpp - new rows of a KV cache ---------------------------===//
//
// cache_update -> a kernel that writes the new rows in place.
//
//===----------------------------------------------------------------------===//

#include "tessera/Target/Forms/CacheBlocks.h"
#include "tessera/Target/Forms/FormKernel.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Target/Forms.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera {
namespace {

/// Writes update[b, s] to cache[layer, b, positions[b, s] - base] for every row (b, s) of the update: nothing
/// else of the cache is touched. In a ring what is left of the position goes by its length.
struct CacheUpdateForm : LibraryForm {
  /// With pages it is a tile.
  bool takes(Operation *op) const override { return !cast<graph::CacheUpdateOp>(op).getPages(); }
  LogicalResult lower(Operation *self, KernelLowering &lowering) const override {
    auto op = cast<graph::CacheUpdateOp>(self);
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value layer = lowering.layerIndex(builder, op.getIndex());
    if (!layer)
      return op.emitOpError("updates a layer whose number is neither a loop's index nor a constant");
    RankedTensorType cacheType = tensorOf(op.getCache()), updateType = tensorOf(op.getUpdate());
    int64_t seq = updateType.getDimSize(1), context = cacheType.getDimSize(2);
    int64_t heads = updateType.getDimSize(2), dim = updateType.getDimSize(3);
    Value shard = lowering.shardIndex(op, lowering.shardAxes(cacheType, 2));
    ShardingRule rule = op.getShardingRule();
    int64_t ring = rule.factors[rule.operands[0].dims[2].front()].size; // of all shards
    if (isInBlocks(cacheType.getElementType())) {
      BlockUpdate update{
          cacheType.getDimSize(0), updateType.getDimSize(0), context, heads, dim, seq, bool(shard),
          op.getRing() ? ring : 0};
      SmallVector<Value> scalars{layer};
      if (shard)
        scalars.push_back(shard);
      replaceByLaunch(op, lowering, blockUpdateKernel(loc, "cache_update_blocks", update),
                      {op.getUpdate(), op.getPositions()}, op.getCache(), scalars, update.iterations(),
                      heads * dim);
      return success();
    }

    exec::KernelShell shell(loc, llvm::formatv("cache_update_{0}x{1}x{2}", seq, heads, dim).str(),
                            {op.getUpdate().getType(), op.getPositions().getType()}, {cacheType},
                            shard ? 2 : 1);
    auto index = [&](OpBuilder &b, int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    int64_t count = updateType.getDimSize(0) * seq;
    shell.loop(count, [&](OpBuilder &b, Value row, ValueRange outs) -> SmallVector<Value> {
      Value batch = arith::DivUIOp::create(b, loc, row, index(b, seq));
      Value i = arith::RemUIOp::create(b, loc, row, index(b, seq));
      Value position = arith::IndexCastOp::create(
          b, loc, b.getIndexType(), tensor::ExtractOp::create(b, loc, shell.inputs[1], ValueRange{batch, i}));
      Value isText; // of a ring, where any other position has a place, too
      if (op.getRing()) {
        isText = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, position, index(b, 0));
        position = arith::RemUIOp::create(b, loc, position, index(b, ring));
      }
      position = indexInShard(b, loc, position, shard ? shell.scalars[1] : Value(), context);
      // Unsigned: a negative position is a large one.
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, position, index(b, context));
      if (isText)
        inside = arith::AndIOp::create(b, loc, inside, isText);
      auto write = scf::IfOp::create(
          b, loc, inside,
          [&](OpBuilder &b, Location loc) {
            OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
            SmallVector<OpFoldResult> sizes{one, one, b.getIndexAttr(heads), b.getIndexAttr(dim)},
                ones(4, one);
            auto rowType = RankedTensorType::get({heads, dim}, updateType.getElementType());
            Value source =
                tensor::ExtractSliceOp::create(b, loc, rowType, shell.inputs[0],
                                               SmallVector<OpFoldResult>{batch, i, zero, zero}, sizes, ones);
            SmallVector<OpFoldResult> at{shell.scalars[0], batch, position, zero, zero};
            sizes.insert(sizes.begin(), one);
            ones.push_back(one);
            Value target = tensor::ExtractSliceOp::create(b, loc, rowType, outs[0], at, sizes, ones);
            Value copied = linalg::CopyOp::create(b, loc, source, target).getResult(0);
            Value updated = tensor::InsertSliceOp::create(b, loc, copied, outs[0], at, sizes, ones);
            scf::YieldOp::create(b, loc, updated);
          },
          [&](OpBuilder &b, Location loc) { scf::YieldOp::create(b, loc, outs[0]); });
      return {write.getResult(0)};
    });
    SmallVector<Value> scalars{layer};
    if (shard)
      scalars.push_back(shard);
    replaceByLaunch(op, lowering, shell, {op.getUpdate(), op.getPositions()}, op.getCache(), scalars, count,
                    heads * dim);
    return success();
  }
};

} // namespace

void addCacheUpdateForm(LibraryForms &forms) {
  forms.add<graph::CacheUpdateOp>(std::make_unique<CacheUpdateForm>());
}

} // namespace tessera
