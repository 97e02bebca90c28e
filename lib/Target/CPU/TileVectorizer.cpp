//===- TileVectorizer.cpp - linalg on buffers to loops over vectors ---------===//
//
// The loop nest of an op, with d the vectorized dimension:
//
//   d parallel:   for parallel dims except d {
//                   for d by lanes { [acc = out] for reduction dims { body } out = acc } }
//   d reduction:  for parallel dims { acc = neutral; for other reduction dims { for d by lanes { body } }
//                   out = combine(out, reduce lanes of acc) }
//                 where outputs that move with d (a fused producer's value) are stored chunk by chunk
//
// Values that do not depend on d are computed once in front of the d loop where no reduction loop is inside
// of it.
//
//===----------------------------------------------------------------------===//

#include "TileVectorizer.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace tessera {

using namespace mlir;

namespace {

/// How an operand moves when the vectorized dimension advances by one.
enum class Access { Uniform, Contiguous, Strided };

/// Partial accumulators of a reduction: enough to hide the latency of an add.
constexpr int64_t kPartialVectors = 4;

/// Traps on lanes that hold no data.
bool mayTrap(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp,
             arith::CeilDivUIOp, arith::FloorDivSIOp>(op);
}

class TileVectorizer {
public:
  TileVectorizer(RewriterBase &rewriter, linalg::LinalgOp op, int64_t lanes)
      : b(rewriter), op(op), loc(op.getLoc()), lanes(lanes), ranges(op.getStaticLoopRanges()),
        iterators(op.getIteratorTypesArray()), body(op.getBlock()) {}

  LogicalResult run();

private:
  /// A stretch of the vectorized dimension: `count` vectors side by side of which the last may be masked.
  struct Chunk {
    Value start;    // index of the first element
    int64_t width;  // elements of a vector; 1: scalars
    int64_t active; // lanes that hold data
    int64_t offset; // added to start
  };
  using Values = SmallVector<Value>;

  bool isReduction(int64_t dim) const { return iterators[dim] == utils::IteratorType::reduction; }
  Access accessOf(OpOperand &operand, int64_t d);
  bool bodyHasVectorForm();
  LogicalResult findCombiners(int64_t dim);
  bool movesWith(OpOperand &operand, int64_t dim) { return accessOf(operand, dim) != Access::Uniform; }
  bool chooseDimension();

  Value constantIndex(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Values indicesOf(OpOperand &operand, Value dValue);
  Value laneMask(const Chunk &chunk);
  VectorType vectorOf(Type element, const Chunk &chunk) { return VectorType::get({chunk.width}, element); }
  Value chunkIndex(const Chunk &chunk, int64_t lane = 0);
  Value toVector(Value value, const Chunk &chunk);
  Value load(OpOperand &operand, const Chunk &chunk);
  void store(OpOperand &operand, Value value, const Chunk &chunk);
  Value gather(memref::LoadOp loadOp, DenseMap<Value, Value> &vectors, const Chunk &chunk);

  void computeUniform();
  Values runBody(const Chunk &chunk, ValueRange outs);
  void emitLoops(ArrayRef<int64_t> dims, ValueRange carried, llvm::function_ref<Values(ValueRange)> inner,
                 Values *results = nullptr);
  void emitParallelDimension();
  void emitReductionDimension();
  Values reduceOver(ArrayRef<int64_t> dims, const Chunk &chunk, ValueRange carried);

  RewriterBase &b;
  linalg::LinalgOp op;
  Location loc;
  int64_t lanes;
  SmallVector<int64_t> ranges;
  SmallVector<utils::IteratorType> iterators;
  Block *body;
  int64_t d = -1;
  bool traps = false;
  SmallVector<Value> ivs;          // per dimension, where known
  DenseMap<Value, Value> uniforms; // body value -> scalar that holds for every lane
  bool uniformsReady = false;
  SmallVector<Operation *> combiners; // per output, when d is a reduction; null: the output moves with d
};

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

bool TileVectorizer::chooseDimension() {
  std::tuple<int64_t, int64_t, bool, int64_t> best;
  for (int64_t dim = 0, e = ranges.size(); dim != e; ++dim) {
    if (ranges[dim] < 2)
      continue;
    if (isReduction(dim)) {
      if (failed(findCombiners(dim)))
        continue;
    } else if (!llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &out) {
                 return movesWith(out, dim) && llvm::none_of(llvm::seq<int64_t>(0, e), [&](int64_t other) {
                          return isReduction(other) && ranges[other] > 1 && movesWith(out, other);
                        });
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

Value TileVectorizer::chunkIndex(const Chunk &chunk, int64_t lane) {
  if (chunk.offset + lane == 0)
    return chunk.start;
  return b.createOrFold<arith::AddIOp>(loc, chunk.start, constantIndex(chunk.offset + lane));
}

TileVectorizer::Values TileVectorizer::indicesOf(OpOperand &operand, Value dValue) {
  SmallVector<OpFoldResult> dims;
  for (auto [dim, iv] : llvm::enumerate(ivs))
    dims.push_back(int64_t(dim) == d ? dValue : iv ? iv : Value(constantIndex(0)));
  Values indices;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      indices.push_back(cast<Value>(dims[dim.getPosition()]));
      continue;
    }
    OpFoldResult index = affine::makeComposedFoldedAffineApply(
        b, loc, AffineMap::get(map.getNumDims(), 0, expr, b.getContext()), dims);
    indices.push_back(getValueOrCreateConstantIndexOp(b, loc, index));
  }
  return indices;
}

Value TileVectorizer::laneMask(const Chunk &chunk) {
  SmallVector<bool> bits(chunk.width, false);
  std::fill_n(bits.begin(), chunk.active, true);
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vectorOf(b.getI1Type(), chunk), bits));
}

Value TileVectorizer::toVector(Value value, const Chunk &chunk) {
  if (chunk.width == 1 || isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(b, loc, vectorOf(value.getType(), chunk), value);
}

Value TileVectorizer::load(OpOperand &operand, const Chunk &chunk) {
  Value base = operand.get();
  Access access = accessOf(operand, d);
  if (!isa<MemRefType>(base.getType()))
    return base;
  if (access == Access::Uniform || chunk.width == 1)
    return memref::LoadOp::create(b, loc, base, indicesOf(operand, chunkIndex(chunk)));
  Type element = cast<MemRefType>(base.getType()).getElementType();
  VectorType type = vectorOf(element, chunk);
  if (access == Access::Contiguous) {
    Values indices = indicesOf(operand, chunkIndex(chunk));
    if (chunk.active == chunk.width)
      return vector::LoadOp::create(b, loc, type, base, indices);
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    return vector::MaskedLoadOp::create(b, loc, type, base, indices, laneMask(chunk), zero);
  }
  Values elements;
  for (int64_t lane = 0; lane < chunk.width; ++lane)
    elements.push_back(
        lane < chunk.active
            ? Value(memref::LoadOp::create(b, loc, base, indicesOf(operand, chunkIndex(chunk, lane))))
            : Value(arith::ConstantOp::create(b, loc, b.getZeroAttr(element))));
  return vector::FromElementsOp::create(b, loc, type, elements);
}

void TileVectorizer::store(OpOperand &operand, Value value, const Chunk &chunk) {
  Value base = operand.get();
  if (chunk.width == 1) {
    memref::StoreOp::create(b, loc, value, base, indicesOf(operand, chunkIndex(chunk)));
    return;
  }
  value = toVector(value, chunk);
  if (accessOf(operand, d) == Access::Contiguous) {
    Values indices = indicesOf(operand, chunkIndex(chunk));
    if (chunk.active == chunk.width)
      vector::StoreOp::create(b, loc, value, base, indices);
    else
      vector::MaskedStoreOp::create(b, loc, base, indices, laneMask(chunk), value);
    return;
  }
  for (int64_t lane = 0; lane < chunk.active; ++lane) {
    Value element = vector::ExtractOp::create(b, loc, value, lane);
    memref::StoreOp::create(b, loc, element, base, indicesOf(operand, chunkIndex(chunk, lane)));
  }
}

/// A load at computed places: lane by lane.
Value TileVectorizer::gather(memref::LoadOp loadOp, DenseMap<Value, Value> &vectors, const Chunk &chunk) {
  Values elements;
  Value zero;
  for (int64_t lane = 0; lane < chunk.width; ++lane) {
    if (lane >= chunk.active) {
      if (!zero)
        zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(loadOp.getType()));
      elements.push_back(zero);
      continue;
    }
    Values indices;
    for (Value index : loadOp.getIndices()) {
      Value mapped = vectors.lookup(index);
      if (mapped && isa<VectorType>(mapped.getType()))
        mapped = vector::ExtractOp::create(b, loc, mapped, lane);
      else if (!mapped)
        mapped = uniforms.contains(index) ? uniforms.lookup(index) : index;
      indices.push_back(mapped);
    }
    elements.push_back(memref::LoadOp::create(b, loc, loadOp.getMemref(), indices));
  }
  return chunk.width == 1
             ? elements.front()
             : Value(vector::FromElementsOp::create(b, loc, vectorOf(loadOp.getType(), chunk), elements));
}

/// Evaluates, as scalars, the inputs and body ops that do not depend on d.
void TileVectorizer::computeUniform() {
  Chunk origin{constantIndex(0), 1, 1, 0};
  for (OpOperand *input : op.getDpsInputOperands())
    if (BlockArgument arg = op.getMatchingBlockArgument(input); accessOf(*input, d) == Access::Uniform)
      if (!arg.use_empty())
        uniforms[arg] = load(*input, origin);
  for (Operation &inner : body->without_terminator()) {
    IRMapping mapping;
    bool uniform = true;
    for (Value operand : inner.getOperands()) {
      if (uniforms.contains(operand))
        mapping.map(operand, uniforms.lookup(operand));
      else if (operand.getParentBlock() == body)
        uniform = false;
    }
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      if (int64_t(index.getDim()) != d) {
        Value iv = ivs[index.getDim()];
        uniforms[index] = iv ? iv : constantIndex(0);
      }
      continue;
    }
    if (uniform)
      uniforms[inner.getResult(0)] = b.clone(inner, mapping)->getResult(0);
  }
}

/// The body on one chunk; `outs` are the values of the output arguments (null where unused). Returns what it
/// yields.
TileVectorizer::Values TileVectorizer::runBody(const Chunk &chunk, ValueRange outs) {
  OpBuilder::InsertionGuard guard(b);
  DenseMap<Value, Value> saved;
  if (!uniformsReady) {
    saved = uniforms;
    computeUniform();
  }
  DenseMap<Value, Value> vectors;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument arg = op.getMatchingBlockArgument(input);
    if (!arg.use_empty() && !uniforms.contains(arg))
      vectors[arg] = load(*input, chunk);
  }
  for (auto [arg, value] : llvm::zip(op.getRegionOutputArgs(), outs))
    if (value)
      vectors[arg] = value;

  auto get = [&](Value value) -> Value {
    if (Value mapped = vectors.lookup(value))
      return mapped;
    return toVector(uniforms.contains(value) ? uniforms.lookup(value) : value, chunk);
  };
  for (Operation &inner : body->without_terminator()) {
    Value result = inner.getResult(0);
    if (uniforms.contains(result))
      continue;
    if (isa<linalg::IndexOp>(inner)) {
      Value first = chunkIndex(chunk);
      if (chunk.width > 1) {
        auto steps = llvm::to_vector(llvm::seq<int64_t>(0, chunk.width));
        auto type = vectorOf(b.getIndexType(), chunk);
        Value step = arith::ConstantOp::create(b, loc, DenseIntElementsAttr::get(type, steps));
        first = arith::AddIOp::create(b, loc, toVector(first, chunk), step);
      }
      vectors[result] = first;
      continue;
    }
    if (auto loadOp = dyn_cast<memref::LoadOp>(inner)) {
      vectors[result] = gather(loadOp, vectors, chunk);
      continue;
    }
    Values operands = llvm::map_to_vector(inner.getOperands(), get);
    Type type = chunk.width == 1 ? result.getType() : Type(vectorOf(result.getType(), chunk));
    vectors[result] =
        b.create(loc, inner.getName().getIdentifier(), operands, type, inner.getAttrs())->getResult(0);
  }
  Values yielded = llvm::map_to_vector(body->getTerminator()->getOperands(), get);
  if (!uniformsReady)
    uniforms = std::move(saved);
  return yielded;
}

/// A nest of loops over `dims` around `inner`, which gets and returns the carried values.
void TileVectorizer::emitLoops(ArrayRef<int64_t> dims, ValueRange carried,
                               llvm::function_ref<Values(ValueRange)> inner, Values *results) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<scf::ForOp> loops;
  ValueRange current = carried;
  for (int64_t dim : dims) {
    if (ranges[dim] == 1) {
      ivs[dim] = constantIndex(0);
      continue;
    }
    Value zero = constantIndex(0), end = constantIndex(ranges[dim]), one = constantIndex(1);
    auto loop = scf::ForOp::create(b, loc, zero, end, one, current);
    if (!loops.empty() && !carried.empty()) {
      b.setInsertionPointToEnd(loops.back().getBody());
      scf::YieldOp::create(b, loc, loop.getResults());
    }
    loops.push_back(loop);
    current = loop.getRegionIterArgs();
    ivs[dim] = loop.getInductionVar();
    b.setInsertionPointToStart(loop.getBody());
  }
  Values last = inner(current);
  if (loops.empty()) {
    if (results)
      *results = last;
    return;
  }
  if (!carried.empty()) {
    b.setInsertionPointToEnd(loops.back().getBody());
    scf::YieldOp::create(b, loc, last);
  }
  if (results)
    *results = llvm::to_vector_of<Value>(loops.front().getResults());
}

TileVectorizer::Values TileVectorizer::reduceOver(ArrayRef<int64_t> dims, const Chunk &chunk,
                                                  ValueRange carried) {
  Values results;
  emitLoops(dims, carried, [&](ValueRange outs) { return runBody(chunk, outs); }, &results);
  return results;
}

void TileVectorizer::emitParallelDimension() {
  SmallVector<int64_t> outer, reductions;
  for (int64_t dim = 0, e = ranges.size(); dim != e; ++dim)
    if (dim != d)
      (isReduction(dim) ? reductions : outer).push_back(dim);
  emitLoops(outer, {}, [&](ValueRange) -> Values {
    if (reductions.empty()) {
      computeUniform();
      uniformsReady = true;
    }
    auto emitChunk = [&](const Chunk &chunk) {
      Values outs;
      for (OpOperand &out : op.getDpsInitsMutable())
        outs.push_back(op.payloadUsesValueFromOperand(&out) || !reductions.empty() ? load(out, chunk)
                                                                                   : Value());
      Values results = reductions.empty() ? runBody(chunk, outs) : reduceOver(reductions, chunk, outs);
      for (auto [out, result] : llvm::zip(op.getDpsInitsMutable(), results))
        store(out, result, chunk);
    };
    int64_t whole = ranges[d] / lanes * lanes, rest = ranges[d] - whole;
    auto emitLoop = [&](int64_t begin, int64_t end, int64_t width) {
      OpBuilder::InsertionGuard guard(b);
      if (end - begin == width)
        return emitChunk({constantIndex(begin), width, width, 0});
      Value from = constantIndex(begin), to = constantIndex(end), step = constantIndex(width);
      auto loop = scf::ForOp::create(b, loc, from, to, step);
      b.setInsertionPointToStart(loop.getBody());
      emitChunk({loop.getInductionVar(), width, width, 0});
    };
    if (whole)
      emitLoop(0, whole, lanes);
    if (rest && traps)
      emitLoop(whole, ranges[d], 1);
    else if (rest)
      emitChunk({constantIndex(whole), lanes, rest, 0});
    return {};
  });
}

void TileVectorizer::emitReductionDimension() {
  SmallVector<int64_t> outer, reductions;
  for (int64_t dim = 0, e = ranges.size(); dim != e; ++dim)
    if (dim != d)
      (isReduction(dim) ? reductions : outer).push_back(dim);
  int64_t partials = ranges[d] >= kPartialVectors * lanes ? kPartialVectors : 1;
  int64_t block = partials * lanes;
  int64_t whole = ranges[d] / block * block, vectors = ranges[d] / lanes * lanes;
  SmallVector<Operation *> reduced;
  llvm::copy_if(combiners, std::back_inserter(reduced),
                [](Operation *combiner) { return combiner != nullptr; });

  emitLoops(outer, {}, [&](ValueRange) -> Values {
    // Accumulators: for each reduced output its partial vectors.
    Values accumulators;
    for (Operation *combiner : reduced) {
      TypedAttr neutral = *arith::getNeutralElement(combiner);
      auto type = VectorType::get({lanes}, neutral.getType());
      Value start = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, Attribute(neutral)));
      accumulators.append(partials, start);
    }
    // Runs the body on vector `p` of a block: updates accumulator p of the reduced outputs, stores the
    // others.
    auto accumulate = [&](Values &acc, int64_t p, const Chunk &chunk) {
      Values outs;
      int64_t slot = p;
      for (auto [out, combiner] : llvm::zip(op.getDpsInitsMutable(), combiners)) {
        if (combiner) {
          outs.push_back(acc[slot]);
          slot += partials;
        } else {
          outs.push_back(op.payloadUsesValueFromOperand(&out) ? load(out, chunk) : Value());
        }
      }
      Values updated = runBody(chunk, outs);
      slot = p;
      for (auto [o, out] : llvm::enumerate(op.getDpsInitsMutable())) {
        if (!combiners[o]) {
          store(out, updated[o], chunk);
          continue;
        }
        acc[slot] = chunk.active == chunk.width
                        ? updated[o]
                        : Value(arith::SelectOp::create(b, loc, laneMask(chunk), updated[o], outs[o]));
        slot += partials;
      }
    };
    Values totals;
    emitLoops(
        reductions, accumulators,
        [&](ValueRange carried) -> Values {
          computeUniform();
          uniformsReady = true;
          Values acc(carried);
          auto emitLoop = [&](int64_t begin, int64_t end, int64_t count) {
            if (begin == end)
              return;
            OpBuilder::InsertionGuard guard(b);
            if (end - begin == count * lanes) {
              for (int64_t p = 0; p < count; ++p)
                accumulate(acc, p, {constantIndex(begin), lanes, lanes, p * lanes});
              return;
            }
            Value from = constantIndex(begin), to = constantIndex(end), step = constantIndex(count * lanes);
            auto loop = scf::ForOp::create(b, loc, from, to, step, acc);
            b.setInsertionPointToStart(loop.getBody());
            Values inside(loop.getRegionIterArgs());
            for (int64_t p = 0; p < count; ++p)
              accumulate(inside, p, {loop.getInductionVar(), lanes, lanes, p * lanes});
            scf::YieldOp::create(b, loc, inside);
            acc = llvm::to_vector_of<Value>(loop.getResults());
          };
          emitLoop(0, whole, partials);
          emitLoop(whole, vectors, 1);
          if (int64_t rest = ranges[d] - vectors)
            accumulate(acc, partials - 1, {constantIndex(vectors), lanes, rest, 0});
          return acc;
        },
        &totals);

    Chunk scalar{constantIndex(0), 1, 1, 0};
    int64_t slot = 0;
    for (auto [out, combiner] : llvm::zip(op.getDpsInitsMutable(), combiners)) {
      if (!combiner)
        continue;
      vector::CombiningKind kind = *linalg::getCombinerOpKind(combiner);
      auto acc = MutableArrayRef<Value>(totals).slice(slot, partials);
      slot += partials;
      for (int64_t half = partials / 2; half; half /= 2)
        for (int64_t p = 0; p < half; ++p)
          acc[p] = vector::makeArithReduction(b, loc, kind, acc[p], acc[p + half]);
      Value total = vector::ReductionOp::create(b, loc, kind, acc[0], arith::FastMathFlags::reassoc);
      Value result = vector::makeArithReduction(b, loc, kind, total, load(out, scalar));
      memref::StoreOp::create(b, loc, result, out.get(), indicesOf(out, scalar.start));
    }
    return {};
  });
}

LogicalResult TileVectorizer::run() {
  if (ShapedType::isDynamicShape(ranges) || !bodyHasVectorForm() || !chooseDimension())
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

} // namespace

LogicalResult vectorizeTileOp(RewriterBase &rewriter, linalg::LinalgOp op, unsigned lanes) {
  return TileVectorizer(rewriter, op, lanes).run();
}

} // namespace tessera
