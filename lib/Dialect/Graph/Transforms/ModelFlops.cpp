//===- ModelFlops.cpp - What a model computes -----------------------------===//
#include "tessera/Dialect/Graph/Transforms/ModelFlops.h"

#include "tessera/Dialect/Graph/IR/Executions.h"

#include <cmath>

using namespace mlir;

namespace tessera::graph {

static bool has(const TensorFactors &tensor, int factor) {
  return llvm::any_of(tensor.dims, [&](auto &dim) { return llvm::is_contained(dim, factor); });
}

/// Whatever the kind of the factor: attention has both of its own whole.
static bool contracts(const ShardingRule &rule) {
  for (int factor = 0; factor < int(rule.factors.size()); ++factor) {
    auto hasIt = [&](const TensorFactors &tensor) { return has(tensor, factor); };
    if (llvm::count_if(rule.operands, hasIt) >= 2 && llvm::none_of(rule.results, hasIt))
      return true;
  }
  return false;
}

double contractionFlops(Operation *root) {
  double flops = 0;
  root->walk([&](Operation *op) {
    auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
    auto cost = dyn_cast<CostOpInterface>(op);
    if (ruled && cost && contracts(ruled.getShardingRule()))
      flops += double(executionsOf(op)) * cost.getCost().flops;
  });
  return flops;
}

TrainAttr withModelFlops(TrainAttr train, Operation *evaluate) {
  const int64_t microRows = llvm::divideCeil(uint64_t(train.getBatch()), uint64_t(train.getMicroBatches()));
  const double places = double(train.getMicroBatches()) * double(microRows) * double(train.getSeq());
  // Backward takes a product for each operand of a product.
  return TrainAttr::get(train.getContext(), train.getBatch(), train.getSeq(), train.getMicroBatches(),
                        train.getVocab(), train.getLossScale(),
                        std::llround(3 * contractionFlops(evaluate) / places), train.getGradientState());
}

} // namespace tessera::graph
