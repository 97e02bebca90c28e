//===- DimNames.cpp - What the dimensions of values are called ------------===//
#include "tessera/Analysis/DimNames/DimNames.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tessera;

/// `graph.dims` of an argument, or the dims of an op that names its operand: both are lists of strings called
/// "dims".
static SmallVector<StringRef, 4> strings(ArrayAttr list) {
  SmallVector<StringRef, 4> names;
  for (Attribute name : list) {
    auto text = dyn_cast<StringAttr>(name);
    names.push_back(text ? text.getValue() : StringRef());
  }
  return names;
}

DimNames::DimNames(ModuleOp module) {
  for (auto function : module.getOps<FunctionOpInterface>())
    nameFunction(function);
}

void DimNames::extend(Operation *op) { nameOp(op); }

void DimNames::nameFunction(FunctionOpInterface function) {
  for (BlockArgument arg : function.getArguments())
    if (auto dims = function.getArgAttrOfType<ArrayAttr>(arg.getArgNumber(), "graph.dims"))
      give(arg, strings(dims));
  for (Block &block : function.getFunctionBody())
    nameBlock(block);
}

void DimNames::nameBlock(Block &block) {
  for (Operation &op : block)
    nameOp(&op);
}

void DimNames::give(Value value, ArrayRef<StringRef> names) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() != int64_t(names.size()))
    return;
  Names &have = known[value];
  have.resize(names.size());
  for (auto [name, given] : llvm::zip(have, names))
    if (name.empty())
      name = given;
}

/// A region that reads nothing from around it, and takes and yields a piece of each operand and result: their
/// dimensions are called as those of the whole.
static bool isProgramOfPieces(Operation *op) {
  return op->getNumRegions() == 1 && op->hasTrait<OpTrait::IsIsolatedFromAbove>() &&
         op->getRegion(0).hasOneBlock() && op->getRegion(0).getNumArguments() == op->getNumOperands() &&
         op->getRegion(0).front().mightHaveTerminator() &&
         op->getRegion(0).front().getTerminator()->getNumOperands() == op->getNumResults();
}

void DimNames::nameOp(Operation *op) {
  if (auto dims = op->getAttrOfType<ArrayAttr>("dims");
      dims && op->getNumResults() == 1 && llvm::all_of(dims, llvm::IsaPred<StringAttr>))
    give(op->getResult(0), strings(dims));
  if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op)) {
    ShardingRule rule = ruled.getShardingRule();
    SmallVector<StringRef> factors(rule.factors.size());
    for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands))
      for (auto [dim, name] : llvm::zip(tensor.dims, names(operand)))
        if (dim.size() == 1 && factors[dim.front()].empty())
          factors[dim.front()] = name;
    for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results)) {
      SmallVector<StringRef, 4> names;
      for (const auto &dim : tensor.dims)
        names.push_back(dim.size() == 1 ? factors[dim.front()] : StringRef());
      give(result, names);
    }
  } else if (op->getNumOperands() == 1 && op->getNumResults() == 1 && op->getNumRegions() == 0) {
    give(op->getResult(0),
         Names(this->names(op->getOperand(0)))); // a collective: dimensions stay what they are
  }
  // Ops of rung spmd (collectives, masks) have no rule; they keep the dimensions of the one tensor they
  // change.
  if (!isa<ShardingRuleOpInterface>(op) && op->getNumRegions() == 0 && op->getNumResults() == 1 &&
      op->getNumOperands() > 0) {
    auto before = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
    auto after = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (before && after && before.getRank() == after.getRank())
      if (Names names(this->names(op->getOperand(0))); !names.empty())
        give(op->getResult(0), names);
  }
  auto flow = dyn_cast<DataFlowOpInterface>(op);
  auto followEdges = [&] {
    for (const DataFlowEdge &edge : flow.getDataFlowEdges()) {
      for (Value from : edge.values)
        if (Names names(this->names(from)); !names.empty())
          for (Value to : edge.values)
            give(to, names);
    }
    for (const StackEdge &edge : flow.getStackEdges()) {
      if (Names names(this->names(edge.stack)); !names.empty())
        for (Value slice : edge.slices)
          give(slice, ArrayRef(names).drop_front());
      // A stack of values that only the body names.
      for (Value slice : edge.slices)
        if (Names names(this->names(slice)); edge.collected && !names.empty()) {
          names.insert(names.begin(), op->hasAttr("graph.micro_batches") ? "micro" : "layer");
          give(edge.stack, names);
        }
    }
  };
  if (flow)
    followEdges();
  if (isProgramOfPieces(op))
    for (auto [piece, whole] : llvm::zip_equal(op->getRegion(0).getArguments(), op->getOperands()))
      if (Names names(this->names(whole)); !names.empty())
        give(piece, names);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      nameBlock(block);
  if (flow)
    followEdges();
  if (isProgramOfPieces(op))
    for (auto [whole, piece] :
         llvm::zip_equal(op->getResults(), op->getRegion(0).front().getTerminator()->getOperands()))
      if (Names names(this->names(piece)); !names.empty())
        give(whole, names);
}

void DimNames::nameOperands(ModuleOp module) {
  for (auto function : module.getOps<FunctionOpInterface>()) {
    for (Block &block : function.getFunctionBody())
      if (Operation *last = block.empty() ? nullptr : &block.back(); last && last->getNumSuccessors() == 0)
        for (OpOperand &operand : last->getOpOperands())
          if (auto dims = function.getResultAttrOfType<ArrayAttr>(operand.getOperandNumber(), "graph.dims"))
            give(operand.get(), strings(dims));
    nameOperandsIn(function.getFunctionBody());
  }
}

/// Readers before what they read.
void DimNames::nameOperandsIn(Region &region) {
  for (Block &block : llvm::reverse(region))
    for (Operation &op : llvm::reverse(block)) {
      if (isProgramOfPieces(&op))
        for (auto [piece, whole] :
             llvm::zip_equal(op.getRegion(0).front().getTerminator()->getOperands(), op.getResults()))
          if (Names called(names(whole)); !called.empty())
            give(piece, called);
      for (Region &inner : op.getRegions())
        nameOperandsIn(inner);
      nameOperandsOf(&op);
    }
}

void DimNames::nameOperandsOf(Operation *op) {
  if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op)) {
    ShardingRule rule = ruled.getShardingRule();
    SmallVector<StringRef> factors(rule.factors.size());
    auto learn = [&](ValueRange values, ArrayRef<TensorFactors> tensors) {
      for (auto [value, tensor] : llvm::zip(values, tensors))
        for (auto [dim, name] : llvm::zip(tensor.dims, names(value)))
          if (dim.size() == 1 && factors[dim.front()].empty())
            factors[dim.front()] = name;
    };
    learn(op->getResults(), rule.results);
    learn(op->getOperands(), rule.operands);
    for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands)) {
      Names found;
      for (const auto &dim : tensor.dims)
        found.push_back(dim.size() == 1 ? factors[dim.front()] : StringRef());
      give(operand, found);
    }
  } else if (op->getNumResults() == 1 && op->getNumOperands() > 0 && op->getNumRegions() == 0) {
    if (Names made(names(op->getResult(0))); !made.empty()) // a collective, or a mask
      give(op->getOperand(0), made);
  }
  if (isProgramOfPieces(op))
    for (auto [piece, whole] : llvm::zip_equal(op->getRegion(0).getArguments(), op->getOperands()))
      if (Names called(names(piece)); !called.empty())
        give(whole, called);
  auto flow = dyn_cast<DataFlowOpInterface>(op);
  if (!flow)
    return;
  for (const DataFlowEdge &edge : flow.getDataFlowEdges())
    for (Value from : edge.values)
      if (Names called(names(from)); !called.empty())
        for (Value to : edge.values)
          give(to, called);
  for (const StackEdge &edge : flow.getStackEdges())
    for (Value slice : edge.slices)
      if (Names called(names(slice)); !called.empty() && !edge.collected) {
        called.insert(called.begin(), StringRef());
        give(edge.stack, called);
      }
}

ArrayRef<StringRef> DimNames::names(Value value) const {
  auto it = known.find(value);
  return it == known.end() ? ArrayRef<StringRef>() : ArrayRef<StringRef>(it->second);
}

std::string DimNames::name(Value value, int dim) const {
  ArrayRef<StringRef> all = names(value);
  return all.empty() || all[dim].empty() ? "dimension " + std::to_string(dim) : all[dim].str();
}

std::string DimNames::factorName(ShardingRuleOpInterface op, const ShardingRule &rule, int factor) const {
  std::string place; // where it stands first, for want of a name
  auto look = [&](ValueRange values, ArrayRef<TensorFactors> tensors, StringRef side) -> std::string {
    for (auto [i, value, tensor] : llvm::enumerate(values, tensors)) {
      ArrayRef<StringRef> known = names(value);
      for (auto [d, dim] : llvm::enumerate(tensor.dims)) {
        if (!llvm::is_contained(dim, factor))
          continue;
        if (dim.size() == 1 && !known.empty() && !known[d].empty())
          return known[d].str();
        if (place.empty())
          place = (dim.size() == 1 ? "dimension " : "a part of dimension ") + std::to_string(d) +
                  (values.size() == 1 ? "" : " of " + side.str() + " " + std::to_string(i));
      }
    }
    return "";
  };
  std::string name = look(op->getOperands(), rule.operands, "operand");
  if (name.empty())
    name = look(op->getResults(), rule.results, "result");
  return name.empty() ? place : name;
}

SmallVector<StringRef> DimNames::allNames() const {
  llvm::StringSet<> set;
  for (const auto &[value, names] : known)
    for (StringRef name : names)
      if (!name.empty())
        set.insert(name);
  SmallVector<StringRef> list;
  for (const auto &[value, names] : known)
    for (StringRef name : names)
      if (set.erase(name))
        list.push_back(name);
  llvm::sort(list);
  return list;
}
