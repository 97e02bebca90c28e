//===- LossInChunks.cpp ---------------------------------------------------===//
#include "LossInChunks.h"

#include "FloatArithmetic.h"

#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/Transforms/Differentiate.h"

using namespace mlir;

namespace tessera::graph {

int64_t chunksOfLoss(int64_t rows, int64_t seq, int64_t width, int64_t vocab) {
  constexpr int64_t kHeldOfALayer = 20, kFewestTogether = 64;
  int64_t found = 1;
  for (int64_t chunks = 1; chunks <= seq && rows * (seq / chunks) >= kFewestTogether; ++chunks)
    if (seq % chunks == 0) {
      found = chunks;
      if (vocab <= kHeldOfALayer * width * chunks)
        break;
    }
  return found;
}

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Chunk c has positions c, c + chunks, ...: positions that are sharded stay where they are, for it is the
/// outer part of `seq` that is.
class Positions {
public:
  Positions(OpBuilder &builder, Location loc, int64_t chunks) : builder(builder), loc(loc), chunks(chunks) {}

  /// [rows, seq, ...] to [chunks, rows, seq / chunks, ...].
  Value apart(Value whole) {
    SmallVector<int64_t> shape(typeOf(whole).getShape());
    shape[1] /= chunks;
    shape.insert(shape.begin() + 2, chunks);
    return turned(reshaped(whole, shape), order(shape.size(), {2, 0, 1}));
  }

  /// And back.
  Value together(Value stack) {
    Value back = turned(stack, order(size_t(typeOf(stack).getRank()), {1, 2, 0}));
    SmallVector<int64_t> shape(typeOf(back).getShape());
    shape[1] *= chunks;
    shape.erase(shape.begin() + 2);
    return reshaped(back, shape);
  }

private:
  static SmallVector<int64_t> order(size_t rank, ArrayRef<int64_t> first) {
    SmallVector<int64_t> all(first);
    for (size_t dim = first.size(); dim < rank; ++dim)
      all.push_back(int64_t(dim));
    return all;
  }
  Value reshaped(Value x, ArrayRef<int64_t> shape) {
    return ReshapeOp::create(builder, loc, typeOf(x).clone(shape), x);
  }
  Value turned(Value x, ArrayRef<int64_t> permutation) {
    SmallVector<int64_t> shape;
    for (int64_t from : permutation)
      shape.push_back(typeOf(x).getDimSize(unsigned(from)));
    return TransposeOp::create(builder, loc, typeOf(x).clone(shape), x, permutation);
  }

  OpBuilder &builder;
  Location loc;
  int64_t chunks;
};

} // namespace

FailureOr<Value> LossInChunks::emit(OpBuilder &builder, Location loc, IRMapping &values, Value seed,
                                    SmallVectorImpl<Gradient> &gradients) {
  FloatArithmetic f{builder, loc};
  Positions positions(builder, loc, chunks);
  Value input = values.lookup(tail.input);
  SmallVector<Value> stacks{positions.apart(input), positions.apart(targets)};
  // What the tail reads besides, and may have a gradient. In the body it is first taken for slices of stacks,
  // which are what has one there.
  llvm::SmallSetVector<Value, 8> outside;
  IRMapping inside;
  for (Operation *op : llvm::reverse(tail.ops))
    for (Value operand : op->getOperands()) {
      if (operand == tail.input || tail.ops.contains(operand.getDefiningOp()))
        continue;
      Value value = values.lookup(operand);
      if (isa<FloatType>(typeOf(value).getElementType()) &&
          !isa_and_nonnull<ConstantOp>(value.getDefiningOp()))
        outside.insert(operand);
      else
        inside.map(operand, value);
    }
  SmallVector<Value> read(stacks);
  for (Value operand : outside)
    read.push_back(values.lookup(operand));
  // Inside an op from the beginning: what is differentiated asks what lies in what.
  auto bare = RepeatOp::create(builder, loc, TypeRange(), chunks, ValueRange(), read, 1);
  Block &body = bare.getBodies()[0].emplaceBlock();
  body.addArgument(RankedTensorType::get({}, builder.getI32Type()), loc);
  for (Value stack : stacks)
    body.addArgument(typeOf(stack).clone(typeOf(stack).getShape().drop_front()), loc);
  inside.map(tail.input, body.getArgument(1));
  constexpr unsigned kFirstOutside = 3;
  for (Value operand : outside)
    inside.map(operand, body.addArgument(values.lookup(operand).getType(), loc));

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&body);
  for (Operation *op : llvm::reverse(tail.ops)) {
    Operation *copy = builder.clone(*op, inside);
    for (auto [result, of] : llvm::zip_equal(copy->getResults(), op->getResults()))
      result.setType(positionWise.resized(of, rows, seq / chunks));
  }
  auto lossOfRow = f.type({rows, seq / chunks});
  auto entropy =
      CrossEntropyOp::create(builder, loc, lossOfRow, lossOfRow, inside.lookup(logits), body.getArgument(2));
  Value loss = f.mul(f.sum(entropy.getLoss()), tokenWeight);

  SmallVector<Value> found;
  if (seed) {
    Operation *terminator = YieldOp::create(builder, loc, loss);
    SmallVector<BlockArgument> wanted{body.getArgument(1)};
    llvm::append_range(wanted, body.getArguments().drop_front(kFirstOutside));
    FailureOr<SmallVector<Value>> emitted = differentiate(body, {seed}, wanted);
    if (failed(emitted))
      return failure();
    found = std::move(*emitted);
    loss = terminator->getOperand(0);
    terminator->erase();
    builder.setInsertionPointToEnd(&body);
  }
  // From here on the body reads what lies outside as it lies there.
  for (auto [i, operand] : llvm::enumerate(outside))
    body.getArgument(unsigned(kFirstOutside + i)).replaceAllUsesWith(values.lookup(operand));
  body.eraseArguments(kFirstOutside, unsigned(outside.size()));

  // The loss and gradients of what all chunks read are sums; those of what each has a part of are parts.
  SmallVector<Value> next{loss}, parts;
  SmallVector<unsigned> summed;
  for (unsigned i = 1; i < found.size(); ++i)
    if (found[i]) {
      summed.push_back(i);
      next.push_back(found[i]);
    }
  for (auto [i, value] : llvm::enumerate(next)) {
    // Sums are called as what they add up.
    StringRef name = callName(value.getLoc());
    FloatArithmetic sums{builder, name.empty() ? loc : nameCall(loc, name)};
    value = sums.add(body.insertArgument(unsigned(1 + i), value.getType(), loc), value);
  }
  SmallVector<Value> yielded(next);
  SmallVector<Type> types(ValueRange(next).getTypes());
  if (!found.empty() && found.front()) {
    yielded.push_back(found.front());
    SmallVector<int64_t> shape(typeOf(found.front()).getShape());
    shape.insert(shape.begin(), chunks);
    types.push_back(typeOf(found.front()).clone(shape));
  }
  YieldOp::create(builder, loc, yielded);
  builder.setInsertionPoint(bare);
  SmallVector<Value> inits =
      llvm::map_to_vector(next, [&](Value value) { return f.splat(typeOf(value), 0); });
  auto repeat = RepeatOp::create(builder, nameCall(loc, "chunk"), types, chunks, inits, stacks, 1);
  repeat.getBodies()[0].takeBody(bare.getBodies()[0]);
  bare.erase();
  builder.setInsertionPointAfter(repeat);
  for (auto [sum, i] : llvm::zip_equal(repeat->getResults().slice(1, summed.size()), summed))
    gradients.push_back({values.lookup(outside[i - 1]), sum});
  if (yielded.size() > next.size())
    gradients.push_back({input, positions.together(repeat->getResults().back())});
  return Value(repeat->getResult(0));
}

} // namespace tessera::graph
