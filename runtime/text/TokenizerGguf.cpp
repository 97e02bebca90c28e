// A tokenizer from GGUF metadata:
// tokenizer.ggml.{model,pre,tokens,token_type,scores,merges,add_bos_token,...}.
#include "GgufSplits.h"
#include "SentencePiece.h"

namespace tessera::text {

namespace {
class GgufReader {
public:
  explicit GgufReader(const io::ModelFile &model) : model_(model), builder_(model.path()) {}

  Result<std::unique_ptr<Tokenizer>> read() {
    for (auto step : {&GgufReader::readKind, &GgufReader::readPieces, &GgufReader::readEnds})
      if (Status status = (this->*step)(); !status)
        return status.takeFailure();
    return builder_.finish();
  }

private:
  using Kind = io::GgufValue::Kind;

  const io::GgufValue *find(const char *key) { return model_.metadata(std::string("tokenizer.ggml.") + key); }
  Failure missing(const char *key, const char *kind) {
    return builder_.failure(std::string("metadata tokenizer.ggml.") + key + " is missing or is not " + kind,
                            giveTokens);
  }
  std::string_view architecture() {
    const io::GgufValue *value = model_.metadata("general.architecture");
    return value && value->kind == Kind::String ? value->string : std::string_view();
  }
  // A flag that must be true or false where it is present.
  Status readFlag(const char *key, bool &value) {
    const io::GgufValue *found = find(key);
    if (found && found->kind != Kind::Bool)
      return missing(key, "true or false");
    if (found)
      value = found->intValue != 0;
    return {};
  }

  Status readKind() {
    const io::GgufValue *model = find("model");
    if (!model || model->kind != Kind::String)
      return missing("model", "a text");
    kind_ = model->string;
    if (kind_ == "gpt2")
      return readSplit();
    if (kind_ == "gemma4") // rules on characters, where a blank is U+2581
      return {};
    if (kind_ == "llama")
      addBos_ = true;
    else if (kind_ == "t5")
      addEos_ = true;
    else
      return builder_.failure("tokenizer model \"" + std::string(kind_) +
                                  "\" is not implemented (gpt2, llama, t5 and gemma4 are)",
                              giveTokens);
    return {};
  }

  Status readSplit() {
    const io::GgufValue *pre = find("pre");
    std::string_view name;
    if (pre && pre->kind == Kind::String)
      name = pre->string;
    else if (architecture() == "gptneox") // files from before splits had names
      name = "olmo";
    else
      return missing("pre", "a text");
    split_ = findGgufSplit(name);
    if (!split_)
      return builder_.failure("the split \"" + std::string(name) + "\" (tokenizer.ggml.pre) is not known",
                              giveTokens);
    for (const char *pattern : split_->patterns)
      if (Status status = builder_.addSplit(pattern); !status)
        return status;
    if (split_->nfc)
      builder_.impl().normalizer.addForm(UnicodeForm::NFC);
    addBos_ = split_->addBos;
    builder_.setByteLevel();
    return {};
  }

  Status readPieces() {
    const io::GgufValue *tokens = find("tokens"), *types = find("token_type");
    if (!tokens || tokens->kind != Kind::Array || tokens->elementKind != Kind::String)
      return missing("tokens", "an array of texts");
    if (types && (types->kind != Kind::Array || types->ints.size() != tokens->strings.size()))
      return missing("token_type", "an array of as many numbers as there are tokens");
    types_.assign(tokens->strings.size(), PieceType::Normal);
    for (size_t id = 0; types && id < types->ints.size(); ++id) {
      if (types->ints[id] < 1 || types->ints[id] > 6)
        return builder_.failure("the type " + std::to_string(types->ints[id]) + " of token " +
                                    std::to_string(id) + " is not known",
                                "is the file whole?");
      types_[id] = PieceType(types->ints[id]);
    }
    return kind_ == "llama" || kind_ == "t5" ? readSentencePiece(tokens->strings)
                                             : readRules(tokens->strings);
  }

  Status readSentencePiece(const std::vector<std::string_view> &tokens) {
    const io::GgufValue *scores = find("scores"), *map = find("precompiled_charsmap"),
                        *unknown = find("unknown_token_id");
    if (!scores || scores->kind != Kind::Array || scores->floats.size() != tokens.size())
      return missing("scores", "an array of as many numbers as there are tokens");
    SentencePieceModel model;
    model.isUnigram = kind_ == "t5";
    model.pieces = tokens;
    model.types = types_;
    model.scores.assign(scores->floats.begin(), scores->floats.end());
    model.removeExtraSpaces = false;
    model.unknownId = model.isUnigram ? 2 : 0;
    if (unknown) {
      if (unknown->kind != Kind::Uint || unknown->uintValue() >= tokens.size())
        return missing("unknown_token_id", "the id of a token");
      model.unknownId = unknown->intValue;
    }
    std::string charsmap;
    if (map) {
      if (map->kind != Kind::Array || (map->elementKind != Kind::Int && map->elementKind != Kind::Uint))
        return missing("precompiled_charsmap", "an array of bytes");
      for (int64_t byte : map->ints)
        charsmap += char(byte);
      model.charsmap = charsmap;
    }
    if (Status status = readFlag("add_space_prefix", model.addPrefix); !status)
      return status;
    if (Status status = readFlag("remove_extra_whitespaces", model.removeExtraSpaces); !status)
      return status;
    // Phi-3's own tokenizer takes the white space behind its tokens, which GGUF does not say anywhere.
    model.addedTakeSpace = architecture() == "phi3" && kind_ == "llama";
    return addSentencePiece(builder_, model);
  }

  // Rules: gpt2, gemma4.
  Status readRules(const std::vector<std::string_view> &tokens) {
    builder_.expectTokens(tokens.size());
    const bool onCharacters = kind_ == "gemma4";
    for (size_t id = 0; id < tokens.size(); ++id) {
      const PieceType type = types_[id];
      if (type == PieceType::Unused) // "[PAD384]" and the like: names for ids without a string
        continue;
      if (Status status = builder_.addToken(tokens[id], int64_t(id)); !status)
        return status;
      if (type != PieceType::Unknown && type != PieceType::Control && type != PieceType::UserDefined)
        continue;
      AddedToken token;
      token.content = tokens[id];
      token.id = int32_t(id);
      token.special = type != PieceType::UserDefined;
      if (Status status = builder_.addAdded(std::move(token)); !status)
        return status;
    }
    auto bpe = std::make_unique<Bpe>(builder_.impl().vocabulary, onCharacters);
    if (onCharacters)
      if (Status status = readOnCharacters(*bpe, tokens); !status)
        return status;
    if (split_ && split_->ignoreMerges)
      bpe->ignoreMerges();
    Status status = readMerges(*bpe);
    builder_.impl().model = std::move(bpe);
    return status;
  }

  Status readOnCharacters(Bpe &bpe, const std::vector<std::string_view> &tokens) {
    std::array<int32_t, 256> bytes;
    Result<bool> all = builder_.byteTokens(bytes);
    if (!all)
      return all.takeFailure();
    if (*all)
      bpe.setByteFallback(bytes);
    bool prefix = false;
    if (Status status = readFlag("add_space_prefix", prefix); !status)
      return status;
    if (prefix)
      return builder_.unsupported("add_space_prefix of the tokenizer model gemma4");
    Result<std::unique_ptr<Regex>> blank = Regex::compile(" ", model_.path());
    if (!blank)
      return blank.takeFailure();
    builder_.impl().normalizer.addReplace(blank.take(), sentencePieceBlank);
    for (size_t id = 0; id < tokens.size(); ++id)
      if (types_[id] == PieceType::Normal || types_[id] == PieceType::Byte)
        setPrintedPiece(builder_, int32_t(id), tokens[id], *all && types_[id] == PieceType::Byte);
    return {};
  }

  Status readMerges(Bpe &bpe) {
    const io::GgufValue *merges = find("merges");
    if (!merges || merges->kind != Kind::Array ||
        (merges->elementKind != Kind::String && !(merges->ints.empty() && merges->floats.empty())))
      return missing("merges", "an array of texts");
    bpe.reserveMerges(merges->strings.size());
    int32_t rank = 0;
    for (std::string_view merge : merges->strings) {
      size_t blank = merge.find(' ', 1);
      if (merge.empty() || blank == std::string_view::npos)
        return builder_.failure("the merge \"" + std::string(merge) + "\" is not two tokens",
                                "is the file whole?");
      if (Status status = builder_.addMerge(bpe, merge.substr(0, blank), merge.substr(blank + 1), rank++);
          !status)
        return status;
    }
    return {};
  }

  // BOS and EOS, where the file wants them around every text.
  Status readEnds() {
    auto read = [&](const char *flagKey, const char *idKey, bool byDefault,
                    std::vector<int32_t> &ids) -> Status {
      const io::GgufValue *id = find(idKey);
      bool wanted = byDefault && id;
      if (Status status = readFlag(flagKey, wanted); !status)
        return status;
      if (!wanted)
        return {};
      if (!id || (id->kind != Kind::Uint && id->kind != Kind::Int) || !builder_.hasId(id->intValue))
        return missing(idKey, "the id of a token");
      ids.push_back(int32_t(id->intValue));
      return {};
    };
    if (Status status = read("add_bos_token", "bos_token_id", addBos_, builder_.impl().prefix); !status)
      return status;
    return read("add_eos_token", "eos_token_id", addEos_, builder_.impl().suffix);
  }

  const io::ModelFile &model_;
  TokenizerBuilder builder_;
  std::string_view kind_;
  const GgufSplit *split_ = nullptr;
  std::vector<PieceType> types_;
  bool addBos_ = false, addEos_ = false; // unless the file says
};
} // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::fromGguf(const io::ModelFile &model) {
  return GgufReader(model).read();
}

} // namespace tessera::text
