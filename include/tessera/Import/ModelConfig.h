//===- ModelConfig.h - The numbers that describe a transformer --*- C++ -*-===//
//
// What families read out of config.json or GGUF metadata, under one set of names. Sizes are positive and
// small enough that a product of any two fits into 64 bits.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_IMPORT_MODELCONFIG_H
#define TESSERA_IMPORT_MODELCONFIG_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::importer {

/// Largest value of a size in a configuration.
inline constexpr int64_t kMaxSize = int64_t(1) << 30;

enum class Activation { Silu, GeluErf, GeluTanh, Relu };

/// Rotary position embedding (arXiv 2104.09864) and how its frequencies are stretched.
struct RotaryConfig {
  enum class Scaling { None, Linear, Llama3, Yarn };
  double theta = 10000;
  int64_t dims = 0; ///< so many elements of a head turn, the first ones; 0: all
  Scaling scaling = Scaling::None;
  double factor = 1;                          ///< Linear, Llama3, Yarn
  double lowFrequency = 1, highFrequency = 4; ///< Llama3
  double betaFast = 32, betaSlow = 1;         ///< Yarn: turns within the original context
  bool wholePairs = true;                     ///< Yarn: its ramp begins and ends at whole pairs
  int64_t originalContext = 8192;             ///< Llama3, Yarn, longDivisors
  std::vector<float> divisors;                ///< per frequency; empty: all 1 (GGUF's rope_freqs.weight)
  /// Of longrope: in place of `divisors` in a program for sequences longer than `originalContext`.
  std::vector<float> longDivisors;
  double magnitude = 1; ///< what turns is multiplied by this

  /// Elements that turn of a head of `headDim`.
  int64_t dimsOf(int64_t headDim) const { return dims ? dims : headDim; }
};

/// Norms of queries and keys before they turn: none, over each head, over all heads of a token at once.
enum class QueryKeyNorm { None, EachHead, AllHeads };

/// How the family makes up weights that are to be trained: normal around 0 with these standard deviations.
/// Biases are 0, scales of norms 1.
struct Deviations {
  double plain = 0.02;
  double toResidual = 0.02; ///< of products whose results are added to the stream between blocks
};

/// In what a layer may differ from others.
struct LayerKind {
  bool turns = true;    ///< queries and keys
  bool slides = false;  ///< has `ModelConfig::window`, and turns by `slidingRotary` if there is one
  bool isDense = false; ///< has an MLP where others have experts
  bool operator==(const LayerKind &other) const {
    return turns == other.turns && slides == other.slides && isDense == other.isDense;
  }
  /// The two have weights of the same names and shapes.
  bool hasWeightsOf(const LayerKind &other) const { return isDense == other.isDense; }
};

/// A gate that is clamped from above, and what it multiplies from both sides: with g = min(gate, limit) and
/// u = clamp(up, -limit, limit) a block's inner value is (u + 1) * g * sigmoid(slope * g).
struct ClampedGate {
  double limit = 7, slope = 1.702;
};

/// Where blocks are normed: what they read of the stream, what they add to it, or both.
struct NormPlaces {
  bool before = true, behind = false;
};

struct ModelConfig {
  int64_t layers = 0, hidden = 0, heads = 0, kvHeads = 0, headDim = 0, ffn = 0, vocab = 0;
  /// Neighbours of `ffn` that no shard may separate: they are a dimension of their own. 1: there are none.
  int64_t ffnGranule = 1;
  int64_t maxPositions = 0; ///< longest context
  double normEps = 0;
  Activation activation = Activation::Silu;
  std::optional<RotaryConfig> rotary;
  std::optional<RotaryConfig> slidingRotary; ///< of layers that slide, where it is another
  double attentionScale = 0;                 ///< factor of q.k
  std::optional<int64_t> window;             ///< keys that a query sees, itself included; none: all before it
  std::optional<double> scoreCap, logitCap;  ///< x becomes cap * tanh(x / cap)
  QueryKeyNorm queryKeyNorm = QueryKeyNorm::None;
  bool attentionBias = false, mlpBias = false;
  bool inputBias = false; ///< of q, k and v alone
  /// Of layers of experts, in place of an MLP: how many there are, how many a token chooses, and the width of
  /// each. 0: there are none. Layers whose kind says so have an MLP all the same.
  int64_t experts = 0, expertsUsed = 0, expertFfn = 0;
  bool normalizedShares = true;           ///< the chosen experts' shares add up to 1
  bool expertBias = false;                ///< of experts and of what chooses them
  std::optional<ClampedGate> clampedGate; ///< of experts, in place of `activation`
  bool sinks = false;                     ///< a learned score of each head beside those of its keys
  bool parallelBlocks = false;            ///< attention and MLP both read the stream as the layer got it
  /// Kinds of the layers, again and again; empty: all turn, and slide if there is a window.
  std::vector<LayerKind> kinds;
  NormPlaces normPlaces;
  /// RMSNorms multiply by their weight plus this, in float32.
  double normOffset = 0;
  /// Factors of what the embedding gives and of what is added to the stream; logits are divided by the third.
  double embeddingFactor = 1, residualFactor = 1, logitsDivisor = 1;
  bool roundsEmbeddingFactor = false; ///< to the type that the model computes in
  /// The family's authors train with dropout. How much, the one who trains says: what a config has is not
  /// read.
  bool drops = false;
  bool tiedHead = false; ///< the head's weight is the embedding table
  Deviations madeUp;

  int64_t group() const { return heads / kvHeads; }
  LayerKind kind(int64_t layer) const {
    return kinds.empty() ? LayerKind{true, window.has_value(), false} : kinds[size_t(layer) % kinds.size()];
  }
};

/// The shortest list of kinds that, again and again, says the same of all layers. The last time it may be cut
/// short.
std::vector<LayerKind> kindPeriod(const ModelConfig &config);

/// Frequencies (radians per position) of the `dim / 2` pairs, computed in float32 step by step as the
/// reference implementations do: theta^(-2i/dim), then the scaling. `llama3`: long waves are divided by
/// `factor`, short ones kept, a linear blend between. `yarn` (arXiv 2309.00071): the same along a ramp of
/// pairs. `longestSequence` decides between the two lists of longrope (arXiv 2402.13753).
std::vector<double> rotaryFrequencies(const RotaryConfig &rotary, int64_t dim, int64_t longestSequence);

} // namespace tessera::importer
#endif
