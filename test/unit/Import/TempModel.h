//===- TempModel.h - Model directories made by tests ------------*- C++ -*-===//
#ifndef TESSERA_TEST_UNIT_IMPORT_TEMPMODEL_H
#define TESSERA_TEST_UNIT_IMPORT_TEMPMODEL_H

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Import/Import.h"

#include "mlir/IR/MLIRContext.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace tessera::test {

/// A directory that holds one config.json; gone at the end.
class TempModel {
public:
  explicit TempModel(const std::string &config) {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("tessera-import-" + std::to_string(getpid()) + "-" + std::to_string(number++));
    std::filesystem::create_directory(path_);
    std::ofstream(path_ / "config.json") << config;
  }
  explicit TempModel(const nlohmann::json &config) : TempModel(config.dump()) {}
  ~TempModel() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_; }

private:
  std::filesystem::path path_;
};

inline nlohmann::json llamaConfig() {
  return nlohmann::json::parse(
      R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 48, "num_attention_heads": 6,
    "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 80, "num_hidden_layers": 4, "vocab_size": 389, "rms_norm_eps": 1e-6,
    "max_position_embeddings": 128, "hidden_act": "silu", "tie_word_embeddings": false,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})");
}

inline nlohmann::json gpt2Config() {
  return nlohmann::json::parse(
      R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 48, "n_head": 6, "n_layer": 5,
    "n_positions": 128, "vocab_size": 389, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "n_inner": null})");
}

/// A family with Llama's names, by its class: with 6 heads of size 8 on 2 KV heads.
inline nlohmann::json decoderConfig(const std::string &architecture, const std::string &type,
                                    const nlohmann::json &more = {}) {
  nlohmann::json config = llamaConfig();
  config["architectures"] = {architecture};
  config["model_type"] = type;
  if (type == "gemma3_text") // each kind of layers has a group of its own
    config.erase("rope_parameters");
  if (!more.is_null())
    config.merge_patch(more);
  return config;
}

inline nlohmann::json gptNeoxConfig() {
  return nlohmann::json::parse(
      R"({"architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "hidden_size": 48, "num_attention_heads": 6,
    "intermediate_size": 80, "num_hidden_layers": 4, "vocab_size": 389, "layer_norm_eps": 1e-5, "max_position_embeddings": 128,
    "rotary_pct": 0.5})");
}

/// Two layers of three heads on each of 2 KV heads, and 2 of 5 experts.
inline nlohmann::json gptOssConfig() {
  return nlohmann::json::parse(
      R"({"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_size": 48, "num_attention_heads": 6,
    "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 80, "num_hidden_layers": 2, "vocab_size": 389, "rms_norm_eps": 1e-5,
    "sliding_window": 7, "num_local_experts": 5, "num_experts_per_tok": 2, "swiglu_limit": 2.5, "rope_theta": 150000,
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "truncate": false}})");
}

/// The module of `path`, or a failed test.
inline mlir::OwningOpRef<mlir::ModuleOp> importOrFail(mlir::MLIRContext &context, const std::string &path,
                                                      const importer::ImportOptions &options = {}) {
  auto module = importer::importModel(context, path, options);
  if (!module) {
    ADD_FAILURE() << module.failure().message();
    return {};
  }
  return module.take();
}

/// Number of weights in all `graph.parameter` symbols of `module`.
inline int64_t countParameters(mlir::ModuleOp module) {
  int64_t total = 0;
  for (auto parameter : module.getOps<graph::ParameterOp>())
    total += mlir::cast<mlir::RankedTensorType>(parameter.getType()).getNumElements();
  return total;
}

} // namespace tessera::test
#endif
