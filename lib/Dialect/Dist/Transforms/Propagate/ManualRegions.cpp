//===- ManualRegions.cpp - Manual computations as boundaries ----------------===//
#include "Propagate/ManualRegions.h"

#include "tessera/Dialect/Dist/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

void ManualRegions::addBoundary(int outside, int inside, const AxisList &manual) {
  PropagationOp op(elementwiseRule(graph.tensors[size_t(inside)].shape, 1), {outside}, {inside});
  op.manual = manual;
  graph.ops.push_back(std::move(op));
}

/// Axes that are manual and not used are free for nobody.
static Sharding reserve(Sharding sharding, const AxisList &manual) {
  AxisList used = sharding.usedAxes();
  for (const AxisRef &axis : manual)
    if (!llvm::is_contained(used, axis) && !llvm::is_contained(sharding.replicated, axis))
      sharding.replicated.push_back(axis);
  llvm::sort(sharding.replicated);
  return sharding;
}

size_t ManualRegions::add(ManualComputationOp op, llvm::function_ref<int(Value)> tensorOf) {
  size_t before = graph.ops.size();
  AxisList manual = op.getManualAxes(graph.mesh);
  for (unsigned i = 0; i < op.getInputs().size(); ++i) {
    // The same value, as the region takes it.
    int given = tensorOf(op.getInputs()[i]);
    int outside = graph.addTensor(graph.tensors[size_t(given)].shape,
                                  reserve(op.getInSharding(i).toSharding(graph.mesh), manual));
    taken[op].push_back(outside);
    graph.ops.push_back(
        PropagationOp(elementwiseRule(graph.tensors[size_t(given)].shape, 1), {given}, {outside}));
    addBoundary(outside, tensorOf(op.getProgram().getArgument(i)), manual);
  }
  Operation *yield = op.getProgram().getTerminator();
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    int outside = tensorOf(op.getResult(i));
    graph.tensors[size_t(outside)].sharding = reserve(op.getOutSharding(i).toSharding(graph.mesh), manual);
    addBoundary(outside, tensorOf(yield->getOperand(i)), manual);
  }
  return graph.ops.size() - before;
}

Sharding ManualRegions::found(int tensor, const AxisList &manual) const {
  const PropagationTensor &known = graph.tensors[size_t(tensor)];
  Sharding sharding = known.sharding;
  sharding.replicated.clear();
  for (auto [dim, size] : llvm::zip(sharding.dims, known.shape)) {
    dim.open = false;
    dim.priority.reset();
    auto isManual = [&](const AxisRef &axis) { return llvm::is_contained(manual, axis); };
    if (llvm::any_of(dim.axes, isManual) && size % axesSize(dim.axes) != 0)
      llvm::erase_if(dim.axes, [&](const AxisRef &axis) { return !isManual(axis); });
  }
  return sharding;
}

void ManualRegions::write(ManualComputationOp op, llvm::function_ref<int(Value)> tensorOf) const {
  AxisList manual = op.getManualAxes(graph.mesh);
  Builder builder(op.getContext());
  auto attr = [&](const Sharding &sharding) -> Attribute {
    return ShardingAttr::get(op.getContext(), meshName, sharding, graph.mesh);
  };
  SmallVector<Attribute> in, arguments, out;
  for (int tensor : taken.lookup(op)) {
    Sharding sharding = found(tensor, manual);
    in.push_back(attr(sharding));
    arguments.push_back(attr(op.inside(sharding, graph.mesh)));
  }
  for (Value result : op.getResults())
    out.push_back(attr(found(tensorOf(result), manual)));
  op.setInShardingsAttr(builder.getArrayAttr(in));
  op.setOutShardingsAttr(builder.getArrayAttr(out));
  if (!out.empty())
    op->setAttr(kShardingsAttr, builder.getArrayAttr(out));
  op->setAttr(kBlockShardingsAttr, builder.getArrayAttr({builder.getArrayAttr(arguments)}));
}
