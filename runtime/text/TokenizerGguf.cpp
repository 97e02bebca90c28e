// A tokenizer from GGUF metadata: tokenizer.ggml.{model,pre,tokens,token_type,merges,add_bos_token,...}.
#include "TokenizerImpl.h"

namespace tessera::text {

// GGUF names a split, it does not spell it out. The patterns are those of the models' own tokenizer.json.
namespace {
struct KnownSplit {
  const char *name;
  std::vector<const char *> patterns; // each isolates its matches, one after another
  bool ignoreMerges;
  bool addBos; // unless the file says
};
} // namespace

static const std::vector<KnownSplit> &knownSplits() {
  static const char *digit = R"(\p{N})";
  static const char *contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
  static const std::string threeDigits =
      std::string(contractions) +
      R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static const std::string oneDigit =
      std::string(contractions) +
      R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static const char *tekken =
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
      R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
      R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static const std::vector<KnownSplit> table = {
      {"gpt-2", {gpt2Pattern}, false, false},
      {"smollm", {digit, gpt2Pattern}, false, false},
      {"starcoder", {digit, gpt2Pattern}, false, false},
      {"llama-bpe", {threeDigits.c_str()}, true, true},
      {"tekken", {tekken}, true, true},
      {"qwen2", {oneDigit.c_str()}, false, false},
      {"default", {R"([\p{P}\$\+<=>\^~\|]+)", gpt2Pattern, R"(\p{N}+)", "[0-9][0-9][0-9]"}, false, false},
  };
  return table;
}

namespace {
class GgufReader {
public:
  explicit GgufReader(const io::ModelFile &model) : model_(model), builder_(model.path()) {}

  Result<std::unique_ptr<Tokenizer>> read() {
    for (auto step : {&GgufReader::readSplit, &GgufReader::readVocabulary, &GgufReader::readMerges,
                      &GgufReader::readEnds})
      if (Status status = (this->*step)(); !status)
        return status.takeFailure();
    return builder_.finish();
  }

private:
  using Kind = io::GgufValue::Kind;

  const io::GgufValue *find(const char *key) { return model_.metadata(std::string("tokenizer.ggml.") + key); }
  Failure missing(const char *key, const char *kind) {
    return builder_.failure(std::string("metadata tokenizer.ggml.") + key + " is missing or is not " + kind,
                            "give prompts as token ids with --tokens");
  }

  Status readSplit() {
    const io::GgufValue *model = find("model"), *pre = find("pre");
    if (!model || model->kind != Kind::String)
      return missing("model", "a text");
    if (model->string != "gpt2")
      return builder_.failure("tokenizer model \"" + std::string(model->string) +
                                  "\" is not implemented (only gpt2 is)",
                              "give prompts as token ids with --tokens");
    if (!pre || pre->kind != Kind::String)
      return missing("pre", "a text");
    for (const KnownSplit &known : knownSplits())
      if (pre->string == known.name)
        split_ = &known;
    if (!split_)
      return builder_.failure("the split \"" + std::string(pre->string) +
                                  "\" (tokenizer.ggml.pre) is not known",
                              "give prompts as token ids with --tokens");
    for (const char *pattern : split_->patterns)
      if (Status status = builder_.addSplit(pattern); !status)
        return status;
    return {};
  }

  Status readVocabulary() {
    const io::GgufValue *tokens = find("tokens"), *types = find("token_type");
    if (!tokens || tokens->kind != Kind::Array || tokens->elementKind != Kind::String)
      return missing("tokens", "an array of texts");
    if (types && (types->kind != Kind::Array || types->ints.size() != tokens->strings.size()))
      return missing("token_type", "an array of as many numbers as there are tokens");
    enum { Unknown = 2, Control = 3, UserDefined = 4, Unused = 5 };
    builder_.expectTokens(tokens->strings.size());
    for (size_t id = 0; id < tokens->strings.size(); ++id) {
      // "[PAD384]" and the like: names for ids without a string.
      if (types && types->ints[id] == Unused)
        continue;
      if (Status status = builder_.addToken(tokens->strings[id], int64_t(id)); !status)
        return status;
    }
    for (size_t id = 0; types && id < types->ints.size(); ++id) {
      int64_t type = types->ints[id];
      if (type == Unknown || type == Control || type == UserDefined)
        if (Status status = builder_.addAdded(std::string(tokens->strings[id]), int64_t(id),
                                              /*special=*/type != UserDefined, /*normalized=*/false);
            !status)
          return status;
    }
    if (split_->ignoreMerges)
      return builder_.ignoreMerges();
    return {};
  }

  Status readMerges() {
    const io::GgufValue *merges = find("merges");
    if (!merges || merges->kind != Kind::Array ||
        (merges->elementKind != Kind::String && !merges->ints.empty()))
      return missing("merges", "an array of texts");
    for (std::string_view merge : merges->strings) {
      size_t blank = merge.find(' ', 1);
      if (merge.empty() || blank == std::string_view::npos)
        return builder_.failure("the merge \"" + std::string(merge) + "\" is not two tokens",
                                "is the file whole?");
      if (Status status = builder_.addMerge(merge.substr(0, blank), merge.substr(blank + 1)); !status)
        return status;
    }
    return {};
  }

  // BOS and EOS, where the file wants them around every text.
  Status readEnds() {
    auto read = [&](const char *flagKey, const char *idKey, bool byDefault,
                    std::vector<int32_t> &ids) -> Status {
      const io::GgufValue *flag = find(flagKey), *id = find(idKey);
      if (flag && flag->kind != Kind::Bool)
        return missing(flagKey, "true or false");
      if (!(flag ? flag->intValue != 0 : byDefault && id))
        return {};
      if (!id || (id->kind != Kind::Uint && id->kind != Kind::Int) || !builder_.hasId(id->intValue))
        return missing(idKey, "the id of a token");
      ids.push_back(int32_t(id->intValue));
      return {};
    };
    if (Status status = read("add_bos_token", "bos_token_id", split_->addBos, builder_.impl().prefix);
        !status)
      return status;
    return read("add_eos_token", "eos_token_id", false, builder_.impl().suffix);
  }

  const io::ModelFile &model_;
  TokenizerBuilder builder_;
  const KnownSplit *split_ = nullptr;
};
} // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::fromGguf(const io::ModelFile &model) {
  return GgufReader(model).read();
}

} // namespace tessera::text
