//===- RotaryJson.cpp - Rotary embedding in config.json -------------------===//
#include "tessera/Import/HuggingFace/JsonSettings.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>

namespace tessera::importer {
namespace {

/// transformers 5 writes rope_parameters; before that rope_theta stood at the top and the rest, if any, in
/// rope_scaling.
class RotaryReader {
public:
  RotaryReader(Settings &settings, const ModelConfig &config, const DecoderDefaults &defaults)
      : settings(settings), config(config), defaults(defaults) {
    for (const char *name : {"rope_scaling", "rope_parameters"}) {
      SettingValue v = settings.value(name);
      settings.require(v.absent() || v.kind == SettingValue::Kind::Object, name,
                       "is " + v.text + ", must be an object");
      if (v.kind == SettingValue::Kind::Object)
        group = name;
    }
    std::string own = ("rope_parameters." + defaults.rotaryKind).str();
    if (!defaults.rotaryKind.empty() && settings.value(own).kind == SettingValue::Kind::Object) {
      group = own;
      hasOwn = true;
    }
    // Whose layers have groups of their own does not look beside these, where some releases of transformers 5
    // wrote a type that changes nothing.
    for (const char *name : {"rope_theta", "rope_type"}) {
      SettingValue beside = settings.value(std::string("rope_parameters.") + name);
      settings.require(defaults.rotaryKind.empty() || beside.absent() || beside.text == "default",
                       std::string("rope_parameters.") + name,
                       "stands beside the groups of kinds of layers, and belongs into " + own);
    }
    // Before transformers 5 nothing stretched what layers with a window have.
    if (!group.empty() && group != "rope_scaling" && defaults.rotaryKind != "sliding_attention" &&
        settings.value("rope_scaling").kind == SettingValue::Kind::Object)
      requireOneScaling();
  }

  RotaryConfig read() {
    // What a kind's own group lacks is the one at the top.
    llvm::StringRef top = defaults.thetaAlias.empty() ? "rope_theta" : defaults.thetaAlias;
    r.theta = hasOwn ? settings.positive(key("rope_theta"), settings.positive(top, defaults.theta))
                     : positiveAnywhere({"rope_theta", defaults.thetaAlias, "rope_scaling.rope_theta",
                                         "rope_parameters.rope_theta"},
                                        defaults.theta);
    readPart();
    if (!group.empty())
      readScaling();
    return std::move(r);
  }

private:
  std::string key(llvm::StringRef name) const { return group + "." + name.str(); }

  /// What both groups say is the same, and neither says more. What is left out has its default, or stands at
  /// the top.
  void requireOneScaling() {
    auto content = [&](const std::string &group, const std::string &name, double fallback) {
      SettingValue v = settings.value(group + name);
      if (v.absent() && name == "original_max_position_embeddings")
        v = settings.value(name);
      std::vector<double> numbers; // 4 is 4.0
      for (const SettingValue &element :
           v.kind == SettingValue::Kind::Array ? settings.list(group + name) : std::vector<SettingValue>{v})
        numbers.push_back(element.absent()                           ? fallback
                          : element.kind == SettingValue::Kind::Bool ? element.boolean
                                                                     : element.number);
      return numbers;
    };
    const std::pair<const char *, double> kSettings[] = {{"factor", 0},
                                                         {"original_max_position_embeddings", 0},
                                                         {"low_freq_factor", 0},
                                                         {"high_freq_factor", 0},
                                                         {"beta_fast", r.betaFast},
                                                         {"beta_slow", r.betaSlow},
                                                         {"truncate", true},
                                                         {"mscale", 0},
                                                         {"mscale_all_dim", 0},
                                                         {"attention_factor", 0},
                                                         {"short_factor", 0},
                                                         {"long_factor", 0}};
    for (auto [name, fallback] : kSettings)
      settings.require(content(group + ".", name, fallback) == content("rope_scaling.", name, fallback),
                       key(name),
                       "contradicts rope_scaling, which says the same in the words of older files");
  }

  /// The setting that stands under one of `names`, or under several with one value.
  double positiveAnywhere(llvm::ArrayRef<llvm::StringRef> names, double fallback) {
    std::optional<double> found;
    for (llvm::StringRef name : names) {
      if (name.empty() || !settings.has(name))
        continue;
      double v = settings.positive(name);
      settings.require(!found || *found == v, name,
                       "is " + settings.value(name).text + ", but " + names.front() +
                           " stands elsewhere in the file with another value");
      found = v;
    }
    return found.value_or(fallback);
  }

  /// How much of a head turns.
  void readPart() {
    const llvm::StringRef names[] = {"partial_rotary_factor", defaults.partAlias,
                                     "rope_scaling.partial_rotary_factor",
                                     "rope_parameters.partial_rotary_factor"};
    double part = positiveAnywhere(names, defaults.rotaryPart);
    if (part != 1 && !defaults.turnsPart)
      for (llvm::StringRef name : names)
        if (!name.empty() && settings.has(name))
          return settings.unsupported(name, "1");
    int64_t dims = int64_t(std::min(double(config.headDim) * part, double(kMaxSize)));
    settings.require(dims >= 2 && dims <= config.headDim && dims % 2 == 0,
                     settings.has("head_dim") ? "head_dim" : "num_attention_heads",
                     "gives heads of size " + llvm::Twine(config.headDim) +
                         ", of which rotary embedding turns " + llvm::Twine(dims) + ": no pairs");
    if (dims != config.headDim)
      r.dims = dims;
  }

  void readScaling() {
    std::optional<std::string> type;
    std::vector<std::string> names = {"rope_scaling.type", "rope_scaling.rope_type", "rope_parameters.type",
                                      "rope_parameters.rope_type"};
    if (hasOwn)
      names = {key("type"), key("rope_type")};
    if (hasOwn && defaults.rotaryKind != "sliding_attention")
      names.insert(names.end(), {"rope_scaling.type", "rope_scaling.rope_type"});
    for (const std::string &name : names) {
      if (!settings.has(name))
        continue;
      std::string v = settings.text(name);
      settings.require(!type || *type == v, name,
                       "is " + v + ", but the type stands elsewhere in the file as " + type.value_or(""));
      type = v;
    }
    if (!type) {
      settings.require(!settings.has(key("factor")), key("rope_type"), "is missing, but a factor is given");
      return;
    }
    if (*type == "linear") {
      r.scaling = RotaryConfig::Scaling::Linear;
      r.factor = settings.positive(key("factor"));
    } else if (*type == "llama3") {
      r.scaling = RotaryConfig::Scaling::Llama3;
      r.factor = settings.positive(key("factor"));
      r.lowFrequency = settings.positive(key("low_freq_factor"));
      r.highFrequency = settings.positive(key("high_freq_factor"));
      r.originalContext = settings.size(key("original_max_position_embeddings"));
      settings.require(r.highFrequency > r.lowFrequency, key("high_freq_factor"),
                       "must be greater than low_freq_factor");
    } else if (*type == "yarn") {
      readYarn();
    } else if (*type == "longrope" || *type == "su") { // "su": what Phi-3's first files say
      readLongRope();
    } else if (*type == "dynamic") {
      // Frequencies change where a sequence is longer than max_position_embeddings, and none is.
      settings.positive(key("factor"));
    } else if (*type != "default") {
      settings.unsupported(settings.has(key("rope_type")) ? key("rope_type") : key("type"),
                           "default, linear, llama3, yarn, longrope, dynamic");
    }
  }

  /// In the group, or, as Phi-3 has it, at the top; else what the model says of its context.
  void readOriginalContext() {
    r.originalContext = config.maxPositions;
    std::string name = "original_max_position_embeddings";
    for (const std::string &where : {name, key(name)})
      if (settings.has(where)) {
        int64_t v = settings.size(where);
        settings.require(where == name || !settings.has(name) || v == r.originalContext, where,
                         "is " + llvm::Twine(v) + ", but stands elsewhere in the file with another value");
        r.originalContext = v;
      }
  }

  void readYarn() {
    r.scaling = RotaryConfig::Scaling::Yarn;
    readOriginalContext();
    r.factor = settings.positive(key("factor"));
    r.betaFast = settings.positive(key("beta_fast"), r.betaFast);
    r.betaSlow = settings.positive(key("beta_slow"), r.betaSlow);
    r.wholePairs = settings.flag(key("truncate"), true);
    settings.require(r.theta != 1, group + ".rope_theta",
                     "is 1, where no pair turns more slowly than another");
    auto stretched = [&](double by) { return r.factor <= 1 ? 1.0 : 0.1 * by * std::log(r.factor) + 1; };
    r.magnitude = stretched(1);
    if (settings.has(key("mscale")) && settings.has(key("mscale_all_dim")))
      r.magnitude =
          stretched(settings.positive(key("mscale"))) / stretched(settings.positive(key("mscale_all_dim")));
    r.magnitude = settings.positive(key("attention_factor"), r.magnitude);
  }

  void readLongRope() {
    readOriginalContext();
    int64_t pairs = r.dimsOf(config.headDim) / 2;
    r.divisors = settings.positives(key("short_factor"));
    r.longDivisors = settings.positives(key("long_factor"));
    for (auto [name, list] : {std::pair{"short_factor", &r.divisors}, {"long_factor", &r.longDivisors}})
      settings.require(int64_t(list->size()) == pairs, key(name),
                       "has " + llvm::Twine(list->size()) + " numbers for " + llvm::Twine(pairs) +
                           " pairs of a head");
    double ratio = double(config.maxPositions) / double(r.originalContext);
    // Where both are there transformers 4 takes the ratio and transformers 5 the factor.
    settings.require(
        settings.positive(key("factor"), ratio) == ratio, key("factor"),
        "is " + settings.value(key("factor")).text +
            ", but max_position_embeddings is another multiple of original_max_position_embeddings");
    if (ratio > 1)
      r.magnitude = std::sqrt(1 + std::log(ratio) / std::log(double(r.originalContext)));
    r.magnitude = settings.positive(key("attention_factor"), r.magnitude);
  }

  Settings &settings;
  const ModelConfig &config;
  const DecoderDefaults &defaults;
  std::string group;
  bool hasOwn = false; // the kind of layers that is asked for has a group of its own
  RotaryConfig r;
};

} // namespace

RotaryConfig readRotaryJson(Settings &settings, const ModelConfig &config, const DecoderDefaults &defaults) {
  return RotaryReader(settings, config, defaults).read();
}

} // namespace tessera::importer
