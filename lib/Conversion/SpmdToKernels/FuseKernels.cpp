//===- FuseKernels.cpp - clusters become kernel functions -------------------===//
//
// A kernel's loop runs over the axes of its cluster; one iteration takes the tiles of the operands, computes
// every op on tiles and puts the results' tiles where they belong. Tiling is sharding over a loop: which part
// of an operand an iteration needs is what the sharding rule says.
//
//===----------------------------------------------------------------------===//

#include "Clusters.h"
#include "IterationTiles.h"

#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Interfaces/TileLowering.h"
#include "tessera/Support/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tessera::kernels {
namespace {

bool isWholeConstant(Value value) {
  Operation *def = value.getDefiningOp();
  return def && kernels::isWholeConstant(def);
}

/// The shape in which a kernel sees an array.
RankedTensorType seenType(Value value, const Parts &parts) {
  return RankedTensorType::get(llvm::map_to_vector(parts, [](const Part &part) { return part.size; }),
                               tensorOf(value).getElementType());
}

class Outliner {
public:
  Outliner(Lowering &lowering, const Cluster &cluster)
      : lowering(lowering), cluster(cluster), ops(cluster.ops()), loc(ops.front()->getLoc()),
        members(ops.begin(), ops.end()) {}

  LogicalResult run() {
    for (const ClusterBody &body : cluster.bodies)
      collect(body);
    auto typeOf = [](const Array &array) -> Type { return array.type; };
    KernelShell shell(loc, kernelName(), llvm::map_to_vector(inputs, typeOf),
                      llvm::map_to_vector(outputs, typeOf), scalars.size());
    LogicalResult status = success();
    shell.loop(cluster.iterations(), [&](OpBuilder &builder, Value row, ValueRange outs) {
      return emitBodies(builder, shell, row, outs, cluster.bodies, status);
    });
    if (failed(status)) {
      shell.func.erase();
      return failure();
    }
    replaceWithLaunch(lowering.kernels.add(shell.func));
    return success();
  }

private:
  /// An array that the kernel takes, and the shape in which it sees it.
  struct Array {
    Value value;
    RankedTensorType type;
    Value destination = {}; ///< of an output: what is updated in place, or null
    bool operator==(const Array &other) const { return value == other.value && type == other.type; }
  };

  /// What the kernel takes and gives.
  void collect(const ClusterBody &body) {
    for (auto [op, tiles] : llvm::zip_equal(body.ops, body.tiles)) {
      int updated = updatedOperand(op);
      for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
        Array array{operand, seenType(operand, tiles.operands[number])};
        if (int(number) == updated || members.count(operand.getDefiningOp()) ||
            llvm::is_contained(inputs, array))
          continue;
        if (isWholeConstant(operand))
          continue;
        OpBuilder builder(op);
        if (Value index = layerIndex(builder, operand)) {
          addScalar(index);
          indexScalars[operand] = index;
        } else {
          inputs.push_back(array);
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
      for (auto [result, parts] : llvm::zip_equal(op->getResults(), tiles.results)) {
        bool inPlace = updated >= 0 && result.getResultNumber() == 0;
        if (inPlace || llvm::any_of(result.getUsers(), [&](Operation *user) { return !members.count(user); }))
          outputs.push_back({result, seenType(result, parts), inPlace ? op->getOperand(updated) : Value()});
      }
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
  int outputNumber(Value value) const {
    const auto *it = llvm::find_if(outputs, [&](const Array &output) { return output.value == value; });
    return it == outputs.end() ? -1 : int(it - outputs.begin());
  }

  std::string kernelName() {
    std::string name;
    SmallVector<StringRef> seen;
    for (Operation *op : ops) {
      StringRef kind =
          (op->getNumRegions() ? &op->getRegion(0).front().front() : op)->getName().stripDialect();
      if (llvm::is_contained(seen, kind) || seen.size() == 4)
        continue;
      seen.push_back(kind);
      name += kind.str() + "_";
    }
    ArrayRef<int64_t> shape = tensorOf(ops.back()->getResult(0)).getShape();
    return name + shapeText(shape);
  }

  struct Context : TileContext {
    Outliner &outliner;
    const KernelShell &shell;
    const Iteration &at;
    Operation *op;
    const OpTiles &tiles;
    Context(Outliner &outliner, const KernelShell &shell, const Iteration &at, Operation *op,
            const OpTiles &tiles)
        : outliner(outliner), shell(shell), at(at), op(op), tiles(tiles) {}

    Value offset(OpBuilder &builder, Value value, int64_t dim) override {
      Location loc = op->getLoc();
      Value offset;
      if (auto it = outliner.shardScalars.find({value, dim}); it != outliner.shardScalars.end()) {
        Value size = arith::ConstantIndexOp::create(builder, loc, tensorOf(value).getDimSize(dim));
        offset = arith::MulIOp::create(builder, loc, outliner.scalarArgument(shell, it->second), size);
      }
      if (Value first = firstIndex(builder, value, dim))
        offset = offset ? arith::AddIOp::create(builder, loc, offset, first).getResult() : first;
      return offset ? offset : arith::ConstantIndexOp::create(builder, loc, 0).getResult();
    }
    Value begin(OpBuilder &builder, Value value, int64_t dim) override {
      Value first = loopBegin(value, dim);
      return first ? first : arith::ConstantIndexOp::create(builder, op->getLoc(), 0).getResult();
    }
    int64_t globalSize(Value value, int64_t dim) override { return dist::globalShape(tensorOf(value))[dim]; }

    const Parts &partsOf(Value value) const {
      auto among = [&](ValueRange values, ArrayRef<Parts> parts) -> const Parts & {
        return parts[llvm::find(values, value) - values.begin()];
      };
      return llvm::is_contained(op->getOperands(), value) ? among(op->getOperands(), tiles.operands)
                                                          : among(op->getResults(), tiles.results);
    }
    /// Null where the loop does not run over the dimension of the tile.
    Value loopBegin(Value value, int64_t dim) const {
      int axis = partsOf(value)[dim].axis;
      return axis < 0 ? Value() : at.begin[axis];
    }
    /// The index that the tile begins with along a dimension of the array, which may stand as several parts;
    /// null: 0.
    Value firstIndex(OpBuilder &builder, Value value, int64_t dim) const {
      const Parts &parts = partsOf(value);
      const Part *part = parts.begin();
      Value index;
      for (int64_t d = 0; d <= dim; ++d) {
        int64_t left = tensorOf(value).getDimSize(d);
        do {
          left /= part->size;
          if (Value begin = d == dim && part->axis >= 0 ? at.begin[part->axis] : Value()) {
            Value stride = arith::ConstantIndexOp::create(builder, op->getLoc(), left);
            Value here = left == 1 ? begin : arith::MulIOp::create(builder, op->getLoc(), begin, stride);
            index = index ? arith::AddIOp::create(builder, op->getLoc(), index, here).getResult() : here;
          }
          ++part;
        } while (left > 1);
      }
      return index;
    }
  };

  /// The body whose iterations number `row` is among; `row` counts from the first of `bodies`.
  SmallVector<Value> emitBodies(OpBuilder &builder, const KernelShell &shell, Value row, ValueRange outs,
                                ArrayRef<ClusterBody> bodies, LogicalResult &status) {
    if (bodies.size() == 1)
      return emitBody(builder, shell, row, outs, bodies.front(), status);
    Value count = arith::ConstantIndexOp::create(builder, loc, bodies.front().iterations());
    Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, row, count);
    auto branch = scf::IfOp::create(
        builder, loc, isFirst,
        [&](OpBuilder &inner, Location) {
          scf::YieldOp::create(inner, loc, emitBody(inner, shell, row, outs, bodies.front(), status));
        },
        [&](OpBuilder &inner, Location) {
          Value next = arith::SubIOp::create(inner, loc, row, count);
          scf::YieldOp::create(inner, loc, emitBodies(inner, shell, next, outs, bodies.drop_front(), status));
        });
    return SmallVector<Value>(branch.getResults());
  }

  /// Tiles of one iteration.
  struct Tiles {
    llvm::DenseMap<Value, Value> made; ///< of values made in the cluster
    SmallVector<std::pair<std::pair<Value, Parts>, Value>> loaded;
  };

  /// Whether op `number` of `body` gives the same on every tile. What takes nothing fuses with its readers,
  /// so it counts only where one of those does.
  static bool isShared(const ClusterBody &body, size_t number) {
    Operation *op = body.ops[number];
    if (!body.tiles[number].areWhole())
      return false;
    if (op->getNumOperands())
      return true;
    for (size_t reader = number + 1; reader < body.ops.size(); ++reader)
      if (llvm::is_contained(body.ops[reader]->getOperands(), op->getResult(0)) && isShared(body, reader))
        return true;
    return false;
  }

  SmallVector<Value> emitBody(OpBuilder &builder, const KernelShell &shell, Value row, ValueRange outs,
                              const ClusterBody &body, LogicalResult &status) {
    auto all = llvm::to_vector(llvm::seq<size_t>(0, body.ops.size()));
    Tiles tiles;
    if (body.turns == 1)
      return emitOps(builder, shell, delinearize(builder, loc, row, body.axes), outs, body, all, tiles,
                     status);
    // What no tile changes stands in front of the loop over them.
    SmallVector<size_t> each, same;
    for (size_t number : all)
      (isShared(body, number) ? same : each).push_back(number);
    Value turns = arith::ConstantIndexOp::create(builder, loc, body.turns);
    Value first = arith::MulIOp::create(builder, loc, row, turns);
    SmallVector<Value> results =
        emitOps(builder, shell, delinearize(builder, loc, first, body.axes), outs, body, same, tiles, status);
    auto loop = scf::ForOp::create(builder, loc, arith::ConstantIndexOp::create(builder, loc, 0), turns,
                                   arith::ConstantIndexOp::create(builder, loc, 1), results,
                                   [&](OpBuilder &inner, Location, Value turn, ValueRange carried) {
                                     Value tile = arith::AddIOp::create(inner, loc, first, turn);
                                     Tiles here = tiles;
                                     scf::YieldOp::create(inner, loc,
                                                          emitOps(inner, shell,
                                                                  delinearize(inner, loc, tile, body.axes),
                                                                  carried, body, each, here, status));
                                   });
    return SmallVector<Value>(loop.getResults());
  }

  /// The ops of `body` with these numbers on the tiles of one iteration.
  SmallVector<Value> emitOps(OpBuilder &builder, const KernelShell &shell, const Iteration &at,
                             ValueRange outs, const ClusterBody &body, ArrayRef<size_t> numbers, Tiles &known,
                             LogicalResult &status) {
    auto &made = known.made;
    auto &loaded = known.loaded;
    SmallVector<Value> results(outs.begin(), outs.end());
    auto lower = [&](Operation *op, const OpTiles &tiles, ValueRange operands, TypeRange types,
                     SmallVectorImpl<Value> &values) {
      Context context(*this, shell, at, op, tiles);
      if (failed(cast<TileLoweringOpInterface>(op).lowerTile(builder, operands, types, context, values)))
        status = failure();
    };
    for (size_t number : numbers) {
      Operation *op = body.ops[number];
      const OpTiles &tiles = body.tiles[number];
      SmallVector<Value> operands, values;
      int updated = updatedOperand(op);
      for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
        const Parts &parts = tiles.operands[number];
        if (int(number) == updated) {
          operands.push_back(results[outputNumber(op->getResult(0))]);
          continue;
        }
        if (Value tile = made.lookup(operand)) {
          operands.push_back(tile);
          continue;
        }
        auto *before = llvm::find_if(loaded, [&, value = operand](const auto &entry) {
          return entry.first.first == value && entry.first.second == parts;
        });
        if (before != loaded.end()) {
          operands.push_back(before->second);
          continue;
        }
        Value whole;
        if (auto it = indexScalars.find(operand); it != indexScalars.end()) {
          Type element = tensorOf(operand).getElementType();
          Value index = arith::IndexCastOp::create(builder, loc, element, scalarArgument(shell, it->second));
          whole = tensor::FromElementsOp::create(builder, loc, plainType(operand.getType()), index);
        } else if (isWholeConstant(operand)) {
          SmallVector<Value> constant;
          Operation *def = operand.getDefiningOp();
          lower(def, wholeTiles(def), {}, TypeRange(plainType(operand.getType())), constant);
          if (failed(status))
            return results;
          whole = constant.front();
        } else {
          whole = shell.inputs[llvm::find(inputs, Array{operand, seenType(operand, parts)}) - inputs.begin()];
        }
        Value tile = tileOf(builder, loc, whole, operand, parts, at);
        loaded.push_back({{operand, parts}, tile});
        operands.push_back(tile);
      }
      SmallVector<Type> types;
      for (auto [result, parts] : llvm::zip_equal(op->getResults(), tiles.results))
        types.push_back(updated >= 0 && result.getResultNumber() == 0 ? seenType(result, parts)
                                                                      : tileType(result, parts, body.axes));
      lower(op, tiles, operands, types, values);
      if (failed(status))
        return results;
      for (auto [result, value, parts] : llvm::zip_equal(op->getResults(), values, tiles.results)) {
        made[result] = value;
        int out = outputNumber(result);
        if (out < 0)
          continue;
        bool inPlace = updated >= 0 && result.getResultNumber() == 0;
        results[out] = inPlace ? value : store(builder, loc, value, results[out], parts, at);
      }
    }
    return results;
  }

  void replaceWithLaunch(FlatSymbolRefAttr kernel) {
    OpBuilder builder(ops.back());
    SmallVector<Value> taken, destinations;
    SmallVector<Type> types;
    for (const Array &input : inputs)
      taken.push_back(input.value);
    for (const Array &output : outputs) {
      types.push_back(output.value.getType());
      destinations.push_back(output.destination ? output.destination : fresh(builder, output.value));
    }
    int64_t count = cluster.iterations(), elements = 0;
    for (const ClusterBody &body : cluster.bodies)
      elements = std::max(elements, body.tileElements * body.turns);
    // Known by what it gives, not by what it begins with.
    Location made = loc;
    for (const Array &output : outputs)
      if (Location last = output.value.getDefiningOp()->getLoc(); !graph::callName(last).empty())
        made = last;
    auto launch = exec::LaunchOp::create(builder, made, types, kernel, taken, destinations, scalars,
                                         builder.getI64IntegerAttr(count),
                                         builder.getI64IntegerAttr(lowering.grain(elements, count)));
    for (auto [output, result] : llvm::zip_equal(outputs, launch.getResults()))
      output.value.replaceAllUsesWith(result);
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }

  Lowering &lowering;
  const Cluster &cluster;
  SmallVector<Operation *> ops;
  Location loc;
  llvm::SmallPtrSet<Operation *, 16> members;
  SmallVector<Array> inputs, outputs;
  SmallVector<Value> scalars;
  llvm::DenseMap<Value, Value> indexScalars; ///< tensor<i32> of a layer number -> index on the host
  std::map<std::pair<Value, int64_t>, Value,
           std::function<bool(const std::pair<Value, int64_t> &, const std::pair<Value, int64_t> &)>>
      shardScalars{[](const auto &a, const auto &b) {
        return std::make_pair(a.first.getAsOpaquePointer(), a.second) <
               std::make_pair(b.first.getAsOpaquePointer(), b.second);
      }}; ///< (value, dimension) -> shard number on the host
};

LogicalResult fuseBlock(Lowering &lowering, Block &block) {
  cloneMakers(block);
  bool anyFactor = lowering.tiling.parallelIterations > 0;
  if (anyFactor && failed(splitReductions(lowering, block)))
    return failure();
  SmallVector<Cluster> clusters =
      anyFactor ? formFactorClusters(block, lowering.tiling) : formRowClusters(block, lowering.tiling);
  if (!anyFactor && cloneWidenings(clusters))
    clusters = formRowClusters(block, lowering.tiling);
  for (const Cluster &cluster : clusters) {
    // Read inside kernels only, where it is made again.
    SmallVector<Operation *> ops = cluster.ops();
    Operation *first = ops.front();
    if (ops.size() == 1 && kernels::isWholeConstant(first) &&
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
