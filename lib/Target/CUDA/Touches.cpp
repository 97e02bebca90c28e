//===- Touches.cpp - which thread touches which element ---------------------===//
//
// Shapes and spreads are static, so the points of an op's iteration space are gone through one by one.
//
//===----------------------------------------------------------------------===//

#include "Touches.h"

#include <numeric>

namespace tessera {

/// 0 where both count from one place; else what the distance of their places is a multiple of.
static int64_t distance(const Touch &a, const Touch &b) {
  int64_t unit = 0;
  auto differs = [](const std::pair<Value, int64_t> &part, const Touch &other) {
    return !part.first || !llvm::is_contained(other.origin, part);
  };
  for (const auto &part : a.origin)
    if (differs(part, b))
      unit = std::gcd(unit, part.second);
  for (const auto &part : b.origin)
    if (differs(part, a))
      unit = std::gcd(unit, part.second);
  return unit;
}

bool crossesThreads(const Touch &a, const Touch &b) {
  if (a.root != b.root || (!a.writes && !b.writes))
    return false;
  if (!a.exact || !b.exact)
    return true;
  int64_t unit = distance(a, b);
  auto crosses = [](int32_t one, int32_t other) { return one != other || one == Touch::kSeveral; };
  if (unit == 0) {
    const Touch &fewer = a.threads.size() <= b.threads.size() ? a : b, &more = &fewer == &a ? b : a;
    return llvm::any_of(fewer.threads, [&](const auto &place) {
      auto it = more.threads.find(place.first);
      return it != more.threads.end() && crosses(it->second, place.second);
    });
  }
  // Elements may be the same where they are the same in the unit: rows of one loop's rounds, say.
  auto within = [&](int64_t element) { return ((element % unit) + unit) % unit; };
  DenseMap<int64_t, int32_t> classes;
  for (const auto &[element, thread] : a.threads) {
    auto [it, fresh] = classes.insert({within(element), thread});
    if (!fresh && it->second != thread)
      it->second = Touch::kSeveral;
  }
  return llvm::any_of(b.threads, [&](const auto &place) {
    auto it = classes.find(within(place.first));
    return it != classes.end() && crosses(it->second, place.second);
  });
}

namespace {

/// Where the first element of a memref is, and the strides of its dimensions.
struct Place {
  Touch touch; ///< root and origin
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  bool known = true;
};

Place placeOf(Value memref) {
  Place place;
  auto type = cast<MemRefType>(memref.getType());
  int64_t ignored;
  place.known = succeeded(type.getStridesAndOffset(place.strides, ignored)) &&
                llvm::none_of(place.strides, ShapedType::isDynamic);
  while (Operation *op = memref.getDefiningOp()) {
    if (auto view = dyn_cast<memref::SubViewOp>(op)) {
      SmallVector<int64_t> strides;
      if (failed(view.getSourceType().getStridesAndOffset(strides, ignored)) ||
          llvm::any_of(strides, ShapedType::isDynamic)) {
        place.known = false;
      } else {
        for (auto [at, stride] : llvm::zip_equal(view.getMixedOffsets(), strides)) {
          if (std::optional<int64_t> constant = getConstantIntValue(at))
            place.offset += *constant * stride;
          else
            place.touch.origin.push_back({cast<Value>(at), stride});
        }
      }
    } else if (isa<memref::ReinterpretCastOp>(op)) {
      place.known = false;
    } else if (!isa<memref::CastOp, memref::ExpandShapeOp, memref::CollapseShapeOp>(op)) {
      break;
    }
    memref = op->getOperand(0);
  }
  llvm::sort(place.touch.origin, [](const auto &x, const auto &y) {
    return std::make_pair(x.first.getAsOpaquePointer(), x.second) <
           std::make_pair(y.first.getAsOpaquePointer(), y.second);
  });
  place.touch.root = memref;
  return place;
}

int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t x = evaluate(binary.getLHS(), dims), y = evaluate(binary.getRHS(), dims);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return x + y;
  case AffineExprKind::Mul:
    return x * y;
  case AffineExprKind::Mod:
    return x % y;
  case AffineExprKind::FloorDiv:
    return x / y;
  default: // ceildiv
    return (x + y - 1) / y;
  }
}

/// Which thread works on a point of the iteration space.
class Threads {
public:
  Threads(linalg::LinalgOp op, const TileSpread &spread, int64_t threads)
      : spread(spread), threads(threads), ranges(op.getStaticLoopRanges()) {
    for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray()))
      if (kind == utils::IteratorType::reduction && ranges[dim] > 1)
        reductions.push_back(int64_t(dim));
  }

  /// `finishes`: of an output whose reduction is shared, the thread that stores it.
  int64_t of(ArrayRef<int64_t> point, bool finishes) const {
    int64_t item = 0;
    for (auto [dim, size] : llvm::zip_equal(spread.dims, spread.sizes))
      item = item * size + (dim == spread.dim ? point[dim] / spread.width : point[dim]);
    switch (spread.kind) {
    case TileSpread::Parallel:
    case TileSpread::Scalar:
      return item % threads;
    case TileSpread::Grouped: {
      int64_t first = item % (threads / spread.group) * spread.group;
      return finishes ? first : first + point[spread.dim] / spread.width % spread.group;
    }
    case TileSpread::Split: {
      if (finishes)
        return item;
      int64_t number = 0;
      for (int64_t dim : reductions)
        number = number * ranges[dim] + point[dim];
      return number % spread.slices * spread.places + item;
    }
    }
    return 0;
  }

private:
  const TileSpread &spread;
  int64_t threads;
  SmallVector<int64_t> ranges, reductions;
};

} // namespace

void collectTouches(linalg::LinalgOp op, const TileSpread &spread, int64_t threads,
                    SmallVectorImpl<Touch> &touches) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  int64_t points = 1;
  for (int64_t range : ranges)
    points = std::min(points * range, kMostPoints + 1);
  struct Walked {
    Place place;
    AffineMap map;
    bool finishes;
  };
  SmallVector<Walked> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    bool writes = op.isDpsInit(&operand);
    AffineMap map = op.getMatchingIndexingMap(&operand);
    bool shared = spread.kind == TileSpread::Split ||
                  (spread.kind == TileSpread::Grouped && !map.isFunctionOfDim(unsigned(spread.dim)));
    operands.push_back({placeOf(operand.get()), map, writes && shared});
    Touch &touch = operands.back().place.touch;
    touch.writes = writes;
    touch.exact = operands.back().place.known && points <= kMostPoints;
  }
  if (points <= kMostPoints) {
    Threads thread(op, spread, threads);
    SmallVector<int64_t> point(ranges.size(), 0);
    for (int64_t number = 0; number < points; ++number) {
      for (Walked &operand : operands) {
        int64_t at = operand.place.offset;
        for (auto [expr, stride] : llvm::zip_equal(operand.map.getResults(), operand.place.strides))
          at += evaluate(expr, point) * stride;
        int32_t who = int32_t(thread.of(point, operand.finishes));
        auto [it, fresh] = operand.place.touch.threads.insert({at, who});
        if (!fresh && it->second != who)
          it->second = Touch::kSeveral;
      }
      for (int64_t dim = int64_t(ranges.size()) - 1; dim >= 0 && ++point[dim] == ranges[dim]; --dim)
        point[dim] = 0;
    }
  }
  for (Walked &operand : operands)
    touches.push_back(std::move(operand.place.touch));
  op->walk([&](memref::LoadOp load) { // at computed places
    Touch touch;
    touch.root = placeOf(load.getMemref()).touch.root;
    touches.push_back(touch);
  });
}

Value rootOf(Value memref) { return placeOf(memref).touch.root; }

Touch touchOf(Value memref, ValueRange indices, bool writes) {
  Place place = placeOf(memref);
  Touch touch = std::move(place.touch);
  touch.writes = writes;
  touch.exact = place.known;
  int64_t at = place.offset;
  for (auto [index, stride] : llvm::zip_equal(indices, place.strides)) {
    std::optional<int64_t> constant = getConstantIntValue(index);
    touch.exact &= constant.has_value();
    at += constant.value_or(0) * stride;
  }
  touch.threads[at] = writes ? 0 : Touch::kSeveral;
  return touch;
}

} // namespace tessera
