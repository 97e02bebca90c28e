#include "SentencePiece.h"

#include "ScoredBpe.h"
#include "Unicode.h"
#include "Unigram.h"

#include <cmath>

namespace tessera::text {

static constexpr std::string_view blank = sentencePieceBlank;

static std::string respelled(std::string_view text, std::string_view what, std::string_view with) {
  std::string out;
  for (size_t at = 0; at < text.size();)
    if (text.substr(at, what.size()) == what)
      out += with, at += what.size();
    else
      out += text[at++];
  return out;
}

void setPrintedPiece(TokenizerBuilder &builder, int32_t id, std::string_view piece, bool isByte) {
  if (std::optional<uint8_t> byte = isByte ? byteOfToken(piece) : std::nullopt) {
    char text = char(*byte);
    builder.impl().printed.set(id, std::string_view(&text, 1));
  } else if (piece.find(blank) != std::string_view::npos) {
    builder.impl().printed.set(id, respelled(piece, blank, " "));
  }
}

// The rules of the file at each place, the longest that fits; then blanks.
static void addNormalization(Normalizer &normalizer, std::optional<Charsmap> map,
                             const SentencePieceModel &model) {
  bool addPrefix = model.addPrefix && !model.onlyFirstPrefix, removeExtra = model.removeExtraSpaces;
  normalizer.add([map = std::move(map), addPrefix, removeExtra](std::string_view text, size_t most,
                                                                bool &losesFront) -> Result<std::string> {
    std::string mapped;
    if (map) {
      for (size_t at = 0; at < text.size() && mapped.size() <= most;) {
        std::string_view rest = text.substr(at);
        std::optional<Charsmap::Rule> rule = map->longest(rest);
        size_t length = rule ? rule->length : scanUtf8(rest).length;
        mapped += rule ? rule->replacement : rest.substr(0, length);
        at += length;
      }
      if (mapped.size() > most)
        return mapped;
      text = mapped;
    }
    if (removeExtra) {
      size_t begin = std::min(text.find_first_not_of(' '), text.size());
      losesFront |= begin > 0;
      text = text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
    }
    std::string out;
    if (text.empty())
      return out;
    out.reserve(text.size() + text.size() / 2 + blank.size());
    if (addPrefix)
      out += blank;
    for (size_t i = 0; i < text.size(); ++i)
      if (text[i] != ' ')
        out += text[i];
      else if (!removeExtra || text[i - 1] != ' ')
        out += blank;
    // Also where the text itself spells a blank so.
    while (removeExtra && out.size() >= blank.size() &&
           std::string_view(out).substr(out.size() - blank.size()) == blank)
      out.resize(out.size() - blank.size());
    return out;
  });
}

static Status addPieces(TokenizerBuilder &builder, const SentencePieceModel &model,
                        std::array<int32_t, 256> &bytes, int &byteCount) {
  bytes.fill(-1);
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const PieceType type = model.types[id];
    std::string_view piece = model.pieces[id];
    const bool isAdded =
        type == PieceType::Unknown || type == PieceType::Control || type == PieceType::UserDefined;
    if (piece.empty() || !isValidUtf8(piece))
      return builder.failure("the piece " + std::to_string(id) + " is empty or not valid UTF-8",
                             "is the file whole?");
    if (isAdded) {
      AddedToken token;
      token.content = respelled(piece, blank, " ");
      token.id = int32_t(id);
      token.special = type != PieceType::UserDefined;
      token.rstrip = model.addedTakeSpace && piece != "<unk>" && piece != "<s>" && piece != "<|endoftext|>";
      if (Status status = builder.addAdded(std::move(token)); !status)
        return status;
      continue;
    }
    if (Status status = builder.addToken(piece, int64_t(id), /*inTable=*/type != PieceType::Byte); !status)
      return status;
    if (type == PieceType::Byte) {
      std::optional<uint8_t> byte = byteOfToken(piece);
      if (!byte || bytes[*byte] >= 0)
        return builder.failure("the piece \"" + std::string(piece) + "\" is not a byte, or is there twice",
                               "is the file whole?");
      bytes[*byte] = int32_t(id);
      ++byteCount;
    }
    setPrintedPiece(builder, int32_t(id), piece, type == PieceType::Byte);
  }
  return {};
}

Status addSentencePiece(TokenizerBuilder &builder, const SentencePieceModel &model) {
  builder.expectTokens(model.pieces.size());
  std::array<int32_t, 256> bytes;
  int byteCount = 0;
  for (float score : model.scores)
    if (!std::isfinite(score))
      return builder.failure("a score is not a number", "is the file whole?");
  if (Status status = addPieces(builder, model, bytes, byteCount); !status)
    return status;
  if (byteCount != 0 && byteCount != 256)
    return builder.failure("the vocabulary has " + std::to_string(byteCount) + " of the 256 bytes",
                           "is the file whole?");
  auto &impl = builder.impl();
  const bool hasUnknown = model.unknownId >= 0 && size_t(model.unknownId) < model.pieces.size();
  if (model.isUnigram) {
    auto unigram = std::make_unique<Unigram>();
    for (size_t id = 0; id < model.pieces.size(); ++id)
      if (model.types[id] == PieceType::Normal)
        unigram->add(model.pieces[id], int32_t(id), double(model.scores[id]));
    if (hasUnknown || byteCount)
      unigram->setUnknown(hasUnknown ? int32_t(model.unknownId) : INT32_MAX);
    if (byteCount)
      unigram->setByteFallback(bytes);
    impl.model = std::move(unigram);
  } else {
    std::vector<bool> unused(model.pieces.size());
    for (size_t id = 0; id < unused.size(); ++id)
      unused[id] = model.types[id] == PieceType::Unused;
    auto bpe = std::make_unique<ScoredBpe>(impl.vocabulary, model.scores, std::move(unused));
    if (hasUnknown)
      bpe->setUnknown(int32_t(model.unknownId));
    if (byteCount)
      bpe->setByteFallback(bytes);
    impl.model = std::move(bpe);
  }

  std::optional<Charsmap> map;
  if (!model.charsmap.empty() && !(map = Charsmap::read(model.charsmap)))
    return builder.failure("the precompiled_charsmap is damaged", "is the file whole?");
  addNormalization(impl.normalizer, std::move(map), model);
  if (model.addPrefix && model.onlyFirstPrefix)
    impl.preTokenizer.addMetaspace(std::string(blank), PrependScheme::First, /*split=*/false);
  if (model.addPrefix)
    impl.ends = {" ", 1, 0, ""};
  return {};
}

} // namespace tessera::text
