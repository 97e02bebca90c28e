//===- Layers.cpp ---------------------------------------------------------===//
#include "tessera/Import/Layers.h"

#include "tessera/Dialect/Graph/IR/Experts.h"

using namespace mlir;

namespace tessera::importer {

/// Dimensions of a stream between blocks.
static constexpr StringRef kResidualName = "residual";
static constexpr StringRef kStreamDims[] = {"batch", "seq", "hidden"};

static SmallVector<int64_t> shapeOf(Value value) {
  return SmallVector<int64_t>(cast<RankedTensorType>(value.getType()).getShape());
}

/// x with elements of `element`.
static Value castTo(ModelBuilder &model, Type element, Value x) {
  return getElementTypeOrSelf(x) == element ? x : model.makeOf<graph::CastOp>(element, shapeOf(x), x);
}

/// A float32 scalar.
static Value floatNumber(ModelBuilder &model, double number) {
  auto scalar = RankedTensorType::get({}, model.builder().getF32Type());
  return model.makeOf<graph::ConstantOp>(scalar.getElementType(), {},
                                         DenseElementsAttr::get(scalar, float(number)));
}

Value Linear::operator()(ModelBuilder &model, Value x) const {
  Dims dims(out);
  dims.append(in);
  Value w = model.weight(name, dims, int(in.size()), init);
  SmallVector<int64_t> shape = shapeOf(x);
  shape.truncate(shape.size() - in.size());
  for (const Dim &dim : out)
    shape.push_back(dim.size);
  Value y = model.makeOf<graph::LinearOp>(result ? result : getElementTypeOrSelf(x), shape, x, w,
                                          int64_t(in.size()));
  if (!bias)
    return y;
  Type element = getElementTypeOrSelf(y);
  Value b = castTo(model, element, model.weight(name + "_bias", out, /*inDims=*/0, Init::Zero));
  return model.makeOf<graph::AddOp>(element, shape, y, b);
}

Value RmsNorm::operator()(ModelBuilder &model, Value x) const {
  SmallVector<int64_t> shape = shapeOf(x);
  Dims dims = over.empty() ? Dims{{"hidden", shape.back()}} : over;
  if (offset == 0)
    return model.make<graph::RmsNormOp>(shape, x, model.weight(name, dims, /*inDims=*/0, Init::One),
                                        llvm::APFloat(eps));
  // In float32: 1 + w in 16 bits would leave two or three bits of a small w.
  assert(offset == 1 && "made-up weights begin with factors of 1");
  Value w = castTo(model, model.builder().getF32Type(), model.weight(name, dims, /*inDims=*/0, Init::Zero));
  Value scale =
      model.makeOf<graph::AddOp>(getElementTypeOrSelf(w), shapeOf(w), w, floatNumber(model, offset));
  return model.make<graph::RmsNormOp>(shape, x, scale, llvm::APFloat(eps));
}

Value LayerNorm::operator()(ModelBuilder &model, Value x) const {
  SmallVector<int64_t> shape = shapeOf(x);
  Dims dims{{"hidden", shape.back()}};
  Value w = model.weight(name, dims, /*inDims=*/0, Init::One),
        b = model.weight(name + "_bias", dims, /*inDims=*/0, Init::Zero);
  return model.make<graph::LayerNormOp>(shape, x, w, b, llvm::APFloat(eps));
}

Value RotaryEmbedding::operator()(ModelBuilder &model, Value x) const {
  SmallVector<int64_t> shape = shapeOf(x);
  std::vector<double> frequencies = rotaryFrequencies(config, config.dimsOf(shape.back()), model.seq());
  return model.make<graph::RopeOp>(shape, x, model.positions(), ArrayRef<double>(frequencies),
                                   graph::RopeStyle::half, llvm::APFloat(config.magnitude));
}

Attention Attention::from(std::string name, const ModelConfig &c, LayerKind kind) {
  Attention a;
  a.name = std::move(name);
  a.hidden = c.hidden;
  a.kvHeads = c.kvHeads;
  a.group = c.group();
  a.headDim = c.headDim;
  a.scale = c.attentionScale;
  a.inputBias = c.attentionBias || c.inputBias;
  a.outputBias = c.attentionBias;
  if (kind.turns)
    a.rotary = kind.slides && c.slidingRotary ? c.slidingRotary : c.rotary;
  if (kind.slides)
    a.window = c.window;
  a.norm = c.queryKeyNorm;
  a.normEps = c.normEps;
  a.normOffset = c.normOffset;
  a.drops = c.drops;
  a.scoreCap = c.scoreCap;
  a.sinks = c.sinks;
  return a;
}

/// Of queries or keys x [batch, seq, heads..., head_dim], whose dimensions but the first two are `dims`.
static Value normalizeHeads(ModelBuilder &model, const Attention &a, const char *weight, Dims dims, Value x) {
  if (a.norm == QueryKeyNorm::None)
    return x;
  if (a.norm == QueryKeyNorm::EachHead)
    dims = {dims.back()};
  return RmsNorm{a.name + weight, a.normEps, dims, a.normOffset}(model, x);
}

Value Attention::operator()(ModelBuilder &model, Value x) const {
  x = nameValue(model, x, "attention_input", kStreamDims);
  Dims hiddenDim{{"hidden", hidden}};
  Dims queryDims{{"kv_heads", kvHeads}, {"group", group}, {"head_dim", headDim}};
  Dims keyDims{{"kv_heads", kvHeads}, {"head_dim", headDim}};
  Value q = Linear{name + ".q", queryDims, hiddenDim, inputBias}(model, x);
  Value k = Linear{name + ".k", keyDims, hiddenDim, inputBias}(model, x);
  Value v = Linear{name + ".v", keyDims, hiddenDim, inputBias}(model, x);
  q = normalizeHeads(model, *this, ".q_norm", queryDims, q);
  k = normalizeHeads(model, *this, ".k_norm", keyDims, k);
  if (rotary) {
    model.setPlace(name + ".q");
    q = RotaryEmbedding{*rotary}(model, q);
    model.setPlace(name + ".k");
    k = RotaryEmbedding{*rotary}(model, k);
  }
  model.setPlace(name + ".q");
  q = nameValue(model, q, "q", {"batch", "seq", "kv_heads", "group", "head_dim"});
  model.setPlace(name + ".k");
  k = nameValue(model, k, "k", {"batch", "seq", "kv_heads", "head_dim"});
  model.setPlace(name + ".v");
  v = nameValue(model, v, "v", {"batch", "seq", "kv_heads", "head_dim"});
  Builder &b = model.builder();
  Value learned;
  if (sinks)
    learned = model.weight(name + ".sinks", {queryDims[0], queryDims[1]}, /*inDims=*/0, Init::Plain);
  model.setPlace(name + ".attention");
  Value mixed =
      model.make<graph::AttentionOp>(shapeOf(q), q, k, v, model.positions(), b.getF64FloatAttr(scale),
                                     window ? b.getI64IntegerAttr(*window) : IntegerAttr(),
                                     scoreCap ? b.getF64FloatAttr(*scoreCap) : FloatAttr());
  auto op = mixed.getDefiningOp<graph::AttentionOp>();
  op.setDrops(drops);
  if (learned)
    op.getSinksMutable().assign(learned);
  mixed = nameValue(model, mixed, "attention", {"batch", "seq", "kv_heads", "group", "head_dim"});
  return nameValue(model,
                   Linear{name + ".o", hiddenDim, queryDims, outputBias, {}, Init::ToResidual}(model, mixed),
                   "attention_output", kStreamDims, drops);
}

Value activate(ModelBuilder &model, Activation activation, Value x) {
  SmallVector<int64_t> shape = shapeOf(x);
  switch (activation) {
  case Activation::Silu:
    return model.make<graph::SiluOp>(shape, x);
  case Activation::GeluErf:
    return model.make<graph::GeluErfOp>(shape, x);
  case Activation::GeluTanh:
    return model.make<graph::GeluTanhOp>(shape, x);
  case Activation::Relu:
    return model.make<graph::ReluOp>(shape, x);
  }
  llvm_unreachable("all activations are above");
}

/// The inner dimension of an MLP: a sharding cuts between granules.
static Dims innerDims(int64_t ffn, int64_t granule) {
  return granule == 1 ? Dims{{"ffn", ffn}} : Dims{{"ffn", ffn / granule}, {"ffn_granule", granule}};
}

/// Its names in values [batch, seq, inner...].
static ArrayRef<StringRef> innerNames(int64_t granule) {
  static constexpr StringRef names[] = {"batch", "seq", "ffn", "ffn_granule"};
  return ArrayRef(names).take_front(granule == 1 ? 3 : 4);
}

Value GatedMlp::operator()(ModelBuilder &model, Value x) const {
  x = nameValue(model, x, "mlp_input", kStreamDims);
  Dims hiddenDim{{"hidden", hidden}}, ffnDim = innerDims(ffn, granule);
  ArrayRef<StringRef> names = innerNames(granule);
  Value gate = Linear{name + ".gate", ffnDim, hiddenDim, bias}(model, x);
  Value up = Linear{name + ".up", ffnDim, hiddenDim, bias}(model, x);
  gate = nameValue(model, gate, "gate", names);
  up = nameValue(model, up, "up", names);
  Value inner = model.make<graph::MulOp>(shapeOf(up), activate(model, activation, gate), up);
  inner = nameValue(model, inner, "mlp", names);
  return nameValue(model, Linear{name + ".down", hiddenDim, ffnDim, bias, {}, Init::ToResidual}(model, inner),
                   "mlp_output", kStreamDims);
}

/// Scores of x and what they choose: ids i32 and shares f32, both [batch, seq, used].
static std::pair<Value, Value> route(ModelBuilder &model, const ExpertMlp &m, Value x) {
  Builder &b = model.builder();
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  SmallVector<int64_t> scored = shapeOf(x), chosen = scored, one = scored;
  scored.back() = m.experts, chosen.back() = m.used, one.back() = 1;
  Linear router{m.name + ".router", {{"expert", m.experts}}, {{"hidden", m.hidden}}, m.bias};
  router.result = f32;
  Value shares = model.makeOf<graph::SoftmaxOp>(f32, scored, router(model, x));
  auto of = [&](ArrayRef<int64_t> shape, Type element) { return RankedTensorType::get(shape, element); };
  auto top = graph::TopKOp::create(model.builder(), model.location(),
                                   TypeRange{of(chosen, f32), of(chosen, i32)}, shares);
  shares = top.getValues();
  if (m.normalize) {
    Value sum = model.makeOf<graph::ReduceOp>(f32, ArrayRef(chosen).drop_back(), graph::ReduceKind::sum,
                                              shares, ArrayRef<int64_t>{int64_t(chosen.size()) - 1});
    shares = model.makeOf<graph::DivOp>(f32, chosen, shares, model.makeOf<graph::ReshapeOp>(f32, one, sum));
  }
  // Nobody reads an expert's weights for the sake of padding.
  auto constant = [&](int32_t value) {
    return model.makeOf<graph::ConstantOp>(i32, {}, DenseElementsAttr::get(of({}, i32), value));
  };
  Value positions = model.makeOf<graph::ReshapeOp>(i32, one, model.positions());
  Value isToken =
      model.makeOf<graph::CompareOp>(b.getI1Type(), one, graph::CompareKind::ge, positions, constant(0));
  Value ids = model.makeOf<graph::SelectOp>(i32, chosen, isToken, top.getIndices(), constant(-1));
  return {ids, shares};
}

/// (clamp(up) + 1) * g * sigmoid(slope * g) of g = min(gate, limit), in float32 and rounded once.
static Value clampedProduct(ModelBuilder &model, const ClampedGate &clamped, Value gate, Value up) {
  Type wide = model.builder().getF32Type();
  SmallVector<int64_t> shape = shapeOf(gate);
  auto atMost = [&](Value x) -> Value {
    return model.makeOf<graph::MinimumOp>(wide, shape, castTo(model, wide, x),
                                          floatNumber(model, clamped.limit));
  };
  auto times = [&](Value x, Value y) -> Value { return model.makeOf<graph::MulOp>(wide, shape, x, y); };
  Value g = atMost(gate);
  Value u = model.makeOf<graph::MaximumOp>(wide, shape, atMost(up), floatNumber(model, -clamped.limit));
  Value open = model.makeOf<graph::SigmoidOp>(wide, shape, times(g, floatNumber(model, clamped.slope)));
  Value more = model.makeOf<graph::AddOp>(wide, shape, u, floatNumber(model, 1));
  return castTo(model, getElementTypeOrSelf(gate), times(more, times(g, open)));
}

/// The shares [batch, seq, used] of the experts `ids`, each at its expert's place: [batch, seq, expert], 0
/// for those that nobody chose.
static Value sharesByExpert(ModelBuilder &model, const ExpertMlp &m, Value ids, Value shares) {
  Builder &b = model.builder();
  SmallVector<int64_t> column = shapeOf(ids), all = column, dense = column;
  column.push_back(1), all.push_back(m.experts), dense.back() = m.experts;
  Value numbers = model.makeOf<graph::IotaOp>(b.getI32Type(), {m.experts}, b.getI64IntegerAttr(0));
  Value chosen =
      model.makeOf<graph::CompareOp>(b.getI1Type(), all, graph::CompareKind::eq,
                                     model.makeOf<graph::ReshapeOp>(b.getI32Type(), column, ids), numbers);
  Value spread = model.makeOf<graph::SelectOp>(b.getF32Type(), all, chosen,
                                               model.makeOf<graph::ReshapeOp>(b.getF32Type(), column, shares),
                                               floatNumber(model, 0));
  return model.makeOf<graph::ReduceOp>(b.getF32Type(), dense, graph::ReduceKind::sum, spread,
                                       ArrayRef<int64_t>{int64_t(all.size()) - 2});
}

Value ExpertMlp::operator()(ModelBuilder &model, Value x) const {
  x = nameValue(model, x, "mlp_input", kStreamDims);
  std::pair<Value, Value> chosen = route(model, *this, x);
  Value ids = chosen.first, shares = chosen.second;
  SmallVector<int64_t> tokens = shapeOf(x);
  tokens.pop_back();
  auto rowsOf = [&](int64_t width) {
    SmallVector<int64_t> shape = tokens;
    shape.append({experts, width});
    return shape;
  };
  Dim expertDim{"expert", experts}, hiddenDim{"hidden", hidden}, ffnDim{"ffn", ffn};
  auto product = [&](const char *weight, Value rows, const Dim &out, const Dim &in, Init init) -> Value {
    Value w = model.weight(name + weight, {expertDim, out, in}, /*inDims=*/1, init);
    return model.make<graph::ExpertLinearOp>(rowsOf(out.size), rows, w, ids);
  };
  auto biased = [&](const char *weight, Value rows) -> Value {
    if (!bias)
      return rows;
    Value b = model.weight(name + weight, {expertDim, ffnDim}, /*inDims=*/0, Init::Zero);
    return model.make<graph::AddOp>(shapeOf(rows), rows, b);
  };
  model.setPlace(name + ".dispatch");
  Value rows = model.make<graph::DispatchOp>(rowsOf(hidden), x, ids);
  StringRef inner[] = {"batch", "seq", "expert", "ffn"};
  Value gate = biased(".experts.gate_bias", product(".experts.gate", rows, ffnDim, hiddenDim, Init::Plain));
  gate = nameValue(model, gate, "gate", inner);
  Value up = biased(".experts.up_bias", product(".experts.up", rows, ffnDim, hiddenDim, Init::Plain));
  up = nameValue(model, up, "up", inner);
  Value both = clamped ? clampedProduct(model, *clamped, gate, up)
                       : model.make<graph::MulOp>(rowsOf(ffn), activate(model, activation, gate), up);
  both = nameValue(model, both, "mlp", inner);
  Value down = product(".experts.down", both, hiddenDim, ffnDim, Init::ToResidual);
  model.setPlace(name + ".combine");
  Value sum = model.make<graph::CombineOp>(shapeOf(x), down, ids, shares);
  if (bias) { // weighed by the same shares: one small product, whatever the rows' products are split over
    Value w = model.weight(name + ".experts.down_bias", {hiddenDim, expertDim}, /*inDims=*/1, Init::Zero);
    Value weights = castTo(model, getElementTypeOrSelf(x), sharesByExpert(model, *this, ids, shares));
    sum = add(model, sum, model.make<graph::LinearOp>(shapeOf(x), weights, w, int64_t(1)));
  }
  return nameValue(model, sum, "mlp_output", kStreamDims);
}

Value Mlp::operator()(ModelBuilder &model, Value x) const {
  x = nameValue(model, x, "mlp_input", kStreamDims);
  Dims hiddenDim{{"hidden", hidden}}, ffnDim = innerDims(ffn, granule);
  ArrayRef<StringRef> names = innerNames(granule);
  Value up = nameValue(model, Linear{name + ".up", ffnDim, hiddenDim, bias}(model, x), "up", names);
  Value inner = nameValue(model, activate(model, activation, up), "mlp", names);
  return nameValue(model, Linear{name + ".down", hiddenDim, ffnDim, bias, {}, Init::ToResidual}(model, inner),
                   "mlp_output", kStreamDims, drops);
}

Value Embedding::operator()(ModelBuilder &model, Value ids) const {
  Value table = model.weight(name, {{dim, rows}, {"hidden", hidden}}, /*inDims=*/1);
  SmallVector<int64_t> shape = shapeOf(ids);
  shape.push_back(hidden);
  return model.make<graph::EmbeddingOp>(shape, table, ids);
}

Value Head::operator()(ModelBuilder &model, Value x) const {
  x = nameValue(model, x, "head_input", kStreamDims);
  // Logits leave the sums of the product as they are, unrounded.
  Linear product{name, {{"vocab", vocab}}, {{"hidden", hidden}}};
  product.result = model.builder().getF32Type();
  Value logits = scaled(model, product(model, x), cap ? factor / *cap : factor);
  if (cap)
    logits = scaled(model, model.makeOf<graph::TanhOp>(getElementTypeOrSelf(logits), shapeOf(logits), logits),
                    *cap);
  return nameValue(model, logits, "logits", {"batch", "seq", "vocab"});
}

Value scaled(ModelBuilder &model, Value x, double factor) {
  if (factor == 1)
    return x;
  // The factor is not rounded to the type of 16 bits that x may have.
  Type wide = model.builder().getF32Type();
  Value product =
      model.makeOf<graph::MulOp>(wide, shapeOf(x), castTo(model, wide, x), floatNumber(model, factor));
  return castTo(model, getElementTypeOrSelf(x), product);
}

/// `number` as the element type `element` has it.
static double rounded(double number, Type element) {
  llvm::APFloat value(number);
  bool loses;
  value.convert(cast<FloatType>(element).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

Value embedTokens(ModelBuilder &model, const ModelConfig &config) {
  Value words = Embedding{"embedding", "vocab", config.vocab, config.hidden}(model, model.tokens());
  double factor = config.embeddingFactor;
  return scaled(model, words,
                config.roundsEmbeddingFactor ? rounded(factor, getElementTypeOrSelf(words)) : factor);
}

Value normedHead(ModelBuilder &model, const ModelConfig &config, Value x, Norm norm) {
  Head head{config.tiedHead ? "embedding" : "unembedding", config.vocab, config.hidden,
            1 / config.logitsDivisor, config.logitCap};
  return head(model, norm("norm", x));
}

Value preNormDecoder(ModelBuilder &model, const ModelConfig &config, Value x, Norm norm,
                     llvm::function_ref<Value(LayerKind, Value)> mlp) {
  auto normedIf = [&](bool here, const char *name, Value h) { return here ? norm(name, h) : h; };
  bool before = config.normPlaces.before, behind = config.normPlaces.behind;
  auto layer = [&](LayerKind kind, Value h) {
    Attention attention = Attention::from("layers", config, kind);
    Value mixed = attention(model, normedIf(before, "layers.attention_norm", h));
    mixed = normedIf(behind, "layers.attention_out_norm", mixed);
    h = addResidual(model, h, scaled(model, mixed, config.residualFactor));
    Value more = normedIf(behind, "layers.mlp_out_norm", mlp(kind, normedIf(before, "layers.mlp_norm", h)));
    return addResidual(model, h, scaled(model, more, config.residualFactor));
  };
  for (const LayerRun &run : layerRuns(config)) {
    std::vector<std::function<Value(Value)>> bodies;
    for (LayerKind kind : run.kinds)
      bodies.push_back([&layer, kind](Value h) { return layer(kind, h); });
    SmallVector<ModelBuilder::Body> period(bodies.begin(), bodies.end());
    x = model.repeat(run, x, period);
  }
  return normedHead(model, config, x, norm);
}

Value gatedDecoder(ModelBuilder &model, const ModelConfig &c) {
  return preNormDecoder(
      model, c, nameResidual(model, embedTokens(model, c)),
      [&](const std::string &name, Value x) { return RmsNorm{name, c.normEps, {}, c.normOffset}(model, x); },
      [&](LayerKind kind, Value x) {
        if (c.experts && !kind.isDense)
          return ExpertMlp{"layers",     c.hidden,           c.expertFfn,  c.experts,    c.expertsUsed,
                           c.activation, c.normalizedShares, c.expertBias, c.clampedGate}(model, x);
        return GatedMlp{"layers", c.hidden, c.ffn, c.activation, c.mlpBias, c.ffnGranule}(model, x);
      });
}

Value nameValue(ModelBuilder &model, Value x, StringRef name, ArrayRef<StringRef> dims, bool drops) {
  Builder &b = model.builder();
  return model.makeOf<graph::NameOp>(getElementTypeOrSelf(x), shapeOf(x), x, b.getStringAttr(name),
                                     b.getStrArrayAttr(dims),
                                     /*inner=*/name != kResidualName, drops);
}

Value nameResidual(ModelBuilder &model, Value x, bool drops) {
  return nameValue(model, x, kResidualName, kStreamDims, drops);
}

Value add(ModelBuilder &model, Value x, Value y) { return model.make<graph::AddOp>(shapeOf(x), x, y); }

Value addResidual(ModelBuilder &model, Value x, Value y, bool drops) {
  return nameResidual(model, add(model, x, y), drops);
}

} // namespace tessera::importer
