// What tokenizer.json says of decoders. A decoder works on the list of all tokens; printing as tokens come
// needs what each of them is on its own, and what is left out at the ends of the text. So steps are taken
// once on every token here, and those that only make sense on the whole list are refused.
#include "JsonComponents.h"

#include "Unicode.h"

namespace tessera::text {

using nlohmann::json;

namespace {
constexpr size_t mostBytes = size_t(64) << 20; // a rule may replace a letter by a megabyte

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string out;
  for (size_t at = 0;;) {
    size_t next = out.size() > mostBytes ? std::string_view::npos : text.find(what, at);
    out += text.substr(at, next == std::string_view::npos ? next : next - at);
    if (next == std::string_view::npos)
      return out;
    out += with;
    at = next + what.size();
  }
}

// Without up to `front` and `back` times `character` at its ends.
std::string_view stripped(std::string_view text, std::string_view character, size_t front, size_t back) {
  for (; front > 0 && text.substr(0, character.size()) == character; --front)
    text.remove_prefix(character.size());
  for (; back > 0 && text.size() >= character.size() &&
         text.substr(text.size() - character.size()) == character;
       --back)
    text.remove_suffix(character.size());
  return text;
}
} // namespace

Status JsonReader::readDecoder() {
  const json *decoder = member(root_, "decoder");
  if (!decoder) {
    // Hugging Face's would put a blank between any two tokens.
    return builder_.isByteLevel() ? Status() : Status(builder_.unsupported("a tokenizer without a decoder"));
  }
  bool bytesAreJoined = false, fused = false, fromAlphabet = false;
  std::vector<std::function<std::string(std::string_view)>> steps; // on one token
  TextEnds &ends = builder_.impl().ends;

  auto add = [&](const json &part) -> Status {
    std::string type = text(part, "type");
    auto unless = [&](bool bad, const char *after) -> Status {
      return bad ? Status(builder_.unsupported("the decoder " + type + " after " + after)) : Status();
    };
    if (type == "ByteLevel") {
      if (!builder_.isByteLevel())
        return builder_.unsupported("the decoder ByteLevel without the pre_tokenizer ByteLevel");
      fused = fromAlphabet = true; // what addToken has kept of each token is its bytes
      return unless(!steps.empty() || bytesAreJoined, "others");
    }
    if (type == "Fuse")
      return fused = true, Status();
    if (type == "ByteFallback") {
      bytesAreJoined = true;
      return unless(fused, "Fuse");
    }
    if (type == "Strip") {
      std::string character = text(part, "content");
      const json *start = member(part, "start"), *stop = member(part, "stop");
      if (character.empty() || !start || !start->is_number_unsigned() || !stop || !stop->is_number_unsigned())
        return damaged("the decoder Strip");
      size_t front = start->get<size_t>(), back = stop->get<size_t>();
      if (!fused) {
        steps.push_back(
            [=](std::string_view token) { return std::string(stripped(token, character, front, back)); });
        return unless(bytesAreJoined, "ByteFallback");
      }
      if (!ends.character.empty())
        return builder_.unsupported("a second decoder Strip after Fuse");
      ends = {character, front, back, ""};
      return {};
    }
    if (type == "Replace" || type == "Metaspace") {
      if (Status status = unless(fused, "Fuse"); !status)
        return status;
      if (Status status = unless(bytesAreJoined, "ByteFallback"); !status)
        return status;
      if (type == "Metaspace") {
        std::string blank = text(part, "replacement"), scheme = text(part, "prepend_scheme");
        if (!isCharacter(blank))
          return damaged("the replacement of the decoder Metaspace");
        if (scheme.empty() ? flag(part, "add_prefix_space", true) : scheme != "never")
          ends.allOfFirst = " ";
        steps.push_back([=](std::string_view token) { return replaced(token, blank, " "); });
        return checked();
      }
      const json *pattern = member(part, "pattern"), *content = member(part, "content");
      std::string what = pattern ? text(*pattern, "String") : "";
      if (pattern && member(*pattern, "Regex"))
        return builder_.unsupported("a regular expression of the decoder Replace");
      if (what.empty() || !content || !content->is_string())
        return damaged("the decoder Replace");
      steps.push_back([what, with = content->get<std::string>()](std::string_view token) {
        return replaced(token, what, with);
      });
      return {};
    }
    return unsupported("the decoder", type);
  };
  if (Status status = eachPart(*decoder, "decoder", "decoders", add); !status)
    return status;
  if (builder_.isByteLevel() && !fromAlphabet)
    return builder_.unsupported("the decoder " + text(*decoder, "type") +
                                " with the pre_tokenizer ByteLevel");

  TextsById &printed = builder_.impl().printed;
  if (steps.empty() && !bytesAreJoined)
    return {};
  TextsById changed;
  size_t bytes = 0;
  for (size_t id = 0; id < printed.size(); ++id) {
    std::string token(printed[int32_t(id)]);
    for (const auto &step : steps) {
      token = step(token);
      bytes += token.size(); // what one makes longer the next may make short again
      if (bytes > mostBytes)
        break;
    }
    if (bytesAreJoined)
      if (std::optional<uint8_t> byte = byteOfToken(token))
        token.assign(1, char(*byte));
    if ((bytes += token.size()) > mostBytes)
      return builder_.failure("its decoder makes more than 64 MiB of its tokens");
    changed.set(int32_t(id), token);
  }
  printed = std::move(changed);
  return {};
}

} // namespace tessera::text
