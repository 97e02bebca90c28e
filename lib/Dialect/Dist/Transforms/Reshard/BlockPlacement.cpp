//===- BlockPlacement.cpp - A block as a placement program ----------------===//
#include "Reshard/BlockPlacement.h"
#include "CanonicalOrder.h"
#include "Explain.h"
#include "Reshard/SideBySide.h"

#include "tessera/AutoParallel/PlacedPrograms.h"
#include "tessera/AutoParallel/SearchWork.h"
#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"
#include "tessera/Dialect/Graph/IR/ChoosingIds.h"
#include "tessera/Dialect/Graph/IR/Experts.h"
#include "tessera/Interfaces/Interfaces.h"
#include "tessera/Support/TypeSizes.h"

#include "mlir/IR/BuiltinTypes.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

/// Entries of a table where a block is priced and not placed: there are many prices, and few of them are
/// near.
static constexpr int64_t kTableOfPrices = 1 << 14;
/// Prices of one block that are kept: what it is written as, and what is tried.
static constexpr size_t kMostKnown = 2;

namespace {
class ProgramBuilder {
public:
  /// `primitive`: ops that another one was written out with; they are not written out again (a rope's tables
  /// are a rope's).
  explicit ProgramBuilder(const BlockFacts &facts, bool primitive = false)
      : facts(facts), primitive(primitive) {}

  /// `at`: when it runs, where not in the order of calls.
  void build(Operation &op, int at = -1) {
    if (auto needs = facts.needs(&op)) {
      addUses(*needs, at);
      for (OpResult result : op.getResults())
        if (isa<RankedTensorType>(result.getType()))
          add(result, facts.wanted(result), /*fixed=*/true);
      return;
    }
    auto ruled = cast<ShardingRuleOpInterface>(op);
    ProgramOp entry;
    entry.rule = ruled.getShardingRule().withWindows();
    entry.at = at;
    for (Value operand : op.getOperands())
      entry.operands.push_back(idOf(operand));
    for (OpResult result : op.getResults())
      entry.results.push_back(add(result, facts.wanted(result), /*fixed=*/false));
    if (auto cost = dyn_cast<CostOpInterface>(op)) {
      OpCost work = cost.getCost();
      entry.flops = work.flops;
      entry.bytes = work.bytesRead + work.bytesWritten;
      entry.type = computeTypeOf(&op);
    }
    if (auto whole = dyn_cast<DecomposableOpInterface>(op);
        whole && !primitive && !whole.getDecomposableFactors().empty())
      entry.decomposition = decompose(whole);
    program.ops.push_back(std::move(entry));
    ops.push_back(&op);
  }

  void build(ArrayRef<Operation *> inOrder) {
    for (Operation *op : inOrder)
      build(*op);
  }

  void addUses(const ValueNeeds &needs, int at = -1) {
    for (auto &[value, sharding] : needs)
      program.uses.push_back({idOf(value), sharding, at});
  }

  PlacementProgram program;
  std::vector<Operation *> ops; ///< of program.ops

private:
  int add(Value value, Sharding sharding, bool fixed) {
    auto type = cast<RankedTensorType>(value.getType());
    ProgramValue entry;
    entry.shape = llvm::to_vector(type.getShape());
    entry.elementBytes = double(elementBytes(type));
    entry.chosen = chosenRows(value);
    entry.sharding = std::move(sharding);
    entry.fixed = fixed;
    entry.isWeight = fixed && storedWeight(value);
    Value given = stands.lookup(value);
    if (std::optional<double> cached = cachedElementBytes(given ? given : value)) {
      entry.elementBytes = *cached; // blocks move as they are, whoever wants their rows
    } else if (entry.isWeight) {
      if (double held = gatheredElementBytes(value); held != entry.elementBytes) {
        entry.plainBytes = entry.elementBytes;
        entry.elementBytes = held;
      }
    }
    program.values.push_back(std::move(entry));
    return ids[value] = int(program.values.size()) - 1;
  }
  /// Where all readers choose rows by the same ids, no more than those have to travel.
  ChosenRows chosenRows(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    Value ids = type.getRank() > 2 ? choosing.of(value) : Value();
    if (!ids)
      return {};
    int dim = int(type.getRank()) - 2;
    auto choices = double(cast<RankedTensorType>(ids.getType()).getShape().back());
    return choices < double(type.getDimSize(dim)) ? ChosenRows{dim, choices / double(type.getDimSize(dim))}
                                                  : ChosenRows();
  }
  /// The op's program, written into a block of its own that is gone afterwards.
  static std::shared_ptr<const Decomposition> decompose(DecomposableOpInterface op) {
    Block scratch;
    for (Value operand : op->getOperands()) {
      auto type = cast<RankedTensorType>(operand.getType());
      scratch.addArgument(RankedTensorType::get(type.getShape(), type.getElementType()), op->getLoc());
    }
    OpBuilder builder(op->getContext()); // the block stands in no region
    builder.setInsertionPointToEnd(&scratch);
    SmallVector<Value> results = op.decompose(builder, scratch.getArguments());
    auto whole = [](Value value) { return Sharding(cast<RankedTensorType>(value.getType()).getRank()); };
    BlockFacts facts{whole, whole, [](Operation *) { return std::nullopt; }};
    ProgramBuilder inner(facts, /*primitive=*/true);
    for (auto [argument, operand] : llvm::zip(scratch.getArguments(), op->getOperands()))
      inner.stands[argument] = operand;
    auto made = std::make_shared<Decomposition>();
    for (Value argument : scratch.getArguments())
      made->operands.push_back(inner.idOf(argument));
    for (Operation &primitive : scratch)
      inner.build(primitive);
    for (Value result : results)
      made->results.push_back(inner.idOf(result));
    made->factors = op.getDecomposableFactors();
    made->program = std::move(inner.program);
    // The op says what is written out, but for types and for how much of a value travels.
    llvm::raw_string_ostream name(made->name);
    name << op->getName() << op->getPropertiesAsAttribute();
    for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        name << ' ' << getElementTypeOrSelf(type);
    for (const ProgramValue &value : made->program.values) {
      llvm::interleave(value.shape, name << ' ', "x");
      name << ':' << value.elementBytes << ':' << value.plainBytes << ':' << value.chosen.dim << ':'
           << value.chosen.share;
    }
    return made;
  }

  int idOf(Value value) {
    auto it = ids.find(value);
    return it != ids.end() ? it->second : add(value, facts.known(value), /*fixed=*/true);
  }

  const BlockFacts &facts;
  bool primitive;
  DenseMap<Value, int> ids;
  graph::ChoosingIds choosing;
  DenseMap<Value, Value> stands; ///< operands of what is written out, for arguments of the block that does it
};

/// No IR is needed for it.
ProgramDecision place(const PlacementProgram &program, ReshardCosts &costs,
                      const ProgramPlacementOptions &settings) {
  const OthersTurn turn;
  return costs.placed->place(program, costs, settings);
}

FailureOr<BlockDecisions> solve(ProgramBuilder &builder, Operation *parent, StringRef what,
                                ReshardCosts &costs, const ProgramPlacementOptions &settings = {},
                                const SearchWork &ahead = {}) {
  SearchWork before = searchWork();
  ProgramDecision decision = place(builder.program, costs, settings);
  if (!std::isfinite(decision.time))
    return parent->emitOpError() << "cannot be placed: a value is wanted as a partial sum that no op makes";
  if (!builder.ops.empty()) {
    SearchWork work = searchWork().since(before);
    work += ahead;
    double gap = decision.time > 0 ? 100 * (decision.time - decision.lowerBound) / decision.time : 0;
    explain(builder.ops.front()->getLoc(), "placement",
            llvm::formatv("{0} ({1} ops): time {2:F3} us, bound {3:F3} us, gap {4:F2} % to {5}, "
                          "searched {6} steps of {7} reshards and {8} table entries",
                          what, builder.ops.size(), decision.time * 1e6, decision.lowerBound * 1e6, gap,
                          decision.boundsAll ? "all assignments of axes that something lies over"
                                             : "the best of the options that ops were offered",
                          work.reshardSteps, work.reshards, work.tableEntries));
    if (std::isfinite(settings.liveBytes))
      explain(builder.ops.front()->getLoc(), "memory",
              llvm::formatv("{0}: a rank has {1:F0} bytes of what it makes at once, of {2:F0}", what,
                            decision.liveBytes, settings.liveBytes));
  }
  BlockDecisions result;
  for (auto [op, placed] : llvm::zip(builder.ops, decision.ops))
    result[op] = std::move(placed);
  return result;
}
} // namespace

AxisList tessera::dist::freeAxes(const ReshardCosts &costs) {
  AxisList axes;
  for (auto [i, axis] : llvm::enumerate(costs.mesh.axes)) {
    const AxisRef whole = wholeAxis(costs.mesh, int(i));
    if (axis.size > 1 && !llvm::is_contained(costs.reserved, whole))
      axes.push_back(whole);
  }
  return axes;
}

/// Ties are decided by order.
static void buildInOrder(ProgramBuilder &builder, Block &block) {
  DenseMap<Operation *, int> times;
  for (auto [at, op] : llvm::enumerate(block))
    times[&op] = int(at);
  for (Operation *op : canonicalOrder(block))
    builder.build(*op, times.lookup(op));
}

static ProgramPlacementOptions settingsOfPlacement(const ReshardCosts &costs) {
  ProgramPlacementOptions settings;
  settings.leastGain = kWorthMoreMessages;
  settings.idleAxes = freeAxes(costs);
  return settings;
}

FailureOr<BlockDecisions> tessera::dist::placeBlock(Block &block, const BlockFacts &facts,
                                                    ReshardCosts &costs, double liveBytes,
                                                    const SearchWork &ahead) {
  ProgramBuilder builder(facts);
  buildInOrder(builder, block);
  ProgramPlacementOptions settings = settingsOfPlacement(costs);
  settings.liveBytes = liveBytes;
  Operation *parent = block.getParentOp();
  return solve(builder, parent, ("block of " + parent->getName().getStringRef()).str(), costs, settings,
               ahead);
}

SearchWork tessera::dist::placeAhead(Block &block, const BlockFacts &facts, ReshardCosts &costs) {
  ProgramBuilder builder(facts);
  buildInOrder(builder, block);
  const SearchWork before = searchWork();
  place(builder.program, costs, settingsOfPlacement(costs));
  return searchWork().since(before);
}

/// `idle`: as placeBlock.
static ProgramPlacementOptions settingsOfPrices(const ReshardCosts &costs, bool idle) {
  ProgramPlacementOptions settings;
  settings.largestTable = kTableOfPrices;
  settings.leastGain = kWorthMoreMessages;
  if (idle)
    settings.idleAxes = freeAxes(costs);
  return settings;
}

BlockPrice tessera::dist::priceBlock(Block &block, const BlockFacts &facts, ReshardCosts &costs, bool widen,
                                     BlockDecisions *decisions, double below) {
  ProgramBuilder builder(facts);
  builder.build(canonicalOrder(block)); // as placeBlock
  ProgramPlacementOptions settings = settingsOfPrices(costs, /*idle=*/widen);
  settings.widen = widen;
  settings.below = below;
  ProgramDecision decision = place(builder.program, costs, settings);
  double messages = 0;
  if (widen && std::isfinite(decision.time)) {
    const OthersTurn turn;
    SmallVector<const PlacementDecision *> chosen;
    for (const PlacementDecision &one : decision.ops)
      chosen.push_back(&one);
    messages = programMessages(builder.program, chosen, costs);
  }
  if (decisions && std::isfinite(decision.time))
    for (auto [op, placed] : llvm::zip(builder.ops, decision.ops))
      (*decisions)[op] = std::move(placed);
  return {{decision.time, decision.sent}, messages};
}

//===--- BlockPricer --------------------------------------------------------===//

/// All of a block's program that changes with what is written.
static std::vector<Sharding> shardingsOf(const PlacementProgram &program) {
  std::vector<Sharding> shardings;
  for (const ProgramValue &value : program.values)
    shardings.push_back(value.sharding);
  for (const ProgramUse &use : program.uses)
    shardings.push_back(use.sharding);
  return shardings;
}

BlockPricer::BlockPricer(Block &block, const BlockFacts &facts, ReshardCosts &costs, bool idle)
    : order(canonicalOrder(block)), facts(facts), costs(costs), settings(settingsOfPrices(costs, idle)) {}

const BlockPrice &BlockPricer::price() {
  ProgramBuilder builder(facts);
  builder.build(order);
  std::vector<Sharding> shardings = shardingsOf(builder.program);
  auto it = llvm::find_if(known, [&](const Known &one) { return one.shardings == shardings; });
  if (it != known.end()) {
    std::rotate(known.begin(), it, it + 1);
    return known.front().price;
  }
  if (known.size() == kMostKnown)
    known.pop_back();
  const OthersTurn turn;
  ProgramDecision decision = placeProgram(builder.program, costs, settings);
  if (!settings.idleAxes.empty()) // else nothing is placed so
    costs.placed->keep(builder.program, costs, settings, decision);
  known.insert(known.begin(),
               {std::move(shardings), {{decision.time, decision.sent}}, std::move(decision.options)});
  return known.front().price;
}

BlockPrice BlockPricer::lookBelow(double below) {
  if (known.empty())
    return price();
  ProgramBuilder builder(facts);
  builder.build(order);
  std::vector<Sharding> shardings = shardingsOf(builder.program);
  for (const Known &one : known)
    if (one.shardings == shardings)
      return one.price;
  std::vector<bool> changed(builder.program.values.size(), false);
  for (size_t i = 0; i < shardings.size(); ++i)
    if (shardings[i] != known.front().shardings[i])
      changed[i < changed.size() ? i : size_t(builder.program.uses[i - changed.size()].value)] = true;
  auto isNear = [&](const ProgramOp &op) {
    auto isChanged = [&](int value) { return changed[size_t(value)]; };
    return llvm::any_of(op.operands, isChanged) || llvm::any_of(op.results, isChanged);
  };
  const OthersTurn turn;
  return {priceAmong(builder.program, known.front().options, isNear, costs, below, settings)};
}

std::vector<std::pair<Value, Sharding>> tessera::dist::possibleSums(Block &block, const BlockFacts &facts,
                                                                    ReshardCosts &costs) {
  ProgramBuilder builder(facts);
  builder.build(canonicalOrder(block)); // as placeBlock
  std::vector<std::pair<Value, Sharding>> sums;
  std::vector<std::vector<PlacementDecision>> options;
  {
    const OthersTurn turn;
    options = placementOptions(builder.program, costs, ProgramPlacementOptions().maxOptions);
  }
  for (auto [op, list] : llvm::zip(builder.ops, options))
    for (const PlacementDecision &option : list)
      for (auto [result, sharding] : llvm::zip(op->getResults(), option.results))
        if (!sharding.partial.empty())
          sums.push_back({result, sharding});
  for (Operation &op : block) // what inner loops carry
    if (isa<DataFlowOpInterface>(op))
      for (OpResult result : op.getResults())
        if (Sharding sharding = facts.wanted(result); !sharding.partial.empty())
          sums.push_back({result, sharding});
  return sums;
}

FailureOr<BlockDecisions> tessera::dist::placeOps(ArrayRef<Operation *> ops, const ValueNeeds &uses,
                                                  const BlockFacts &facts, ReshardCosts &costs) {
  ProgramBuilder builder(facts, /*primitive=*/true);
  for (Operation *op : ops)
    builder.build(*op);
  builder.addUses(uses);
  ProgramPlacementOptions settings;
  settings.widen = false; // as priceDecomposed has it
  return solve(builder, ops.front()->getParentOp(), "an op written out", costs, settings);
}
