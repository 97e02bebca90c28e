//===- Gemma.cpp - Gemma 1 to 3, text -------------------------------------===//
//
// Gemma (arXiv 2403.08295): norms multiply by their weight plus 1, the embedding by the root of its width,
// the gate is GELU by tanh, heads have a size of their own. Gemma 2 (arXiv 2408.00118): soft caps, norms
// behind the blocks as well, a window in every other layer. Gemma 3 (arXiv 2503.19786): norms of q and k in
// place of the caps; five layers of six slide, and turn by a base of their own. In GGUF the 1 is part of the
// weights, and which layers slide is left out, as is Gemma 2's and 3's scale of scores.
//
//===----------------------------------------------------------------------===//
#include "tessera/Import/DecoderNames.h"
#include "tessera/Import/Family.h"
#include "tessera/Import/GGUF/GgufSettings.h"
#include "tessera/Import/HuggingFace/JsonSettings.h"
#include "tessera/Import/Layers.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace tessera;
using namespace tessera::importer;

/// What all of them have in both formats.
static void finishGemma(ModelConfig &c) {
  c.embeddingFactor = std::sqrt(double(c.hidden));
  c.roundsEmbeddingFactor = true;
}

//===----------------------------------------------------------------------===//
// config.json
//===----------------------------------------------------------------------===//

static ModelConfig readJson(Settings &settings, DecoderDefaults defaults) {
  defaults.headDim = 256;
  defaults.tiedHead = true;
  ModelConfig c = readDecoderJson(settings, defaults);
  c.activation = readActivation(settings, "hidden_activation", "gelu_pytorch_tanh");
  c.attentionBias = settings.flag("attention_bias", false);
  c.normOffset = 1;
  if (settings.flag("use_bidirectional_attention", false))
    settings.unsupported("use_bidirectional_attention", "false");
  finishGemma(c);
  return c;
}

/// A soft cap; null: none.
static std::optional<double> readCap(Settings &settings, llvm::StringRef key,
                                     std::optional<double> fallback) {
  SettingValue::Kind kind = settings.value(key).kind;
  if (kind == SettingValue::Kind::Missing)
    return fallback;
  return kind == SettingValue::Kind::Null ? std::nullopt : std::optional(settings.positive(key));
}

/// What Gemma 2 and 3 have beside the first.
static void readSecond(Settings &settings, ModelConfig &c, int64_t period, std::optional<double> scoreCap,
                       std::optional<double> logitCap) {
  c.normPlaces.behind = true;
  c.attentionScale = 1 / std::sqrt(settings.positive("query_pre_attn_scalar", 256));
  c.scoreCap = readCap(settings, "attn_logit_softcapping", scoreCap);
  c.logitCap = readCap(settings, "final_logit_softcapping", logitCap);
  c.window = readWindowJson(settings, 4096);
  c.kinds = readLayerTypesJson(settings, c.layers);
  if (c.kinds.empty())
    c.kinds = slidingBut(period, c.layers);
  settings.require(c.window || !llvm::any_of(c.kinds, [](LayerKind kind) { return kind.slides; }),
                   "sliding_window", "is null, but layers slide");
}

static ModelConfig readHuggingFace(Settings &settings, const io::ModelFile &) {
  ModelConfig c = readJson(settings, {.maxPositions = 8192});
  // The first files say "gelu" here and mean the approximation, which all were trained with.
  if (!settings.has("hidden_activation") && settings.text("hidden_act", "gelu") != "gelu")
    c.activation = readActivation(settings, "hidden_act", std::nullopt);
  return c;
}

static ModelConfig readHuggingFace2(Settings &settings, const io::ModelFile &) {
  ModelConfig c = readJson(settings, {.maxPositions = 8192});
  readSecond(settings, c, /*period=*/2, /*scoreCap=*/50, /*logitCap=*/30);
  return c;
}

static ModelConfig readHuggingFace3(Settings &settings, const io::ModelFile &) {
  DecoderDefaults defaults{.heads = 8, .kvHeads = 4, .vocab = 262208, .maxPositions = 131072, .theta = 1e6};
  defaults.rotaryKind = "full_attention";
  ModelConfig c = readJson(settings, defaults);
  int64_t period = settings.size("sliding_window_pattern", 6);
  readSecond(settings, c, period, std::nullopt, std::nullopt);
  // Its configuration has the setting, and transformers computes without it.
  if (c.scoreCap)
    settings.unsupported("attn_logit_softcapping", "null");
  c.queryKeyNorm = QueryKeyNorm::EachHead;
  // Before transformers 5 what stretches the rotary embedding was for the other layers alone.
  c.slidingRotary = RotaryConfig();
  if (settings.has("rope_parameters.sliding_attention"))
    c.slidingRotary = readRotaryJson(
        settings, c, {.thetaAlias = "rope_local_base_freq", .rotaryKind = "sliding_attention"});
  else
    c.slidingRotary->theta = settings.positive("rope_local_base_freq", 10000);
  return c;
}

//===----------------------------------------------------------------------===//
// GGUF
//===----------------------------------------------------------------------===//

static ModelConfig readGgufOf(Settings &settings, const io::ModelFile &file, llvm::StringRef architecture) {
  ModelConfig c = readGgufConfig(settings, file, architecture,
                                 (architecture + ".attention.layer_norm_rms_epsilon").str());
  c.rotary = readRotaryGguf(settings, file, architecture, c);
  c.activation = Activation::GeluTanh;
  finishGemma(c);
  return c;
}

/// What Gemma 2 and 3 have beside the first. The largest model of each, known by its number of layers, scales
/// by the width over the heads in place of a head's size.
static void readSecondGguf(Settings &settings, ModelConfig &c, llvm::StringRef architecture,
                           int64_t largest) {
  auto key = [&](const char *name) { return (architecture + "." + name).str(); };
  c.normPlaces.behind = true;
  if (c.layers == largest)
    c.attentionScale = 1 / std::sqrt(double(c.hidden) / double(c.heads));
  if (settings.has(key("final_logit_softcapping")))
    c.logitCap = settings.positive(key("final_logit_softcapping"));
}

static ModelConfig readGguf(Settings &settings, const io::ModelFile &file) {
  return readGgufOf(settings, file, "gemma");
}

static ModelConfig readGguf2(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufOf(settings, file, "gemma2");
  readSecondGguf(settings, c, "gemma2", /*largest=*/46);
  readWindowGguf(settings, "gemma2", {.period = 2, .window = 4096}, c);
  c.scoreCap = settings.positive("gemma2.attn_logit_softcapping", 50);
  c.logitCap = c.logitCap.value_or(30);
  return c;
}

static ModelConfig readGguf3(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufOf(settings, file, "gemma3");
  readSecondGguf(settings, c, "gemma3", /*largest=*/62);
  c.queryKeyNorm = QueryKeyNorm::EachHead;
  // Without a window: a model of this form, not of this family, none of whose layers slide.
  readWindowGguf(settings, "gemma3", {.period = 6}, c);
  c.slidingRotary = RotaryConfig();
  c.slidingRotary->theta = settings.positive("gemma3.rope.freq_base_swa", 10000);
  return c;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static const WeightName kNormsJson[] = {
    {"layers.attention_out_norm", "model.layers.{}.post_attention_layernorm.weight"},
    {"layers.mlp_norm", "model.layers.{}.pre_feedforward_layernorm.weight"},
    {"layers.mlp_out_norm", "model.layers.{}.post_feedforward_layernorm.weight"}};
static const WeightName kNormsGguf[] = {{"layers.attention_out_norm", "blk.{}.post_attention_norm.weight"},
                                        {"layers.mlp_out_norm", "blk.{}.post_ffw_norm.weight"}};

const Family &importer::gemmaFamily() {
  static const Family family = {"gemma",
                                {{"GemmaForCausalLM"}, "gemma", readHuggingFace, huggingFaceNames()},
                                {{"gemma"}, "", readGguf, ggufNames(StorageOrder::OutputMajor)},
                                gatedDecoder};
  return family;
}

const Family &importer::gemma2Family() {
  static const Family family = {
      "gemma2",
      {{"Gemma2ForCausalLM"}, "gemma2", readHuggingFace2, huggingFaceNames(kNormsJson)},
      {{"gemma2"}, "", readGguf2, ggufNames(StorageOrder::OutputMajor, kNormsGguf)},
      gatedDecoder};
  return family;
}

const Family &importer::gemma3Family() {
  static const Family family = {
      "gemma3",
      {{"Gemma3ForCausalLM"}, "gemma3_text", readHuggingFace3, huggingFaceNames(kNormsJson)},
      {{"gemma3"}, "", readGguf3, ggufNames(StorageOrder::OutputMajor, kNormsGguf)},
      gatedDecoder};
  return family;
}

// The form in which the larger ones come, with images as input. Text alone is asked for.
const Family &importer::gemma3VisionFamily() {
  static const WeightName names[] = {
      {"embedding", "language_model.model.embed_tokens.weight"},
      {"layers.attention_norm", "language_model.model.layers.{}.input_layernorm.weight"},
      {"layers.q", "language_model.model.layers.{}.self_attn.q_proj.weight"},
      {"layers.q_norm", "language_model.model.layers.{}.self_attn.q_norm.weight"},
      {"layers.k", "language_model.model.layers.{}.self_attn.k_proj.weight"},
      {"layers.k_norm", "language_model.model.layers.{}.self_attn.k_norm.weight"},
      {"layers.v", "language_model.model.layers.{}.self_attn.v_proj.weight"},
      {"layers.o", "language_model.model.layers.{}.self_attn.o_proj.weight"},
      {"layers.attention_out_norm", "language_model.model.layers.{}.post_attention_layernorm.weight"},
      {"layers.mlp_norm", "language_model.model.layers.{}.pre_feedforward_layernorm.weight"},
      {"layers.gate", "language_model.model.layers.{}.mlp.gate_proj.weight"},
      {"layers.up", "language_model.model.layers.{}.mlp.up_proj.weight"},
      {"layers.down", "language_model.model.layers.{}.mlp.down_proj.weight"},
      {"layers.mlp_out_norm", "language_model.model.layers.{}.post_feedforward_layernorm.weight"},
      {"norm", "language_model.model.norm.weight"},
      {"unembedding", "language_model.lm_head.weight"}};
  auto table = [] {
    WeightTable made = huggingFaceNames(names);
    made.optionalPrefix = "language_model.model.";
    made.otherPrefix = "model.language_model.";
    made.notText = {"vision_tower.", "multi_modal_projector.", "model.vision_tower.",
                    "model.multi_modal_projector."};
    return made;
  };
  static const Family family = {
      "gemma3",
      {{"Gemma3ForConditionalGeneration"}, "gemma3", readHuggingFace3, table(), "text_config"},
      {},
      gatedDecoder};
  return family;
}
