//===- Qwen3.cpp - Qwen3, dense -------------------------------------------===//
//
// Qwen2 without its biases, and with a norm over each head of q and k (arXiv 2505.09388).
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
  ModelConfig c = readDecoderJson(settings, {.maxPositions = 32768, .headDim = 128});
  c.attentionBias = settings.flag("attention_bias", false);
  c.queryKeyNorm = QueryKeyNorm::EachHead;
  readUpperWindowJson(settings, c);
  return c;
}

static ModelConfig readGguf(Settings &settings, const io::ModelFile &file) {
  ModelConfig c = readGgufConfig(settings, file, "qwen3", "qwen3.attention.layer_norm_rms_epsilon");
  c.rotary = readRotaryGguf(settings, file, "qwen3", c);
  readWindowGguf(settings, "qwen3", {}, c); // which layers have it the file has to say
  c.attentionBias = file.find("blk.0.attn_q.bias") != nullptr;
  c.queryKeyNorm = QueryKeyNorm::EachHead;
  return c;
}

const Family &importer::qwen3Family() {
  static const Family family = {"qwen3",
                                {{"Qwen3ForCausalLM"}, "qwen3", readHuggingFace, huggingFaceNames()},
                                {{"qwen3"}, "", readGguf, ggufNames(StorageOrder::OutputMajor)},
                                gatedDecoder};
  return family;
}
