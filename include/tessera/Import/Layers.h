//===- Layers.h - Building blocks of model families -------------*- C++ -*-===//
//
// Each block makes its ops and declares its weights: `name` is the prefix of their names ("layers.attention"
// has "layers.attention.q"). x is [batch, seq, hidden] unless it says otherwise. Linear biases are
// `NAME_bias`.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_IMPORT_LAYERS_H
#define TESSERA_IMPORT_LAYERS_H

#include "tessera/Import/ModelBuilder.h"
#include "tessera/Import/ModelConfig.h"

namespace tessera::importer {

/// y[..., out...] = x[..., in...] . w[out..., in...] (+ b[out...]).
struct Linear {
  std::string name;
  Dims out, in;
  bool bias = false;
  mlir::Type result = {}; ///< element type of what comes out; null: the input's
  Init init = Init::Plain;
  mlir::Value operator()(ModelBuilder &model, mlir::Value x) const;
};

/// Over the last dimensions of x, those of the weight `NAME` [over...]. Without `over`: over the last one,
/// called "hidden". `offset` is added to the weight.
struct RmsNorm {
  std::string name;
  double eps;
  Dims over = {};
  double offset = 0;
  mlir::Value operator()(ModelBuilder &model, mlir::Value x) const;
};

/// Weights `NAME` and `NAME_bias` [hidden].
struct LayerNorm {
  std::string name;
  double eps;
  mlir::Value operator()(ModelBuilder &model, mlir::Value x) const;
};

/// Turns x [batch, seq, heads..., head_dim] by position, as much of a head as `config` says; pairs are half
/// of that apart.
struct RotaryEmbedding {
  RotaryConfig config;
  mlir::Value operator()(ModelBuilder &model, mlir::Value x) const;
};

/// Causal attention with grouped heads. Weights `q` [kv_heads, group, head_dim, hidden], `k` and `v`
/// [kv_heads, head_dim, hidden], `o` [hidden, kv_heads, group, head_dim].
struct Attention {
  std::string name;
  int64_t hidden, kvHeads, group, headDim;
  double scale;
  bool inputBias = false, outputBias = false;
  std::optional<RotaryConfig> rotary;
  std::optional<int64_t> window;          ///< keys that a query sees, itself included
  QueryKeyNorm norm = QueryKeyNorm::None; ///< weights `q_norm` and `k_norm`: [head_dim], or of all heads
  double normEps = 0, normOffset = 0;
  bool drops = false;             ///< training may drop weights, and elements of the output
  std::optional<double> scoreCap; ///< scores become scoreCap * tanh(score / scoreCap)
  bool sinks = false;             ///< weight `sinks` [kv_heads, group]: scores beside those of keys

  /// As the settings say of layers of `kind`, with rotary embedding if there is one.
  static Attention from(std::string name, const ModelConfig &config, LayerKind kind);
  /// The same where all layers are alike.
  static Attention from(std::string name, const ModelConfig &config) {
    return from(std::move(name), config, config.kind(0));
  }
  mlir::Value operator()(ModelBuilder &model, mlir::Value x) const;
};

/// down(activation(gate(x)) * up(x)). Weights `gate`, `up` [ffn, hidden], `down` [hidden, ffn]; with a
/// `granule`, which divides ffn, [ffn / granule, granule] stands for ffn.
struct GatedMlp {
  std::string name;
  int64_t hidden, ffn;
  Activation activation;
  bool bias = false;
  int64_t granule = 1;
  mlir::Value operator()(ModelBuilder &model, mlir::Value x) const;
};

/// The sum of what the `used` experts with the highest scores give, each a GatedMlp, times their shares: the
/// softmax of all scores, which `normalize` makes add up to 1 again (and so that of the chosen scores alone).
/// Scores and shares are float32; of equal ones the lower number wins. Tokens that are padding choose nobody.
/// Weights `router` [expert, hidden], `experts.gate` and `experts.up` [expert, ffn, hidden], `experts.down`
/// [expert, hidden, ffn]; with `bias` `router_bias` [expert], `experts.gate_bias` and `experts.up_bias`
/// [expert, ffn], `experts.down_bias` [hidden, expert].
struct ExpertMlp {
  std::string name;
  int64_t hidden, ffn, experts, used;
  Activation activation;
  bool normalize;
  bool bias = false;
  std::optional<ClampedGate> clamped = {}; ///< in place of `activation`
  mlir::Value operator()(ModelBuilder &model, mlir::Value x) const;
};

/// down(activation(up(x))). Weights `up` [ffn, hidden], `down` [hidden, ffn], as GatedMlp has them.
struct Mlp {
  std::string name;
  int64_t hidden, ffn;
  Activation activation;
  bool bias = false;
  bool drops = false; ///< training may drop elements of the output
  int64_t granule = 1;
  mlir::Value operator()(ModelBuilder &model, mlir::Value x) const;
};

/// Rows of the weight `NAME` [`dim`, hidden] by ids [batch, seq]: tokens ("vocab") or learned positions
/// ("position").
struct Embedding {
  std::string name, dim;
  int64_t rows, hidden;
  mlir::Value operator()(ModelBuilder &model, mlir::Value ids) const;
};

/// Logits [batch, seq, vocab], times `factor`, from the weight `NAME` [vocab, hidden], which may be an
/// embedding's. With a `cap` they become cap * tanh(logits / cap).
struct Head {
  std::string name;
  int64_t vocab, hidden;
  double factor = 1;
  std::optional<double> cap = {};
  mlir::Value operator()(ModelBuilder &model, mlir::Value x) const;
};

/// A norm of the family's kind, by the name of its weight.
using Norm = llvm::function_ref<mlir::Value(const std::string &name, mlir::Value)>;

/// The decoder that most families are: per layer attention and MLP, each on a normalized copy of the residual
/// stream x and added to it; the head. Kinds of layers are bodies of their own, of as many loops as layerRuns
/// says, and `mlp` makes what a layer of a kind has. Where the config says so, what is added is normed, too,
/// or it alone. Weights `layers.attention_norm`, `layers.mlp_norm` before the
/// blocks, `layers.attention_out_norm`, `layers.mlp_out_norm` behind them, `norm` and those of `mlp` and
/// Attention.
mlir::Value preNormDecoder(ModelBuilder &model, const ModelConfig &config, mlir::Value x, Norm norm,
                           llvm::function_ref<mlir::Value(LayerKind, mlir::Value)> mlp);

/// The same for families with RMSNorm, a gated MLP or experts that are one, or some layers this and others
/// that, and no learned positions, from the tokens on.
mlir::Value gatedDecoder(ModelBuilder &model, const ModelConfig &config);

/// The end of any decoder: a norm of x, weight `norm`; logits from `unembedding`, or from the embedding if
/// the head is tied.
mlir::Value normedHead(ModelBuilder &model, const ModelConfig &config, mlir::Value x, Norm norm);

/// The stream's beginning: rows of `embedding` times the config's factor.
mlir::Value embedTokens(ModelBuilder &model, const ModelConfig &config);

/// x * factor, rounded once.
mlir::Value scaled(ModelBuilder &model, mlir::Value x, double factor);

/// activation(x), element by element.
mlir::Value activate(ModelBuilder &model, Activation activation, mlir::Value x);
/// Calls x `name` with dimensions `dims`, so that `--shard=NAME:DIM=AXIS` can pin it. Names of the blocks
/// here: docs/llm-compile.md. `drops`: training may drop elements (docs/Dropout.md).
mlir::Value nameValue(ModelBuilder &model, mlir::Value x, llvm::StringRef name,
                      llvm::ArrayRef<llvm::StringRef> dims, bool drops = false);
/// x + y.
mlir::Value add(ModelBuilder &model, mlir::Value x, mlir::Value y);
/// x + y, called "residual": the stream between blocks.
mlir::Value addResidual(ModelBuilder &model, mlir::Value x, mlir::Value y, bool drops = false);
/// Calls x "residual" (what `--shard=residual:seq=tp` means).
mlir::Value nameResidual(ModelBuilder &model, mlir::Value x, bool drops = false);

} // namespace tessera::importer
#endif
