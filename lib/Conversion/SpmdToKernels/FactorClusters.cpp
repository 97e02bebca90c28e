//===- FactorClusters.cpp - which ops share a loop over any factor ----------===//
//
// The block as data for the plan of tessera/Analysis/Fusion, and the plan on the block.
//
//===----------------------------------------------------------------------===//

#include "Clusters.h"

#include "tessera/Interfaces/TileLowering.h"
#include "tessera/Support/TypeSizes.h"

#include "mlir/IR/IRMapping.h"

namespace tessera::kernels {
namespace {

/// The rule with the sizes that factors have on this rank. A factor that has several is left whole.
ShardingRule localRule(Operation *op) {
  ShardingRule rule = cast<TileLoweringOpInterface>(op).getTilingRule();
  std::vector<int64_t> sizes(rule.factors.size(), 0);
  auto visit = [&](Value value, const TensorFactors &tensor) {
    for (auto [d, factors] : llvm::enumerate(tensor.dims)) {
      int64_t size = tensorOf(value).getDimSize(int64_t(d)), known = 1;
      for (int factor : factors)
        known *= rule.factors[factor].size;
      for (int factor : factors) {
        int64_t own = factors.size() == 1 ? size : rule.factors[factor].size;
        if ((factors.size() > 1 && known != size) || (sizes[factor] && sizes[factor] != own))
          rule.factors[factor].kind = FactorKind::NeedReplication;
        sizes[factor] = sizes[factor] ? sizes[factor] : own;
      }
    }
  };
  for (auto [operand, tensor] : llvm::zip_equal(op->getOperands(), rule.operands))
    visit(operand, tensor);
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    visit(result, tensor);
  for (auto [factor, size] : llvm::zip_equal(rule.factors, sizes))
    factor.size = std::max<int64_t>(size, 1);
  return rule;
}

/// The array of which `op` has most elements.
Type largestArray(Operation *op) {
  Type largest;
  int64_t most = 0;
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                            SmallVector<Type>(op->getResultTypes())))
    if (int64_t elements = cast<RankedTensorType>(type).getNumElements(); elements > most) {
      most = elements;
      largest = type;
    }
  return largest;
}

} // namespace

fusion::Choices choicesOf(const TilingChoices &tiling) {
  return {tiling.tileElements, tiling.grainElements, tiling.parallelIterations, tiling.keptBytes};
}

fusion::Op describe(Operation *op) {
  fusion::Op data;
  data.fusable = isa<TileLoweringOpInterface>(op) && isa<ShardingRuleOpInterface>(op) &&
                 isa<CostOpInterface>(op) && op->getNumResults() > 0 && !isWholeConstant(op);
  if (!data.fusable)
    return data;
  data.rule = localRule(op);
  auto tile = cast<TileLoweringOpInterface>(op);
  for (int factor = 0; factor < int(data.rule.factors.size()); ++factor)
    if (data.rule.factors[factor].kind == FactorKind::PassThrough && tile.canSplit(data.rule, factor))
      data.splittable.push_back(factor);
  data.updated = tile.getUpdatedOperand();
  for (Value operand : op->getOperands())
    data.operandShapes.emplace_back(tensorOf(operand).getShape());
  for (Value result : op->getResults())
    data.resultShapes.emplace_back(tensorOf(result).getShape());
  for (Value result : op->getResults())
    data.elementBytes.push_back(elementBytes(result.getType()));
  for (TileScratch &scratch : tile.getTileScratch(data.rule))
    data.scratch.push_back({scratch.factors, scratch.bytes});
  data.pointwise = isa<ElementwiseScalarOpInterface>(op);
  OpCost cost = cast<CostOpInterface>(op).getCost();
  data.work = std::max<int64_t>(
      1, int64_t((cost.bytesRead + cost.bytesWritten) / double(elementBytes(largestArray(op)))));
  return data;
}

namespace {

/// A block with its terminator, op by op.
struct BlockData {
  SmallVector<Operation *> ops;
  std::vector<fusion::Op> data;

  explicit BlockData(Block &block) {
    llvm::DenseMap<Value, int> numbers;
    auto number = [&](Value value) { return numbers.try_emplace(value, int(numbers.size())).first->second; };
    for (Operation &op : block) {
      ops.push_back(&op);
      fusion::Op described = describe(&op);
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (inner == &op || operand.getParentBlock() == &block)
            described.operands.push_back(number(operand));
      });
      for (Value result : op.getResults())
        described.results.push_back(number(result));
      data.push_back(std::move(described));
    }
  }
};

} // namespace

SmallVector<Cluster> formFactorClusters(Block &block, const TilingChoices &tiling) {
  BlockData program(block);
  SmallVector<Cluster> clusters;
  std::vector<fusion::Kernel> kernels = fusion::planFusion(program.data, choicesOf(tiling));
  // All copies are made first, of ops that still read what they read in the program: then each reads what its
  // own body computes.
  std::vector<IRMapping> copiesOfBodies;
  for (const fusion::Kernel &kernel : kernels)
    for (const fusion::Body &planned : kernel.bodies) {
      IRMapping &copies = copiesOfBodies.emplace_back();
      for (int number : planned.copies) {
        Operation *op = program.ops[number];
        OpBuilder builder(op->getContext());
        builder.setInsertionPointAfter(op);
        builder.clone(*op, copies);
      }
    }
  auto copiesOfBody = copiesOfBodies.begin();
  for (fusion::Kernel &kernel : kernels) {
    Cluster &cluster = clusters.emplace_back();
    for (fusion::Body &planned : kernel.bodies) {
      ClusterBody &body = cluster.bodies.emplace_back();
      const IRMapping &copies = *copiesOfBody++;
      for (int number : planned.ops) {
        Operation *op = program.ops[number];
        if (Operation *copy = copies.lookupOrNull(op)) {
          body.ops.push_back(copy);
          continue;
        }
        for (OpOperand &operand : op->getOpOperands())
          operand.set(copies.lookupOrDefault(operand.get()));
        body.ops.push_back(op);
      }
      body.tiles = std::move(planned.tiles);
      body.axes = std::move(planned.axes);
      body.tileElements = planned.tileElements;
      body.turns = planned.turns;
    }
  }
  // Constants that must be whole are read inside kernels; for other readers they have one of their own.
  for (Operation *op : program.ops)
    if (isWholeConstant(op)) {
      ClusterBody body;
      body.ops = {op};
      body.tiles = {wholeTiles(op)};
      clusters.emplace_back().bodies.push_back(std::move(body));
    }
  scheduleClusters(block, clusters);
  return clusters;
}

} // namespace tessera::kernels
