//===- Mixtral.cpp - Mixtral ----------------------------------------------===//
//
// Mistral with experts in place of the MLP: each token chooses two, whose shares add up to 1 (arXiv
// 2401.04088). In GGUF it is a `llama` with a number of experts.
//
//===----------------------------------------------------------------------===//
#include "tessera/Import/DecoderNames.h"
#include "tessera/Import/Family.h"
#include "tessera/Import/HuggingFace/JsonSettings.h"
#include "tessera/Import/Layers.h"

#include "llvm/ADT/Twine.h"

using namespace tessera;
using namespace tessera::importer;

static ModelConfig readHuggingFace(Settings &settings, const io::ModelFile &) {
  ModelConfig c = readDecoderJson(settings, {.maxPositions = 4096 * 32, .normEps = 1e-5, .theta = 1e6});
  c.window = readWindowJson(settings, /*fallback=*/std::nullopt);
  c.experts = settings.size("num_local_experts", 8);
  c.expertsUsed = settings.size("num_experts_per_tok", 2);
  c.expertFfn = c.ffn;
  settings.require(c.expertsUsed <= c.experts, "num_experts_per_tok",
                   "is " + llvm::Twine(c.expertsUsed) + " of " + llvm::Twine(c.experts) + " experts");
  return c;
}

const Family &importer::mixtralFamily() {
  static const Family family = {
      "mixtral",
      {{"MixtralForCausalLM"},
       "mixtral",
       readHuggingFace,
       huggingFaceNames(
           {{"layers.router", "model.layers.{}.block_sparse_moe.gate.weight"},
            {"layers.experts.gate", "model.layers.{}.block_sparse_moe.experts.{expert}.w1.weight"},
            {"layers.experts.up", "model.layers.{}.block_sparse_moe.experts.{expert}.w3.weight"},
            {"layers.experts.down", "model.layers.{}.block_sparse_moe.experts.{expert}.w2.weight"}})},
      {},
      gatedDecoder};
  return family;
}
