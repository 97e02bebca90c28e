//===- GptNeox.cpp - GPT-NeoX and Pythia ----------------------------------===//
//
// LayerNorm, biases everywhere, a part of each head turned, and attention and MLP side by side: both read the
// stream as the layer got it, each through a norm of its own (arXiv 2204.06745, 2304.01373). The rows of q, k
// and v lie in one tensor, head by head; the converter to GGUF puts all of q first.
//
//===----------------------------------------------------------------------===//
#include "tessera/Import/DecoderNames.h"
#include "tessera/Import/Family.h"
#include "tessera/Import/GGUF/GgufSettings.h"
#include "tessera/Import/HuggingFace/JsonSettings.h"
#include "tessera/Import/Layers.h"

using namespace tessera;
using namespace tessera::importer;

static ModelConfig readHuggingFace(Settings &settings, const io::ModelFile &) {
  ModelConfig c;
  c.layers = settings.size("num_hidden_layers");
  c.hidden = settings.size("hidden_size");
  c.heads = c.kvHeads = settings.size("num_attention_heads");
  c.ffn = settings.size("intermediate_size");
  c.vocab = settings.size("vocab_size");
  c.maxPositions = settings.size("max_position_embeddings", 2048);
  c.normEps = settings.positive("layer_norm_eps", 1e-5);
  c.activation = readActivation(settings, "hidden_act", "gelu");
  c.attentionBias = settings.flag("attention_bias", true);
  c.mlpBias = true;
  c.tiedHead = settings.flag("tie_word_embeddings", false);
  c.parallelBlocks = settings.flag("use_parallel_residual", true);
  c.madeUp.plain = c.madeUp.toResidual = settings.positive("initializer_range", 0.02);
  checkHeads(settings, c, "num_attention_heads", "num_attention_heads", "hidden_size");
  c.rotary = readRotaryJson(
      settings, c,
      {.turnsPart = true, .rotaryPart = 0.25, .thetaAlias = "rotary_emb_base", .partAlias = "rotary_pct"});
  return c;
}

static ModelConfig readGguf(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufConfig(settings, file, "gptneox", "gptneox.attention.layer_norm_epsilon");
  c.rotary = readRotaryGguf(settings, file, "gptneox", c, /*turnsPart=*/true);
  c.activation = Activation::GeluErf; // the format does not say; what Pythia has
  c.attentionBias = file.find("blk.0.attn_qkv.bias") != nullptr;
  c.mlpBias = true;
  c.parallelBlocks = settings.flag("gptneox.use_parallel_residual", true);
  settings.require(c.kvHeads == c.heads, "gptneox.attention.head_count_kv",
                   "differs from the number of heads");
  return c;
}

static mlir::Value build(ModelBuilder &model, const ModelConfig &c) {
  auto norm = [&](const std::string &name, mlir::Value x) { return LayerNorm{name, c.normEps}(model, x); };
  auto mlp = [&](mlir::Value x) {
    return Mlp{"layers", c.hidden, c.ffn, c.activation, c.mlpBias, c.drops, c.ffnGranule}(model, x);
  };
  mlir::Value x = nameResidual(model, embedTokens(model, c));
  if (!c.parallelBlocks)
    return preNormDecoder(model, c, x, norm, [&](LayerKind, mlir::Value h) { return mlp(h); });
  auto layer = [&](mlir::Value h) {
    mlir::Value mixed = Attention::from("layers", c)(model, norm("layers.attention_norm", h));
    // The two are added first: sharded alike, their partial sums are reduced once.
    return addResidual(model, h, add(model, mixed, mlp(norm("layers.mlp_norm", h))));
  };
  return normedHead(model, c, model.repeat(c.layers, x, {layer}), norm);
}

const Family &importer::gptNeoxFamily() {
  constexpr StorageOrder byHead = StorageOrder::HeadByHead;
  static const Family family = {
      "gpt_neox",
      {{"GPTNeoXForCausalLM"},
       "gpt_neox",
       readHuggingFace,
       {{{"embedding", "gpt_neox.embed_in.weight"},
         {"layers.attention_norm", "gpt_neox.layers.{}.input_layernorm.weight"},
         {"layers.attention_norm_bias", "gpt_neox.layers.{}.input_layernorm.bias"},
         {"layers.q", "gpt_neox.layers.{}.attention.query_key_value.weight", byHead},
         {"layers.k", "gpt_neox.layers.{}.attention.query_key_value.weight", byHead},
         {"layers.v", "gpt_neox.layers.{}.attention.query_key_value.weight", byHead},
         {"layers.q_bias", "gpt_neox.layers.{}.attention.query_key_value.bias", byHead},
         {"layers.k_bias", "gpt_neox.layers.{}.attention.query_key_value.bias", byHead},
         {"layers.v_bias", "gpt_neox.layers.{}.attention.query_key_value.bias", byHead},
         {"layers.o", "gpt_neox.layers.{}.attention.dense.weight"},
         {"layers.o_bias", "gpt_neox.layers.{}.attention.dense.bias"},
         {"layers.mlp_norm", "gpt_neox.layers.{}.post_attention_layernorm.weight"},
         {"layers.mlp_norm_bias", "gpt_neox.layers.{}.post_attention_layernorm.bias"},
         {"layers.up", "gpt_neox.layers.{}.mlp.dense_h_to_4h.weight"},
         {"layers.up_bias", "gpt_neox.layers.{}.mlp.dense_h_to_4h.bias"},
         {"layers.down", "gpt_neox.layers.{}.mlp.dense_4h_to_h.weight"},
         {"layers.down_bias", "gpt_neox.layers.{}.mlp.dense_4h_to_h.bias"},
         {"norm", "gpt_neox.final_layer_norm.weight"},
         {"norm_bias", "gpt_neox.final_layer_norm.bias"},
         {"unembedding", "embed_out.weight"}},
        /*optionalPrefix=*/"",
        // Buffers: the causal mask, and frequencies.
        /*ignored=*/{".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"}}},
      {{"gptneox"},
       "",
       readGguf,
       ggufNames(StorageOrder::OutputMajor, {{"layers.attention_norm_bias", "blk.{}.attn_norm.bias"},
                                             {"layers.q", "blk.{}.attn_qkv.weight"},
                                             {"layers.k", "blk.{}.attn_qkv.weight"},
                                             {"layers.v", "blk.{}.attn_qkv.weight"},
                                             {"layers.q_bias", "blk.{}.attn_qkv.bias"},
                                             {"layers.k_bias", "blk.{}.attn_qkv.bias"},
                                             {"layers.v_bias", "blk.{}.attn_qkv.bias"},
                                             {"layers.mlp_norm_bias", "blk.{}.ffn_norm.bias"},
                                             {"norm_bias", "output_norm.bias"}})},
      build};
  return family;
}
