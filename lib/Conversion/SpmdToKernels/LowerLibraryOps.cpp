//===- LowerLibraryOps.cpp - ops with an implementation of their own --------===//
//
// linear -> exec.matmul, embedding of a packed table -> exec.gather_packed, attention -> the CPU's attention kernel,
// cache_update -> a kernel that writes the new rows in place, scatter_add -> one that adds rows up, reshape -> a view.
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

/// Every launch zeroes its rows of the result and passes over all ids, adding the rows of those that fall into its range: no two write one row.
void lowerScatterAdd(Lowering &lowering, graph::ScatterAddOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  RankedTensorType rows = tensorOf(op.getRows()), ids = tensorOf(op.getIds()), result = tensorOf(op.getResult());
  int64_t size = result.getDimSize(0), count = ids.getNumElements();
  Value shard = lowering.shardIndex(op, lowering.shardAxes(result, 0));
  SmallVector<int64_t> rowShape(result.getShape().drop_front());
  Type element = result.getElementType();

  KernelShell shell(loc, llvm::formatv("scatter_add_{0}x{1}", count, product(rowShape)).str(), {rows, ids}, {result}, shard ? 1 : 0);
  auto index = [&](OpBuilder &b, int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  auto rowType = RankedTensorType::get(rowShape, element);
  /// A row of the result, changed in place by `change`.
  auto changeRow = [&](OpBuilder &b, Value into, Value row, llvm::function_ref<Value(Value)> change) -> Value {
    SmallVector<OpFoldResult> at(rowShape.size() + 1, zero), sizes = {one}, ones(rowShape.size() + 1, one);
    at[0] = row;
    for (int64_t n : rowShape)
      sizes.push_back(b.getIndexAttr(n));
    Value old = tensor::ExtractSliceOp::create(b, loc, rowType, into, at, sizes, ones);
    return tensor::InsertSliceOp::create(b, loc, change(old), into, at, sizes, ones);
  };
  OpBuilder &b = shell.builder;
  Value step = index(b, 1);
  auto clear = scf::ForOp::create(b, loc, shell.begin, shell.end, step, shell.outputs, [&](OpBuilder &b, Location, Value row, ValueRange outs) {
    Value cleared = changeRow(b, outs[0], row, [&](Value old) {
      Value none = arith::ConstantOp::create(b, loc, b.getFloatAttr(element, 0));
      return linalg::FillOp::create(b, loc, none, old).getResult(0);
    });
    scf::YieldOp::create(b, loc, cleared);
  });
  auto add = scf::ForOp::create(b, loc, index(b, 0), index(b, count), step, clear.getResults(), [&](OpBuilder &b, Location, Value i, ValueRange outs) {
    SmallVector<Value> at(ids.getRank());
    for (int64_t d = ids.getRank() - 1; d >= 0; --d) {
      at[d] = d ? arith::RemUIOp::create(b, loc, i, index(b, ids.getDimSize(d))).getResult() : i;
      i = d ? arith::DivUIOp::create(b, loc, i, index(b, ids.getDimSize(d))).getResult() : i;
    }
    Value row = arith::IndexCastOp::create(b, loc, b.getIndexType(), tensor::ExtractOp::create(b, loc, shell.inputs[1], at));
    if (shard)
      row = arith::SubIOp::create(b, loc, row, arith::MulIOp::create(b, loc, shell.scalars[0], index(b, size)));
    Value inside = arith::AndIOp::create(b, loc, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, row, shell.begin),
                                         arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, row, shell.end));
    auto write = scf::IfOp::create(
        b, loc, inside,
        [&](OpBuilder &b, Location) {
          Value sum = changeRow(b, outs[0], row, [&](Value old) {
            SmallVector<OpFoldResult> from(at.begin(), at.end()), sizes(at.size(), one), ones(rows.getRank(), one);
            from.append(rowShape.size(), zero);
            for (int64_t n : rowShape)
              sizes.push_back(b.getIndexAttr(n));
            auto sourceType = RankedTensorType::get(rowShape, rows.getElementType());
            Value source = tensor::ExtractSliceOp::create(b, loc, sourceType, shell.inputs[0], from, sizes, ones);
            AffineMap identity = b.getMultiDimIdentityMap(rowShape.size());
            SmallVector<utils::IteratorType> kinds(rowShape.size(), utils::IteratorType::parallel);
            return linalg::GenericOp::create(b, loc, rowType, source, old, {identity, identity}, kinds,
                                             [&](OpBuilder &b, Location loc, ValueRange x) {
                                               Value term = x[0];
                                               if (term.getType() != element)
                                                 term = arith::ExtFOp::create(b, loc, element, term);
                                               linalg::YieldOp::create(b, loc, arith::AddFOp::create(b, loc, x[1], term).getResult());
                                             })
                .getResult(0);
          });
          scf::YieldOp::create(b, loc, sum);
        },
        [&](OpBuilder &b, Location) { scf::YieldOp::create(b, loc, outs[0]); });
    scf::YieldOp::create(b, loc, write.getResults());
  });
  func::ReturnOp::create(b, loc, add.getResults());
  FlatSymbolRefAttr symbol = lowering.kernels.add(shell.func);
  auto launch = exec::LaunchOp::create(builder, loc, TypeRange(op.getType()), symbol, ValueRange{op.getRows(), op.getIds()},
                                       fresh(builder, op.getResult()), shard ? ValueRange(shard) : ValueRange(),
                                       builder.getI64IntegerAttr(size),
                                       builder.getI64IntegerAttr(lowering.grain(product(rowShape), size)));
  op.replaceAllUsesWith(launch.getResults()[0]);
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
    if (isa<graph::LinearOp, graph::EmbeddingOp, graph::AttentionOp, graph::CacheUpdateOp, graph::ScatterAddOp, graph::ReshapeOp,
            graph::NameOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    if (auto linear = dyn_cast<graph::LinearOp>(op)) {
      lowerLinear(lowering, linear);
    } else if (auto embedding = dyn_cast<graph::EmbeddingOp>(op)) {
      lowerEmbedding(lowering, embedding);
    } else if (auto scatter = dyn_cast<graph::ScatterAddOp>(op)) {
      lowerScatterAdd(lowering, scatter);
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
