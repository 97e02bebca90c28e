//===- PaddingFacts.cpp - What stands in the padding of a value ------------===//
#include "Partition/PaddingFacts.h"

#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

bool tessera::dist::isPadded(Value value, int64_t dim, const Mesh &mesh) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t shards = getShardingAttr(type).toSharding(mesh).shards(int(dim));
  return type.getDimSize(dim) * shards != globalShape(type)[dim];
}

bool tessera::dist::isMasked(Value value, int64_t dim, double neutral) {
  auto mask = value.getDefiningOp<graph::MaskPaddingOp>();
  return mask && mask.getValue().convertToDouble() == neutral &&
         (llvm::is_contained(mask.getDims(), dim) || isMasked(mask.getInput(), dim, neutral));
}

bool tessera::dist::isZeroPadded(Value value, int64_t dim) {
  if (isMasked(value, dim, 0.0))
    return true;
  if (auto gather = value.getDefiningOp<AllGatherOp>())
    return int64_t(gather.getDim()) != dim && isZeroPadded(gather.getInput(), dim);
  auto arg = dyn_cast<BlockArgument>(value);
  if (!arg)
    return false;
  Operation *parent = arg.getOwner()->getParentOp();
  if (isa<func::FuncOp>(parent))
    return graph::argumentKind(arg) == graph::Kind::Parameter;
  if (auto flow = dyn_cast<DataFlowOpInterface>(parent))
    for (const StackEdge &edge : flow.getStackEdges())
      if (llvm::is_contained(edge.slices, value))
        return isZeroPadded(edge.stack, dim + 1);
  return false;
}

namespace {
class FiniteSearch {
public:
  explicit FiniteSearch(const Mesh &mesh) : mesh(mesh) {}

  bool isFinite(Value value, int64_t dim) {
    // Whatever integers follow from: ids of rows that a softmax over padding chose are some ids.
    if (!isa<FloatType>(getElementTypeOrSelf(value)))
      return true;
    // In a body that is not partitioned yet types are global: whatever is split counts as padded.
    if (!seen.insert({value, dim}).second || !isPadded(value, dim, mesh))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op)
      op = cast<BlockArgument>(value).getOwner()->getParentOp();
    if (auto flow = dyn_cast<DataFlowOpInterface>(op))
      return isFiniteIn(flow, value, dim);
    auto region = dyn_cast<ManualComputationOp>(op);
    if (auto arg =
            dyn_cast<BlockArgument>(value)) // of a function, or of a region: dimensions are the operand's
      return !region || isFinite(region.getInputs()[arg.getArgNumber()], dim);
    if (auto mask = dyn_cast<graph::MaskPaddingOp>(op))
      return llvm::is_contained(mask.getDims(), dim) ? mask.getValue().isFinite()
                                                     : isFinite(mask.getInput(), dim);
    if (region)
      return isFinite(
          region.getProgram().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()), dim);
    if (isa<DistDialect>(op->getDialect())) // new padding is finite
      return isFinite(op->getOperand(0), dim);
    auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
    return ruled && isFiniteBehind(ruled, cast<OpResult>(value).getResultNumber(), dim);
  }

private:
  /// Of what is handed out or in along the same edge, or as a layer of the same stack.
  bool isFiniteIn(DataFlowOpInterface flow, Value value, int64_t dim) {
    for (const DataFlowEdge &edge : flow.getDataFlowEdges())
      if (llvm::is_contained(edge.places, value))
        return llvm::all_of(edge.values, [&](Value other) { return other == value || isFinite(other, dim); });
    for (const StackEdge &edge : flow.getStackEdges()) {
      if (edge.collected && edge.stack == value)
        return dim == 0 || llvm::all_of(edge.slices, [&](Value slice) { return isFinite(slice, dim - 1); });
      if (!edge.collected && llvm::is_contained(edge.slices, value))
        return isFinite(edge.stack, dim + 1);
    }
    return true; // an index
  }

  /// Padding of a result is computed from the padding of operands along the same factors.
  bool isFiniteBehind(ShardingRuleOpInterface op, unsigned result, int64_t dim) {
    ShardingRule rule = op.getShardingRule();
    // A few products of moderate numbers overflow float16; of the wider exponents it takes dozens.
    bool unbounded = rule.unbounded || getElementTypeOrSelf(op->getResult(result)).isF16();
    const auto &factors = rule.results[result].dims[size_t(dim)];
    for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands))
      for (auto [d, dimFactors] : llvm::enumerate(tensor.dims))
        if (llvm::any_of(dimFactors, [&](int f) { return llvm::is_contained(factors, f); }) &&
            (unbounded || !isFinite(operand, int64_t(d))))
          return false;
    return true;
  }

  const Mesh &mesh;
  DenseSet<std::pair<Value, int64_t>>
      seen; ///< taken for finite while the search goes on: a loop adds nothing of its own
};
} // namespace

bool tessera::dist::isFinitePadded(Value value, int64_t dim, const Mesh &mesh) {
  return FiniteSearch(mesh).isFinite(value, dim);
}
