#include "TokenizerImpl.h"

#include "Unicode.h"

#include <cstdio>

namespace tessera::text {

Tokenizer::Tokenizer() : impl_(std::make_unique<Impl>()) {}
Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer>> Tokenizer::load(const io::ModelFile &model) {
  if (model.format() == io::ModelFormat::Gguf)
    return fromGguf(model);
  if (const std::string_view *json = model.text("tokenizer.json"))
    return fromJson(*json, model.path() + "/tokenizer.json");
  if (const std::string_view *pieces = model.text("tokenizer.model")) {
    const std::string_view *settings = model.text("tokenizer_config.json");
    return fromSentencePiece(*pieces, settings ? *settings : std::string_view(),
                             model.path() + "/tokenizer.model");
  }
  return Failure{"cannot use the tokenizer", model.path(),
                 "the model has no tokenizer.json and no tokenizer.model", giveTokens};
}

// Calls onText(stretch, begin) for the stretches of `text` between tokens of `added`, and onToken for those,
// in order.
template <typename OnText, typename OnToken>
static Status partition(const AddedTokens &added, std::string_view text, OnText onText, OnToken onToken) {
  size_t at = 0;
  if (!added.empty())
    for (const AddedTokens::Match &match : added.findAll(text)) {
      if (match.begin > at)
        if (Status status = onText(text.substr(at, match.begin - at), at); !status)
          return status;
      onToken(match.id);
      at = match.end;
    }
  return at < text.size() ? onText(text.substr(at), at) : Status();
}

// A character, or a byte that is none, as a person reads it.
static std::string described(std::string_view unit) {
  char text[8];
  if (unit.size() == 1) {
    std::snprintf(text, sizeof text, "0x%02X", static_cast<uint8_t>(unit[0]));
    return std::string("byte ") + text;
  }
  return "character " + std::string(unit);
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool addsAround) const {
  if (!isValidUtf8(text))
    return Failure{"cannot tokenize", "", "the text is not valid UTF-8", "give it in UTF-8"};
  if (text.size() > size_t(1) << 30)
    return Failure{"cannot tokenize", "", "the text is longer than 1 GiB", "give it in parts"};
  std::vector<int32_t> ids;
  if (addsAround)
    ids = impl_->prefix;
  std::vector<std::string_view> pieces;
  std::deque<std::string> owned;
  auto pushToken = [&](int32_t id) { ids.push_back(id); };
  auto encodeText = [&](std::string_view stretch, bool atStart) -> Status {
    owned.clear();
    if (Status status = impl_->preTokenizer.split(stretch, atStart, pieces, owned); !status)
      return status;
    for (std::string_view piece : pieces)
      if (std::string_view missing; !impl_->model->encode(piece, ids, &missing))
        return Failure{"cannot tokenize", impl_->where,
                       "the vocabulary has no token for the " + described(missing),
                       "leave that character out"};
    // A normalizer may put much before every stretch.
    if (ids.size() > 64 * text.size() + 65536)
      return Failure{"cannot tokenize", impl_->where,
                     "the text has more than 64 tokens for each of its bytes", "use a shorter text"};
    return {};
  };
  auto normalizeText = [&](std::string_view stretch, size_t begin) -> Status {
    bool losesFront = false;
    std::string normalized;
    if (!impl_->normalizer.empty()) {
      Result<std::string> result = impl_->normalizer.apply(stretch, losesFront);
      if (!result)
        return result.takeFailure();
      normalized = result.take();
      stretch = normalized;
    }
    return partition(
        impl_->added[1], stretch,
        [&](std::string_view part, size_t at) {
          return encodeText(part, begin == 0 && at == 0 && !losesFront);
        },
        pushToken);
  };
  if (Status status = partition(impl_->added[0], text, normalizeText, pushToken); !status)
    return status.takeFailure();
  if (addsAround)
    ids.insert(ids.end(), impl_->suffix.begin(), impl_->suffix.end());
  return ids;
}

std::string_view Tokenizer::bytes(int32_t id) const { return impl_->printed[id]; }

bool Tokenizer::isSpecial(int32_t id) const {
  return id >= 0 && size_t(id) < impl_->special.size() && impl_->special[size_t(id)];
}

int32_t Tokenizer::vocabSize() const { return int32_t(impl_->printed.size()); }

std::string Tokenizer::decode(const std::vector<int32_t> &ids) const {
  StreamDecoder decoder(*this);
  std::string text;
  for (int32_t id : ids)
    text += decoder.push(id);
  return text + decoder.flush();
}

// A text without all `character`s (of one or more bytes).
static std::string without(std::string_view text, std::string_view character) {
  std::string out;
  for (size_t at = 0; at < text.size();)
    if (text.substr(at, character.size()) == character)
      at += character.size();
    else
      out += text[at++];
  return out;
}

std::string StreamDecoder::push(int32_t id) {
  if (tokenizer_.isSpecial(id))
    return {};
  const TextEnds &ends = tokenizer_.impl_->ends;
  std::string_view bytes = tokenizer_.bytes(id);
  if (!hasToken_ && !bytes.empty()) {
    hasToken_ = true;
    if (!ends.allOfFirst.empty()) {
      held_ = without(bytes, ends.allOfFirst);
      bytes = {};
    }
  }
  held_ += bytes;
  std::string text;
  std::string_view rest = held_;
  while (!rest.empty()) {
    Utf8Scan scan = scanUtf8(rest);
    if (scan.kind == Utf8Scan::Incomplete)
      break;
    std::string_view character =
        scan.kind == Utf8Scan::Valid ? rest.substr(0, scan.length) : std::string_view(replacementCharacter);
    rest.remove_prefix(scan.length);
    if (!began_ && leftOut_ < ends.atBegin && character == ends.character) {
      ++leftOut_;
      continue;
    }
    began_ = true;
    // What may be left out at the end waits until something else follows.
    if (ends.atEnd > 0 && character == ends.character) {
      ++waiting_;
      continue;
    }
    for (; waiting_ > 0; --waiting_)
      text += ends.character;
    text += character;
  }
  held_ = std::string(rest);
  return text;
}

std::string StreamDecoder::flush() {
  const TextEnds &ends = tokenizer_.impl_->ends;
  std::string text;
  bool incomplete = !held_.empty();
  size_t kept = incomplete ? waiting_ : waiting_ - std::min(waiting_, ends.atEnd);
  for (; kept > 0; --kept)
    text += ends.character;
  held_.clear();
  waiting_ = 0;
  return incomplete ? text + replacementCharacter : text;
}

} // namespace tessera::text
