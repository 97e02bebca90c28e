//===- SplitReductions.cpp - long reductions of few rows in two ops ---------===//
//
// For targets whose loops run over any factor. One token has one row of the vocabulary: its largest element
// would be one iteration's work. tessera/Analysis/Fusion says which reductions are worth several iterations.
//
//===----------------------------------------------------------------------===//

#include "Clusters.h"

#include "tessera/Dialect/Graph/IR/Partial.h"
#include "tessera/Interfaces/TileLowering.h"

#include "mlir/IR/Verifier.h"

namespace tessera::kernels {
namespace {

using fusion::Choices;

bool isNarrow(Type element) { return element.isBF16() || element.isF16(); }

/// What the op is for is a reduction of few rows, for which it does not let loops run over a factor although
/// the ops that it can be written in do (softmax, norms).
bool worthWritingOut(DecomposableOpInterface op, const Choices &choices) {
  fusion::Op data = describe(op);
  for (int factor : op.getDecomposableFactors())
    if (data.fusable)
      data.rule.factors[factor].kind = FactorKind::Reduction;
  // Two launches more, or three: a maximum and a sum.
  if (!worthSplitting(data, choices, /*launches=*/2))
    return false;
  // Smaller ops have no shardings; rules read global sizes.
  return llvm::all_of(
      llvm::concat<Value>(SmallVector<Value>(op->getOperands()), SmallVector<Value>(op->getResults())),
      [](Value value) {
        return llvm::equal(dist::globalShape(tensorOf(value)), tensorOf(value).getShape());
      });
}

/// Elements of `result` are those of `input`, row-major. Where `input`'s dimensions are among `result`'s, if
/// all are there, in order: what is left are then dimensions of size 1.
std::optional<SmallVector<int64_t>> onlyNewOnes(RankedTensorType input, RankedTensorType result) {
  SmallVector<int64_t> places;
  int64_t d = 0;
  for (int64_t size : input.getShape()) {
    while (d < result.getRank() && result.getDimSize(d) != size)
      ++d;
    if (d == result.getRank())
      return std::nullopt;
    places.push_back(d++);
  }
  return places;
}

/// Replaces the op by smaller ones. A view would keep kernels apart, so rows become columns by tiles.
LogicalResult writeOut(Lowering &lowering, DecomposableOpInterface op) {
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  SmallVector<Value> values = op.decompose(builder, op->getOperands());
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values)) {
    value.setType(result.getType());
    result.replaceAllUsesWith(value);
  }
  Block::iterator first = before ? std::next(before->getIterator()) : op->getBlock()->begin();
  for (Operation &made : llvm::make_early_inc_range(llvm::make_range(first, op->getIterator()))) {
    builder.setInsertionPoint(&made);
    auto tile = dyn_cast<TileLoweringOpInterface>(&made);
    if (tile && tile.masksPadding()) { // there is none
      made.replaceAllUsesWith(ValueRange(made.getOperand(0)));
      made.erase();
      continue;
    }
    const LibraryForm *form = lowering.formOf(&made);
    if (!form)
      continue;
    auto view = dyn_cast<SameElementsOpInterface>(&made);
    auto places = view ? onlyNewOnes(tensorOf(view.getSource()), tensorOf(made.getResult(0))) : std::nullopt;
    if (places) {
      Value column = graph::BroadcastOp::create(builder, made.getLoc(), made.getResult(0).getType(),
                                                view.getSource(), *places);
      made.replaceAllUsesWith(ValueRange(column));
      made.erase();
    } else if (failed(form->lower(&made, lowering))) {
      return failure();
    }
  }
  op->erase();
  return success();
}

/// Terms of sums are float32. Whether the op can give them.
bool widenSum(Operation *op, PartialKind combine) {
  auto type = tensorOf(op->getResult(0));
  if (combine != PartialKind::Sum || !isNarrow(type.getElementType()))
    return true;
  op->getResult(0).setType(
      RankedTensorType::get(type.getShape(), Float32Type::get(op->getContext()), type.getEncoding()));
  ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
  if (succeeded(verify(op, /*verifyRecursively=*/false)))
    return true;
  op->getResult(0).setType(type);
  return false;
}

/// y = op(x) becomes parts = partial op(x), y = sum or maximum of the parts.
void split(Operation *op, const fusion::Split &how, PartialKind combine) {
  auto type = tensorOf(op->getResult(0));
  if (!widenSum(op, combine))
    return;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto parts = graph::PartialOp::create(builder, loc, op, how.factor, how.parts);
  auto kind = combine == PartialKind::Max ? graph::ReduceKind::max : graph::ReduceKind::sum;
  auto whole =
      RankedTensorType::get(type.getShape(), tensorOf(op->getResult(0)).getElementType(), type.getEncoding());
  Value result = graph::ReduceOp::create(builder, loc, whole, kind, parts, ArrayRef<int64_t>{0});
  if (whole != type)
    result = graph::CastOp::create(builder, loc, type, result);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

} // namespace

LogicalResult splitReductions(Lowering &lowering, Block &block) {
  Choices choices = choicesOf(lowering.tiling);
  auto all = [&] {
    return llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
  };
  for (Operation *op : all())
    if (auto written = dyn_cast<DecomposableOpInterface>(op); written && worthWritingOut(written, choices))
      if (failed(writeOut(lowering, written)))
        return failure();
  for (Operation *op : all()) {
    fusion::Op data = describe(op);
    if (std::optional<fusion::Split> how = worthSplitting(data, choices))
      split(op, *how, data.rule.factors[how->factor].combine);
  }
  return success();
}

} // namespace tessera::kernels
