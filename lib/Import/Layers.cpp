//===- Layers.cpp ---------------------------------------------------------===//
#include "tessera/Import/Layers.h"

using namespace mlir;

namespace tessera::importer {

static SmallVector<int64_t> shapeOf(Value value) {
  return SmallVector<int64_t>(cast<RankedTensorType>(value.getType()).getShape());
}

Value Linear::operator()(ModelBuilder &model, Value x) const {
  Dims dims(out);
  dims.append(in);
  Value w = model.weight(name, dims, int(in.size()));
  SmallVector<int64_t> shape = shapeOf(x);
  shape.truncate(shape.size() - in.size());
  for (const Dim &dim : out)
    shape.push_back(dim.size);
  Value y = model.make<graph::LinearOp>(shape, x, w, int64_t(in.size()));
  if (!bias)
    return y;
  return model.make<graph::AddOp>(shape, y, model.weight(name + "_bias", out));
}

Value RmsNorm::operator()(ModelBuilder &model, Value x) const {
  SmallVector<int64_t> shape = shapeOf(x);
  Value w = model.weight(name, {{"hidden", shape.back()}});
  return model.make<graph::RmsNormOp>(shape, x, w, llvm::APFloat(eps));
}

Value LayerNorm::operator()(ModelBuilder &model, Value x) const {
  SmallVector<int64_t> shape = shapeOf(x);
  Dims dims{{"hidden", shape.back()}};
  Value w = model.weight(name, dims), b = model.weight(name + "_bias", dims);
  return model.make<graph::LayerNormOp>(shape, x, w, b, llvm::APFloat(eps));
}

Value RotaryEmbedding::operator()(ModelBuilder &model, Value x) const {
  SmallVector<int64_t> shape = shapeOf(x);
  std::vector<double> frequencies = rotaryFrequencies(config, shape.back());
  return model.make<graph::RopeOp>(shape, x, model.positions(), ArrayRef<double>(frequencies),
                                   graph::RopeStyle::half, llvm::APFloat(1.0));
}

Attention Attention::from(std::string name, const ModelConfig &c) {
  return {std::move(name),  c.hidden,        c.kvHeads,       c.group(), c.headDim,
          c.attentionScale, c.attentionBias, c.attentionBias, c.rotary,  /*window=*/{}};
}

Value Attention::operator()(ModelBuilder &model, Value x) const {
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
  Builder &b = model.builder();
  model.setPlace(name + ".attention");
  Value mixed =
      model.make<graph::AttentionOp>(shapeOf(q), q, k, v, model.positions(), b.getF64FloatAttr(scale),
                                     window ? b.getI64IntegerAttr(*window) : IntegerAttr(), FloatAttr());
  return Linear{name + ".o", hiddenDim, queryDims, outputBias}(model, mixed);
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
  Dims hiddenDim{{"hidden", hidden}}, ffnDim{{"ffn", ffn}};
  Value gate = Linear{name + ".gate", ffnDim, hiddenDim, bias}(model, x);
  Value up = Linear{name + ".up", ffnDim, hiddenDim, bias}(model, x);
  Value inner = model.make<graph::MulOp>(shapeOf(up), activate(model, activation, gate), up);
  return Linear{name + ".down", hiddenDim, ffnDim, bias}(model, inner);
}

Value Mlp::operator()(ModelBuilder &model, Value x) const {
  Dims hiddenDim{{"hidden", hidden}}, ffnDim{{"ffn", ffn}};
  Value inner = activate(model, activation, Linear{name + ".up", ffnDim, hiddenDim, bias}(model, x));
  return Linear{name + ".down", hiddenDim, ffnDim, bias}(model, inner);
}

Value Embedding::operator()(ModelBuilder &model, Value ids) const {
  Value table = model.weight(name, {{dim, rows}, {"hidden", hidden}}, /*inDims=*/1);
  SmallVector<int64_t> shape = shapeOf(ids);
  shape.push_back(hidden);
  return model.make<graph::EmbeddingOp>(shape, table, ids);
}

Value Head::operator()(ModelBuilder &model, Value x) const {
  return Linear{name, {{"vocab", vocab}}, {{"hidden", hidden}}}(model, x);
}

Value nameResidual(ModelBuilder &model, Value x) {
  Builder &b = model.builder();
  return model.make<graph::NameOp>(shapeOf(x), x, b.getStringAttr("residual"),
                                   b.getStrArrayAttr({"batch", "seq", "hidden"}));
}

Value addResidual(ModelBuilder &model, Value x, Value y) {
  return nameResidual(model, model.make<graph::AddOp>(shapeOf(x), x, y));
}

} // namespace tessera::importer
