//===- Layers.cpp ---------------------------------------------------------===//
#include "tessera/Import/Layers.h"

using namespace mlir;

namespace tessera::importer {

/// Dimensions of a stream between blocks.
static constexpr StringRef kResidualName = "residual";
static constexpr StringRef kStreamDims[] = {"batch", "seq", "hidden"};

static SmallVector<int64_t> shapeOf(Value value) {
  return SmallVector<int64_t>(cast<RankedTensorType>(value.getType()).getShape());
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
  return model.make<graph::AddOp>(shape, y, model.weight(name + "_bias", out, /*inDims=*/0, Init::Zero));
}

Value RmsNorm::operator()(ModelBuilder &model, Value x) const {
  SmallVector<int64_t> shape = shapeOf(x);
  Value w = model.weight(name, {{"hidden", shape.back()}}, /*inDims=*/0, Init::One);
  return model.make<graph::RmsNormOp>(shape, x, w, llvm::APFloat(eps));
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
  std::vector<double> frequencies = rotaryFrequencies(config, shape.back());
  return model.make<graph::RopeOp>(shape, x, model.positions(), ArrayRef<double>(frequencies),
                                   graph::RopeStyle::half, llvm::APFloat(1.0));
}

Attention Attention::from(std::string name, const ModelConfig &c) {
  return {std::move(name), c.hidden,        c.kvHeads, c.group(),     c.headDim, c.attentionScale,
          c.attentionBias, c.attentionBias, c.rotary,  /*window=*/{}, c.drops};
}

Value Attention::operator()(ModelBuilder &model, Value x) const {
  x = nameValue(model, x, "attention_input", kStreamDims);
  Dims hiddenDim{{"hidden", hidden}};
  Dims queryDims{{"kv_heads", kvHeads}, {"group", group}, {"head_dim", headDim}};
  Dims keyDims{{"kv_heads", kvHeads}, {"head_dim", headDim}};
  Value q = Linear{name + ".q", queryDims, hiddenDim, inputBias}(model, x);
  Value k = Linear{name + ".k", keyDims, hiddenDim, inputBias}(model, x);
  Value v = Linear{name + ".v", keyDims, hiddenDim, inputBias}(model, x);
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
  model.setPlace(name + ".attention");
  Value mixed =
      model.make<graph::AttentionOp>(shapeOf(q), q, k, v, model.positions(), b.getF64FloatAttr(scale),
                                     window ? b.getI64IntegerAttr(*window) : IntegerAttr(), FloatAttr());
  mixed.getDefiningOp<graph::AttentionOp>().setDrops(drops);
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

Value GatedMlp::operator()(ModelBuilder &model, Value x) const {
  x = nameValue(model, x, "mlp_input", kStreamDims);
  Dims hiddenDim{{"hidden", hidden}}, ffnDim{{"ffn", ffn}};
  Value gate = Linear{name + ".gate", ffnDim, hiddenDim, bias}(model, x);
  Value up = Linear{name + ".up", ffnDim, hiddenDim, bias}(model, x);
  gate = nameValue(model, gate, "gate", {"batch", "seq", "ffn"});
  up = nameValue(model, up, "up", {"batch", "seq", "ffn"});
  Value inner = model.make<graph::MulOp>(shapeOf(up), activate(model, activation, gate), up);
  inner = nameValue(model, inner, "mlp", {"batch", "seq", "ffn"});
  return nameValue(model, Linear{name + ".down", hiddenDim, ffnDim, bias, {}, Init::ToResidual}(model, inner),
                   "mlp_output", kStreamDims);
}

Value Mlp::operator()(ModelBuilder &model, Value x) const {
  x = nameValue(model, x, "mlp_input", kStreamDims);
  Dims hiddenDim{{"hidden", hidden}}, ffnDim{{"ffn", ffn}};
  Value up = nameValue(model, Linear{name + ".up", ffnDim, hiddenDim, bias}(model, x), "up",
                       {"batch", "seq", "ffn"});
  Value inner = nameValue(model, activate(model, activation, up), "mlp", {"batch", "seq", "ffn"});
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
  return nameValue(model, product(model, x), "logits", {"batch", "seq", "vocab"});
}

Value preNormDecoder(ModelBuilder &model, const ModelConfig &config, Value x,
                     llvm::function_ref<Value(const std::string &name, Value)> norm,
                     llvm::function_ref<Value(Value)> mlp) {
  auto layer = [&](Value h) {
    h = addResidual(model, h, Attention::from("layers", config)(model, norm("layers.attention_norm", h)));
    return addResidual(model, h, mlp(norm("layers.mlp_norm", h)));
  };
  x = model.repeat(config.layers, x, {layer});
  return Head{config.tiedHead ? "embedding" : "unembedding", config.vocab, config.hidden}(model,
                                                                                          norm("norm", x));
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

Value addResidual(ModelBuilder &model, Value x, Value y, bool drops) {
  return nameResidual(model, model.make<graph::AddOp>(shapeOf(x), x, y), drops);
}

} // namespace tessera::importer
