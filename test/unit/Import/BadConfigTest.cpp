//===- BadConfigTest.cpp - Hostile and contradictory settings -------------===//
//
// Every one must give one line that names the setting, and never crash.
//
//===----------------------------------------------------------------------===//
#include "TempModel.h"

using namespace tessera;
using namespace tessera::importer;
using namespace tessera::test;
using nlohmann::json;

static std::string failureOf(const std::string &path, const ImportOptions &options = {}) {
  mlir::MLIRContext context;
  auto module = importModel(context, path, options);
  return module ? std::string("accepted") : module.failure().message();
}

struct BadSetting {
  const char *family;
  const char *patch;    // merged into a good configuration; null removes
  const char *expected; // part of the message
};

// For readable names in the output of failures.
void PrintTo(const BadSetting &bad, std::ostream *os) { *os << bad.family << " " << bad.patch; }

class BadConfig : public testing::TestWithParam<BadSetting> {};

TEST_P(BadConfig, IsOneLineThatNamesTheSetting) {
  std::string family = GetParam().family;
  json config = family == "gpt2" ? gpt2Config() : llamaConfig();
  if (family == "mixtral" || family == "qwen3_moe") {
    bool mixtral = family == "mixtral";
    config["architectures"] = {mixtral ? "MixtralForCausalLM" : "Qwen3MoeForCausalLM"};
    config["model_type"] = family;
    config[mixtral ? "num_local_experts" : "num_experts"] = 5;
    config["num_experts_per_tok"] = 2;
  }
  if (family == "gpt_oss")
    config = gptOssConfig();
  config.merge_patch(json::parse(GetParam().patch));
  TempModel directory(config);
  std::string message = failureOf(directory.path());
  EXPECT_NE(message.find(GetParam().expected), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_NE(message.find("config.json"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, BadConfig,
    testing::Values(
        BadSetting{"llama", R"({"hidden_size": -48})", "hidden_size): is -48"},
        BadSetting{"llama", R"({"hidden_size": 0})", "hidden_size): is 0"},
        BadSetting{"llama", R"({"hidden_size": 48.5})", "hidden_size): is 48.5"},
        BadSetting{"llama", R"({"hidden_size": "48"})",
                   "hidden_size): is the string \"48\", must be an integer"},
        BadSetting{"llama", R"({"hidden_size": [48]})", "hidden_size): is [48]"},
        BadSetting{"llama", R"({"hidden_size": true})", "hidden_size): is true"},
        BadSetting{"llama", R"({"hidden_size": 18446744073709551615})",
                   "hidden_size): is 18446744073709551615"},
        BadSetting{"llama", R"({"hidden_size": 1e300})", "hidden_size): is 1e+300"},
        BadSetting{"llama", R"({"hidden_size": null})", "hidden_size): is missing"},
        BadSetting{"llama", R"({"num_hidden_layers": 0})", "num_hidden_layers"},
        BadSetting{
            "llama",
            R"({"num_hidden_layers": 65536, "hidden_size": 1073741824, "intermediate_size": 1073741824})",
            "2^50"},
        BadSetting{"llama", R"({"num_hidden_layers": 65537})",
                   "it has 65537 layers; implemented: 65536 at most"},
        BadSetting{"mixtral", R"({"num_local_experts": 1073741824})",
                   "it has 1073741824 experts in a layer; implemented: 65536 at most"},
        BadSetting{"llama", R"({"vocab_size": null})", "vocab_size): is missing"},
        BadSetting{"llama", R"({"vocab_size": 2147483648})", "vocab_size"},
        BadSetting{"llama", R"({"max_position_embeddings": -1})", "max_position_embeddings"},
        BadSetting{"llama", R"({"num_key_value_heads": 4})",
                   "num_key_value_heads): is 4, must divide num_attention_heads = 6"},
        BadSetting{"llama", R"({"num_key_value_heads": 12})", "num_key_value_heads"},
        BadSetting{"llama", R"({"head_dim": null, "num_attention_heads": 7, "num_key_value_heads": 7})",
                   "num_attention_heads): is 7, must divide hidden_size"},
        BadSetting{"llama", R"({"head_dim": 7})", "head_dim): gives heads of size 7"},
        BadSetting{"llama", R"({"head_dim": 1073741824})", "head_dim"},
        BadSetting{"llama", R"({"rms_norm_eps": -1})", "rms_norm_eps): is -1"},
        BadSetting{"llama", R"({"rms_norm_eps": "small"})", "rms_norm_eps"},
        BadSetting{"gpt2", R"({"n_embd": 50})", "n_head): is 6, must divide n_embd = 50"},
        BadSetting{"gpt2", R"({"n_positions": null})", "n_positions): is missing"},
        BadSetting{"gpt2", R"({"n_inner": 0})", "n_inner"}));

INSTANTIATE_TEST_SUITE_P(
    Unimplemented, BadConfig,
    testing::Values(
        BadSetting{"llama", R"({"hidden_act": "quick_gelu"})", "hidden_act): the value quick_gelu changes"},
        BadSetting{"llama", R"({"hidden_act": 3})", "hidden_act"},
        BadSetting{"llama", R"({"attention_bias": "yes"})",
                   "attention_bias): is the string \"yes\", must be true or false"},
        BadSetting{"llama", R"({"rope_parameters": {"rope_type": "ntk", "factor": 4.0}})",
                   "rope_parameters.rope_type): the value ntk"},
        BadSetting{"llama", R"({"rope_scaling": {"type": "ntk", "factor": 4.0}, "rope_parameters": null})",
                   "rope_scaling.type): the value ntk"},
        BadSetting{"llama", R"({"rope_scaling": {"factor": 4.0}, "rope_parameters": null})",
                   "rope_type): is missing"},
        BadSetting{"llama", R"({"rope_scaling": "linear"})", "rope_scaling): is linear, must be an object"},
        BadSetting{
            "llama",
            R"({"rope_parameters": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}})",
            "original_max_position_embeddings): is missing"},
        BadSetting{
            "llama",
            R"({"rope_parameters": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}})",
            "high_freq_factor"},
        BadSetting{"llama", R"({"rope_parameters": {"rope_type": "linear", "factor": 0}})", "factor): is 0"},
        BadSetting{"llama", R"({"rope_parameters": {"rope_theta": -1}})", "rope_theta): is -1"},
        BadSetting{"llama", R"({"rope_theta": 5000.0})", "rope_theta): is 10000.0, but"},
        BadSetting{"llama", R"({"partial_rotary_factor": 0.5})", "partial_rotary_factor): the value 0.5"},
        BadSetting{"llama", R"({"sliding_window": 16})", "sliding_window): the value 16"},
        BadSetting{"llama", R"({"quantization_config": {"bits": 4}})", "quantization_config"},
        BadSetting{"llama", R"({"layer_types": ["full_attention", "sliding_attention"]})", "layer_types"},
        BadSetting{"llama", R"({"num_local_experts": 8})", "num_local_experts"},
        BadSetting{"llama", R"({"alibi": true})", "alibi): the value true"},
        BadSetting{"llama", R"({"use_alibi": true})", "use_alibi): the value true"},
        BadSetting{"llama", R"({"attention_chunk_size": 64})", "attention_chunk_size"},
        BadSetting{"llama", R"({"attention_multiplier": 0.5})", "attention_multiplier"},
        BadSetting{"llama", R"({"attn_logit_softcapping": 50.0})", "attn_logit_softcapping"},
        BadSetting{"llama", R"({"final_logit_softcapping": 30.0})",
                   "final_logit_softcapping): the value 30.0"},
        BadSetting{"llama", R"({"clip_qkv": 8})", "clip_qkv"},
        BadSetting{"llama", R"({"embedding_multiplier": 12.0})", "embedding_multiplier"},
        BadSetting{"llama", R"({"is_encoder_decoder": true})", "is_encoder_decoder"},
        BadSetting{"llama", R"({"logit_scale": 0.5})", "logit_scale"},
        BadSetting{"llama", R"({"logits_scaling": 8.0})", "logits_scaling"},
        BadSetting{"llama", R"({"n_routed_experts": 64})", "n_routed_experts"},
        BadSetting{"llama", R"({"no_rope_layers": [1, 0]})", "no_rope_layers"},
        BadSetting{"llama", R"({"num_experts": 4})", "num_experts"},
        BadSetting{"llama", R"({"parallel_attn": true})", "parallel_attn"},
        BadSetting{"llama", R"({"pruned_heads": {"0": [1]}})", "pruned_heads"},
        BadSetting{"llama", R"({"qk_layernorm": true})", "qk_layernorm"},
        BadSetting{"llama", R"({"qk_norm": true})", "qk_norm"},
        BadSetting{"llama", R"({"use_qk_norm": true})", "use_qk_norm"},
        BadSetting{"llama", R"({"qkv_bias": true})", "qkv_bias"},
        BadSetting{"llama", R"({"query_pre_attn_scalar": 144})", "query_pre_attn_scalar"},
        BadSetting{"llama", R"({"residual_multiplier": 0.22})", "residual_multiplier"},
        BadSetting{"llama", R"({"rope_interleave": true})", "rope_interleave"},
        BadSetting{"llama", R"({"rotary_dim": 4})", "rotary_dim"},
        BadSetting{"llama", R"({"rotary_pct": 0.25})", "rotary_pct"},
        BadSetting{"llama", R"({"scale_depth": 1.4})", "scale_depth"},
        BadSetting{"llama", R"({"scale_emb": 12})", "scale_emb"},
        BadSetting{"llama", R"({"use_parallel_residual": true})", "use_parallel_residual"},
        BadSetting{"gpt2", R"({"scale_attn_by_inverse_layer_idx": true})",
                   "scale_attn_by_inverse_layer_idx): the value true"},
        BadSetting{"gpt2", R"({"add_cross_attention": true})", "add_cross_attention"},
        BadSetting{"gpt2", R"({"activation_function": "mish"})", "activation_function"},
        BadSetting{"llama", R"({"architectures": ["DeepseekV3ForCausalLM"]})",
                   "\"DeepseekV3ForCausalLM\" is not implemented; implemented: LlamaForCausalLM"},
        BadSetting{"llama", R"({"num_local_experts": 8})", "num_local_experts"},
        BadSetting{"gpt_oss", R"({"num_experts_per_tok": 6})", "num_experts_per_tok): is 6 of 5 experts"},
        BadSetting{"gpt_oss", R"({"rope_scaling": null})", "rope_scaling): is missing"},
        BadSetting{"gpt_oss", R"({"hidden_act": "gelu"})", "hidden_act): the value gelu"},
        BadSetting{"gpt_oss", R"({"swiglu_limit": 0})", "swiglu_limit): is 0, must be a positive number"},
        BadSetting{"gpt_oss", R"({"quantization_config": {"quant_method": "awq", "bits": 4}})",
                   "quantization_config.quant_method): the value awq"},
        BadSetting{"gpt_oss", R"({"quantization_config": {}})", "quant_method): is missing"},
        BadSetting{"mixtral", R"({"num_experts_per_tok": 6})", "num_experts_per_tok): is 6 of 5 experts"},
        BadSetting{"mixtral", R"({"num_local_experts": 0})", "num_local_experts): is 0"},
        BadSetting{"qwen3_moe", R"({"num_experts_per_tok": 6})", "num_experts_per_tok): is 6 of 5 experts"},
        BadSetting{"qwen3_moe", R"({"num_local_experts": 4})",
                   "num_experts): is not what num_local_experts says: 4"},
        BadSetting{"qwen3_moe", R"({"decoder_sparse_step": 0})", "decoder_sparse_step): is 0"},
        BadSetting{"qwen3_moe", R"({"mlp_only_layers": ["0"]})",
                   "mlp_only_layers): has 0, must hold numbers of layers"},
        BadSetting{"qwen3_moe", R"({"mlp_only_layers": 0})", "mlp_only_layers): is 0"},
        BadSetting{"qwen3_moe", R"({"mlp_only_layers": [0], "num_hidden_layers": 65537})",
                   "num_hidden_layers): is 65537, must be at most 65536 where some layers have no experts"},
        BadSetting{"qwen3_moe", R"({"mlp_only_layers": [0, 3, 4, 8, 10, 11, 16, 17, 20, 22, 23, 27, 28, 31],
                   "num_hidden_layers": 32})",
                   "its layers come in several kinds, in an order that takes"},
        BadSetting{"qwen3_moe", R"({"norm_topk_prob": 1})", "norm_topk_prob"},
        BadSetting{"qwen3_moe",
                   R"({"use_sliding_window": true, "layer_types": ["full_attention", "sliding_attention"],
                   "num_hidden_layers": 2})",
                   "layer_types): the value"},
        BadSetting{"llama", R"({"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text",
                   "rope_parameters": null, "attn_logit_softcapping": 50.0})",
                   "attn_logit_softcapping): the value 50"},
        BadSetting{"llama", R"({"architectures": ["LlamaForSequenceClassification"]})", "not implemented"},
        BadSetting{"llama", R"({"architectures": null, "model_type": "mamba"})",
                   "\"mamba\" is not implemented"},
        BadSetting{"llama", R"({"architectures": null, "model_type": null})", "architectures): is missing"},
        BadSetting{"llama", R"({"architectures": "LlamaForCausalLM"})", "must be a list"},
        BadSetting{"llama", R"({"architectures": [3]})", "must be a list"},
        BadSetting{"llama", R"({"model_type": "gpt2"})", "contradicts the architecture"},
        BadSetting{"llama", R"({"model_type": {}})", "model_type): must be a string"},
        BadSetting{"llama", R"({"rope_parameters": {"rope_type": "linear", "factor": 4.0},
                   "rope_scaling": {"type": "linear", "factor": 2.0}})",
                   "rope_parameters.factor): contradicts rope_scaling"},
        BadSetting{"llama", R"({"rope_parameters": {"rope_type": "yarn", "factor": 4.0},
                   "rope_scaling": {"type": "yarn", "factor": 4, "attention_factor": 2.0}})",
                   "rope_parameters.attention_factor): contradicts rope_scaling"},
        BadSetting{"llama", R"({"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text"})",
                   "rope_parameters.rope_theta): stands beside the groups"},
        BadSetting{"llama", R"({"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text",
                   "rope_scaling": {"rope_type": "linear", "factor": 8.0},
                   "rope_parameters": {"rope_type": null, "rope_theta": null,
                                       "full_attention": {"rope_type": "linear", "factor": 4.0}}})",
                   "rope_parameters.full_attention.factor): contradicts rope_scaling"},
        BadSetting{
            "llama",
            R"({"rope_parameters": {"rope_type": "longrope", "short_factor": [1, 2], "long_factor": [1, 2.5]},
                   "rope_scaling": {"type": "longrope", "short_factor": [1.0, 2.0], "long_factor": [1.0, 2.0]}})",
            "rope_parameters.long_factor): contradicts rope_scaling"}));

TEST(BadConfigText, IsAnError) {
  for (const char *text : {"", "{", "[]", "null", "{\"a\": NaN}", "{\"hidden_size\": 1, \"hidden_size\": 2}",
                           "{\"x\": 1e999}"}) {
    TempModel directory{std::string(text)};
    EXPECT_NE(failureOf(directory.path()), "accepted") << text;
  }
}

TEST(BadOptions, LongerThanTheModelsContext) {
  TempModel directory(llamaConfig());
  EXPECT_NE(failureOf(directory.path(), {1, 129}).find("--max-seq-len=129): the longest context"),
            std::string::npos);
  EXPECT_NE(failureOf(directory.path(), {1, -3}), "accepted");
  EXPECT_NE(failureOf(directory.path(), {int64_t(1) << 60, 128}).find("2^50"), std::string::npos);
}

TEST(BadPath, IsAnError) { EXPECT_NE(failureOf("/nonexistent/model"), "accepted"); }
