//===- MatrixProduct.cpp - Ops that are one product of matrices -----------===//

#include "tessera/Target/Forms/MatrixProduct.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Target/Forms/FormKernel.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera {
namespace {

/// One letter for each dimension.
using Letters = SmallVector<char>;

struct Operand {
  Value value;
  Letters letters;
};

/// What a transposition reads, each dimension under the letter that it has.
bool readThrough(Operand &operand) {
  auto op = operand.value.getDefiningOp<graph::TransposeOp>();
  if (!op)
    return false;
  Letters letters(operand.letters.size());
  for (auto [to, from] : llvm::enumerate(op.getPermutation()))
    letters[size_t(from)] = operand.letters[to];
  operand = {op.getInput(), letters};
  return true;
}

struct Subscripts {
  Operand lhs, rhs;
  Letters result;
};

std::optional<Subscripts> subscriptsOf(Operation *op) {
  auto letters = [](StringRef text) { return Letters(text.begin(), text.end()); };
  if (auto einsum = dyn_cast<graph::EinsumOp>(op))
    return Subscripts{{einsum.getLhs(), letters(einsum.getLhsLetters())},
                      {einsum.getRhs(), letters(einsum.getRhsLetters())},
                      letters(einsum.getResultLetters())};
  auto linear = dyn_cast<graph::LinearOp>(op);
  if (!linear)
    return std::nullopt;
  char next = 0;
  auto fresh = [&](int64_t count) {
    Letters made;
    for (; count > 0; --count)
      made.push_back(next++);
    return made;
  };
  auto joined = [](Letters a, ArrayRef<char> b) {
    a.append(b.begin(), b.end());
    return a;
  };
  auto contract = int64_t(linear.getContract());
  Letters rows = fresh(tensorOf(linear.getInput()).getRank() - contract),
          columns = fresh(tensorOf(linear.getWeight()).getRank() - contract), inner = fresh(contract);
  return Subscripts{{linear.getInput(), joined(rows, inner)},
                    {linear.getWeight(), joined(columns, inner)},
                    joined(rows, columns)};
}

/// Whether `operand` is the matrix [outer, inner] (false) or [inner, outer] (true), or neither.
std::optional<bool> isTransposed(const Operand &operand, ArrayRef<char> outer, ArrayRef<char> inner) {
  auto is = [&](ArrayRef<char> first, ArrayRef<char> second) {
    ArrayRef<char> letters = operand.letters;
    return letters.size() == first.size() + second.size() && letters.take_front(first.size()) == first &&
           letters.drop_front(first.size()) == second;
  };
  if (is(outer, inner))
    return false;
  if (is(inner, outer))
    return true;
  return std::nullopt;
}

int64_t sizeOf(const Operand &operand, ArrayRef<char> of) {
  int64_t size = 1;
  for (auto [letter, n] : llvm::zip_equal(operand.letters, tensorOf(operand.value).getShape()))
    size *= llvm::is_contained(of, letter) ? n : 1;
  return size;
}

/// The product with `x` as rows of the result and `w` as its columns.
std::optional<MatrixProduct> asMatrices(const Operand &x, const Operand &w, const Letters &result) {
  Letters rows, columns, inner;
  for (char letter : result) {
    bool inX = llvm::is_contained(x.letters, letter), inW = llvm::is_contained(w.letters, letter);
    if (inX == inW || (inX && !columns.empty()))
      return std::nullopt;
    (inX ? rows : columns).push_back(letter);
  }
  for (char letter : w.letters)
    if (!llvm::is_contained(result, letter))
      inner.push_back(letter);
  std::optional<bool> xTransposed = isTransposed(x, rows, inner),
                      wTransposed = isTransposed(w, columns, inner);
  if (!xTransposed || !wTransposed)
    return std::nullopt;
  return MatrixProduct{
      x.value, w.value, *xTransposed, *wTransposed, sizeOf(x, rows), sizeOf(w, columns), sizeOf(w, inner)};
}

/// `operand` as it is, then what stands behind transpositions: the farthest first.
SmallVector<Operand> ways(Operand operand) {
  SmallVector<Operand> all{operand};
  while (readThrough(operand))
    all.insert(all.begin(), operand);
  return all;
}

} // namespace

std::optional<MatrixProduct> matrixProduct(Operation *op) {
  std::optional<Subscripts> s = subscriptsOf(op);
  if (!s)
    return std::nullopt;
  for (const Operand &lhs : ways(s->lhs))
    for (const Operand &rhs : ways(s->rhs)) {
      std::optional<MatrixProduct> product = asMatrices(lhs, rhs, s->result);
      if (!product)
        product = asMatrices(rhs, lhs, s->result);
      // Without rows, columns or a sum there is nothing for a library: it is read once either way.
      if (product && (isa<graph::LinearOp>(op) || (product->m > 1 && product->n > 1 && product->k > 1)))
        return product;
    }
  return std::nullopt;
}

Value createMatmul(OpBuilder &builder, Location loc, const MatrixProduct &product, RankedTensorType type,
                   const PackedWeight &packed) {
  Value out =
      tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType(), type.getEncoding());
  auto call = exec::MatmulOp::create(
      builder, loc, TypeRange(type), builder.getI64IntegerAttr(product.m),
      builder.getI64IntegerAttr(product.n), builder.getI64IntegerAttr(product.k), product.x,
      packed.param ? packed.pieces : product.w, packed.param, packed.layer, out);
  call.setInputTransposed(product.xTransposed);
  call.setWeightTransposed(product.wTransposed);
  return call.getResults()[0];
}

} // namespace tessera
