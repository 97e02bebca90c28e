//===- GptOss.cpp - GPT-OSS -----------------------------------------------===//
//
// Layers of experts behind attention with sinks (arXiv 2508.10925): every other layer slides, all products
// have biases, yarn stretches the rotary embedding along a ramp that is not rounded to whole pairs, gates are
// clamped. In Hugging Face's files the columns of gate and up alternate in one tensor, inputs first; in MXFP4
// outputs come first. In GGUF they are two tensors, and which layers slide, the clamp and the ramp are left
// out.
//
//===----------------------------------------------------------------------===//
#include "tessera/Import/DecoderNames.h"
#include "tessera/Import/Family.h"
#include "tessera/Import/GGUF/GgufSettings.h"
#include "tessera/Import/HuggingFace/JsonSettings.h"
#include "tessera/Import/Layers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace tessera;
using namespace tessera::importer;

/// What no file says.
static void finishGptOss(ModelConfig &c) {
  c.sinks = true;
  c.expertBias = true;
}

//===----------------------------------------------------------------------===//
// config.json
//===----------------------------------------------------------------------===//

static ModelConfig readHuggingFace(Settings &settings, const io::ModelFile &) {
  DecoderDefaults defaults{.maxPositions = 131072, .headDim = 64, .normEps = 1e-5, .theta = 150000};
  settings.require(settings.has("rope_scaling") || settings.has("rope_parameters"), "rope_scaling",
                   "is missing");
  ModelConfig c = readDecoderJson(settings, defaults);
  if (c.activation != Activation::Silu)
    settings.unsupported("hidden_act", "silu");
  c.attentionBias = settings.flag("attention_bias", true);
  c.window = readWindowJson(settings, 128);
  c.kinds = readLayerTypesJson(settings, c.layers);
  if (c.kinds.empty())
    c.kinds = {{.slides = true}, {.slides = false}};
  settings.require(c.window || !llvm::any_of(c.kinds, [](LayerKind kind) { return kind.slides; }),
                   "sliding_window", "is null, but layers slide");
  c.experts = settings.size("num_local_experts", 128);
  c.expertsUsed = settings.size("num_experts_per_tok", 4);
  c.expertFfn = c.ffn;
  settings.require(c.expertsUsed <= c.experts, "num_experts_per_tok",
                   "is " + llvm::Twine(c.expertsUsed) + " of " + llvm::Twine(c.experts) + " experts");
  c.clampedGate = ClampedGate{settings.positive("swiglu_limit", 7), settings.positive("swiglu_alpha", 1.702)};
  if (settings.has("quantization_config") &&
      settings.text("quantization_config.quant_method", "missing") != "mxfp4")
    settings.unsupported("quantization_config.quant_method", "mxfp4");
  finishGptOss(c);
  return c;
}

//===----------------------------------------------------------------------===//
// GGUF
//===----------------------------------------------------------------------===//

static ModelConfig readGguf(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufConfig(settings, file, "gpt-oss", "gpt-oss.attention.layer_norm_rms_epsilon");
  c.rotary = readRotaryGguf(settings, file, "gpt-oss", c);
  c.rotary->wholePairs = false;
  c.attentionBias = file.find("blk.0.attn_q.bias") != nullptr;
  settings.require(settings.has("gpt-oss.attention.sliding_window"), "gpt-oss.attention.sliding_window",
                   "is missing");
  readWindowGguf(settings, "gpt-oss", {.period = 2}, c);
  readExpertsGguf(settings, "gpt-oss", c);
  settings.require(c.experts > 0, "gpt-oss.expert_count", "is missing");
  c.clampedGate = ClampedGate();
  finishGptOss(c);
  return c;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static WeightTable namesJson() {
  constexpr StorageOrder inputs = StorageOrder::ExpertInputMajor, outputs = StorageOrder::ExpertAlternating;
  WeightTable table = huggingFaceNames(
      {{"layers.sinks", "model.layers.{}.self_attn.sinks"},
       {"layers.router", "model.layers.{}.mlp.router.weight"},
       {"layers.router_bias", "model.layers.{}.mlp.router.bias"},
       {"layers.experts.gate", "model.layers.{}.mlp.experts.gate_up_proj", inputs},
       {"layers.experts.up", "model.layers.{}.mlp.experts.gate_up_proj", inputs},
       {"layers.experts.down", "model.layers.{}.mlp.experts.down_proj", inputs},
       {"layers.experts.gate_bias", "model.layers.{}.mlp.experts.gate_up_proj_bias", outputs},
       {"layers.experts.up_bias", "model.layers.{}.mlp.experts.gate_up_proj_bias", outputs},
       {"layers.experts.down_bias", "model.layers.{}.mlp.experts.down_proj_bias", StorageOrder::InputMajor}});
  table.alternatives = {{"layers.experts.gate", "model.layers.{}.mlp.experts.gate_up_proj_blocks", outputs},
                        {"layers.experts.up", "model.layers.{}.mlp.experts.gate_up_proj_blocks", outputs},
                        {"layers.experts.down", "model.layers.{}.mlp.experts.down_proj_blocks", outputs}};
  return table;
}

static WeightTable namesGguf() {
  return ggufNames(
      StorageOrder::OutputMajor,
      {{"layers.sinks", "blk.{}.attn_sinks.weight"},
       {"layers.mlp_norm", "blk.{}.post_attention_norm.weight"},
       {"layers.router_bias", "blk.{}.ffn_gate_inp.bias"},
       {"layers.experts.gate_bias", "blk.{}.ffn_gate_exps.bias", StorageOrder::ExpertAlternating},
       {"layers.experts.up_bias", "blk.{}.ffn_up_exps.bias", StorageOrder::ExpertAlternating},
       {"layers.experts.down_bias", "blk.{}.ffn_down_exps.bias", StorageOrder::InputMajor}});
}

const Family &importer::gptOssFamily() {
  static const Family family = {"gpt_oss",
                                {{"GptOssForCausalLM"}, "gpt_oss", readHuggingFace, namesJson()},
                                {{"gpt-oss"}, "", readGguf, namesGguf()},
                                gatedDecoder};
  return family;
}
