#include "TokenizerImpl.h"

#include "Unicode.h"

#include <cstdio>

namespace tessera::text {

TokenizerBuilder::TokenizerBuilder(std::string where) : tokenizer_(new Tokenizer) {
  impl().where = std::move(where);
}

Failure TokenizerBuilder::failure(const std::string &why, const std::string &hint) const {
  return {"cannot use the tokenizer", tokenizer_->impl_->where, why, hint};
}

Failure TokenizerBuilder::unsupported(const std::string &component) const {
  return failure(component + " is not implemented", giveTokens);
}

void TokenizerBuilder::expectTokens(size_t count) {
  idLimit_ = 4 * int64_t(count) + 65536;
  impl().vocabulary.reserve(count);
}

Status TokenizerBuilder::reserveId(int64_t id) {
  if (id < 0 || id > idLimit_)
    return failure("the token id " + std::to_string(id) + " is out of range", "is the file whole?");
  if (size_t(id) >= taken_.size()) {
    taken_.resize(size_t(id) + 1);
    impl().special.resize(size_t(id) + 1);
    impl().printed.resize(size_t(id) + 1);
  }
  return {};
}

Failure TokenizerBuilder::tooLong(int64_t id) const {
  return failure("the token " + std::to_string(id) + " is longer than " + std::to_string(kLongestToken) +
                     " bytes",
                 "is the file whole?");
}

Status TokenizerBuilder::addToken(std::string_view text, int64_t id, bool inTable) {
  if (Status status = reserveId(id); !status)
    return status;
  if (text.size() > kLongestToken)
    return tooLong(id);
  if (taken_[size_t(id)])
    return failure("the token id " + std::to_string(id) + " is in the vocabulary twice",
                   "is the file whole?");
  taken_[size_t(id)] = true;
  std::string_view printed = text;
  bool isNew = true;
  if (byteLevel_ && bytesFromAlphabet(text, scratch_)) {
    printed = scratch_;
    isNew = !inTable || impl().vocabulary.add(scratch_, int32_t(id));
  } else if (byteLevel_) { // no product of merges: only an added token, printed as it is
    isNew = odd_.emplace(text, int32_t(id)).second;
  } else if (inTable) {
    isNew = impl().vocabulary.add(text, int32_t(id));
  }
  if (!isNew)
    return failure("the token \"" + std::string(text) + "\" is in the vocabulary twice",
                   "is the file whole?");
  impl().printed.set(int32_t(id), printed);
  return {};
}

Status TokenizerBuilder::addMerge(Bpe &bpe, std::string_view left, std::string_view right, int32_t rank) {
  std::string_view first = left, second = right;
  bool ok = !left.empty() && !right.empty();
  if (byteLevel_) {
    ok = ok && bytesFromAlphabet(left, scratch_) && bytesFromAlphabet(right, scratch2_);
    first = scratch_, second = scratch2_;
  }
  const TokenTable &table = impl().vocabulary;
  int32_t leftId = ok ? table.find(first) : -1, rightId = ok ? table.find(second) : -1;
  int32_t merged = ok ? table.findJoined(first, second) : -1;
  if (leftId < 0 || rightId < 0 || merged < 0)
    return failure("merge " + std::to_string(rank) + ", \"" + std::string(left) + "\" with \"" +
                       std::string(right) + "\", names a token that is not in the vocabulary",
                   "is the file whole?");
  bpe.addMerge(leftId, rightId, rank, merged);
  return {};
}

Status TokenizerBuilder::addAdded(AddedToken token) {
  if (token.content.empty())
    return failure("an added token has no text");
  if (token.content.size() > kLongestToken)
    return tooLong(token.id);
  if (Status status = reserveId(token.id); !status)
    return status;
  taken_[size_t(token.id)] = true;
  impl().printed.set(token.id, token.content);
  impl().special[size_t(token.id)] = token.special;
  added_.push_back(std::move(token));
  return {};
}

Status TokenizerBuilder::addSplit(const std::string &pattern, SplitBehavior behavior, bool invert) {
  Result<std::unique_ptr<Regex>> regex = Regex::compile(pattern, impl().where);
  if (!regex)
    return regex.takeFailure();
  impl().preTokenizer.addSplit(regex.take(), behavior, invert);
  return {};
}

int32_t TokenizerBuilder::idOf(std::string_view text) const {
  std::string bytes;
  if (!byteLevel_)
    return tokenizer_->impl_->vocabulary.find(text);
  if (bytesFromAlphabet(text, bytes))
    return tokenizer_->impl_->vocabulary.find(bytes);
  auto found = odd_.find(std::string(text));
  return found == odd_.end() ? -1 : found->second;
}

bool TokenizerBuilder::hasId(int64_t id) const {
  return id >= 0 && size_t(id) < taken_.size() && taken_[size_t(id)];
}

Result<bool> TokenizerBuilder::byteTokens(std::array<int32_t, 256> &ids) const {
  int found = 0;
  char text[8];
  for (int byte = 0; byte < 256; ++byte) {
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    ids[size_t(byte)] = idOf(text);
    found += ids[size_t(byte)] >= 0;
  }
  if (found != 0 && found != 256)
    return failure("the vocabulary has " + std::to_string(found) + " of the 256 tokens <0x00> to <0xFF>",
                   "is the file whole?");
  return found == 256;
}

// Tokens that see the normalized text are looked for in their own normalized spelling.
Result<std::unique_ptr<Tokenizer>> TokenizerBuilder::finish() {
  for (AddedToken &token : added_) {
    if (token.normalized && !impl().normalizer.empty()) {
      bool losesFront = false;
      Result<std::string> content = impl().normalizer.apply(token.content, losesFront);
      if (!content)
        return content.takeFailure();
      token.content = content.take();
      if (token.content.empty())
        return failure("nothing is left of an added token when it is normalized");
      if (token.content.size() > kLongestToken)
        return tooLong(token.id);
    }
    bool normalized = token.normalized;
    impl().added[normalized].add(std::move(token));
  }
  for (AddedTokens &tokens : impl().added)
    tokens.finish();
  return std::move(tokenizer_);
}

} // namespace tessera::text
