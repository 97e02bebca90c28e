//===- FuseKernels.cpp - clusters become kernel functions -------------------===//
//
// A kernel's loop runs over the rows of its cluster; one iteration takes the tiles of the operands, computes
// every op on tiles and puts the results' tiles where they belong. Tiling is sharding over a loop: which part
// of an operand a row needs is what the sharding rule says.
//
//===----------------------------------------------------------------------===//

#include "Clusters.h"

#include "tessera/Interfaces/TileLowering.h"
#include "tessera/Support/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tessera::kernels {
namespace {

/// An operand that does not depend on rows and is made in the kernel: a constant that has to be whole.
bool isWholeConstant(Value value) {
  Operation *def = value.getDefiningOp();
  return def && isa<TileLoweringOpInterface>(def) && def->getNumOperands() == 0 && maxRows(def) == 0;
}

class Outliner {
public:
  Outliner(Lowering &lowering, const Cluster &cluster)
      : lowering(lowering), cluster(cluster), loc(cluster.ops.front()->getLoc()),
        members(cluster.ops.begin(), cluster.ops.end()) {}

  LogicalResult run() {
    collect();
    SmallVector<Type> inputTypes = llvm::map_to_vector(inputs, [](Value v) { return v.getType(); });
    SmallVector<Type> outputTypes = llvm::map_to_vector(outputs, [](Value v) { return v.getType(); });
    KernelShell shell(loc, kernelName(), inputTypes, outputTypes, scalars.size());
    LogicalResult status = success();
    shell.loop(iterations(cluster), [&](OpBuilder &builder, Value row, ValueRange outs) {
      return emitRow(builder, shell, row, outs, status);
    });
    if (failed(status)) {
      shell.func.erase();
      return failure();
    }
    replaceWithLaunch(lowering.kernels.add(shell.func));
    return success();
  }

private:
  /// What the kernel takes and gives.
  void collect() {
    for (Operation *op : cluster.ops) {
      OpRows rows = rowsOf(op, cluster.rows);
      for (Value operand : op->getOperands()) {
        if (members.count(operand.getDefiningOp()) || llvm::is_contained(inputs, operand))
          continue;
        if (isWholeConstant(operand))
          continue;
        OpBuilder builder(op);
        if (Value index = layerIndex(builder, operand)) {
          addScalar(index);
          indexScalars[operand] = index;
        } else {
          inputs.push_back(operand);
        }
      }
      for (Value value :
           llvm::concat<Value>(SmallVector<Value>(op->getOperands()), SmallVector<Value>(op->getResults())))
        for (int64_t d = 0; d < tensorOf(value).getRank(); ++d)
          if (usesOffset(op, value, d))
            if (Value shard = lowering.shardIndex(op, lowering.shardAxes(tensorOf(value), d))) {
              addScalar(shard);
              shardScalars[{value, d}] = shard;
            }
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !members.count(user); }))
          outputs.push_back(result);
    }
  }

  /// The rule says on which factors the op needs to know its place.
  static bool usesOffset(Operation *op, Value value, int64_t dim) {
    ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
    auto touches = [&](const TensorFactors &tensor) {
      return llvm::any_of(tensor.dims[dim],
                          [&](int factor) { return llvm::is_contained(rule.offsetAware, factor); });
    };
    for (auto [operand, tensor] : llvm::zip_equal(op->getOperands(), rule.operands))
      if (operand == value && touches(tensor))
        return true;
    for (auto [result, tensor] : llvm::zip_equal(op->getResults(), rule.results))
      if (result == value && touches(tensor))
        return true;
    return false;
  }

  void addScalar(Value index) {
    if (!llvm::is_contained(scalars, index))
      scalars.push_back(index);
  }
  Value scalarArgument(const KernelShell &shell, Value index) {
    return shell.scalars[llvm::find(scalars, index) - scalars.begin()];
  }

  std::string kernelName() {
    std::string name;
    SmallVector<StringRef> seen;
    for (Operation *op : cluster.ops) {
      StringRef kind = op->getName().stripDialect();
      if (llvm::is_contained(seen, kind) || seen.size() == 4)
        continue;
      seen.push_back(kind);
      name += kind.str() + "_";
    }
    ArrayRef<int64_t> shape = tensorOf(cluster.ops.back()->getResult(0)).getShape();
    return name + shapeText(shape);
  }

  struct Context : TileContext {
    Outliner &outliner;
    const KernelShell &shell;
    ArrayRef<Value> rowIndex;
    Operation *op;
    OpRows rows;
    Context(Outliner &outliner, const KernelShell &shell, ArrayRef<Value> rowIndex, Operation *op,
            OpRows rows)
        : outliner(outliner), shell(shell), rowIndex(rowIndex), op(op), rows(std::move(rows)) {}

    Value offset(OpBuilder &builder, Value value, int64_t dim) override {
      Location loc = op->getLoc();
      Value at;
      if (auto it = outliner.shardScalars.find({value, dim}); it != outliner.shardScalars.end()) {
        Value size = arith::ConstantIndexOp::create(builder, loc, tensorOf(value).getDimSize(dim));
        at = arith::MulIOp::create(builder, loc, outliner.scalarArgument(shell, it->second), size);
      }
      int row = rowOf(value, dim);
      if (row >= 0)
        at = at ? arith::AddIOp::create(builder, loc, at, rowIndex[row]).getResult() : rowIndex[row];
      return at ? at : arith::ConstantIndexOp::create(builder, loc, 0).getResult();
    }
    int64_t globalSize(Value value, int64_t dim) override { return dist::globalShape(tensorOf(value))[dim]; }

    int rowOf(Value value, int64_t dim) const {
      for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), rows.operands))
        if (operand == value)
          return dims[dim];
      for (auto [result, dims] : llvm::zip_equal(op->getResults(), rows.results))
        if (result == value)
          return dims[dim];
      return -1;
    }
  };

  /// Row numbers along each row dimension.
  SmallVector<Value> delinearize(OpBuilder &builder, Value row) {
    SmallVector<Value> index(cluster.rows);
    ArrayRef<int64_t> shape = tensorOf(cluster.ops.front()->getResult(0)).getShape().take_front(cluster.rows);
    int64_t left = iterations(cluster);
    for (int d = cluster.rows - 1; d >= 0; --d) {
      Value size = arith::ConstantIndexOp::create(builder, loc, shape[d]);
      left /= shape[d];
      index[d] = left == 1 ? row : arith::RemUIOp::create(builder, loc, row, size).getResult();
      if (left > 1)
        row = arith::DivUIOp::create(builder, loc, row, size);
      else
        row = arith::ConstantIndexOp::create(builder, loc, 0);
    }
    return index;
  }

  static RankedTensorType tileType(Value value, const RowDims &dims) {
    SmallVector<int64_t> shape(tensorOf(value).getShape());
    for (auto [size, row] : llvm::zip_equal(shape, dims))
      if (row >= 0)
        size = 1;
    return RankedTensorType::get(shape, tensorOf(value).getElementType());
  }
  static void slicing(OpBuilder &builder, RankedTensorType tile, const RowDims &dims,
                      ArrayRef<Value> rowIndex, SmallVectorImpl<OpFoldResult> &offsets,
                      SmallVectorImpl<OpFoldResult> &sizes) {
    for (auto [size, row] : llvm::zip_equal(tile.getShape(), dims)) {
      offsets.push_back(row < 0 ? OpFoldResult(builder.getIndexAttr(0)) : OpFoldResult(rowIndex[row]));
      sizes.push_back(builder.getIndexAttr(size));
    }
  }

  /// The part of `array` that belongs to this row.
  static Value tileOf(OpBuilder &builder, Location loc, Value array, const RowDims &dims,
                      ArrayRef<Value> rowIndex) {
    RankedTensorType tile = tileType(array, dims);
    if (tile == array.getType())
      return array;
    SmallVector<OpFoldResult> offsets, sizes, ones(dims.size(), builder.getIndexAttr(1));
    slicing(builder, tile, dims, rowIndex, offsets, sizes);
    return tensor::ExtractSliceOp::create(builder, loc, tile, array, offsets, sizes, ones);
  }

  SmallVector<Value> emitRow(OpBuilder &builder, const KernelShell &shell, Value row, ValueRange outs,
                             LogicalResult &status) {
    SmallVector<Value> rowIndex = delinearize(builder, row);
    llvm::DenseMap<Value, Value> tiles; // values made in the cluster
    std::map<std::pair<void *, SmallVector<int, 4>>, Value> loaded;
    SmallVector<Value> results(outs.begin(), outs.end());
    auto lower = [&](Operation *op, OpRows rows, ValueRange operands, TypeRange types,
                     SmallVectorImpl<Value> &values) {
      Context context(*this, shell, rowIndex, op, rows);
      if (failed(cast<TileLoweringOpInterface>(op).lowerTile(builder, operands, types, context, values)))
        status = failure();
    };
    for (Operation *op : cluster.ops) {
      OpRows rows = rowsOf(op, cluster.rows);
      SmallVector<Value> operands, values;
      for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), rows.operands)) {
        if (Value tile = tiles.lookup(operand)) {
          operands.push_back(tile);
          continue;
        }
        Value &tile = loaded[{operand.getAsOpaquePointer(), dims}];
        if (!tile) {
          Value whole;
          if (auto it = indexScalars.find(operand); it != indexScalars.end()) {
            Type element = tensorOf(operand).getElementType();
            Value number =
                arith::IndexCastOp::create(builder, loc, element, scalarArgument(shell, it->second));
            whole = tensor::FromElementsOp::create(builder, loc, plainType(operand.getType()), number);
          } else if (isWholeConstant(operand)) {
            SmallVector<Value> constant;
            Operation *def = operand.getDefiningOp();
            lower(def, rowsOf(def, 0), {}, TypeRange(plainType(operand.getType())), constant);
            if (failed(status))
              return results;
            whole = constant.front();
          } else {
            whole = shell.inputs[llvm::find(inputs, operand) - inputs.begin()];
          }
          tile = tileOf(builder, loc, whole, dims, rowIndex);
        }
        operands.push_back(tile);
      }
      SmallVector<Type> types;
      for (auto [result, dims] : llvm::zip_equal(op->getResults(), rows.results))
        types.push_back(tileType(result, dims));
      lower(op, rows, operands, types, values);
      if (failed(status))
        return results;
      for (auto [result, value, dims] : llvm::zip_equal(op->getResults(), values, rows.results)) {
        tiles[result] = value;
        auto out = llvm::find(outputs, result);
        if (out == outputs.end())
          continue;
        SmallVector<OpFoldResult> offsets, sizes, ones(dims.size(), builder.getIndexAttr(1));
        slicing(builder, tensorOf(value), dims, rowIndex, offsets, sizes);
        Value &into = results[out - outputs.begin()];
        into = tensor::InsertSliceOp::create(builder, loc, value, into, offsets, sizes, ones);
      }
    }
    return results;
  }

  void replaceWithLaunch(FlatSymbolRefAttr kernel) {
    OpBuilder builder(cluster.ops.back());
    SmallVector<Value> destinations;
    SmallVector<Type> types;
    for (Value output : outputs) {
      types.push_back(output.getType());
      destinations.push_back(fresh(builder, output));
    }
    int64_t count = iterations(cluster);
    auto launch = exec::LaunchOp::create(
        builder, loc, types, kernel, inputs, destinations, scalars, builder.getI64IntegerAttr(count),
        builder.getI64IntegerAttr(lowering.grain(tileElements(cluster), count)));
    for (auto [output, result] : llvm::zip_equal(outputs, launch.getResults()))
      output.replaceAllUsesWith(result);
    for (Operation *op : llvm::reverse(cluster.ops))
      op->erase();
  }

  Lowering &lowering;
  const Cluster &cluster;
  Location loc;
  llvm::SmallPtrSet<Operation *, 16> members;
  SmallVector<Value> inputs, outputs, scalars;
  llvm::DenseMap<Value, Value> indexScalars; ///< tensor<i32> of a layer number -> index on the host
  std::map<std::pair<Value, int64_t>, Value,
           std::function<bool(const std::pair<Value, int64_t> &, const std::pair<Value, int64_t> &)>>
      shardScalars{[](const auto &a, const auto &b) {
        return std::make_pair(a.first.getAsOpaquePointer(), a.second) <
               std::make_pair(b.first.getAsOpaquePointer(), b.second);
      }}; ///< (value, dimension) -> shard number on the host
};

/// Makers of values (constants, iota) go to each reader: a kernel computes them where it needs them.
void cloneMakers(Block &block) {
  SmallVector<Operation *> makers;
  for (Operation &op : block.without_terminator())
    if (isa<TileLoweringOpInterface>(op) && op.getNumOperands() == 0)
      makers.push_back(&op);
  for (Operation *maker : makers) {
    OpBuilder builder(maker);
    for (OpOperand &use : llvm::make_early_inc_range(maker->getUses())) {
      Operation *user = use.getOwner();
      if (!isa<TileLoweringOpInterface>(user) ||
          (user->getBlock() == maker->getBlock() && maker->hasOneUse()))
        continue;
      builder.setInsertionPoint(user);
      use.set(builder.clone(*maker)->getResult(0));
    }
    if (maker->use_empty())
      maker->erase();
  }
}

/// Removes what nobody reads, of a loop's next bodies what they do not carry on: before kernels are made of
/// it.
void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDead(inner);
  }
}

LogicalResult fuseBlock(Lowering &lowering, Block &block) {
  cloneMakers(block);
  for (const Cluster &cluster : formClusters(block, lowering.tiling)) {
    // Read inside kernels only, where it is made again.
    Operation *first = cluster.ops.front();
    if (cluster.ops.size() == 1 && first->getNumOperands() == 0 && maxRows(first) == 0 &&
        llvm::all_of(first->getUsers(), [](Operation *user) { return isa<TileLoweringOpInterface>(user); }))
      continue;
    if (failed(Outliner(lowering, cluster).run()))
      return failure();
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa<TileLoweringOpInterface>(op) && op.use_empty())
      op.erase();
  return success();
}

} // namespace

LogicalResult fuseKernels(Lowering &lowering) {
  for (auto func : lowering.module.getOps<func::FuncOp>()) {
    if (!func->hasAttr(exec::kEntryAttr))
      continue;
    eraseDead(func.getBody().front());
    SmallVector<Block *> blocks{&func.getBody().front()};
    func.walk([&](exec::ForOp loop) { blocks.push_back(&loop.getBody().front()); });
    for (Block *block : blocks)
      if (failed(fuseBlock(lowering, *block)))
        return failure();
  }
  return success();
}

} // namespace tessera::kernels
