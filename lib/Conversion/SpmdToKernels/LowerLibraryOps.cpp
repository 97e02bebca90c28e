//===- LowerLibraryOps.cpp - ops with an implementation of their own --------===//
//
// linear -> exec.matmul, embedding of a packed table -> exec.gather_packed, attention -> the CPU's attention kernel,
// cache_update -> a kernel that writes the new rows in place, reshape -> a view.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "tessera/Target/CPU/AttentionKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tessera::kernels {
namespace {

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t n = 1;
  for (int64_t size : sizes)
    n *= size;
  return n;
}

Value fresh(OpBuilder &builder, Value like) {
  RankedTensorType type = tensorOf(like);
  return tensor::EmptyOp::create(builder, like.getLoc(), type.getShape(), type.getElementType(), type.getEncoding());
}

/// A weight that is a packed parameter, or one layer of it.
struct PackedWeight {
  FlatSymbolRefAttr param;
  Value layer;
};

std::optional<PackedWeight> packedWeight(Lowering &lowering, Value weight) {
  Value layer;
  if (auto view = weight.getDefiningOp<exec::LayerOp>()) {
    layer = view.getIndex();
    weight = view.getStack();
  }
  auto arg = dyn_cast<BlockArgument>(weight);
  auto func = arg ? dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp()) : nullptr;
  if (!func)
    return std::nullopt;
  auto kind = func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kKindAttr);
  if (!kind || kind.getValue() != "parameter")
    return std::nullopt;
  auto name = func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr);
  return PackedWeight{FlatSymbolRefAttr::get(name), layer};
}

void lowerLinear(Lowering &lowering, graph::LinearOp op) {
  OpBuilder builder(op);
  ArrayRef<int64_t> in = tensorOf(op.getInput()).getShape(), weight = tensorOf(op.getWeight()).getShape();
  int64_t contract = op.getContract();
  int64_t m = product(in.drop_back(contract)), k = product(in.take_back(contract)),
          n = product(weight.drop_back(contract));
  Value out = fresh(builder, op.getResult());
  Value plain;
  FlatSymbolRefAttr param;
  Value layer;
  if (std::optional<PackedWeight> packed = packedWeight(lowering, op.getWeight())) {
    param = packed->param;
    layer = packed->layer;
  } else {
    plain = op.getWeight();
  }
  auto call = exec::MatmulOp::create(builder, op.getLoc(), TypeRange(op.getType()), builder.getI64IntegerAttr(m),
                                     builder.getI64IntegerAttr(n), builder.getI64IntegerAttr(k), op.getInput(), plain,
                                     param, layer, out);
  op.replaceAllUsesWith(call.getResults()[0]);
  op.erase();
}

void lowerEmbedding(Lowering &lowering, graph::EmbeddingOp op) {
  std::optional<PackedWeight> packed = packedWeight(lowering, op.getTable());
  if (!packed)
    return; // a plain table: a kernel like any other
  OpBuilder builder(op);
  Value shard = lowering.shardIndex(op, lowering.shardAxes(tensorOf(op.getTable()), 0));
  auto call = exec::GatherPackedOp::create(builder, op.getLoc(), TypeRange(op.getType()), packed->param, op.getIds(),
                                           packed->layer, shard, fresh(builder, op.getResult()));
  op.replaceAllUsesWith(call.getResults()[0]);
  op.erase();
}

LogicalResult lowerAttention(Lowering &lowering, graph::AttentionOp op) {
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
  std::string name = llvm::formatv("attention_{0}x{1}x{2}x{3}x{4}", shape.batch, shape.seq, shape.kvHeads, shape.group,
                                   shape.headDim);
  func::FuncOp kernel = buildAttentionKernel(inScratch, loc, name, shape);
  kernel->remove();
  FlatSymbolRefAttr symbol = lowering.kernels.add(kernel);
  Value base = arith::ConstantIndexOp::create(builder, loc, 0);
  int64_t count = attentionIterations(shape);
  auto launch = exec::LaunchOp::create(
      builder, loc, TypeRange(op.getType()), symbol,
      ValueRange{op.getQuery(), op.getKey(), op.getValue(), op.getPositions()}, fresh(builder, op.getResult()), base,
      builder.getI64IntegerAttr(count), builder.getI64IntegerAttr(1));
  op.replaceAllUsesWith(launch.getResults()[0]);
  op.erase();
  return success();
}

/// Writes update[b, s] to cache[layer, b, positions[b, s] - base] for every row (b, s) of the update: nothing else of the cache is touched.
LogicalResult lowerCacheUpdate(Lowering &lowering, graph::CacheUpdateOp op) {
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
  auto index = [&](OpBuilder &b, int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
  int64_t count = updateType.getDimSize(0) * seq;
  shell.loop(count, [&](OpBuilder &b, Value row, ValueRange outs) -> SmallVector<Value> {
    Value batch = arith::DivUIOp::create(b, loc, row, index(b, seq));
    Value i = arith::RemUIOp::create(b, loc, row, index(b, seq));
    Value position = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                                tensor::ExtractOp::create(b, loc, shell.inputs[1], ValueRange{batch, i}));
    if (shard)
      position = arith::SubIOp::create(b, loc, position,
                                       arith::MulIOp::create(b, loc, shell.scalars[1], index(b, context)));
    // Unsigned: a negative position is a large one.
    Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, position, index(b, context));
    auto write = scf::IfOp::create(
        b, loc, inside,
        [&](OpBuilder &b, Location loc) {
          OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
          SmallVector<OpFoldResult> sizes{one, one, b.getIndexAttr(heads), b.getIndexAttr(dim)}, ones(4, one);
          auto rowType = RankedTensorType::get({heads, dim}, updateType.getElementType());
          Value source = tensor::ExtractSliceOp::create(b, loc, rowType, shell.inputs[0],
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
                                       ValueRange{op.getUpdate(), op.getPositions()}, op.getCache(), scalars,
                                       builder.getI64IntegerAttr(count),
                                       builder.getI64IntegerAttr(lowering.grain(heads * dim, count)));
  op.replaceAllUsesWith(launch.getResults()[0]);
  op.erase();
  return success();
}

} // namespace

LogicalResult lowerLibraryOps(Lowering &lowering) {
  SmallVector<Operation *> ops;
  lowering.module.walk([&](Operation *op) {
    if (isa<graph::LinearOp, graph::EmbeddingOp, graph::AttentionOp, graph::CacheUpdateOp, graph::ReshapeOp, graph::NameOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    if (auto linear = dyn_cast<graph::LinearOp>(op)) {
      lowerLinear(lowering, linear);
    } else if (auto embedding = dyn_cast<graph::EmbeddingOp>(op)) {
      lowerEmbedding(lowering, embedding);
    } else if (auto attention = dyn_cast<graph::AttentionOp>(op)) {
      if (failed(lowerAttention(lowering, attention)))
        return failure();
    } else if (auto update = dyn_cast<graph::CacheUpdateOp>(op)) {
      if (failed(lowerCacheUpdate(lowering, update)))
        return failure();
    } else if (auto reshape = dyn_cast<graph::ReshapeOp>(op)) {
      Value view = exec::ReshapeOp::create(builder, op->getLoc(), reshape.getType(), reshape.getInput());
      reshape.replaceAllUsesWith(view);
      op->erase();
    } else {
      op->replaceAllUsesWith(op->getOperands());
      op->erase();
    }
  }
  return success();
}

} // namespace tessera::kernels
