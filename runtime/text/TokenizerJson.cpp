// A tokenizer from Hugging Face's tokenizer.json (huggingface/tokenizers): every component is either
// implemented here or refused by name, because a component left out would change the ids without a word.
#include "TokenizerImpl.h"
#include "TokenizerText.h"

namespace tessera::text {

using nlohmann::json;

namespace {
class JsonReader {
public:
  JsonReader(const TokenizerText &text, const std::string &where)
      : text_(text), root_(text.rest), builder_(where) {}

  Result<std::unique_ptr<Tokenizer>> read() {
    for (auto step :
         {&JsonReader::readModel, &JsonReader::readAddedTokens, &JsonReader::readNormalizer,
          &JsonReader::readPreTokenizer, &JsonReader::readPostProcessor, &JsonReader::readDecoder})
      if (Status status = (this->*step)(); !status)
        return status.takeFailure();
    return builder_.finish();
  }

private:
  // The member `name` of an object; null if it is missing or null.
  static const json *member(const json &object, const char *name) {
    if (!object.is_object())
      return nullptr;
    auto found = object.find(name);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
  // A flag that must be true or false where it is present.
  bool flag(const json &object, const char *name, bool byDefault) {
    const json *value = member(object, name);
    if (value && !value->is_boolean() && !problem_)
      problem_ = builder_.failure(std::string("\"") + name + "\" is not true or false");
    return value && value->is_boolean() ? value->get<bool>() : byDefault;
  }
  std::string text(const json &object, const char *name) {
    const json *value = member(object, name);
    return value && value->is_string() ? value->get<std::string>() : std::string();
  }
  Status checked() { return problem_ ? Status(*problem_) : Status(); }
  Failure unsupported(const std::string &component) {
    return builder_.failure(component + " is not implemented", "give prompts as token ids with --tokens");
  }
  Failure damaged(const std::string &part) {
    return builder_.failure(part + " is missing or damaged", "is the file whole?");
  }

  Status readModel();
  Status readAddedTokens();
  Status readNormalizer();
  Status readPreTokenizer();
  Status addPreTokenizer(const json &component);
  Status readPostProcessor();
  Status addPostProcessor(const json &component);
  Status readDecoder();

  const TokenizerText &text_;
  const json &root_;
  TokenizerBuilder builder_;
  std::optional<Failure> problem_;
  bool byteLevel_ = false;
};
} // namespace

Status JsonReader::readModel() {
  const json *model = member(root_, "model");
  if (!model || !model->is_object())
    return damaged("\"model\"");
  std::string type = text(*model, "type");
  if (type != "BPE" && !(type.empty() && member(*model, "merges")))
    return unsupported("the tokenizer model " + (type.empty() ? "without a type" : type));
  for (const char *name : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!text(*model, name).empty())
      return unsupported(name);
  if (flag(*model, "byte_fallback", false))
    return unsupported("byte_fallback");
  if (const json *dropout = member(*model, "dropout"); dropout && *dropout != 0.0)
    return unsupported("dropout");

  const json *vocabulary = member(*model, "vocab"), *merges = member(*model, "merges");
  if (!vocabulary || !vocabulary->is_object())
    return damaged("\"vocab\"");
  if (!merges || !merges->is_array())
    return damaged("\"merges\"");
  builder_.expectTokens(text_.tokens.size());
  for (size_t i = 0; i < text_.tokens.size(); ++i)
    if (Status status = builder_.addToken(text_.tokens[i], text_.ids[i]); !status)
      return status;
  for (size_t i = 0; i + 1 < text_.merges.size(); i += 2)
    if (Status status = builder_.addMerge(text_.merges[i], text_.merges[i + 1]); !status)
      return status;
  if (std::string unknown = text(*model, "unk_token"); !unknown.empty()) {
    if (builder_.idOf(unknown) < 0)
      return damaged("the unk_token \"" + unknown + "\"");
    builder_.impl().bpe.setUnknown(builder_.idOf(unknown), flag(*model, "fuse_unk", false));
  }
  if (flag(*model, "ignore_merges", false))
    if (Status status = builder_.ignoreMerges(); !status)
      return status;
  return checked();
}

Status JsonReader::readAddedTokens() {
  const json *tokens = member(root_, "added_tokens");
  if (!tokens)
    return {};
  if (!tokens->is_array())
    return damaged("\"added_tokens\"");
  for (const json &token : *tokens) {
    std::string content = text(token, "content");
    const json *id = member(token, "id");
    if (content.empty() || !id || !id->is_number_unsigned() || id->get<uint64_t>() > uint64_t(INT32_MAX))
      return damaged("an entry of \"added_tokens\"");
    for (const char *name : {"single_word", "lstrip", "rstrip"})
      if (flag(token, name, false))
        return unsupported(std::string(name) + " of the added token " + content);
    if (Status status = builder_.addAdded(content, id->get<int64_t>(), flag(token, "special", false),
                                          flag(token, "normalized", false));
        !status)
      return status;
  }
  return checked();
}

Status JsonReader::readNormalizer() {
  const json *normalizer = member(root_, "normalizer");
  if (!normalizer)
    return {};
  if (text(*normalizer, "type") == "Sequence")
    if (const json *parts = member(*normalizer, "normalizers"); parts && parts->is_array() && parts->empty())
      return {};
  return unsupported("the normalizer " + text(*normalizer, "type"));
}

Status JsonReader::readPreTokenizer() {
  const json *component = member(root_, "pre_tokenizer");
  if (component)
    if (Status status = addPreTokenizer(*component); !status)
      return status;
  // Without it the vocabulary is one of characters, not of bytes.
  if (!byteLevel_)
    return unsupported("a BPE tokenizer without a ByteLevel pre_tokenizer");
  return checked();
}

Status JsonReader::addPreTokenizer(const json &component) {
  std::string type = text(component, "type");
  if (type == "Sequence") {
    const json *parts = member(component, "pretokenizers");
    if (!parts || !parts->is_array())
      return damaged("the pre_tokenizer Sequence");
    for (const json &part : *parts)
      if (Status status = addPreTokenizer(part); !status)
        return status;
    return {};
  }
  if (byteLevel_) // it rewrites the text into the byte alphabet: a split after it would see other characters
    return unsupported("the pre_tokenizer " + type + " after ByteLevel");
  if (type == "Digits") {
    bool individual = flag(component, "individual_digits", false);
    return builder_.addSplit(R"(\p{N})", individual ? SplitBehavior::Isolated : SplitBehavior::Contiguous);
  }
  if (type == "ByteLevel") {
    byteLevel_ = true;
    if (flag(component, "add_prefix_space", true))
      builder_.impl().preTokenizer.addPrefixSpace();
    if (flag(component, "use_regex", true))
      return builder_.addSplit(gpt2Pattern);
    return {};
  }
  if (type != "Split")
    return unsupported("the pre_tokenizer " + (type.empty() ? "without a type" : type));

  static const std::pair<const char *, SplitBehavior> behaviors[] = {
      {"Removed", SplitBehavior::Removed},
      {"Isolated", SplitBehavior::Isolated},
      {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
      {"MergedWithNext", SplitBehavior::MergedWithNext},
      {"Contiguous", SplitBehavior::Contiguous}};
  std::string name = text(component, "behavior");
  const json *pattern = member(component, "pattern");
  std::string regex = pattern ? text(*pattern, "Regex") : "",
              literal = pattern ? text(*pattern, "String") : "";
  if (regex.empty() == literal.empty())
    return damaged("the pattern of the pre_tokenizer Split");
  for (const auto &[known, behavior] : behaviors)
    if (name == known)
      return builder_.addSplit(regex.empty() ? Regex::quoted(literal) : regex, behavior,
                               flag(component, "invert", false));
  return unsupported("the behavior \"" + name + "\" of the pre_tokenizer Split");
}

Status JsonReader::readPostProcessor() {
  const json *component = member(root_, "post_processor");
  return component ? addPostProcessor(*component) : Status();
}

Status JsonReader::addPostProcessor(const json &component) {
  std::string type = text(component, "type");
  if (type == "ByteLevel") // changes offsets only
    return {};
  if (type == "Sequence") {
    const json *parts = member(component, "processors");
    if (!parts || !parts->is_array())
      return damaged("the post_processor Sequence");
    for (const json &part : *parts)
      if (Status status = addPostProcessor(part); !status)
        return status;
    return {};
  }
  if (type != "TemplateProcessing")
    return unsupported("the post_processor " + (type.empty() ? "without a type" : type));

  // "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, ...]; the ids are in
  // "special_tokens".
  const json *single = member(component, "single"), *table = member(component, "special_tokens");
  if (!single || !single->is_array())
    return damaged("the post_processor TemplateProcessing");
  bool afterText = false;
  for (const json &item : *single) {
    if (member(item, "Sequence")) {
      if (afterText)
        return unsupported("a TemplateProcessing with the text twice");
      afterText = true;
      continue;
    }
    const json *token = member(item, "SpecialToken");
    std::string name = token ? text(*token, "id") : "";
    const json *entry = table ? member(*table, name.c_str()) : nullptr;
    const json *ids = entry ? member(*entry, "ids") : nullptr;
    if (!ids || !ids->is_array())
      return damaged("the token \"" + name + "\" of the post_processor TemplateProcessing");
    for (const json &id : *ids) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() > uint64_t(INT32_MAX) ||
          !builder_.hasId(id.get<int64_t>()))
        return damaged("the id of \"" + name + "\" of the post_processor TemplateProcessing");
      (afterText ? builder_.impl().suffix : builder_.impl().prefix).push_back(id.get<int32_t>());
    }
  }
  return afterText ? Status() : Status(damaged("the post_processor TemplateProcessing"));
}

Status JsonReader::readDecoder() {
  const json *decoder = member(root_, "decoder");
  if (!decoder || text(*decoder, "type") == "ByteLevel")
    return {};
  return unsupported("the decoder " + text(*decoder, "type"));
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::fromJson(std::string_view tokenizerJson,
                                                       const std::string &where) {
  Result<TokenizerText> text = parseTokenizerText(tokenizerJson, where);
  if (!text)
    return text.takeFailure();
  return JsonReader(*text, where).read();
}

} // namespace tessera::text
