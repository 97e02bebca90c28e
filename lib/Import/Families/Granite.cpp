//===- Granite.cpp - Granite 3 --------------------------------------------===//
//
// Llama with factors of the embedding, of what is added to the stream and of the scores, and logits divided
// by another (Granite 3.0 Language Models, IBM 2024).
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
  ModelConfig c = readDecoderJson(settings, {.headsForKeys = true});
  c.attentionBias = settings.flag("attention_bias", false);
  c.mlpBias = settings.flag("mlp_bias", false);
  c.embeddingFactor = settings.positive("embedding_multiplier", 1);
  c.residualFactor = settings.positive("residual_multiplier", 1);
  c.attentionScale = settings.positive("attention_multiplier", 1);
  c.logitsDivisor = settings.positive("logits_scaling", 1);
  return c;
}

static ModelConfig readGguf(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufConfig(settings, file, "granite", "granite.attention.layer_norm_rms_epsilon");
  c.rotary = readRotaryGguf(settings, file, "granite", c);
  c.attentionBias = file.find("blk.0.attn_q.bias") != nullptr;
  c.mlpBias = file.find("blk.0.ffn_up.bias") != nullptr;
  c.embeddingFactor = settings.positive("granite.embedding_scale", 1);
  c.residualFactor = settings.positive("granite.residual_scale", 1);
  c.attentionScale = settings.positive("granite.attention.scale", c.attentionScale);
  c.logitsDivisor = settings.positive("granite.logit_scale", 1);
  return c;
}

const Family &importer::graniteFamily() {
  static const Family family = {"granite",
                                {{"GraniteForCausalLM"}, "granite", readHuggingFace, huggingFaceNames()},
                                // The converter is Llama's, with its permuted rows.
                                {{"granite"}, "", readGguf, ggufNames(StorageOrder::AdjacentPairs)},
                                gatedDecoder};
  return family;
}
