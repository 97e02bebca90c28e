#include "TokenizerImpl.h"

#include "Unicode.h"

#include <algorithm>
#include <cstdio>

namespace tessera::text {

Tokenizer::Tokenizer() : impl_(std::make_unique<Impl>()) {}
Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer>> Tokenizer::load(const io::ModelFile &model) {
  if (model.format() == io::ModelFormat::Gguf)
    return fromGguf(model);
  if (const std::string_view *json = model.text("tokenizer.json"))
    return fromJson(*json, model.path() + "/tokenizer.json");
  return Failure{"cannot use the tokenizer", model.path(), "the model has no tokenizer.json",
                 "give prompts as token ids with --tokens"};
}

// Calls onText for the stretches of `text` between tokens of `added`, and onToken for those, in order.
template <typename OnText, typename OnToken>
static Status partition(const AddedTokens &added, std::string_view text, OnText onText, OnToken onToken) {
  size_t at = 0;
  while (at < text.size()) {
    AddedTokens::Match match = added.empty() ? AddedTokens::Match{text.size(), 0, -1} : added.find(text, at);
    if (match.begin > at)
      if (Status status = onText(text.substr(at, match.begin - at)); !status)
        return status;
    if (match.end == 0)
      break;
    onToken(match.id);
    at = match.end;
  }
  return {};
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool addsAround) const {
  if (!isValidUtf8(text))
    return Failure{"cannot tokenize", "", "the text is not valid UTF-8", "give it in UTF-8"};
  if (text.size() > size_t(1) << 30)
    return Failure{"cannot tokenize", "", "the text is longer than 1 GiB", ""};
  std::vector<int32_t> ids;
  if (addsAround)
    ids = impl_->prefix;
  std::vector<std::string_view> pieces;
  std::deque<std::string> owned;
  auto pushToken = [&](int32_t id) { ids.push_back(id); };
  auto encodeText = [&](std::string_view stretch) -> Status {
    owned.clear();
    if (Status status = impl_->preTokenizer.split(stretch, pieces, owned); !status)
      return status;
    for (std::string_view piece : pieces) {
      uint8_t bad = 0;
      if (impl_->bpe.encode(piece, ids, &bad))
        continue;
      char byte[8];
      std::snprintf(byte, sizeof byte, "0x%02X", bad);
      return Failure{"cannot tokenize", impl_->where,
                     std::string("the vocabulary has no token for the byte ") + byte,
                     "leave that character out"};
    }
    return {};
  };
  Status status = partition(
      impl_->added[0], text,
      [&](std::string_view part) { return partition(impl_->added[1], part, encodeText, pushToken); },
      pushToken);
  if (!status)
    return status.takeFailure();
  if (addsAround)
    ids.insert(ids.end(), impl_->suffix.begin(), impl_->suffix.end());
  return ids;
}

std::string_view Tokenizer::bytes(int32_t id) const {
  return id >= 0 && size_t(id) < impl_->bytes.size() ? std::string_view(impl_->bytes[size_t(id)])
                                                     : std::string_view();
}

bool Tokenizer::isSpecial(int32_t id) const {
  return id >= 0 && size_t(id) < impl_->special.size() && impl_->special[size_t(id)];
}

int32_t Tokenizer::vocabSize() const { return int32_t(impl_->bytes.size()); }

std::string Tokenizer::decode(const std::vector<int32_t> &ids) const {
  StreamDecoder decoder(*this);
  std::string text;
  for (int32_t id : ids)
    text += decoder.push(id);
  return text + decoder.flush();
}

std::string StreamDecoder::push(int32_t id) {
  if (tokenizer_.isSpecial(id))
    return {};
  held_ += tokenizer_.bytes(id);
  std::string text;
  std::string_view rest = held_;
  while (!rest.empty()) {
    Utf8Scan scan = scanUtf8(rest);
    if (scan.kind == Utf8Scan::Incomplete)
      break;
    if (scan.kind == Utf8Scan::Valid)
      text += rest.substr(0, scan.length);
    else
      text += replacementCharacter;
    rest.remove_prefix(scan.length);
  }
  held_ = std::string(rest);
  return text;
}

std::string StreamDecoder::flush() {
  bool incomplete = !held_.empty();
  held_.clear();
  return incomplete ? replacementCharacter : "";
}

TokenizerBuilder::TokenizerBuilder(std::string where) : tokenizer_(new Tokenizer) {
  impl().where = std::move(where);
}

Failure TokenizerBuilder::failure(const std::string &why, const std::string &hint) const {
  return {"cannot use the tokenizer", tokenizer_->impl_->where, why, hint};
}

Status TokenizerBuilder::reserveId(int64_t id) {
  Tokenizer::Impl &target = impl();
  if (id < 0 || id > idLimit_)
    return failure("the token id " + std::to_string(id) + " is out of range", "is the file whole?");
  if (size_t(id) >= target.bytes.size()) {
    target.bytes.resize(size_t(id) + 1);
    target.special.resize(size_t(id) + 1);
  }
  return {};
}

Status TokenizerBuilder::addToken(std::string_view text, int64_t id) {
  auto [at, isNew] = ids_.emplace(std::string(text), int32_t(id));
  if (!isNew)
    return failure("the token \"" + std::string(text) + "\" is in the vocabulary twice",
                   "is the file whole?");
  if (Status status = reserveId(id); !status)
    return status;
  if (!impl().bytes[size_t(id)].empty())
    return failure("the id " + std::to_string(id) + " is in the vocabulary twice", "is the file whole?");
  if (bytesFromAlphabet(text, scratch_)) {
    if (scratch_.size() == 1)
      impl().bpe.setByte(uint8_t(scratch_[0]), int32_t(id));
    impl().bytes[size_t(id)] = scratch_;
  } else {
    impl().bytes[size_t(id)] =
        std::string(text); // no product of merges: only an added token, printed as it is
  }
  return {};
}

Status TokenizerBuilder::addMerge(std::string_view left, std::string_view right) {
  auto leftId = ids_.find(std::string(left)), rightId = ids_.find(std::string(right));
  scratch_ = std::string(left) + std::string(right);
  auto merged = ids_.find(scratch_);
  if (left.empty() || right.empty() || leftId == ids_.end() || rightId == ids_.end() || merged == ids_.end())
    return failure("merge " + std::to_string(nextRank_) + ", \"" + std::string(left) + "\" with \"" +
                       std::string(right) + "\", names a token that is not in the vocabulary",
                   "is the file whole?");
  impl().bpe.addMerge(leftId->second, rightId->second, nextRank_++, merged->second);
  return {};
}

Status TokenizerBuilder::addAdded(const std::string &content, int64_t id, bool special, bool normalized) {
  if (content.empty())
    return failure("an added token has no text");
  if (Status status = reserveId(id); !status)
    return status;
  impl().bytes[size_t(id)] = content;
  impl().special[size_t(id)] = special;
  impl().added[normalized].add(content, int32_t(id));
  return {};
}

Status TokenizerBuilder::addSplit(const std::string &pattern, SplitBehavior behavior, bool invert) {
  Result<std::unique_ptr<Regex>> regex = Regex::compile(pattern, impl().where);
  if (!regex)
    return regex.takeFailure();
  impl().preTokenizer.addSplit(regex.take(), behavior, invert);
  return {};
}

Status TokenizerBuilder::ignoreMerges() {
  for (const auto &[text, id] : ids_)
    if (bytesFromAlphabet(text, scratch_))
      impl().bpe.addWhole(scratch_, id);
  return {};
}

int32_t TokenizerBuilder::idOf(std::string_view text) const {
  auto found = ids_.find(std::string(text));
  return found == ids_.end() ? -1 : found->second;
}

bool TokenizerBuilder::hasId(int64_t id) const {
  return id >= 0 && size_t(id) < tokenizer_->impl_->bytes.size() &&
         !tokenizer_->impl_->bytes[size_t(id)].empty();
}

std::unique_ptr<Tokenizer> TokenizerBuilder::finish() { return std::move(tokenizer_); }

} // namespace tessera::text
