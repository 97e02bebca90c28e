//===- RandomLayers.cpp - Random layers of transformers -------------------===//
#include "RandomProgram.h"

#include "tessera/Dialect/Graph/IR/RowNumbers.h"

using namespace mlir;
using namespace tessera;

Value ProgramBuilder::drawLinear() {
  Value x = operandOfRank(1, 5);
  if (!x)
    return {};
  Shape in = shapeOf(x);
  int64_t contract = dice.between(1, std::min<int64_t>(3, int64_t(in.size())));
  Shape out(ArrayRef<int64_t>(in).drop_back(size_t(contract))), w;
  for (int64_t n = dice.between(contract == int64_t(in.size()) ? 1 : 0, 2); n > 0; --n) {
    w.push_back(size());
    out.push_back(w.back());
  }
  llvm::append_range(w, ArrayRef<int64_t>(in).take_back(size_t(contract)));
  if (!fits(out) || !fits(w))
    return {};
  return inFloats(
      graph::LinearOp::create(b, floats(out, mixedType()), x, weight(w, mixedType()), uint64_t(contract)));
}

/// Each dimension of an operand is summed over, shared or its own; the other operand has up to two of its
/// own, too.
Value ProgramBuilder::drawEinsum() {
  Value x = operandOfRank(1, 4);
  if (!x)
    return {};
  std::string lhs, rhs, result;
  Shape other, out;
  for (int64_t n : shapeOf(x)) {
    char letter = char('a' + lhs.size());
    lhs += letter;
    int64_t kind = dice.below(3);
    if (kind != 0) {
      result += letter;
      out.push_back(n);
    }
    if (kind != 1) {
      rhs += letter;
      other.push_back(n);
    }
  }
  for (int64_t own = dice.below(3); own > 0; --own) {
    char letter = char('a' + lhs.size() + size_t(own));
    size_t at = size_t(dice.below(int64_t(rhs.size()) + 1)),
           to = size_t(dice.below(int64_t(result.size()) + 1));
    int64_t n = size();
    rhs.insert(at, 1, letter);
    other.insert(other.begin() + ptrdiff_t(at), n);
    result.insert(to, 1, letter);
    out.insert(out.begin() + ptrdiff_t(to), n);
  }
  if (!fits(out) || !fits(other))
    return {};
  return inFloats(graph::EinsumOp::create(b, floats(out, mixedType()), x, weight(other, mixedType()),
                                          lhs + "," + rhs + "->" + result));
}

/// A layer of a stack: by a constant, or in a body by the iteration.
Value ProgramBuilder::drawLayerSlice() {
  Shape layer = shape(1, 3), stack = layer;
  int64_t layers = scope->body ? scope->layers : dice.between(1, 4);
  stack.insert(stack.begin(), layers);
  if (!fits(stack))
    return {};
  Value index = scope->layer;
  if (!index)
    index =
        graph::ConstantOp::create(b, ints({}), DenseElementsAttr::get(ints({}), int32_t(dice.below(layers))));
  graph::Kind kind = dice.chance(70) ? graph::Kind::Parameter : graph::Kind::Input;
  Value of = argument(floats(stack), kind, "layers" + std::to_string(names++));
  return graph::LayerSliceOp::create(b, floats(layer), of, index);
}

Value ProgramBuilder::drawEmbedding() {
  Shape rows = shape(1, 2), table = {dice.between(2, 11), size()}, out = rows;
  if (dice.chance(20))
    table.push_back(dice.between(1, 3));
  llvm::append_range(out, ArrayRef<int64_t>(table).drop_front());
  if (!fits(out))
    return {};
  Value ids = sharedInput(ints(rows), "tokens");
  return graph::EmbeddingOp::create(
      b, floats(out), argument(floats(table), graph::Kind::Parameter, "table" + std::to_string(names++)),
      ids);
}

/// Rows of the operand by ids; some of them lie outside.
Value ProgramBuilder::drawScatterAdd() {
  Value x = operandOfRank(2, 5);
  if (!x)
    return {};
  Shape in = shapeOf(x), out = {dice.between(2, 11)};
  size_t n = size_t(dice.between(1, std::min<int64_t>(2, int64_t(in.size()) - 1)));
  out.append(in.begin() + n, in.end());
  if (!fits(out))
    return {};
  Value ids = sharedInput(ints(ArrayRef<int64_t>(in).take_front(n)), "tokens");
  return inFloats(graph::ScatterAddOp::create(b, floats(out, sumType()), x, ids));
}

/// Loss or log-sum-exp per row, or the sum of the loss.
Value ProgramBuilder::drawCrossEntropy() {
  Value x = operandOfRank(1, 5);
  if (!x)
    return {};
  Shape rows(ArrayRef<int64_t>(shapeOf(x)).drop_back());
  Value labels = sharedInput(ints(rows), "labels");
  RankedTensorType type = floats(rows, sumType());
  auto op = graph::CrossEntropyOp::create(b, TypeRange{type, type}, x, labels);
  if (dice.chance(50))
    scope->values.push_back(inFloats(op.getLogSumExp()));
  if (rows.empty() || dice.chance(50))
    return inFloats(op.getLoss());
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(rows.size())));
  return inFloats(
      graph::ReduceOp::create(b, floats({}, sumType()), graph::ReduceKind::sum, op.getLoss(), all));
}

Value ProgramBuilder::drawNorm() {
  Value x = operandOfRank(1, 6);
  if (!x)
    return {};
  Shape last = {shapeOf(x).back()};
  auto eps = b.getF64FloatAttr(1e-2);
  switch (dice.below(3)) {
  case 0: {
    // Heads of a token, at times all at once.
    int64_t rowRank = dice.between(1, std::min<int64_t>(3, int64_t(shapeOf(x).size())));
    Shape row(ArrayRef<int64_t>(shapeOf(x)).take_back(size_t(rowRank)));
    return graph::RmsNormOp::create(b, x.getType(), x, weight(row, mixedType()), eps);
  }
  case 1:
    return graph::LayerNormOp::create(b, x.getType(), x, weight(last, mixedType()), weight(last, mixedType()),
                                      eps);
  default:
    return graph::SoftmaxOp::create(b, x.getType(), x);
  }
}

/// A gated MLP: up and gate, product, down. At times experts, each of which is one.
Value ProgramBuilder::drawMlp() {
  Value x = operandOfRank(2, 4);
  if (!x)
    return {};
  if (latest.chance(40) && options.experts)
    return drawExperts(x);
  Shape shape = shapeOf(x), inner = shape;
  inner.back() = size();
  if (!fits(inner))
    return {};
  Shape in = {inner.back(), shape.back()}, out = {shape.back(), inner.back()};
  Value up = graph::LinearOp::create(b, floats(inner), x, weight(in), uint64_t(1));
  Value gate = graph::LinearOp::create(b, floats(inner), x, weight(in), uint64_t(1));
  Value product = graph::MulOp::create(b, up.getType(), graph::TanhOp::create(b, gate.getType(), gate), up);
  return graph::LinearOp::create(b, x.getType(), product, weight(out), uint64_t(1));
}

/// Self-attention over [batch, seq, hidden], through a cache at times.
Value ProgramBuilder::drawAttention() {
  Value x = operandOfRank(3, 3);
  if (!x)
    return {};
  Shape shape = shapeOf(x);
  int64_t batch = shape[0], seq = shape[1], hidden = shape[2];
  int64_t heads = dice.between(1, 4), group = dice.between(1, 3), d = 2 * dice.between(1, 2);
  Shape qShape = {batch, seq, heads, group, d}, kvShape = {batch, seq, heads, d};
  if (!fits(qShape) || !fits({heads, group, d, hidden}))
    return {};
  Value positions = sharedInput(ints({batch, seq}), "positions", graph::FillSource::Positions);
  Value q = graph::LinearOp::create(b, floats(qShape), x, weight({heads, group, d, hidden}), uint64_t(1));
  Type cached = mixedType(); // of keys and values
  Value k = graph::LinearOp::create(b, floats(kvShape, cached), x, weight({heads, d, hidden}), uint64_t(1));
  Value v = graph::LinearOp::create(b, floats(kvShape, cached), x, weight({heads, d, hidden}), uint64_t(1));
  if (dice.chance(50)) {
    SmallVector<double> frequencies;
    for (int64_t p = 0; p < d / 2; ++p)
      frequencies.push_back(1.0 / double(1 + p));
    auto style = dice.chance(50) ? graph::RopeStyle::half : graph::RopeStyle::adjacent;
    auto one = b.getF64FloatAttr(1.0);
    auto list = b.getDenseF64ArrayAttr(frequencies);
    auto styleAttr = graph::RopeStyleAttr::get(b.getContext(), style);
    q = graph::RopeOp::create(b, q.getType(), q, positions, list, styleAttr, one);
    k = graph::RopeOp::create(b, k.getType(), k, positions, list, styleAttr, one);
    q = maybeJoined(q);
  }
  Value pages; // of the caches
  int64_t page = 0;
  // A cache belongs to the function: in a body it would have to be carried.
  if (depth == 0 && options.caches && dice.chance(40)) {
    int64_t context = seq + dice.below(4), layers = dice.between(1, 3);
    // Some in pages: small ones, or such as a target's kernels take.
    if (more.chance(40)) {
      page = more.chance(40) ? more.between(1, 3) : int64_t(32) << more.below(2);
      int64_t count = (context + page - 1) / page;
      count += count < 3 && fits({layers, batch, (count + 1) * page, heads, d}) ? 1 : 0;
      if (fits({layers, batch, count * page, heads, d})) {
        context = count * page;
        pages = argument(ints({batch, count}), graph::Kind::State, "pages" + std::to_string(names++),
                         graph::FillSource::Pages);
      }
    }
    Shape cacheShape = {layers, batch, context, heads, d}, layerShape = {batch, context, heads, d};
    if (!fits(cacheShape))
      return {};
    auto indexValue = DenseElementsAttr::get(ints({}), int32_t(dice.below(layers)));
    Value index = graph::ConstantOp::create(b, ints({}), indexValue);
    for (Value *value : {&k, &v}) {
      std::string name = "cache" + std::to_string(names++);
      Value cache = argument(floats(cacheShape, cached), graph::Kind::State, name);
      Value updated = graph::CacheUpdateOp::create(b, cache.getType(), cache, *value, index, positions, pages,
                                                   pages ? b.getI64IntegerAttr(page) : IntegerAttr());
      *value = graph::LayerSliceOp::create(b, floats(layerShape, cached), updated, index);
      states.push_back(updated);
      stateNames.push_back(b.getStringAttr(name));
    }
  }
  auto window = dice.chance(25) ? b.getI64IntegerAttr(dice.between(1, 4)) : IntegerAttr();
  auto softcap = dice.chance(20) ? b.getF64FloatAttr(3.0) : FloatAttr();
  auto scale = b.getF64FloatAttr(0.5);
  Value dropKeys, dropShare;
  if (more.chance(25) && !pages) {
    dropKeys = rowKeys(ArrayRef<int64_t>(qShape).drop_back());
    dropShare = share();
  }
  bool asBackward = more.chance(25) && !pages;
  Value mixed, sinks = more.chance(25) ? weight({heads, group}) : Value();
  if (asBackward)
    mixed = withGradients(graph::AttentionOp::create(
        b, floats(qShape), RankedTensorType::get(ArrayRef<int64_t>(qShape).drop_back(), b.getF32Type()), q, k,
        v, positions, Value(), sinks, dropKeys, dropShare, scale, window, softcap, IntegerAttr()));
  else
    mixed = graph::AttentionOp::create(b, floats(qShape), Type(), q, k, v, positions, pages, sinks, dropKeys,
                                       dropShare, scale, window, softcap,
                                       pages ? b.getI64IntegerAttr(page) : IntegerAttr())
                .getResult();
  mixed = maybeJoined(mixed);
  return graph::LinearOp::create(b, x.getType(), mixed, weight({hidden, heads, group, d}), uint64_t(3));
}

/// Keys of rows, drawn from their places: the same on any mesh.
Value ProgramBuilder::rowKeys(ArrayRef<int64_t> rows) {
  Location loc = b.getLoc();
  Value key = graph::integerConstant(b, loc, more.below(int64_t(1) << 40)),
        stream = graph::integerConstant(b, loc, more.below(100)), numbers = graph::rowNumbers(b, loc, rows);
  return graph::RandomKeyOp::create(b, numbers.getType(), key, stream, numbers);
}

/// What part of the elements to drop.
Value ProgramBuilder::share() {
  auto type = RankedTensorType::get({}, b.getF32Type());
  return graph::ConstantOp::create(b, type, DenseElementsAttr::get(type, 0.125f * float(more.below(6))));
}

/// `x` with elements dropped.
Value ProgramBuilder::dropped(Value x) {
  SmallVector<int64_t> rows(shapeOf(x));
  auto columns = RankedTensorType::get(rows.back(), b.getI32Type());
  rows.back() = 1;
  Value keys = rowKeys(rows), numbers = graph::IotaOp::create(b, columns, uint64_t(0));
  return graph::DropoutOp::create(b, x.getType(), x, keys, numbers, share());
}

/// The result of an attention, and something of the gradients of its operands. Values are as wide as keys.
Value ProgramBuilder::withGradients(graph::AttentionOp op) {
  Value result = op.getResult(), q = op.getQuery(), k = op.getKey(), v = op.getValue();
  Value gradient = graph::TanhOp::create(b, q.getType(), q);
  Value products = graph::MulOp::create(b, result.getType(), result, gradient);
  Value delta = graph::ReduceOp::create(b, cast<RankedTensorType>(op.getLogSumExp().getType()),
                                        graph::ReduceKind::sum, products, ArrayRef<int64_t>{4});
  auto sized = [&](Value value) -> Value { return graph::TanhOp::create(b, value.getType(), value); };
  Value dq = graph::AttentionQueryGradientOp::create(
      b, q.getType(), q, k, v, op.getPositions(), gradient, op.getLogSumExp(), delta, op.getDropKeys(),
      op.getDropShare(), op.getScaleAttr(), op.getWindowAttr(), op.getSoftcapAttr());
  auto rest = graph::AttentionKeyValueGradientOp::create(
      b, k.getType(), v.getType(), q, k, v, op.getPositions(), gradient, op.getLogSumExp(), delta,
      op.getDropKeys(), op.getDropShare(), op.getScaleAttr(), op.getWindowAttr(), op.getSoftcapAttr());
  Value sum = graph::AddOp::create(b, result.getType(), result, sized(dq));
  return graph::AttentionOp::create(b, result.getType(), sum, sized(rest.getKeyGradient()),
                                    sized(rest.getValueGradient()), op.getPositions(), op.getScaleAttr(),
                                    op.getWindowAttr(), op.getSoftcapAttr())
      .getResult();
}

/// One index of each row of `scores`, drawn.
Value ProgramBuilder::drawnFrom(Value scores) {
  auto constant = [&](Type type, TypedAttr value) -> Value {
    auto scalar = RankedTensorType::get({}, type);
    return graph::ConstantOp::create(b, scalar, DenseElementsAttr::get(scalar, ArrayRef<Attribute>{value}));
  };
  auto real = [&](double value) { return constant(b.getF64Type(), b.getF64FloatAttr(value)); };
  ArrayRef<int64_t> rest = cast<RankedTensorType>(scores.getType()).getShape().drop_back();
  int64_t seed = dice.below(1 << 20), topK = dice.chance(60) ? 0 : 1 + dice.below(8);
  double temperature = 0.25 * double(1 + dice.below(8)),
         topP = dice.chance(40) ? 1 : 0.05 * double(1 + dice.below(19)),
         minP = dice.chance(60) ? 0 : 0.05 * double(1 + dice.below(10));
  return graph::DrawOp::create(
      b, ints(rest), scores, sharedInput(ints(rest), "streams"), sharedInput(ints(rest), "counts"),
      constant(b.getI64Type(), b.getI64IntegerAttr(seed)), real(temperature),
      constant(b.getI32Type(), b.getI32IntegerAttr(int32_t(topK))), real(topP), real(minP));
}

Value ProgramBuilder::drawArgMax() {
  Value x = operandOfRank(1, 5);
  if (!x || depth > 0)
    return {};
  // Of weights: equal up to rounding is equal.
  Shape shape = shapeOf(x), rest(ArrayRef<int64_t>(shape).drop_back());
  // In 16 bits just the weights: a rounded sine, or cosine, may be another's.
  Value scores = weight(shape);
  if (options.floats == RandomProgramOptions::Floats::F32)
    scores = graph::SinOp::create(b, x.getType(), scores);
  else if (auto computed = scores.getDefiningOp<graph::CosOp>())
    scores = computed.getInput();
  Value index;
  if (dice.chance(40)) {
    index = drawnFrom(scores);
  } else {
    Value key = graph::ArgMaxKeyOp::create(b, RankedTensorType::get(rest, b.getI64Type()), scores);
    index = graph::ArgMaxIndexOp::create(b, ints(rest), key);
  }
  if (options.manyLoops && options.shardings && dice.chance(50))
    index = moved(index);
  integerResults.push_back(index);
  return graph::SinOp::create(b, floats(rest), graph::CastOp::create(b, floats(rest), index));
}
