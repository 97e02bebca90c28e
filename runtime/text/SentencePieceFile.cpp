// SentencePiece's own file, tokenizer.model: a message of Protocol Buffers, sentencepiece_model.proto.
#include "SentencePiece.h"

#include "tessera/runtime/io/Json.h"

#include <algorithm>
#include <cstring>

namespace tessera::text {

namespace {
// The fields of one message, in the order of the file.
class Message {
public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  // False at the end, and where the bytes are no message (then `damaged`).
  bool next() {
    uint64_t tag;
    if (rest_.empty() || damaged)
      return false;
    if (!takeNumber(tag))
      return damaged = true, false;
    field = tag >> 3;
    kind = int(tag & 7);
    uint64_t length = kind == 1 ? 8 : 4;
    switch (kind) {
    case 0:
      damaged = !takeNumber(number);
      return !damaged;
    case 2:
      damaged = !takeNumber(length);
      break;
    case 1:
    case 5:
      break;
    default:
      damaged = true;
    }
    damaged = damaged || length > rest_.size();
    if (damaged)
      return false;
    bytes = rest_.substr(0, size_t(length));
    rest_.remove_prefix(size_t(length));
    return true;
  }
  bool is(uint64_t wantedField, int wantedKind) const { return field == wantedField && kind == wantedKind; }

  uint64_t field = 0;
  int kind = 0; // 0: number; 1, 2, 5: bytes
  uint64_t number = 0;
  std::string_view bytes;
  bool damaged = false;

private:
  bool takeNumber(uint64_t &value) {
    value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      uint8_t byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t(byte & 0x7F) << shift;
      if (!(byte & 0x80))
        return true;
    }
    return false;
  }
  std::string_view rest_;
};
} // namespace

// Two bytes can be a piece, and take fifty times as many; models have a quarter of a million.
static constexpr size_t kMostPieces = size_t(1) << 22;

Result<SentencePieceModel> parseSentencePiece(std::string_view bytes, const std::string &where,
                                              int64_t &bosId, int64_t &eosId) {
  auto failure = [&](const std::string &why, const std::string &hint = "is the file whole?") {
    return Failure{"cannot use the tokenizer", where, why, hint};
  };
  auto notOne = [&] { return failure("it is not a SentencePiece model"); };
  SentencePieceModel model;
  model.unknownId = 0;
  bosId = 1, eosId = 2;
  uint64_t kind = 1; // of model
  Message file(bytes);
  while (file.next()) {
    Message part(file.kind == 2 ? file.bytes : std::string_view());
    if (file.is(1, 2)) { // SentencePiece
      std::string_view piece;
      float score = 0;
      uint64_t type = 1;
      while (part.next())
        if (part.is(1, 2))
          piece = part.bytes;
        else if (part.is(2, 5))
          std::memcpy(&score, part.bytes.data(), sizeof score);
        else if (part.is(3, 0))
          type = part.number;
      if (part.damaged || type < 1 || type > 6)
        return notOne();
      if (model.pieces.size() == kMostPieces)
        return failure("it has more than " + std::to_string(kMostPieces) + " pieces");
      model.pieces.push_back(piece);
      model.scores.push_back(score);
      model.types.push_back(PieceType(type));
    } else if (file.is(2, 2)) { // TrainerSpec
      while (part.next())
        if (part.is(3, 0))
          kind = part.number;
        else if (part.is(24, 0) && part.number)
          return failure("treat_whitespace_as_suffix is not implemented", giveTokens);
        else if (part.is(40, 0))
          model.unknownId = int64_t(part.number);
        else if (part.is(41, 0))
          bosId = int64_t(part.number);
        else if (part.is(42, 0))
          eosId = int64_t(part.number);
    } else if (file.is(3, 2)) { // NormalizerSpec
      while (part.next())
        if (part.is(2, 2))
          model.charsmap = part.bytes;
        else if (part.is(3, 0))
          model.addPrefix = part.number != 0;
        else if (part.is(4, 0))
          model.removeExtraSpaces = part.number != 0;
        else if (part.is(5, 0) && !part.number)
          return failure("escape_whitespaces=false is not implemented", giveTokens);
    }
    if (part.damaged)
      return notOne();
  }
  if (file.damaged || model.pieces.empty())
    return notOne();
  if (kind != 1 && kind != 2)
    return failure("the model type " + std::to_string(kind) + " is not implemented (Unigram and BPE are)",
                   giveTokens);
  model.isUnigram = kind == 1;
  return model;
}

namespace {
// What transformers' classes for SentencePiece take from tokenizer_config.json.
class Settings {
public:
  Settings(TokenizerBuilder &builder, std::string where) : builder_(builder), where_(std::move(where)) {}

  Status read(std::string_view text) {
    if (text.empty())
      return {};
    Result<nlohmann::json> parsed = io::parseJson(text, where_);
    if (!parsed)
      return parsed.takeFailure();
    json_ = parsed.take();
    return json_.is_object() ? Status() : damaged("it");
  }
  // A flag; null counts as missing.
  Status flag(const char *name, bool &value) const {
    auto found = json_.is_object() ? json_.find(name) : json_.end();
    if (found == json_.end() || found->is_null())
      return {};
    if (!found->is_boolean())
      return damaged(std::string("\"") + name + "\"");
    value = found->get<bool>();
    return {};
  }
  // {"32000": {"content": "<|end|>", "special": true, ...}, ...}
  Status addTokens() const {
    auto found = json_.is_object() ? json_.find("added_tokens_decoder") : json_.end();
    if (found == json_.end())
      return {};
    if (!found->is_object())
      return damaged("\"added_tokens_decoder\"");
    for (const auto &[id, entry] : found->items()) {
      AddedToken token;
      auto content = entry.is_object() ? entry.find("content") : entry.end();
      if (id.empty() || id.size() > 9 || id.find_first_not_of("0123456789") != std::string::npos ||
          !entry.is_object() || content == entry.end() || !content->is_string())
        return damaged("an entry of \"added_tokens_decoder\"");
      token.id = std::stoi(id);
      token.content = content->get<std::string>();
      for (auto [name, value] : {std::pair("single_word", &token.singleWord),
                                 {"lstrip", &token.lstrip},
                                 {"rstrip", &token.rstrip},
                                 {"special", &token.special},
                                 {"normalized", &token.normalized}})
        *value = entry.value(name, nlohmann::json(false)) == true;
      if (Status status = builder_.addAdded(std::move(token)); !status)
        return status;
    }
    return {};
  }

private:
  Status damaged(const std::string &part) const {
    return Failure{"cannot use the tokenizer", where_, part + " is damaged", "correct that file"};
  }
  TokenizerBuilder &builder_;
  std::string where_;
  nlohmann::json json_;
};
} // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::fromSentencePiece(std::string_view bytes,
                                                                std::string_view settingsText,
                                                                const std::string &where) {
  int64_t bosId = -1, eosId = -1;
  Result<SentencePieceModel> model = parseSentencePiece(bytes, where, bosId, eosId);
  if (!model)
    return model.takeFailure();
  TokenizerBuilder builder(where);
  Settings settings(builder, where.substr(0, where.rfind('/') + 1) + "tokenizer_config.json");
  // Unless it is said: Llama's kind begins with BOS, T5's ends with EOS.
  bool addBos = !model->isUnigram, addEos = model->isUnigram, isLegacy = true;
  Status status = settings.read(settingsText);
  for (auto [name, value] : {std::pair("add_bos_token", &addBos),
                             {"add_eos_token", &addEos},
                             {"legacy", &isLegacy},
                             {"add_prefix_space", &model->addPrefix}})
    if (status)
      status = settings.flag(name, *value);
  model->onlyFirstPrefix = !isLegacy;
  // SentencePiece has its own blanks around such pieces, where other tokenizers cut the text first.
  bool hasOwn = std::count(model->types.begin(), model->types.end(), PieceType::UserDefined) > 0;
  if (status && hasOwn && (model->addPrefix || model->removeExtraSpaces))
    status =
        builder.unsupported("a SentencePiece model with user-defined pieces, and with add_dummy_prefix or "
                            "remove_extra_whitespaces,");
  if (status)
    status = addSentencePiece(builder, *model);
  if (status)
    status = settings.addTokens();
  if (!status)
    return status.takeFailure();
  for (auto [wanted, id, ids] :
       {std::tuple(addBos, bosId, &builder.impl().prefix), {addEos, eosId, &builder.impl().suffix}}) {
    // -1 is how the trainer says that there is none.
    if (!wanted || int32_t(id) == -1)
      continue;
    if (!builder.hasId(id))
      return builder.failure("the token " + std::to_string(id) + " that is put around texts is missing",
                             "is the file whole?");
    ids->push_back(int32_t(id));
  }
  return builder.finish();
}

} // namespace tessera::text
