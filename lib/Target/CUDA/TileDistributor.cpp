//===- TileDistributor.cpp - how a tile op is spread over threads -----------===//

#include "TileDistributor.h"
#include "Alignment.h"

#include "tessera/Support/Shapes.h"

#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {

SmallVector<int64_t> TileDistributor::dimsOf(utils::IteratorType kind, int64_t except) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0, e = ranges.size(); dim != e; ++dim)
    if (dim != except && iterators[dim] == kind && ranges[dim] > 1)
      dims.push_back(dim);
  return dims;
}

/// The dimension that the CPU's lanes would take; where the body has no vector form there is none.
bool TileDistributor::chooseSpreadDimension() {
  d = -1;
  return bodyHasVectorForm() && chooseDimension();
}

/// Elements along `dim` that one access can move: every contiguous operand has to be aligned to as much.
int64_t TileDistributor::widthAlong(int64_t dim) {
  int64_t width = kMostElements;
  while (ranges[dim] % width)
    width /= 2;
  bool any = false;
  for (OpOperand &operand : op->getOpOperands()) {
    if (accessOf(operand, dim) != Access::Contiguous)
      continue;
    any = true;
    int64_t element = bytesInMemory(cast<MemRefType>(operand.get().getType()).getElementType());
    while (width > 1) {
      int64_t needed = std::min(width * element, kLargestAccess);
      if (accessAlignment(op, operand, dim, width) % needed == 0)
        break;
      width /= 2;
    }
  }
  if (!any)
    return 1;
  // Wider than the widest element needs for one access, a chunk only takes registers.
  int64_t narrowest = kLargestAccess;
  for (OpOperand &operand : op->getOpOperands())
    if (accessOf(operand, dim) == Access::Contiguous)
      narrowest =
          std::min(narrowest, bytesInMemory(cast<MemRefType>(operand.get().getType()).getElementType()));
  return std::min(width, kLargestAccess / narrowest);
}

/// Whether partial results of every reduction can be put together.
bool TileDistributor::reductionsCombine() {
  for (int64_t dim = 0, e = ranges.size(); dim != e; ++dim)
    if (isReduction(dim) && ranges[dim] > 1) {
      if (llvm::any_of(op.getDpsInitsMutable(), [&](OpOperand &out) { return movesWith(out, dim); }))
        return false;
      return succeeded(findCombiners(dim));
    }
  return false;
}

int64_t TileDistributor::wantedThreads() {
  TileSpread wide = spread(1024);
  int64_t work = wide.items;
  if (wide.kind == TileSpread::Grouped)
    work *= ranges[wide.dim] / wide.width;
  else if (wide.kind == TileSpread::Split)
    work *= wide.slices;
  return work;
}

TileSpread TileDistributor::spread(int64_t threadsOfBlock) {
  TileSpread s;
  bool vectors = chooseSpreadDimension();
  s.dim = d;
  if (!vectors) {
    s.kind = TileSpread::Scalar;
    s.dim = d = -1;
    s.dims = dimsOf(utils::IteratorType::parallel, -1);
    for (int64_t dim : s.dims)
      s.sizes.push_back(ranges[dim]);
    s.items = product(s.sizes);
    return s;
  }
  s.width = widthAlong(d);
  s.dims = dimsOf(utils::IteratorType::parallel, isReduction(d) ? -1 : d);
  for (int64_t dim : s.dims)
    s.sizes.push_back(ranges[dim]);
  int64_t chunks = ranges[d] / s.width;
  if (isReduction(d)) {
    s.kind = TileSpread::Grouped;
    s.items = product(s.sizes);
    // As many groups as there are items, as many threads a group as have a chunk to work on.
    int64_t fitting = std::max<int64_t>(1, threadsOfBlock / int64_t(llvm::PowerOf2Ceil(s.items)));
    int64_t useful = int64_t(llvm::PowerOf2Ceil(chunks));
    s.group = std::min(useful, std::max<int64_t>(fitting, std::min(kWarp, useful)));
    s.group = std::min(s.group, threadsOfBlock);
    return s;
  }
  s.dims.push_back(d);
  s.sizes.push_back(chunks);
  s.items = product(s.sizes);
  int64_t reduced = 1;
  for (int64_t dim : dimsOf(utils::IteratorType::reduction, -1))
    reduced *= ranges[dim];
  int64_t places = int64_t(llvm::PowerOf2Ceil(s.items));
  if (reduced >= 8 && places * 2 <= threadsOfBlock && reductionsCombine()) {
    s.kind = TileSpread::Split;
    s.places = places;
    s.slices = std::min<int64_t>(threadsOfBlock / places, int64_t(llvm::bit_floor(uint64_t(reduced))) / 4);
  }
  return s;
}

void TileDistributor::emit(const TileSpread &spread, Value thread, int64_t threadsOfBlock, bool passedAgain) {
  how = spread;
  id = thread;
  threads = threadsOfBlock;
  again = passedAgain;
  (void)chooseSpreadDimension(); // for what it finds of the body and its reductions
  d = how.dim;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  ivs.assign(ranges.size(), Value());
  switch (how.kind) {
  case TileSpread::Parallel:
    emitParallel();
    break;
  case TileSpread::Scalar:
    emitScalar();
    break;
  case TileSpread::Grouped:
    emitGrouped();
    break;
  case TileSpread::Split:
    emitSplit();
    break;
  }
  b.eraseOp(op);
}

} // namespace tessera
