//===- AttentionOps.cpp - attention and its cache -------------------------===//
//
// attention -> the CPU's attention kernel, cache_update -> a kernel that writes the new rows in place.
//
//===----------------------------------------------------------------------===//

#include "LibraryOps.h"

#include "tessera/Target/CPU/AttentionKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tessera::kernels {
namespace {

struct LibraryAttention : LibraryOpInterface::ExternalModel<LibraryAttention, graph::AttentionOp> {
  LogicalResult lowerToLibrary(Operation *self, Lowering &lowering) const {
    auto op = cast<graph::AttentionOp>(self);
    if (lowering.shardAxes(tensorOf(op.getKey()), 1))
      return op.emitOpError("attends over a sharded context; gather keys and values first");
    OpBuilder builder(op);
    Location loc = op.getLoc();
    ArrayRef<int64_t> q = tensorOf(op.getQuery()).getShape(), v = tensorOf(op.getValue()).getShape();
    AttentionShape shape;
    shape.batch = q[0];
    shape.seq = q[1];
    shape.context = v[1];
    shape.kvHeads = q[2];
    shape.group = q[3];
    shape.headDim = q[4];
    shape.valueDim = v[3];
    shape.scale = op.getScale().convertToDouble();
    if (op.getWindow())
      shape.window = *op.getWindow();
    if (op.getSoftcap())
      shape.softcap = op.getSoftcap()->convertToDouble();
    shape.elementType = tensorOf(op.getQuery()).getElementType();
    shape.lanes = lowering.options.lanes;

    OwningOpRef<ModuleOp> scratch = ModuleOp::create(loc);
    OpBuilder inScratch = OpBuilder::atBlockBegin(scratch->getBody());
    std::string name = llvm::formatv("attention_{0}x{1}x{2}x{3}x{4}", shape.batch, shape.seq, shape.kvHeads,
                                     shape.group, shape.headDim);
    func::FuncOp kernel = buildAttentionKernel(inScratch, loc, name, shape);
    kernel->remove();
    FlatSymbolRefAttr symbol = lowering.kernels.add(kernel);
    Value base = arith::ConstantIndexOp::create(builder, loc, 0);
    int64_t count = attentionIterations(shape);
    auto launch = exec::LaunchOp::create(
        builder, loc, TypeRange(op.getType()), symbol,
        ValueRange{op.getQuery(), op.getKey(), op.getValue(), op.getPositions()},
        fresh(builder, op.getResult()), base, builder.getI64IntegerAttr(count), builder.getI64IntegerAttr(1));
    op.replaceAllUsesWith(launch.getResults()[0]);
    op.erase();
    return success();
  }
};

/// Writes update[b, s] to cache[layer, b, positions[b, s] - base] for every row (b, s) of the update: nothing
/// else of the cache is touched.
struct LibraryCacheUpdate : LibraryOpInterface::ExternalModel<LibraryCacheUpdate, graph::CacheUpdateOp> {
  LogicalResult lowerToLibrary(Operation *self, Lowering &lowering) const {
    auto op = cast<graph::CacheUpdateOp>(self);
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value layer = layerIndex(builder, op.getIndex());
    if (!layer)
      return op.emitOpError("updates a layer whose number is neither a loop's index nor a constant");
    RankedTensorType cacheType = tensorOf(op.getCache()), updateType = tensorOf(op.getUpdate());
    int64_t seq = updateType.getDimSize(1), context = cacheType.getDimSize(2);
    int64_t heads = updateType.getDimSize(2), dim = updateType.getDimSize(3);
    Value shard = lowering.shardIndex(op, lowering.shardAxes(cacheType, 2));

    KernelShell shell(loc, llvm::formatv("cache_update_{0}x{1}x{2}", seq, heads, dim).str(),
                      {op.getUpdate().getType(), op.getPositions().getType()}, {cacheType}, shard ? 2 : 1);
    auto index = [&](OpBuilder &b, int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    int64_t count = updateType.getDimSize(0) * seq;
    shell.loop(count, [&](OpBuilder &b, Value row, ValueRange outs) -> SmallVector<Value> {
      Value batch = arith::DivUIOp::create(b, loc, row, index(b, seq));
      Value i = arith::RemUIOp::create(b, loc, row, index(b, seq));
      Value position = arith::IndexCastOp::create(
          b, loc, b.getIndexType(), tensor::ExtractOp::create(b, loc, shell.inputs[1], ValueRange{batch, i}));
      if (shard)
        position = arith::SubIOp::create(b, loc, position,
                                         arith::MulIOp::create(b, loc, shell.scalars[1], index(b, context)));
      // Unsigned: a negative position is a large one.
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, position, index(b, context));
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
    FlatSymbolRefAttr symbol = lowering.kernels.add(shell.func);
    SmallVector<Value> scalars{layer};
    if (shard)
      scalars.push_back(shard);
    auto launch = exec::LaunchOp::create(builder, loc, TypeRange(op.getType()), symbol,
                                         ValueRange{op.getUpdate(), op.getPositions()}, op.getCache(),
                                         scalars, builder.getI64IntegerAttr(count),
                                         builder.getI64IntegerAttr(lowering.grain(heads * dim, count)));
    op.replaceAllUsesWith(launch.getResults()[0]);
    op.erase();
    return success();
  }
};

} // namespace

void attachAttentionOps(MLIRContext *context) {
  graph::AttentionOp::attachInterface<LibraryAttention>(*context);
  graph::CacheUpdateOp::attachInterface<LibraryCacheUpdate>(*context);
}

} // namespace tessera::kernels
