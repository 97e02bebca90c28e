//===- TileVectorizerLoops.cpp - loops around the body of a tile op ---------===//

#include "tessera/Target/Kernels/TileVectorizer.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tessera {

/// Partial accumulators of a reduction: enough to hide the latency of an add.
static constexpr int64_t kPartialVectors = 4;

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
  for (int64_t dim : dims) // what follows stands outside of these loops
    ivs[dim] = Value();
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

/// The bodies on `chunks`, each of which has its values among those that loops over `dims` carry. What is
/// made inside of these is stored there.
TileVectorizer::Values TileVectorizer::reduceOver(ArrayRef<int64_t> dims, ArrayRef<Chunk> chunks,
                                                  ValueRange carried) {
  auto isStored = [&](OpOperand &out) { return !dims.empty() && isMadeInside(out); };
  auto bodies = [&](ValueRange carriedValues) {
    Values updated;
    size_t next = 0;
    for (const Chunk &chunk : chunks) {
      Values outs;
      for (OpOperand &out : op.getDpsInitsMutable())
        outs.push_back(isStored(out) ? Value() : carriedValues[next++]);
      Values results = runBody(chunk, outs);
      for (auto [out, result] : llvm::zip(op.getDpsInitsMutable(), results))
        if (isStored(out))
          store(out, result, chunk);
        else
          updated.push_back(result);
    }
    return updated;
  };
  if (dims.empty())
    return bodies(carried);
  Values results;
  emitLoops(dims, carried, bodies, &results);
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
    // `count` vectors from `start` on: a reduction takes them through its loops side by side.
    auto emitChunks = [&](Value start, int64_t count, int64_t width, int64_t active) {
      SmallVector<Chunk> chunks;
      Values outs;
      for (int64_t i = 0; i < count; ++i) {
        chunks.push_back({start, width, active, i * width});
        for (OpOperand &out : op.getDpsInitsMutable())
          if (reductions.empty() || !isMadeInside(out))
            outs.push_back(op.payloadUsesValueFromOperand(&out) || !reductions.empty()
                               ? load(out, chunks.back())
                               : Value());
      }
      Values results = reduceOver(reductions, chunks, outs);
      size_t next = 0;
      for (const Chunk &chunk : chunks)
        for (OpOperand &out : op.getDpsInitsMutable())
          if (reductions.empty() || !isMadeInside(out))
            store(out, results[next++], chunk);
    };
    auto emitLoop = [&](int64_t begin, int64_t end, int64_t count, int64_t width) {
      if (begin == end)
        return;
      OpBuilder::InsertionGuard guard(b);
      Value from = constantIndex(begin);
      if (end - begin != count * width) {
        Value to = constantIndex(end), step = constantIndex(count * width);
        auto loop = scf::ForOp::create(b, loc, from, to, step);
        b.setInsertionPointToStart(loop.getBody());
        from = loop.getInductionVar();
      }
      emitChunks(from, count, width, width);
    };
    int64_t vectors = ranges[d] / lanes * lanes, rest = ranges[d] - vectors;
    int64_t blocks = reductions.empty() ? 0 : ranges[d] / (kPartialVectors * lanes) * kPartialVectors * lanes;
    emitLoop(0, blocks, kPartialVectors, lanes);
    emitLoop(blocks, vectors, 1, lanes);
    if (rest && traps)
      emitLoop(vectors, ranges[d], 1, 1);
    else if (rest)
      emitChunks(constantIndex(vectors), 1, lanes, rest);
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

} // namespace tessera
