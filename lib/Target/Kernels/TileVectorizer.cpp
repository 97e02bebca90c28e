//===- TileVectorizer.cpp - linalg on buffers to loops over vectors ---------===//
//
// The loop nest of an op, with d the vectorized dimension:
//
//   d parallel:   for parallel dims except d {
//                   for d by lanes { [acc = out] for reduction dims { body } out = acc } }
//                 where reductions take several vectors through their loops side by side, and outputs that
//                 move with them (a fused producer's value) are stored in there
//   d reduction:  for parallel dims { acc = neutral; for other reduction dims { for d by lanes { body } }
//                   out = combine(out, reduce lanes of acc) }
//                 where outputs that move with d (a fused producer's value) are stored chunk by chunk
//
// Values that do not depend on d are computed once in front of the d loop where no reduction loop is inside
// of it.
//
//===----------------------------------------------------------------------===//

#include "tessera/Target/Kernels/TileVectorizer.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"

namespace tessera {

void replaceCopies(RewriterBase &rewriter, func::FuncOp kernel) {
  SmallVector<memref::CopyOp> copies;
  kernel.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
  for (memref::CopyOp copy : copies) {
    rewriter.setInsertionPoint(copy);
    linalg::makeMemRefCopyOp(rewriter, copy.getLoc(), copy.getSource(), copy.getTarget());
    rewriter.eraseOp(copy);
  }
}

/// Traps on lanes that hold no data.
static bool mayTrap(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp,
             arith::CeilDivUIOp, arith::FloorDivSIOp>(op);
}

Access TileVectorizer::accessOf(OpOperand &operand, int64_t dim) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (!type || !map.isFunctionOfDim(dim))
    return Access::Uniform;
  // Memory of i1 is a byte an element, a vector of i1 a bit.
  bool bytes = type.getElementType().isIndex() || type.getElementTypeBitWidth() % 8 == 0;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!bytes || failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return Access::Strided;
  ArrayRef<AffineExpr> results = map.getResults();
  auto last = dyn_cast<AffineDimExpr>(results.back());
  if (!last || int64_t(last.getPosition()) != dim)
    return Access::Strided;
  return llvm::any_of(results.drop_back(), [&](AffineExpr expr) { return expr.isFunctionOfDim(dim); })
             ? Access::Strided
             : Access::Contiguous;
}

bool TileVectorizer::bodyHasVectorForm() {
  for (Operation &inner : body->without_terminator()) {
    traps |= mayTrap(&inner);
    if (inner.getNumRegions() || inner.getNumResults() != 1)
      return false;
    if (!OpTrait::hasElementwiseMappableTraits(&inner) &&
        !isa<linalg::IndexOp, arith::ConstantOp, memref::LoadOp>(inner))
      return false;
  }
  return true;
}

LogicalResult TileVectorizer::findCombiners(int64_t dim) {
  combiners.clear();
  auto outs = op.getRegionOutputArgs();
  for (auto [operand, arg, yielded] :
       llvm::zip(op.getDpsInitsMutable(), outs, body->getTerminator()->getOperands())) {
    if (movesWith(operand, dim)) {
      combiners.push_back(nullptr);
      continue;
    }
    Operation *combiner = yielded.getDefiningOp();
    if (!arg.hasOneUse() || !combiner || *arg.getUsers().begin() != combiner || !yielded.hasOneUse() ||
        combiner->getNumOperands() != 2 || !linalg::getCombinerOpKind(combiner) ||
        !arith::getNeutralElement(combiner))
      return failure();
    combiners.push_back(combiner);
  }
  return success();
}

bool TileVectorizer::isMadeInside(OpOperand &out) {
  return !op.payloadUsesValueFromOperand(&out) &&
         llvm::all_of(llvm::seq<int64_t>(0, int64_t(ranges.size())), [&](int64_t dim) {
           return !isReduction(dim) || ranges[dim] == 1 || movesWith(out, dim);
         });
}

bool TileVectorizer::chooseDimension() {
  std::tuple<int64_t, int64_t, bool, int64_t> best;
  for (int64_t dim = 0, e = ranges.size(); dim != e; ++dim) {
    if (ranges[dim] < 2)
      continue;
    if (isReduction(dim)) {
      if (failed(findCombiners(dim)))
        continue;
    } else if (!llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &out) {
                 return movesWith(out, dim) &&
                        (isMadeInside(out) || llvm::none_of(llvm::seq<int64_t>(0, e), [&](int64_t other) {
                           return isReduction(other) && ranges[other] > 1 && movesWith(out, other);
                         }));
               })) {
      continue; // an output is not finished by the loops inside of this one
    }
    int64_t strided = 0;
    for (OpOperand &operand : op->getOpOperands())
      if (accessOf(operand, dim) == Access::Strided)
        strided += 1 + op.isDpsInit(&operand);
    auto score = std::make_tuple(strided, -std::min(ranges[dim], lanes), isReduction(dim), -ranges[dim]);
    if (d < 0 || score < best) {
      best = score;
      d = dim;
    }
  }
  return d >= 0 && (!isReduction(d) || succeeded(findCombiners(d)));
}

LogicalResult TileVectorizer::run() {
  if (lanes < 2 || ShapedType::isDynamicShape(ranges) || !bodyHasVectorForm() || !chooseDimension())
    return failure();
  // The remainder of a reduction is masked, which a trapping op does not survive.
  if (isReduction(d) && traps && ranges[d] % lanes)
    return failure();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  ivs.assign(ranges.size(), Value());
  if (isReduction(d))
    emitReductionDimension();
  else
    emitParallelDimension();
  b.eraseOp(op);
  return success();
}

LogicalResult vectorizeTileOp(RewriterBase &rewriter, linalg::LinalgOp op, unsigned lanes) {
  return TileVectorizer(rewriter, op, lanes).run();
}

} // namespace tessera
