//===- Recompute.cpp - What is saved for backward -------------------------===//
//
// The saved values are a cut. Every path from a value that must be saved if it is needed (carried, or made by
// an op that must not run twice) to one that backward reads passes a saved value; a saved value costs its
// bytes. The least such cut is found as the largest flow.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/Recompute.h"

#include "tessera/Analysis/Saved/LeastCut.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tessera::graph {

Recompute Recompute::parse(StringRef text) {
  Recompute recompute;
  recompute.all = text == "full";
  if (!recompute.all && text != "none")
    for (StringRef name : llvm::split(text, ","))
      recompute.names.push_back(name.str());
  return recompute;
}

LogicalResult Recompute::checkNames(Block &block) const {
  llvm::SetVector<StringRef> known;
  block.walk([&](RepeatOp repeat) { repeat->walk([&](NameOp op) { known.insert(op.getName()); }); });
  for (const std::string &name : names)
    if (!known.contains(name) && !isOfPart)
      return block.getParentOp()->emitError()
             << "cannot compute '" << name << "' again (--recompute=" << llvm::join(names, ",")
             << "): no value in a loop of layers is called so; "
             << (known.empty() ? std::string("none there has a name")
                               : "names there are " + llvm::join(known, ", "));
  return success();
}

SmallVector<Value> readBy(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  SetVector<Value> captured;
  for (Region &region : op->getRegions())
    getUsedValuesDefinedAbove(region, captured);
  llvm::append_range(values, captured);
  return values;
}

static int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return std::max<int64_t>(1, llvm::divideCeil(type.getNumElements() * type.getElementTypeBitWidth(), 8));
}

/// Ops that move nothing and compute nothing, or have no operands: no result of theirs is saved.
static bool isFree(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost || op->getNumRegions() || op->getNumResults() != 1 || !isPure(op))
    return false;
  OpCost work = cost.getCost();
  return op->getNumOperands() == 0 || (work.flops == 0 && work.bytesRead == 0 && work.bytesWritten == 0);
}

/// Whether only integers among the op's operands have the factor: ids that it reads whole.
static bool isOfIds(Operation *op, const ShardingRule &rule, int factor) {
  auto has = [&](const TensorFactors &tensor) {
    return llvm::any_of(tensor.dims, [&](const auto &dim) { return llvm::is_contained(dim, factor); });
  };
  return llvm::none_of(rule.results, has) &&
         llvm::all_of(llvm::zip_equal(op->getOperands(), rule.operands), [&](const auto &pair) {
           return isa<IntegerType>(getElementTypeOrSelf(std::get<0>(pair))) || !has(std::get<1>(pair));
         });
}

bool isCheapTwice(Operation *op) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (isFree(op) || !ruled || !isPure(op))
    return isFree(op);
  bool moves = cast<CostOpInterface>(op).getCost().flops == 0;
  ShardingRule rule = ruled.getShardingRule();
  return (isa<ElementwiseScalarOpInterface>(op) || moves) &&
         llvm::all_of(llvm::enumerate(rule.factors), [&](const auto &factor) {
           return factor.value().kind == FactorKind::PassThrough || isOfIds(op, rule, int(factor.index()));
         });
}

/// The op gives the same when it runs again later: it reads values alone. (Random numbers are drawn from
/// operands, and a cache is a value as well.)
static bool mayRunTwice(Operation *op) { return isMemoryEffectFree(op); }

namespace {

class SavedValues {
public:
  SavedValues(Block &body, unsigned carried, const Recompute &recompute)
      : body(body), carried(carried), recompute(recompute) {
    chooseOps();
  }
  llvm::DenseSet<Value> choose(ArrayRef<Value> needed);

private:
  void chooseOps();
  int nodeOf(Value value);

  Block &body;
  unsigned carried;
  const Recompute &recompute;
  llvm::DenseSet<Operation *> again; ///< ops whose results are not saved: somebody asked for that
  LeastCut network;
  int source = network.addNode(), sink = network.addNode();
  llvm::DenseMap<Value, int> nodes; ///< into each of them; what flows out is the next node
};

} // namespace

/// Of a named value, that is what leads to it from other named values.
void SavedValues::chooseOps() {
  SmallVector<Operation *> left;
  auto reach = [&](Operation *op) {
    if (op && op->getBlock() == &body && mayRunTwice(op) && again.insert(op).second)
      left.push_back(op);
  };
  for (Operation &op : body.without_terminator())
    if (auto name = dyn_cast<NameOp>(op);
        recompute.all || (name && llvm::is_contained(recompute.names, name.getName())))
      reach(&op);
  while (!left.empty())
    for (Value operand : readBy(left.pop_back_val()))
      if (!operand.getDefiningOp<NameOp>() || recompute.all)
        reach(operand.getDefiningOp());
}

/// Where what leads to `value` ends in the network. Operands come first: blocks are as deep as they are long.
int SavedValues::nodeOf(Value value) {
  if (auto known = nodes.find(value); known != nodes.end())
    return known->second;
  int into = network.addNode(), out = network.addNode();
  nodes[value] = into;
  Operation *op = value.getDefiningOp();
  bool free = op && isFree(op), chosen = op && again.contains(op);
  network.addEdge(into, out, free || chosen ? LeastCut::unlimited : bytesOf(value));
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && (argument.getArgNumber() == 0 || argument.getArgNumber() > carried))
    return into; // nothing leads to it
  if (argument || !(chosen || (mayRunTwice(op) && isCheapTwice(op)))) {
    network.addEdge(source, into, LeastCut::unlimited);
    return into;
  }
  for (Value operand : readBy(op))
    if (operand.getParentBlock() == &body)
      network.addEdge(nodeOf(operand) + 1, into, LeastCut::unlimited);
  return into;
}

llvm::DenseSet<Value> SavedValues::choose(ArrayRef<Value> needed) {
  for (Value value : needed)
    network.addEdge(nodeOf(value) + 1, sink, LeastCut::unlimited);
  network.cut(source, sink);
  std::vector<bool> after = network.reaching(sink);
  llvm::DenseSet<Value> saved;
  for (auto [value, node] : nodes)
    if (!after[size_t(node)] && after[size_t(node) + 1])
      saved.insert(value);
  // An op that runs again for one result gives the others, too.
  SmallVector<Value> left(needed);
  llvm::DenseSet<Value> made;
  while (!left.empty()) {
    Value value = left.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != &body || saved.contains(value) || !made.insert(value).second)
      continue;
    for (Value result : op->getResults())
      saved.erase(result);
    llvm::append_range(left, readBy(op));
  }
  return saved;
}

llvm::DenseSet<Value> chooseSaved(Block &body, unsigned carried, ArrayRef<Value> needed,
                                  const Recompute &recompute) {
  return SavedValues(body, carried, recompute).choose(needed);
}

std::string nameOfSaved(Value value) {
  for (Operation *user : value.getUsers())
    if (auto name = dyn_cast<NameOp>(user))
      return name.getName().str();
  if (Operation *op = value.getDefiningOp())
    return (op->getName().stripDialect() +
            (op->getNumResults() == 1 ? Twine() : "#" + Twine(cast<OpResult>(value).getResultNumber())))
        .str();
  auto argument = cast<BlockArgument>(value);
  // A carried value is what the iteration before gave.
  Value given = argument.getOwner()->getTerminator()->getOperand(argument.getArgNumber() - 1);
  if (auto name = given.getDefiningOp<NameOp>())
    return name.getName().str();
  return "carried#" + std::to_string(argument.getArgNumber() - 1);
}

} // namespace tessera::graph
