//===- Llama.cpp - Llama 1 to 3 and models of the same form ---------------===//
//
// RMSNorm before each block, rotary embedding on halves of a head, grouped heads, gated MLP, no learned
// positions (arXiv 2302.13971, 2307.09288, 2407.21783). TinyLlama, SmolLM and SmolLM2 are of this family.
//
//===----------------------------------------------------------------------===//
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
  c.heads = settings.size("num_attention_heads");
  c.kvHeads = settings.size("num_key_value_heads", c.heads);
  c.headDim = settings.has("head_dim") ? settings.size("head_dim") : 0;
  c.ffn = settings.size("intermediate_size");
  c.vocab = settings.size("vocab_size");
  c.maxPositions = settings.size("max_position_embeddings", 2048);
  c.normEps = settings.positive("rms_norm_eps", 1e-6);
  c.activation = readActivation(settings, "hidden_act", "silu");
  c.attentionBias = settings.flag("attention_bias", false);
  c.mlpBias = settings.flag("mlp_bias", false);
  c.tiedHead = settings.flag("tie_word_embeddings", false);
  c.rotary = readRotaryJson(settings);
  c.madeUp.plain = c.madeUp.toResidual = settings.positive("initializer_range", 0.02);
  checkHeads(settings, c, "num_attention_heads", "num_key_value_heads", "hidden_size");
  return c;
}

static ModelConfig readGguf(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufConfig(settings, file, "llama", "llama.attention.layer_norm_rms_epsilon");
  c.rotary = readRotaryGguf(settings, file, "llama", c.headDim);
  c.attentionBias = file.find("blk.0.attn_q.bias") != nullptr;
  c.mlpBias = file.find("blk.0.ffn_up.bias") != nullptr;
  return c;
}

static mlir::Value build(ModelBuilder &model, const ModelConfig &c) {
  mlir::Value words = Embedding{"embedding", "vocab", c.vocab, c.hidden}(model, model.tokens());
  return preNormDecoder(
      model, c, nameResidual(model, words),
      [&](const std::string &name, mlir::Value x) { return RmsNorm{name, c.normEps}(model, x); },
      [&](mlir::Value x) { return GatedMlp{"layers", c.hidden, c.ffn, c.activation, c.mlpBias}(model, x); });
}

const Family &importer::llamaFamily() {
  static const Family family = {
      "llama",
      {{"LlamaForCausalLM"},
       "llama",
       readHuggingFace,
       {{{"embedding", "model.embed_tokens.weight"},
         {"layers.attention_norm", "model.layers.{}.input_layernorm.weight"},
         {"layers.q", "model.layers.{}.self_attn.q_proj.weight"},
         {"layers.q_bias", "model.layers.{}.self_attn.q_proj.bias"},
         {"layers.k", "model.layers.{}.self_attn.k_proj.weight"},
         {"layers.k_bias", "model.layers.{}.self_attn.k_proj.bias"},
         {"layers.v", "model.layers.{}.self_attn.v_proj.weight"},
         {"layers.v_bias", "model.layers.{}.self_attn.v_proj.bias"},
         {"layers.o", "model.layers.{}.self_attn.o_proj.weight"},
         {"layers.o_bias", "model.layers.{}.self_attn.o_proj.bias"},
         {"layers.mlp_norm", "model.layers.{}.post_attention_layernorm.weight"},
         {"layers.gate", "model.layers.{}.mlp.gate_proj.weight"},
         {"layers.gate_bias", "model.layers.{}.mlp.gate_proj.bias"},
         {"layers.up", "model.layers.{}.mlp.up_proj.weight"},
         {"layers.up_bias", "model.layers.{}.mlp.up_proj.bias"},
         {"layers.down", "model.layers.{}.mlp.down_proj.weight"},
         {"layers.down_bias", "model.layers.{}.mlp.down_proj.bias"},
         {"norm", "model.norm.weight"},
         {"unembedding", "lm_head.weight"}},
        /*optionalPrefix=*/"",
        /*ignored=*/{".rotary_emb.inv_freq"}}},
      {{"llama"},
       "",
       readGguf,
       // The converter permutes the rows of q and k for rotary embedding on adjacent pairs.
       {{{"embedding", "token_embd.weight"},
         {"layers.attention_norm", "blk.{}.attn_norm.weight"},
         {"layers.q", "blk.{}.attn_q.weight", StorageOrder::AdjacentPairs},
         {"layers.q_bias", "blk.{}.attn_q.bias", StorageOrder::AdjacentPairs},
         {"layers.k", "blk.{}.attn_k.weight", StorageOrder::AdjacentPairs},
         {"layers.k_bias", "blk.{}.attn_k.bias", StorageOrder::AdjacentPairs},
         {"layers.v", "blk.{}.attn_v.weight"},
         {"layers.v_bias", "blk.{}.attn_v.bias"},
         {"layers.o", "blk.{}.attn_output.weight"},
         {"layers.o_bias", "blk.{}.attn_output.bias"},
         {"layers.mlp_norm", "blk.{}.ffn_norm.weight"},
         {"layers.gate", "blk.{}.ffn_gate.weight"},
         {"layers.gate_bias", "blk.{}.ffn_gate.bias"},
         {"layers.up", "blk.{}.ffn_up.weight"},
         {"layers.up_bias", "blk.{}.ffn_up.bias"},
         {"layers.down", "blk.{}.ffn_down.weight"},
         {"layers.down_bias", "blk.{}.ffn_down.bias"},
         {"norm", "output_norm.weight"},
         {"unembedding", "output.weight"}},
        "",
        {"rope_freqs.weight"}}},
      build};
  return family;
}
