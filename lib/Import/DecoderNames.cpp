//===- DecoderNames.cpp ---------------------------------------------------===//
#include "tessera/Import/DecoderNames.h"

#include "llvm/ADT/STLExtras.h"

namespace tessera::importer {

/// `names`, with `more` behind them; lines whose parameter `more` has too are left out.
static std::vector<WeightName> withMore(std::vector<WeightName> names, llvm::ArrayRef<WeightName> more) {
  llvm::erase_if(names, [&](const WeightName &name) {
    return llvm::any_of(more, [&](const WeightName &other) { return other.parameter == name.parameter; });
  });
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

WeightTable huggingFaceNames(llvm::ArrayRef<WeightName> more) {
  std::vector<WeightName> names = {{"embedding", "model.embed_tokens.weight"},
                                   {"layers.attention_norm", "model.layers.{}.input_layernorm.weight"},
                                   {"layers.q", "model.layers.{}.self_attn.q_proj.weight"},
                                   {"layers.q_bias", "model.layers.{}.self_attn.q_proj.bias"},
                                   {"layers.q_norm", "model.layers.{}.self_attn.q_norm.weight"},
                                   {"layers.k", "model.layers.{}.self_attn.k_proj.weight"},
                                   {"layers.k_bias", "model.layers.{}.self_attn.k_proj.bias"},
                                   {"layers.k_norm", "model.layers.{}.self_attn.k_norm.weight"},
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
                                   {"unembedding", "lm_head.weight"}};
  return {withMore(std::move(names), more), /*optionalPrefix=*/"", /*ignored=*/{".rotary_emb.inv_freq"}};
}

WeightTable ggufNames(StorageOrder queries, llvm::ArrayRef<WeightName> more) {
  std::vector<WeightName> names = {
      {"embedding", "token_embd.weight"},
      {"layers.attention_norm", "blk.{}.attn_norm.weight"},
      {"layers.q", "blk.{}.attn_q.weight", queries},
      {"layers.q_bias", "blk.{}.attn_q.bias", queries},
      {"layers.q_norm", "blk.{}.attn_q_norm.weight"},
      {"layers.k", "blk.{}.attn_k.weight", queries},
      {"layers.k_bias", "blk.{}.attn_k.bias", queries},
      {"layers.k_norm", "blk.{}.attn_k_norm.weight"},
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
      {"layers.router", "blk.{}.ffn_gate_inp.weight"},
      {"layers.experts.gate", "blk.{}.ffn_gate_exps.weight", StorageOrder::ExpertMajor},
      {"layers.experts.up", "blk.{}.ffn_up_exps.weight", StorageOrder::ExpertMajor},
      {"layers.experts.down", "blk.{}.ffn_down_exps.weight", StorageOrder::ExpertMajor},
      {"norm", "output_norm.weight"},
      {"unembedding", "output.weight"}};
  return {withMore(std::move(names), more),
          /*optionalPrefix=*/"",
          /*ignored=*/{"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}};
}

} // namespace tessera::importer
