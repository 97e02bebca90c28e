//===- PositionWise.cpp ---------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/PositionWise.h"

using namespace mlir;

namespace tessera::graph {

int PositionWise::find(Value value, StringRef name) const {
  ArrayRef<StringRef> names = names_.names(value);
  auto it = llvm::find(names, name);
  return it == names.end() ? -1 : int(it - names.begin());
}

PositionWise::Sizes PositionWise::sizes() const {
  Sizes sizes;
  for (BlockArgument arg : func::FuncOp(function_).getArguments())
    if (int batch = find(arg, "batch"), seq = find(arg, "seq"); batch >= 0 && seq >= 0) {
      auto type = cast<RankedTensorType>(arg.getType());
      sizes = {type.getDimSize(unsigned(batch)), type.getDimSize(unsigned(seq))};
    }
  return sizes;
}

/// Operand `i` of `op` is a set of keys or values that queries look into, not a row per position.
static bool isContext(Operation *op, unsigned i) {
  auto mixing = dyn_cast<PositionMixingOpInterface>(op);
  return mixing && llvm::is_contained(mixing.getContextOperands(), i);
}

LogicalResult PositionWise::checkOp(Operation *op, StringRef name) const {
  auto refuse = [&](const Twine &why) {
    return op->emitError() << "has no form for single positions: " << why << " dimension '" << name << "'";
  };
  if (isa<DataFlowOpInterface>(op) || op->hasTrait<OpTrait::IsTerminator>())
    return success();
  bool involved = llvm::any_of(op->getOperands(), [&](Value operand) { return find(operand, name) >= 0; });
  if (!involved)
    return success();
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled)
    return refuse("it has no sharding rule that says what becomes of");
  ShardingRule rule = ruled.getShardingRule();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    int dim = find(operand, name);
    if (dim < 0 || (name == "seq" && isContext(op, unsigned(i))))
      continue;
    const auto &factors = rule.operands[i].dims[unsigned(dim)];
    // A dimension of size 1 may have no factor; it could not be followed.
    if (factors.size() != 1)
      return refuse("it joins or splits");
    if (rule.factors[unsigned(factors.front())].kind != FactorKind::PassThrough)
      return refuse("it mixes the elements of");
    // Made for all positions at once, as by an iota: what a single one would have is not known.
    for (auto [other, tensor] : llvm::zip_equal(op->getOperands(), rule.operands))
      for (auto [d, dimFactors] : llvm::enumerate(tensor.dims))
        if (dimFactors == factors && cast<RankedTensorType>(other.getType()).getDimSize(unsigned(d)) > 1 &&
            find(other, name) != int(d))
          return refuse("an operand comes from no input along");
    for (const TensorFactors &result : rule.results) {
      bool alone = llvm::any_of(result.dims,
                                [&](const auto &d) { return d.size() == 1 && d.front() == factors.front(); });
      if (!alone)
        return refuse("its result has no");
    }
  }
  return success();
}

LogicalResult PositionWise::checkPassesThrough(StringRef name) const {
  WalkResult walked = function_.walk([&](Operation *op) {
    return op == function_ || succeeded(checkOp(op, name)) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

Type PositionWise::resized(Value value, int64_t batch, int64_t seq) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return value.getType();
  SmallVector<int64_t> shape(type.getShape());
  if (int dim = find(value, "batch"); dim >= 0)
    shape[unsigned(dim)] = batch;
  if (int dim = find(value, "seq"); dim >= 0)
    shape[unsigned(dim)] = seq;
  return type.clone(shape);
}

PositionWise::Tail PositionWise::findTail() const {
  Block &block = function_.getBody().front();
  Tail tail, longest;
  llvm::SmallSetVector<Value, 8> pending; // what the tail so far needs and depends on seq
  pending.insert(block.getTerminator()->getOperand(0));
  auto consider = [&] {
    if (pending.size() != 1)
      return;
    Value input = pending.front();
    auto type = cast<RankedTensorType>(input.getType());
    // The shape that `graph.take` reads.
    if (isa<FloatType>(type.getElementType()) && find(input, "batch") == 0 && find(input, "seq") == 1) {
      longest = tail;
      longest.input = input;
    }
  };
  consider();
  for (Operation &op : llvm::drop_begin(llvm::reverse(block))) {
    if (llvm::none_of(op.getResults(), [&](Value result) { return pending.contains(result); }))
      continue;
    if (isa<DataFlowOpInterface, PositionMixingOpInterface>(op))
      break;
    for (Value result : op.getResults())
      pending.remove(result);
    for (Value operand : op.getOperands())
      if (dependsOnSeq(operand))
        pending.insert(operand);
    tail.ops.insert(&op);
    consider();
  }
  return longest;
}

} // namespace tessera::graph
