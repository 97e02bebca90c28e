//===- ShardingAttributes.cpp - Shardings that stand in attributes ----------===//
#include "Propagate/ShardingAttributes.h"

#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Dist/IR/PropagationOps.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

static int64_t rankOf(Type type) { return cast<RankedTensorType>(type).getRank(); }

Sharding ShardingAttributes::read(Attribute attr, Type type) const {
  auto sharding = dyn_cast_if_present<ShardingAttr>(attr);
  return sharding ? sharding.toSharding(mesh) : Sharding(rankOf(type));
}

Sharding ShardingAttributes::of(OpResult result) const {
  auto list = result.getOwner()->getAttrOfType<ArrayAttr>(kShardingsAttr);
  Sharding sharding = read(list ? list[result.getResultNumber()] : Attribute(), result.getType());
  auto flow = dyn_cast<DataFlowOpInterface>(result.getOwner());
  if (flow && llvm::any_of(flow.getStackEdges(), [&](const StackEdge &edge) { return edge.stack == result; }))
    sharding.dims.front().axes.clear(); // a stack that it returns
  return sharding;
}

Sharding ShardingAttributes::of(BlockArgument arg) const {
  Region *region = arg.getOwner()->getParent();
  if (auto function = dyn_cast<func::FuncOp>(region->getParentOp()))
    return read(function.getArgAttr(arg.getArgNumber(), kShardingAttr), arg.getType());
  auto regions = region->getParentOp()->getAttrOfType<ArrayAttr>(kBlockShardingsAttr);
  auto list = regions ? cast<ArrayAttr>(regions[region->getRegionNumber()]) : ArrayAttr();
  return read(list ? list[arg.getArgNumber()] : Attribute(), arg.getType());
}

Sharding ShardingAttributes::of(Value value) const {
  if (ShardingAttr attr = getShardingAttr(value.getType()))
    return attr.toSharding(mesh);
  if (auto arg = dyn_cast<BlockArgument>(value))
    return of(arg);
  return of(cast<OpResult>(value));
}

Sharding ShardingAttributes::ofStack(Value stack) const {
  Sharding sharding = of(stack);
  sharding.dims.front().axes.clear();
  sharding.partial.clear();
  sharding.partialKind = PartialKind::None;
  return sharding;
}

Sharding ShardingAttributes::ofSlice(Value stack) const {
  Sharding sharding = ofStack(stack);
  sharding.dims.erase(sharding.dims.begin());
  return sharding;
}

void ShardingAttributes::addCollected(DataFlowOpInterface flow, SmallVectorImpl<DataFlowEdge> &edges,
                                      std::vector<Sharding> &shardings) const {
  for (const StackEdge &edge : flow.getStackEdges())
    if (edge.collected) {
      edges.push_back({edge.slices});
      Sharding slice = of(edge.stack); // its sums may be open
      slice.dims.erase(slice.dims.begin());
      shardings.push_back(std::move(slice));
    }
}

bool ShardingAttributes::isReadWhole(DataFlowOpInterface flow, Value value) {
  return llvm::none_of(flow.getDataFlowEdges(),
                       [&](const DataFlowEdge &edge) { return llvm::is_contained(edge.values, value); }) &&
         llvm::none_of(flow.getStackEdges(), [&](const StackEdge &edge) { return edge.stack == value; });
}

std::vector<Sharding> ShardingAttributes::ofEdges(DataFlowOpInterface flow) const {
  std::vector<Sharding> shardings;
  for (const DataFlowEdge &edge : flow.getDataFlowEdges()) {
    Value place = edge.places.front();
    auto arg = dyn_cast<BlockArgument>(place);
    shardings.push_back(arg ? of(arg) : of(cast<OpResult>(place)));
  }
  return shardings;
}

void ShardingAttributes::write(DataFlowOpInterface flow, ArrayRef<Value> places,
                               const Sharding &sharding) const {
  Operation *op = flow;
  Attribute attr = ShardingAttr::get(op->getContext(), meshName, sharding, mesh);
  auto with = [&](ArrayAttr list, unsigned i, Attribute entry) {
    SmallVector<Attribute> entries(list.begin(), list.end());
    entries[i] = entry;
    return ArrayAttr::get(op->getContext(), entries);
  };
  for (Value value : places) {
    if (auto result = dyn_cast<OpResult>(value)) {
      op->setAttr(kShardingsAttr,
                  with(op->getAttrOfType<ArrayAttr>(kShardingsAttr), result.getResultNumber(), attr));
      continue;
    }
    auto arg = cast<BlockArgument>(value);
    auto regions = op->getAttrOfType<ArrayAttr>(kBlockShardingsAttr);
    unsigned region = arg.getOwner()->getParent()->getRegionNumber();
    op->setAttr(kBlockShardingsAttr,
                with(regions, region, with(cast<ArrayAttr>(regions[region]), arg.getArgNumber(), attr)));
  }
}

BlockFacts ShardingAttributes::facts() const {
  return {[this](Value value) { return of(value); }, [this](OpResult result) { return of(result); },
          [this](Operation *op) { return outsideNeeds(op); }};
}

void ShardingAttributes::write(ConstraintOp pin, const Sharding &sharding) const {
  MLIRContext *context = pin.getContext();
  pin->setAttr(kShardingsAttr,
               ArrayAttr::get(context, {ShardingAttr::get(context, meshName, sharding, mesh)}));
}

void ShardingAttributes::write(func::FuncOp function, unsigned i, bool isResult,
                               const Sharding &sharding) const {
  auto attr = ShardingAttr::get(function.getContext(), meshName, sharding, mesh);
  if (isResult)
    function.setResultAttr(i, kShardingAttr, attr);
  else
    function.setArgAttr(i, kShardingAttr, attr);
}

void ShardingAttributes::forEachSource(ArrayRef<DataFlowEdge> edges, ArrayRef<Sharding> shardings,
                                       MutableArrayRef<OpOperand> operands,
                                       llvm::function_ref<void(OpOperand &, const Sharding &)> visit) {
  llvm::SmallPtrSet<OpOperand *, 8> taken;
  for (auto [edge, sharding] : llvm::zip(edges, shardings))
    for (OpOperand &operand : operands)
      if (llvm::is_contained(edge.values, operand.get()) && taken.insert(&operand).second) {
        visit(operand, sharding);
        break;
      }
}

void ShardingAttributes::addSources(ArrayRef<DataFlowEdge> edges, ArrayRef<Sharding> shardings,
                                    MutableArrayRef<OpOperand> operands, ValueNeeds &needs) {
  forEachSource(edges, shardings, operands, [&](OpOperand &operand, const Sharding &sharding) {
    needs.push_back({operand.get(), sharding});
  });
}

std::optional<ValueNeeds> ShardingAttributes::outsideNeeds(Operation *op) const {
  ValueNeeds needs;
  if (isa<ConstraintOp, ShardingGroupOp>(op)) {
    needs.push_back({op->getOperand(0), of(op->getResult(0))});
  } else if (auto flow = dyn_cast<DataFlowOpInterface>(op)) {
    for (const StackEdge &edge : flow.getStackEdges())
      if (!edge.collected)
        needs.push_back({edge.stack, ofStack(edge.stack)});
    addSources(flow.getDataFlowEdges(), ofEdges(flow), op->getOpOperands(), needs);
    for (Value operand : op->getOperands())
      if (isReadWhole(flow, operand))
        needs.push_back({operand, Sharding(rankOf(operand.getType()))});
  } else if (auto manual = dyn_cast<ManualComputationOp>(op)) {
    for (auto [i, operand] : llvm::enumerate(manual.getInputs()))
      needs.push_back({operand, read((*manual.getInShardings())[i], operand.getType())});
  } else if (auto yield = dyn_cast<ManualYieldOp>(op)) {
    auto manual = cast<ManualComputationOp>(op->getParentOp());
    for (auto [operand, result] : llvm::zip(yield.getValues(), manual.getResults()))
      needs.push_back({operand, manual.inside(of(Value(result)), mesh)});
  } else if (isa<func::ReturnOp>(op)) {
    auto function = cast<func::FuncOp>(op->getParentOp());
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()))
        needs.push_back(
            {operand.get(), read(function.getResultAttr(operand.getOperandNumber(), kShardingAttr),
                                 operand.get().getType())});
  } else if (op->hasTrait<OpTrait::IsTerminator>()) {
    auto flow = cast<DataFlowOpInterface>(op->getParentOp());
    SmallVector<DataFlowEdge> edges = flow.getDataFlowEdges();
    std::vector<Sharding> shardings = ofEdges(flow);
    addCollected(flow, edges, shardings);
    addSources(edges, shardings, op->getOpOperands(), needs);
  } else {
    return std::nullopt;
  }
  return needs;
}
