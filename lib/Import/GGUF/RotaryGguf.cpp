//===- RotaryGguf.cpp - Rotary embedding in GGUF --------------------------===//
#include "tessera/Import/GGUF/GgufSettings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>

namespace tessera::importer {

/// The numbers of tensor `name`, one for each of `pairs`; none if it is not there.
static std::vector<float> readDivisors(Settings &settings, const io::ModelFile &file, const char *name,
                                       int64_t pairs) {
  const io::TensorInfo *tensor = file.find(name);
  if (!tensor)
    return {};
  std::string key = std::string("tensor ") + name;
  bool fits = tensor->shape.size() == 1 && tensor->elements == pairs;
  settings.require(fits, key, "must have one number for every pair of a head");
  if (!fits || settings.failure())
    return {};
  std::vector<float> divisors(static_cast<size_t>(pairs));
  if (Status s = file.readRange(*tensor, 0, pairs, divisors.data()); !s)
    settings.fail(s.takeFailure());
  settings.require(llvm::all_of(divisors, [](float d) { return std::isfinite(d) && d > 0; }), key,
                   "has an entry that is not a positive number");
  return divisors;
}

RotaryConfig readRotaryGguf(Settings &settings, const io::ModelFile &file, llvm::StringRef architecture,
                            const ModelConfig &config, bool turnsPart) {
  auto key = [&](const char *name) { return architecture.str() + "." + name; };
  RotaryConfig r;
  r.theta = settings.positive(key("rope.freq_base"), 10000);
  int64_t dims = settings.size(key("rope.dimension_count"), config.headDim);
  if (dims > config.headDim || (dims != config.headDim && !turnsPart))
    settings.unsupported(key("rope.dimension_count"),
                         llvm::Twine(config.headDim).str() + ", the size of a head");
  settings.require(dims % 2 == 0, key("rope.dimension_count"),
                   "is " + llvm::Twine(dims) + ", which cannot be split into pairs");
  if (dims != config.headDim)
    r.dims = dims;

  // As llama.cpp reads it: a factor without a type is linear, the old key counts where the new one lacks, and
  // 0 is none.
  auto factorOf = [&](const char *name) {
    return settings.has(key(name)) ? settings.value(key(name)).number : 0;
  };
  const double oldFactor = factorOf("rope.scale_linear"), newFactor = factorOf("rope.scaling.factor");
  settings.require(oldFactor == 0 || newFactor == 0 || oldFactor == newFactor, key("rope.scale_linear"),
                   "contradicts rope.scaling.factor, which says the same in the words of newer files");
  std::string factor = key(oldFactor != 0 && newFactor == 0 ? "rope.scale_linear" : "rope.scaling.factor");
  std::string type =
      settings.text(key("rope.scaling.type"), oldFactor != 0 || newFactor != 0 ? "linear" : "none");
  r.originalContext = settings.size(key("rope.scaling.original_context_length"), config.maxPositions);
  if (type == "linear") {
    r.scaling = RotaryConfig::Scaling::Linear;
    r.factor = settings.positive(factor);
  } else if (type == "yarn") {
    r.scaling = RotaryConfig::Scaling::Yarn;
    r.factor = settings.positive(factor);
    r.betaFast = settings.positive(key("rope.scaling.yarn_beta_fast"), r.betaFast);
    r.betaSlow = settings.positive(key("rope.scaling.yarn_beta_slow"), r.betaSlow);
    if (r.factor > 1)
      r.magnitude = 0.1 * std::log(r.factor) + 1;
    // The converter writes transformers' attention_factor here, which takes that one's place.
    r.magnitude = settings.positive(key("rope.scaling.yarn_attn_factor"), r.magnitude);
    settings.require(r.theta != 1, key("rope.freq_base"),
                     "is 1, where no pair turns more slowly than another");
  } else if (type != "none" && type != "longrope") {
    settings.unsupported(key("rope.scaling.type"), "none, linear, yarn, longrope");
  }

  r.divisors = readDivisors(settings, file, "rope_freqs.weight", dims / 2);
  // Longrope has no type: what tells it is that there are two lists.
  std::vector<float> shortOnes = readDivisors(settings, file, "rope_factors_short.weight", dims / 2);
  r.longDivisors = readDivisors(settings, file, "rope_factors_long.weight", dims / 2);
  settings.require(shortOnes.empty() == r.longDivisors.empty(), "tensor rope_factors_long.weight",
                   "and rope_factors_short.weight come together");
  settings.require(shortOnes.empty() || r.divisors.empty(), "tensor rope_freqs.weight",
                   "and rope_factors_short.weight exclude each other");
  if (!shortOnes.empty()) {
    r.divisors = std::move(shortOnes);
    r.magnitude *= settings.positive(key("rope.scaling.attn_factor"), 1);
  } else {
    settings.require(type != "longrope", "tensor rope_factors_short.weight",
                     "is missing, but the type is longrope");
  }
  return r;
}

} // namespace tessera::importer
