// A tokenizer from Hugging Face's tokenizer.json (huggingface/tokenizers): its model, its added tokens and
// what it puts around texts.
#include "JsonComponents.h"

#include "Unigram.h"

namespace tessera::text {

using nlohmann::json;

Result<std::unique_ptr<Tokenizer>> JsonReader::read() {
  // The pre-tokenizer says whether the vocabulary spells bytes.
  for (auto step : {&JsonReader::readPreTokenizer, &JsonReader::readModel, &JsonReader::readNormalizer,
                    &JsonReader::readAddedTokens, &JsonReader::readPostProcessor, &JsonReader::readDecoder})
    if (Status status = (this->*step)(); !status)
      return status.takeFailure();
  return builder_.finish();
}

Status JsonReader::readModel() {
  const json *model = member(root_, "model");
  if (!model || !model->is_object())
    return damaged("\"model\"");
  std::string type = text(*model, "type");
  if (type == "BPE" || (type.empty() && member(*model, "merges")))
    return readBpe(*model);
  if (type == "Unigram")
    return readUnigram(*model);
  return unsupported("the tokenizer model", type);
}

Status JsonReader::readBpe(const json &model) {
  for (const char *name : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!text(model, name).empty())
      return builder_.unsupported(name);
  if (const json *dropout = member(model, "dropout"); dropout && *dropout != 0.0)
    return builder_.unsupported("dropout");
  const json *vocabulary = member(model, "vocab"), *merges = member(model, "merges");
  if (!vocabulary || !vocabulary->is_object())
    return damaged("\"vocab\"");
  if (!merges || !merges->is_array())
    return damaged("\"merges\"");

  builder_.expectTokens(text_.ids.size());
  for (size_t i = 0; i < text_.ids.size(); ++i)
    if (Status status = builder_.addToken(text_.tokens.texts[i], text_.ids[i]); !status)
      return status;
  auto bpe = std::make_unique<Bpe>(builder_.impl().vocabulary, /*onCharacters=*/!builder_.isByteLevel());
  const std::vector<std::string_view> &pairs = text_.merges.texts;
  bpe->reserveMerges(pairs.size() / 2);
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (Status status = builder_.addMerge(*bpe, pairs[i], pairs[i + 1], int32_t(i / 2)); !status)
      return status;

  if (std::string unknown = text(model, "unk_token"); !unknown.empty()) {
    if (builder_.idOf(unknown) < 0)
      return damaged("the unk_token \"" + unknown + "\"");
    bpe->setUnknown(builder_.idOf(unknown), flag(model, "fuse_unk", false));
  }
  if (flag(model, "byte_fallback", false)) {
    std::array<int32_t, 256> ids;
    Result<bool> all = builder_.byteTokens(ids);
    if (!all)
      return all.takeFailure();
    if (*all)
      bpe->setByteFallback(ids);
  }
  if (flag(model, "ignore_merges", false))
    bpe->ignoreMerges();
  builder_.impl().model = std::move(bpe);
  return checked();
}

Status JsonReader::readUnigram(const json &model) {
  if (builder_.isByteLevel())
    return builder_.unsupported("the tokenizer model Unigram behind ByteLevel");
  const json *vocabulary = member(model, "vocab"), *unknown = member(model, "unk_id");
  if (!vocabulary || !vocabulary->is_array() || text_.scores.empty())
    return damaged("\"vocab\"");
  builder_.expectTokens(text_.scores.size());
  auto unigram = std::make_unique<Unigram>();
  for (size_t i = 0; i < text_.scores.size(); ++i) {
    if (Status status = builder_.addToken(text_.tokens.texts[i], int64_t(i)); !status)
      return status;
    if (!text_.tokens.texts[i].empty())
      unigram->add(text_.tokens.texts[i], int32_t(i), text_.scores[i]);
  }
  if (unknown) {
    if (!unknown->is_number_unsigned() || unknown->get<uint64_t>() >= text_.scores.size())
      return damaged("the unk_id");
    unigram->setUnknown(unknown->get<int32_t>());
  }
  if (flag(model, "byte_fallback", false)) {
    std::array<int32_t, 256> ids;
    Result<bool> all = builder_.byteTokens(ids);
    if (!all)
      return all.takeFailure();
    if (*all)
      unigram->setByteFallback(ids);
  }
  builder_.impl().model = std::move(unigram);
  return checked();
}

Status JsonReader::readAddedTokens() {
  const json *tokens = member(root_, "added_tokens");
  if (!tokens)
    return {};
  if (!tokens->is_array())
    return damaged("\"added_tokens\"");
  for (const json &entry : *tokens) {
    const json *id = member(entry, "id");
    AddedToken token;
    token.content = text(entry, "content");
    if (token.content.empty() || !id || !id->is_number_unsigned() ||
        id->get<uint64_t>() > uint64_t(INT32_MAX))
      return damaged("an entry of \"added_tokens\"");
    token.id = id->get<int32_t>();
    token.singleWord = flag(entry, "single_word", false);
    token.lstrip = flag(entry, "lstrip", false);
    token.rstrip = flag(entry, "rstrip", false);
    token.special = flag(entry, "special", false);
    token.normalized = flag(entry, "normalized", !token.special);
    if (Status status = builder_.addAdded(token); !status)
      return status;
    if (int32_t known = builder_.idOf(token.content); known >= 0 && known != token.id)
      return builder_.failure("the added token \"" + token.content + "\" has the id " +
                                  std::to_string(token.id) + ", and " + std::to_string(known) +
                                  " in the vocabulary",
                              "is the file whole?");
  }
  return checked();
}

Status JsonReader::readPostProcessor() {
  const json *component = member(root_, "post_processor");
  return component ? eachPart(*component, "post_processor", "processors",
                              [&](const json &part) { return addPostProcessor(part); })
                   : Status();
}

Status JsonReader::addPostProcessor(const json &component) {
  std::string type = text(component, "type");
  if (type == "ByteLevel") // changes offsets only
    return {};
  if (type != "TemplateProcessing")
    return unsupported("the post_processor", type);

  // "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, ...]; the ids are in
  // "special_tokens".
  const json *single = member(component, "single"), *table = member(component, "special_tokens");
  if (!single || !single->is_array())
    return damaged("the post_processor TemplateProcessing");
  bool afterText = false;
  std::vector<int32_t> before, behind;
  for (const json &item : *single) {
    if (member(item, "Sequence")) {
      if (afterText)
        return builder_.unsupported("a TemplateProcessing with the text twice");
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
      // An entry may be named again and again: the list would be longer than the file.
      if (before.size() + behind.size() == kMostAround)
        return builder_.failure("its post_processor puts more than " + std::to_string(kMostAround) +
                                    " tokens around a text",
                                "is the file whole?");
      (afterText ? behind : before).push_back(id.get<int32_t>());
    }
  }
  if (!afterText)
    return damaged("the post_processor TemplateProcessing");
  // Around what processors before this one have put there.
  std::vector<int32_t> &prefix = builder_.impl().prefix, &suffix = builder_.impl().suffix;
  prefix.insert(prefix.begin(), before.begin(), before.end());
  suffix.insert(suffix.end(), behind.begin(), behind.end());
  return {};
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::fromJson(std::string_view tokenizerJson,
                                                       const std::string &where) {
  Result<TokenizerText> text = parseTokenizerText(tokenizerJson, where);
  if (!text)
    return text.takeFailure();
  return JsonReader(*text, where).read();
}

} // namespace tessera::text
