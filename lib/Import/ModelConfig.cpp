//===- ModelConfig.cpp - Shared parts of reading configurations -----------===//
#include "tessera/Import/Family.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

#include <cmath>

namespace tessera::importer {

std::vector<double> rotaryFrequencies(const RotaryConfig &rotary, int64_t dim) {
  constexpr float kPi = 3.14159265358979323846f;
  float factor = float(rotary.factor), low = float(rotary.lowFrequency), high = float(rotary.highFrequency);
  float context = float(rotary.originalContext);
  std::vector<double> out;
  for (int64_t pair = 0; pair < dim / 2; ++pair) {
    float frequency = 1.0f / std::pow(float(rotary.theta), float(2 * pair) / float(dim));
    switch (rotary.scaling) {
    case RotaryConfig::Scaling::None:
      break;
    case RotaryConfig::Scaling::Linear:
      frequency /= factor;
      break;
    case RotaryConfig::Scaling::Llama3: {
      float wave = 2.0f * kPi / frequency;
      if (wave > context / low) {
        frequency /= factor;
      } else if (wave >= context / high) {
        float smooth = (context / wave - low) / (high - low);
        frequency = (1.0f - smooth) * frequency / factor + smooth * frequency;
      }
      break;
    }
    }
    if (!rotary.divisors.empty())
      frequency /= rotary.divisors[size_t(pair)];
    out.push_back(frequency);
  }
  return out;
}

Activation readActivation(Settings &settings, llvm::StringRef key, std::optional<std::string> fallback) {
  std::string name = settings.text(key, fallback);
  auto known = llvm::StringSwitch<std::optional<Activation>>(name)
                   .Cases({"silu", "swish"}, Activation::Silu)
                   .Cases({"gelu", "gelu_python"}, Activation::GeluErf)
                   .Cases({"gelu_new", "gelu_fast", "gelu_pytorch_tanh"}, Activation::GeluTanh)
                   .Case("relu", Activation::Relu)
                   .Default(std::nullopt);
  if (!known)
    settings.unsupported(key, "silu, gelu, gelu_new, relu");
  return known.value_or(Activation::Silu);
}

void checkHeads(Settings &settings, ModelConfig &config, llvm::StringRef headsKey, llvm::StringRef kvHeadsKey,
                llvm::StringRef hiddenKey) {
  using llvm::Twine;
  settings.require(config.heads % config.kvHeads == 0, kvHeadsKey,
                   "is " + Twine(config.kvHeads) + ", must divide " + headsKey + " = " + Twine(config.heads));
  if (config.headDim == 0) {
    settings.require(config.hidden % config.heads == 0, headsKey,
                     "is " + Twine(config.heads) + ", must divide " + hiddenKey + " = " +
                         Twine(config.hidden) + " when the size of a head is not given");
    config.headDim = std::max<int64_t>(1, config.hidden / config.heads);
  }
  settings.require(config.headDim <= 65536, headsKey,
                   "gives heads of size " + Twine(config.headDim) + " (see head_dim), must be at most 65536");
  if (config.rotary)
    settings.require(config.headDim % 2 == 0, headsKey,
                     "gives heads of size " + Twine(config.headDim) +
                         ", which rotary embedding cannot split into pairs");
  config.attentionScale = 1.0 / std::sqrt(double(config.headDim));
}

} // namespace tessera::importer
