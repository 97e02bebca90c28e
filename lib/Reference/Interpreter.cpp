//===- Interpreter.cpp - The judge: runs programs of the upper rungs ------===//
#include "tessera/Reference/Interpreter.h"
#include "Collectives.h"

#include "tessera/Reference/TensorRounding.h"

#include "tessera/Dialect/Dist/IR/ExchangeRows.h"
#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Graph/IR/Branch.h"
#include "tessera/Dialect/Graph/IR/Experts.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace tessera;

std::optional<ShardedShape> tessera::getShardedShape(Operation *from, Type type) {
  dist::ShardingAttr attr = dist::getShardingAttr(type);
  // A scalar has no global sizes to carry.
  if (!attr || (!attr.isLocal() && cast<RankedTensorType>(type).getRank() > 0))
    return std::nullopt;
  auto meshOp = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(from, attr.getMesh());
  if (!meshOp)
    return std::nullopt;
  Mesh mesh = meshOp.getMesh().toMesh();
  auto tensor = cast<RankedTensorType>(type);
  return ShardedShape{mesh, attr.toSharding(mesh), dist::globalShape(tensor), tensor.getElementType()};
}

int64_t tessera::numRanks(func::FuncOp func) {
  int64_t ranks = 1;
  auto look = [&](Operation *op, TypeRange types) {
    for (Type type : types)
      if (std::optional<ShardedShape> sharded = getShardedShape(op, type);
          sharded && dist::getShardingAttr(type).isLocal()) {
        ranks = sharded->mesh.numDevices();
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  };
  if (!look(func, func.getArgumentTypes()).wasInterrupted())
    func.walk([&](Operation *op) { return look(op, op->getResultTypes()); });
  return ranks;
}

namespace {
/// Where one rank's pieces lie on rung spmd; on other rungs types are not local and nothing is split.
class RankContext : public ReferenceContext {
public:
  /// `dice`: of random rounding; null without.
  RankContext(Operation *op, int64_t rank, std::mt19937_64 *dice) : op(op), rank(rank), dice(dice) {}
  int64_t offset(Value value, int dim) const override {
    std::optional<ShardedShape> sharded = getShardedShape(op, value.getType());
    return sharded ? sharded->shard(dim, rank) * cast<RankedTensorType>(value.getType()).getDimSize(dim) : 0;
  }
  int64_t globalSize(Value value, int dim) const override {
    return dist::globalShape(cast<RankedTensorType>(value.getType()))[dim];
  }
  double inner(double x) const override { return dice ? roundFloat32AtRandom(x, *dice) : x; }

private:
  Operation *op;
  int64_t rank;
  std::mt19937_64 *dice;
};

class Interpreter {
public:
  Interpreter(int64_t ranks, const InterpreterOptions &options)
      : ranks(ranks), options(options), dice(options.randomRounding.value_or(0)) {}

  FailureOr<std::vector<RankValues>> runFunction(func::FuncOp func, std::vector<RankValues> arguments) {
    if (func.isExternal()) {
      func.emitError() << "has no body to interpret";
      return failure();
    }
    if (!llvm::hasSingleElement(func.getBody())) {
      func.emitError() << "has several blocks; the judge runs structured programs only";
      return failure();
    }
    return runBlock(func.getBody().front(), std::move(arguments));
  }

private:
  /// Runs one block with values for its arguments; gives its terminator's operands.
  FailureOr<std::vector<RankValues>> runBlock(Block &block, std::vector<RankValues> arguments) {
    for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
      values[argument] = std::move(value);
    for (Operation &op : block.without_terminator())
      if (failed(runOp(op)))
        return failure();
    std::vector<RankValues> results;
    for (Value operand : block.getTerminator()->getOperands())
      results.push_back(values.lookup(operand));
    return results;
  }

  LogicalResult runOp(Operation &op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
        .Case<dist::AllGatherOp, dist::AllSliceOp, dist::AllReduceOp, dist::ReduceScatterOp, dist::AllToAllOp,
              dist::CollectivePermuteOp, dist::GroupedSendOp, dist::ContributeOp>(
            [&](auto collective) { return runCollective(collective); })
        .Case([&](dist::ExchangeRowsOp exchange) { return runRowExchange(exchange); })
        .Case([&](graph::RepeatOp repeat) { return runRepeat(repeat); })
        .Case([&](graph::TopKOp choice) { return options.choices ? runChoice(choice) : runLocal(choice); })
        .Case([&](graph::IfOp branch) { return runIf(branch); })
        .Case([&](dist::ManualComputationOp manual) { return runManual(manual); })
        .Case([&](func::CallOp call) { return runCall(call); })
        .Case([&](ReferenceOpInterface local) { return runLocal(local); })
        .Default([&](Operation *other) { return other->emitOpError() << "has no reference meaning"; });
  }

  void round(ReferenceTensor &tensor) {
    if (options.randomRounding)
      roundAtRandom(tensor, dice);
    else if (options.programRounding)
      tensor.roundToType();
  }

  /// An op every rank runs by itself.
  LogicalResult runLocal(ReferenceOpInterface op) {
    std::vector<RankValues> results(op->getNumResults());
    for (int64_t rank = 0; rank < ranks; ++rank) {
      // Operands are lent out of the map for the call and put back: weights are never copied. An operand that
      // stands twice is.
      SmallVector<ReferenceTensor, 4> operands;
      SmallVector<std::pair<Value, size_t>, 4> lent;
      for (Value operand : op->getOperands()) {
        auto *twice = llvm::find_if(lent, [&](auto &entry) { return entry.first == operand; });
        if (twice != lent.end()) {
          ReferenceTensor copy = operands[twice->second];
          operands.push_back(std::move(copy));
          continue;
        }
        lent.push_back({operand, operands.size()});
        operands.push_back(std::move(values.find(operand)->second[rank]));
      }
      SmallVector<ReferenceTensor, 2> own;
      LogicalResult ran =
          op.evaluate(operands, RankContext(op, rank, options.randomRounding ? &dice : nullptr), own);
      for (auto &[value, place] : lent)
        values.find(value)->second[rank] = std::move(operands[place]);
      if (failed(ran))
        return failure();
      for (auto [result, tensor] : llvm::zip_equal(results, own)) {
        round(tensor);
        result.push_back(std::move(tensor));
      }
    }
    for (auto [value, result] : llvm::zip_equal(op->getResults(), results))
      values[value] = std::move(result);
    return success();
  }

  /// The choice is that of elements that may have moved; what is chosen has not.
  LogicalResult runChoice(graph::TopKOp op) {
    const RankValues input = values.find(op.getInput())->second;
    const int64_t size = input.front().shape.back();
    for (ReferenceTensor &seen : values.find(op.getInput())->second)
      for (int64_t row = 0; row < seen.size() / size; ++row)
        options.choices->see(MutableArrayRef(seen.f).slice(size_t(row * size), size_t(size)),
                             op.getIndices().getType().getShape().back(), dice);
    if (failed(runLocal(op)))
      return failure();
    const RankValues &chosen = values.find(op.getIndices())->second;
    RankValues &results = values.find(op.getValues())->second;
    for (auto [whole, ids, found] : llvm::zip_equal(input, chosen, results))
      for (int64_t at = 0, count = ids.shape.back(); at < ids.size(); ++at)
        found.f[size_t(at)] = whole.f[size_t(at / count * size + ids.i[size_t(at)])];
    values[op.getInput()] = input;
    return success();
  }

  LogicalResult runRowExchange(dist::ExchangeRowsOp op) {
    for (Type type : op->getOperandTypes())
      if (std::optional<ShardedShape> sharded = getShardedShape(op, type);
          !sharded || sharded->mesh.numDevices() != ranks)
        return op.emitOpError() << "cannot be run: nothing else in the function is local";
    auto at = [&](Value value) -> const RankValues & { return values.find(value)->second; };
    std::string error;
    auto moved = runExchange(op, at(op.getInput()), at(op.getSentIds()), at(op.getReceivedIds()), error);
    if (failed(moved))
      return op.emitOpError() << error;
    values[op.getResult()] = std::move(*moved);
    return success();
  }

  template <typename Op> LogicalResult runCollective(Op op) {
    std::optional<ShardedShape> from = getShardedShape(op, op.getInput().getType()),
                                to = getShardedShape(op, op.getResult().getType());
    if (!from || !to)
      return op.emitOpError() << "cannot be run: its types are not local";
    if (from->mesh.numDevices() != ranks)
      return op.emitOpError() << "cannot be run: nothing else in the function is local";
    std::string error;
    auto moved = tessera::runCollective(op, values.find(op.getInput())->second, *from, *to, error);
    if (failed(moved))
      return op.emitOpError() << error;
    for (ReferenceTensor &tensor : *moved)
      round(tensor);
    values[op.getResult()] = std::move(*moved);
    return success();
  }

  LogicalResult runRepeat(graph::RepeatOp op) {
    std::vector<RankValues> carried;
    for (Value init : op.getInits())
      carried.push_back(values.lookup(init));
    std::vector<RankValues> collected;
    for (Value stack : op.getCollected())
      collected.push_back(
          RankValues(size_t(ranks), ReferenceTensor(cast<RankedTensorType>(stack.getType()))));
    for (int64_t iteration = 0; iteration < int64_t(op.getCount()); ++iteration) {
      int64_t i = op.getLayer(iteration);
      std::vector<RankValues> arguments;
      ReferenceTensor index(IntegerType::get(op.getContext(), 32), {});
      index.i[0] = i;
      arguments.push_back(RankValues(size_t(ranks), index));
      for (RankValues &value : carried)
        arguments.push_back(std::move(value));
      for (Value stack : op.getStacks())
        arguments.push_back(layer(values.find(stack)->second, i));
      auto next = runBlock(op.getBody(unsigned(i % int64_t(op.getBodies().size()))), std::move(arguments));
      if (failed(next))
        return failure();
      for (auto [stack, slice] : llvm::zip_equal(collected, ArrayRef(*next).drop_front(op.getInits().size())))
        setLayer(stack, slice, i);
      next->resize(op.getInits().size());
      carried = std::move(*next);
    }
    for (RankValues &stack : collected)
      carried.push_back(std::move(stack));
    for (auto [result, value] : llvm::zip_equal(op.getResults(), carried))
      values[result] = std::move(value);
    return success();
  }

  /// What `value`, as `attr` says, is along the manual axes of `op`.
  static ShardedShape piecesOf(dist::ManualComputationOp op, const Mesh &mesh, Value value,
                               dist::ShardingAttr attr) {
    AxisList manual = op.getManualAxes(mesh);
    auto isOther = [&](const AxisRef &axis) { return !llvm::is_contained(manual, axis); };
    Sharding sharding = attr.toSharding(mesh);
    for (DimSharding &dim : sharding.dims)
      llvm::erase_if(dim.axes, isOther);
    llvm::erase_if(sharding.partial, isOther);
    if (sharding.partial.empty())
      sharding.partialKind = PartialKind::None;
    auto type = cast<RankedTensorType>(value.getType());
    return {mesh, sharding, dist::globalShape(type), type.getElementType()};
  }

  /// The body is the program of each rank. Where all others are one program, all ranks run it beside that.
  LogicalResult runManual(dist::ManualComputationOp op) {
    Mesh mesh = dist::getMesh(op->getParentOfType<ModuleOp>()).getMesh().toMesh();
    auto saysLocal = [](Type type) {
      dist::ShardingAttr attr = dist::getShardingAttr(type);
      return attr && attr.isLocal();
    };
    bool isLocal =
        llvm::any_of(op->getOperandTypes(), saysLocal) || llvm::any_of(op->getResultTypes(), saysLocal);
    std::vector<RankValues> arguments;
    for (auto [i, operand] : llvm::enumerate(op.getInputs())) {
      const RankValues &given = values.find(operand)->second;
      arguments.push_back(isLocal ? given
                                  : shard(given.front(),
                                          piecesOf(op, mesh, operand, op.getInSharding(unsigned(i))),
                                          Padding::Poison));
    }
    Interpreter apart(mesh.numDevices(), options);
    auto results = (isLocal ? *this : apart).runBlock(op.getProgram(), std::move(arguments));
    if (failed(results))
      return failure();
    for (auto [i, result, pieces] : llvm::enumerate(op.getResults(), *results)) {
      if (isLocal) {
        values[result] = std::move(pieces);
        continue;
      }
      std::string error;
      // Dice fall apart on every rank.
      double tolerance = options.randomRounding    ? std::numeric_limits<double>::infinity()
                         : options.programRounding ? 1e-3
                                                   : 1e-12;
      auto whole =
          unshard(pieces, piecesOf(op, mesh, result, op.getOutSharding(unsigned(i))), tolerance, error);
      if (failed(whole))
        return op.emitOpError() << "result #" << i << ": " << error;
      values[result] = RankValues(size_t(ranks), *whole);
    }
    return success();
  }

  /// The branch that all ranks take.
  LogicalResult runIf(graph::IfOp op) {
    const RankValues &condition = values.find(op.getCondition())->second;
    bool taken = condition.front().i[0] != 0;
    for (const ReferenceTensor &own : condition)
      if ((own.i[0] != 0) != taken)
        return op.emitOpError() << "has a condition that is true on some ranks and false on others";
    auto results = runBlock((taken ? op.getTaken() : op.getOther()).front(), {});
    if (failed(results))
      return failure();
    for (auto [result, value] : llvm::zip_equal(op.getResults(), *results))
      values[result] = std::move(value);
    return success();
  }

  static void setLayer(RankValues &stack, const RankValues &slices, int64_t i) {
    for (auto [whole, slice] : llvm::zip_equal(stack, slices)) {
      if (slice.isFloat())
        std::copy(slice.f.begin(), slice.f.end(), whole.f.begin() + i * slice.size());
      else
        std::copy(slice.i.begin(), slice.i.end(), whole.i.begin() + i * slice.size());
    }
  }

  static RankValues layer(const RankValues &stack, int64_t i) {
    RankValues slices;
    for (const ReferenceTensor &whole : stack) {
      ReferenceTensor slice(whole.elementType, ArrayRef<int64_t>(whole.shape).drop_front());
      int64_t size = slice.size();
      if (slice.isFloat())
        std::copy_n(whole.f.begin() + i * size, size, slice.f.begin());
      else
        std::copy_n(whole.i.begin() + i * size, size, slice.i.begin());
      slices.push_back(std::move(slice));
    }
    return slices;
  }

  LogicalResult runCall(func::CallOp call) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
    if (!callee)
      return call.emitOpError() << "calls an unknown function";
    // A function that calls itself would never end: nothing here can choose to stop.
    if (llvm::is_contained(stack, callee))
      return call.emitOpError() << "calls a function that is running";
    std::vector<RankValues> arguments;
    for (Value operand : call.getOperands())
      arguments.push_back(values.lookup(operand));
    stack.push_back(callee);
    auto results = runFunction(callee, std::move(arguments));
    stack.pop_back();
    if (failed(results))
      return failure();
    for (auto [value, result] : llvm::zip_equal(call.getResults(), *results))
      values[value] = std::move(result);
    return success();
  }

  int64_t ranks;
  InterpreterOptions options;
  std::mt19937_64 dice;
  llvm::DenseMap<Value, RankValues> values;
  SmallVector<func::FuncOp> stack;
};
} // namespace

FailureOr<std::vector<RankValues>> tessera::interpretFunction(func::FuncOp func,
                                                              std::vector<RankValues> arguments,
                                                              const InterpreterOptions &options) {
  int64_t ranks = options.ranks ? options.ranks : numRanks(func);
  if (arguments.size() != func.getNumArguments()) {
    func.emitError() << "takes " << func.getNumArguments() << " arguments, " << arguments.size() << " given";
    return failure();
  }
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[i]);
    if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat()) {
      func.emitError() << "argument #" << i << " is no tensor with a static shape";
      return failure();
    }
    if (int64_t(argument.size()) != ranks) {
      func.emitError() << "argument #" << i << " has values for " << argument.size() << " ranks of " << ranks;
      return failure();
    }
    for (const ReferenceTensor &tensor : argument)
      if (ArrayRef<int64_t>(tensor.shape) != type.getShape() || tensor.elementType != type.getElementType()) {
        func.emitError() << "argument #" << i << " is " << type
                         << ", the value given has another shape or element type";
        return failure();
      }
  }
  return Interpreter(ranks, options).runFunction(func, std::move(arguments));
}

FailureOr<RankValues> tessera::piecesOfArgument(func::FuncOp func, unsigned argument,
                                                const ReferenceTensor &global, int64_t ranks) {
  std::optional<ShardedShape> sharded;
  if (ranks > 1)
    sharded = getShardedShape(func, func.getArgumentTypes()[argument]);
  if (!sharded)
    return RankValues(size_t(ranks), global);
  if (global.shape != sharded->global) {
    func.emitError() << "argument #" << argument << " is " << func.getArgumentTypes()[argument]
                     << ", the global value has another shape";
    return failure();
  }
  bool parameter = graph::argumentKind(func, argument) == graph::Kind::Parameter;
  return shard(global, *sharded, parameter ? Padding::Zero : Padding::Poison);
}

FailureOr<ReferenceTensor> tessera::globalResult(func::FuncOp func, unsigned result, RankValues pieces,
                                                 const InterpreterOptions &options) {
  std::optional<ShardedShape> sharded = getShardedShape(func, func.getResultTypes()[result]);
  if (!sharded || pieces.size() == 1)
    return std::move(pieces.front());
  std::string error;
  // Ranks may add in different orders; what they hold of one element differs by rounding only.
  auto global = unshard(pieces, *sharded, options.programRounding ? 1e-3 : 1e-12, error);
  if (failed(global)) {
    func.emitError() << "result #" << result << ": " << error;
    return failure();
  }
  // An updated parameter is read again as it lies: its padding stays zero.
  if (graph::resultKind(func, result) == graph::Kind::Parameter)
    for (auto [rank, piece, clean] : llvm::enumerate(pieces, shard(*global, *sharded, Padding::Zero)))
      for (int64_t at = 0; at < piece.size(); ++at)
        if (clean.f[at] == 0 && std::fabs(piece.f[at]) > 1e-12) {
          func.emitError() << "result #" << result << " is a parameter with " << piece.f[at]
                           << " in the padding of rank " << rank << ", which must be zero";
          return failure();
        }
  return global;
}

FailureOr<std::vector<ReferenceTensor>> tessera::interpretGlobally(func::FuncOp func,
                                                                   std::vector<ReferenceTensor> arguments,
                                                                   const InterpreterOptions &options) {
  int64_t ranks = options.ranks ? options.ranks : numRanks(func);
  std::vector<RankValues> locals;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    // Too many: the next call says so.
    auto pieces = i < func.getNumArguments() ? piecesOfArgument(func, unsigned(i), argument, ranks)
                                             : RankValues(size_t(ranks), argument);
    if (failed(pieces))
      return failure();
    locals.push_back(std::move(*pieces));
  }
  auto results = interpretFunction(func, std::move(locals), options);
  if (failed(results))
    return failure();
  std::vector<ReferenceTensor> globals;
  for (auto [i, result] : llvm::enumerate(*results)) {
    auto global = globalResult(func, unsigned(i), std::move(result), options);
    if (failed(global))
      return failure();
    globals.push_back(std::move(*global));
  }
  return globals;
}
