//===- ModelConfig.cpp - Shared parts of reading configurations -----------===//
#include "tessera/Import/Family.h"
#include "tessera/Import/LayerRuns.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>

namespace tessera::importer {

/// Yarn's ramp: the pair, not always whole, that turns `turns` times within the original context.
static double pairWithTurns(const RotaryConfig &rotary, int64_t dim, double turns) {
  constexpr double kPi = 3.14159265358979323846;
  return double(dim) * std::log(double(rotary.originalContext) / (turns * 2 * kPi)) /
         (2 * std::log(rotary.theta));
}

/// Yarn: the share of the plain frequency in that of each pair; the rest is its `factor`th part.
static std::vector<float> plainShares(const RotaryConfig &rotary, int64_t dim) {
  double first = pairWithTurns(rotary, dim, rotary.betaFast),
         last = pairWithTurns(rotary, dim, rotary.betaSlow);
  if (rotary.wholePairs) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, double(dim - 1));
  if (first == last)
    last += 0.001; // as the reference implementations do: a step
  std::vector<float> shares;
  for (int64_t pair = 0; pair < dim / 2; ++pair)
    shares.push_back(1.0f - std::clamp((float(pair) - float(first)) / float(last - first), 0.0f, 1.0f));
  return shares;
}

std::vector<double> rotaryFrequencies(const RotaryConfig &rotary, int64_t dim, int64_t longestSequence) {
  constexpr float kPi = 3.14159265358979323846f;
  float factor = float(rotary.factor), low = float(rotary.lowFrequency), high = float(rotary.highFrequency);
  float context = float(rotary.originalContext);
  std::vector<float> shares;
  if (rotary.scaling == RotaryConfig::Scaling::Yarn)
    shares = plainShares(rotary, dim);
  bool isLong = !rotary.longDivisors.empty() && longestSequence > rotary.originalContext;
  const std::vector<float> &divisors = isLong ? rotary.longDivisors : rotary.divisors;
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
    case RotaryConfig::Scaling::Yarn: {
      float share = shares[size_t(pair)];
      frequency = frequency / factor * (1.0f - share) + frequency * share;
      break;
    }
    }
    if (!divisors.empty())
      frequency /= divisors[size_t(pair)];
    out.push_back(frequency);
  }
  return out;
}

std::vector<LayerKind> kindPeriod(const ModelConfig &config) {
  if (config.kinds.empty())
    return {config.kind(0)};
  // What holds for two rounds of the list holds for all. `same[i]`: so many kinds at the end of the first i
  // are also those that the list begins with (Knuth, Morris, Pratt 1977).
  size_t layers = size_t(std::min(config.layers, 2 * int64_t(config.kinds.size())));
  std::vector<size_t> same(layers + 1, 0);
  for (size_t i = 1, k = 0; i < layers; ++i) {
    while (k > 0 && !(config.kind(int64_t(i)) == config.kind(int64_t(k))))
      k = same[k];
    k += config.kind(int64_t(i)) == config.kind(int64_t(k));
    same[i + 1] = k;
  }
  return {config.kinds.begin(), config.kinds.begin() + ptrdiff_t(layers - same[layers])};
}

std::vector<LayerKind> slidingBut(int64_t period, int64_t layers) {
  if (period == 0 || period > layers)
    return {{.slides = true}};
  // Orders longer than there may be are not told apart.
  std::vector<LayerKind> kinds(size_t(std::min(period, kMostMixedLayers + 1)), {.slides = true});
  kinds.back().slides = false;
  return kinds;
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
  config.attentionScale = 1.0 / std::sqrt(double(config.headDim));
}

} // namespace tessera::importer
