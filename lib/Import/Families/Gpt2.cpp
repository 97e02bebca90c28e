//===- Gpt2.cpp - GPT-2 ---------------------------------------------------===//
//
// LayerNorm before each block, learned positions, biases everywhere, one tensor for q, k and v, tied head
// (Radford et al. 2019). Checkpoints of the hub leave out the prefix `transformer.`.
//
//===----------------------------------------------------------------------===//
#include "tessera/Import/Family.h"
#include "tessera/Import/GGUF/GgufSettings.h"
#include "tessera/Import/HuggingFace/JsonSettings.h"
#include "tessera/Import/Layers.h"

#include <cmath>

using namespace tessera;
using namespace tessera::importer;

static ModelConfig readHuggingFace(Settings &settings, const io::ModelFile &) {
  ModelConfig c;
  c.layers = settings.size("n_layer");
  c.hidden = settings.size("n_embd");
  c.heads = c.kvHeads = settings.size("n_head");
  c.ffn = settings.size("n_inner", 4 * c.hidden);
  c.vocab = settings.size("vocab_size");
  c.maxPositions = settings.size("n_positions");
  c.normEps = settings.positive("layer_norm_epsilon", 1e-5);
  c.activation = readActivation(settings, "activation_function", "gelu_new");
  c.attentionBias = c.mlpBias = c.drops = true;
  c.tiedHead = settings.flag("tie_word_embeddings", true);
  checkHeads(settings, c, "n_head", "n_head", "n_embd");
  if (!settings.flag("scale_attn_weights", true))
    c.attentionScale = 1;
  c.madeUp.plain = settings.positive("initializer_range", 0.02);
  c.madeUp.toResidual = c.madeUp.plain / std::sqrt(2.0 * double(c.layers));
  return c;
}

static ModelConfig readGguf(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufConfig(settings, file, "gpt2", "gpt2.attention.layer_norm_epsilon");
  c.activation = Activation::GeluTanh; // the format does not say; what converters accept
  c.attentionBias = c.mlpBias = c.drops = true;
  c.madeUp.toResidual = c.madeUp.plain / std::sqrt(2.0 * double(c.layers));
  settings.require(c.kvHeads == c.heads, "gpt2.attention.head_count_kv", "differs from the number of heads");
  return c;
}

static mlir::Value build(ModelBuilder &model, const ModelConfig &c) {
  mlir::Value words = Embedding{"embedding", "vocab", c.vocab, c.hidden}(model, model.tokens());
  mlir::Value places =
      Embedding{"position_embedding", "position", c.maxPositions, c.hidden}(model, model.positions());
  return preNormDecoder(
      model, c, addResidual(model, words, places, c.drops),
      [&](const std::string &name, mlir::Value x) { return LayerNorm{name, c.normEps}(model, x); },
      [&](LayerKind, mlir::Value x) {
        return Mlp{"layers", c.hidden, c.ffn, c.activation, c.mlpBias, c.drops, c.ffnGranule}(model, x);
      });
}

const Family &importer::gpt2Family() {
  static const Family family = {
      "gpt2",
      {{"GPT2LMHeadModel"},
       "gpt2",
       readHuggingFace,
       {{{"embedding", "transformer.wte.weight"},
         {"position_embedding", "transformer.wpe.weight"},
         {"layers.attention_norm", "transformer.h.{}.ln_1.weight"},
         {"layers.attention_norm_bias", "transformer.h.{}.ln_1.bias"},
         {"layers.q", "transformer.h.{}.attn.c_attn.weight", StorageOrder::InputMajor},
         {"layers.k", "transformer.h.{}.attn.c_attn.weight", StorageOrder::InputMajor},
         {"layers.v", "transformer.h.{}.attn.c_attn.weight", StorageOrder::InputMajor},
         {"layers.q_bias", "transformer.h.{}.attn.c_attn.bias"},
         {"layers.k_bias", "transformer.h.{}.attn.c_attn.bias"},
         {"layers.v_bias", "transformer.h.{}.attn.c_attn.bias"},
         {"layers.o", "transformer.h.{}.attn.c_proj.weight", StorageOrder::InputMajor},
         {"layers.o_bias", "transformer.h.{}.attn.c_proj.bias"},
         {"layers.mlp_norm", "transformer.h.{}.ln_2.weight"},
         {"layers.mlp_norm_bias", "transformer.h.{}.ln_2.bias"},
         {"layers.up", "transformer.h.{}.mlp.c_fc.weight", StorageOrder::InputMajor},
         {"layers.up_bias", "transformer.h.{}.mlp.c_fc.bias"},
         {"layers.down", "transformer.h.{}.mlp.c_proj.weight", StorageOrder::InputMajor},
         {"layers.down_bias", "transformer.h.{}.mlp.c_proj.bias"},
         {"norm", "transformer.ln_f.weight"},
         {"norm_bias", "transformer.ln_f.bias"},
         {"unembedding", "lm_head.weight"}},
        /*optionalPrefix=*/"transformer.",
        /*ignored=*/{".attn.bias", ".attn.masked_bias"}}}, // buffers with the causal mask
      {{"gpt2"},
       "",
       readGguf,
       {{{"embedding", "token_embd.weight"},
         {"position_embedding", "position_embd.weight"},
         {"layers.attention_norm", "blk.{}.attn_norm.weight"},
         {"layers.attention_norm_bias", "blk.{}.attn_norm.bias"},
         {"layers.q", "blk.{}.attn_qkv.weight"},
         {"layers.k", "blk.{}.attn_qkv.weight"},
         {"layers.v", "blk.{}.attn_qkv.weight"},
         {"layers.q_bias", "blk.{}.attn_qkv.bias"},
         {"layers.k_bias", "blk.{}.attn_qkv.bias"},
         {"layers.v_bias", "blk.{}.attn_qkv.bias"},
         {"layers.o", "blk.{}.attn_output.weight"},
         {"layers.o_bias", "blk.{}.attn_output.bias"},
         {"layers.mlp_norm", "blk.{}.ffn_norm.weight"},
         {"layers.mlp_norm_bias", "blk.{}.ffn_norm.bias"},
         {"layers.up", "blk.{}.ffn_up.weight"},
         {"layers.up_bias", "blk.{}.ffn_up.bias"},
         {"layers.down", "blk.{}.ffn_down.weight"},
         {"layers.down_bias", "blk.{}.ffn_down.bias"},
         {"norm", "output_norm.weight"},
         {"norm_bias", "output_norm.bias"},
         {"unembedding", "output.weight"}},
        "",
        {".attn.bias", ".attn.masked_bias"}}},
      build};
  return family;
}
