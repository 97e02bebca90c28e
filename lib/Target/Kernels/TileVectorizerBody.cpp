//===- TileVectorizerBody.cpp - the body of a tile op on one vector ---------===//

#include "tessera/Target/Kernels/TileVectorizer.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace tessera {

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

} // namespace tessera
