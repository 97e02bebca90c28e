//===- PartialOp.cpp - Reductions in parts --------------------------------===//
#include "tessera/Dialect/Graph/IR/Partial.h"

#include "Detail.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphPartialOp.cpp.inc"

/// The dimension of `tensor` that is `factor` and nothing else; -1: none, -2: the factor is a part of one.
static int64_t dimOf(const TensorFactors &tensor, int64_t factor) {
  for (auto [d, factors] : llvm::enumerate(tensor.dims))
    if (llvm::is_contained(factors, int(factor)))
      return factors.size() == 1 ? int64_t(d) : -2;
  return -1;
}

void PartialOp::build(OpBuilder &builder, OperationState &state, Operation *op, int64_t factor,
                      int64_t parts) {
  state.addOperands(op->getOperands());
  auto type = typeOf(op->getResult(0));
  SmallVector<int64_t> shape{parts};
  llvm::append_range(shape, type.getShape());
  state.addTypes(RankedTensorType::get(shape, type.getElementType()));
  state.addAttribute(getPartsAttrName(state.name), builder.getI64IntegerAttr(parts));
  state.addAttribute(getFactorAttrName(state.name), builder.getI64IntegerAttr(factor));
  Block &block = state.addRegion()->emplaceBlock();
  SmallVector<Value> arguments;
  for (Value operand : op->getOperands())
    arguments.push_back(block.addArgument(operand.getType(), operand.getLoc()));
  Operation *copy = op->clone();
  copy->setOperands(arguments);
  block.push_back(copy);
  OpBuilder inside(op->getContext());
  inside.setInsertionPointToEnd(&block);
  PartOp::create(inside, op->getLoc(), copy->getResult(0));
}

int64_t PartialOp::getCutDim(unsigned number) {
  ShardingRule rule = cast<ShardingRuleOpInterface>(getOp()).getShardingRule();
  return dimOf(rule.operands[number], int64_t(getFactor()));
}

LogicalResult PartialOp::verifyRegions() {
  if (failed(verifyTensors(*this)))
    return failure();
  Block &block = getBody().front();
  if (!llvm::hasNItems(block, 2) || !isa<ShardingRuleOpInterface>(block.front()) ||
      !isa<CostOpInterface>(block.front()) || block.front().getNumResults() != 1 ||
      block.front().getOperands() != ValueRange(block.getArguments()) ||
      block.back().getOperand(0).getDefiningOp() != &block.front())
    return emitOpError() << "body is not one op with one result and a sharding rule that takes the block's "
                            "arguments in order";
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError() << "body takes other types than the inputs have";
  ShardingRule rule = cast<ShardingRuleOpInterface>(getOp()).getShardingRule();
  int64_t factor = int64_t(getFactor()), parts = int64_t(getParts());
  if (factor < 0 || factor >= int64_t(rule.factors.size()) ||
      rule.factors[factor].kind != FactorKind::Reduction || llvm::is_contained(rule.lookedUp, int(factor)))
    return emitOpError() << "factor " << factor << " is none that the body's op reduces: " << rule.toString();
  for (auto [input, tensor] : llvm::zip_equal(getInputs(), rule.operands)) {
    int64_t dim = dimOf(tensor, factor);
    if (dim == -2 || (dim >= 0 && (parts < 1 || sizeOf(input, dim) % parts)))
      return emitOpError() << "cuts factor " << factor << " into " << parts
                           << " parts, which no dimension of " << input.getType() << " has";
  }
  auto type = typeOf(getOp()->getResult(0));
  SmallVector<int64_t> shape{parts};
  llvm::append_range(shape, type.getShape());
  if (typeOf(getResult()) != RankedTensorType::get(shape, type.getElementType()))
    return emitOpError() << "gives " << getResult().getType() << ", expected " << parts << " times "
                         << RankedTensorType::get(type.getShape(), type.getElementType());
  return success();
}

/// The op's rule with a factor of parts in front of the one that is cut, and of every result.
ShardingRule PartialOp::getShardingRule() {
  ShardingRule rule = cast<ShardingRuleOpInterface>(getOp()).getShardingRule();
  int factor = int(getFactor()), parts = rule.addFactor(int64_t(getParts()));
  for (auto [input, tensor] : llvm::zip_equal(getInputs(), rule.operands))
    if (int64_t dim = dimOf(tensor, factor); dim >= 0) {
      rule.factors[factor].size = sizeOf(input, dim) / int64_t(getParts());
      tensor.dims[dim] = {parts, factor};
    }
  for (TensorFactors &tensor : rule.results)
    tensor.dims.insert(tensor.dims.begin(), {parts});
  // Of the results nothing else is known: they are no longer the op's.
  rule.linear.clear();
  rule.maxLinear.clear();
  return rule;
}

OpCost PartialOp::getCost() {
  OpCost cost = cast<CostOpInterface>(getOp()).getCost();
  cost.bytesWritten *= double(getParts());
  return cost;
}
