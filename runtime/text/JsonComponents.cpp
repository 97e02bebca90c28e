// What tokenizer.json says of normalizers and pre-tokenizers.
#include "JsonComponents.h"

#include "Unicode.h"

namespace tessera::text {

using nlohmann::json;

const json *JsonReader::member(const json &object, const char *name) {
  if (!object.is_object())
    return nullptr;
  auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool JsonReader::flag(const json &object, const char *name, bool byDefault) {
  const json *value = member(object, name);
  if (value && !value->is_boolean() && !problem_)
    problem_ = builder_.failure(std::string("\"") + name + "\" is not true or false");
  return value && value->is_boolean() ? value->get<bool>() : byDefault;
}

std::string JsonReader::text(const json &object, const char *name) {
  const json *value = member(object, name);
  return value && value->is_string() ? value->get<std::string>() : std::string();
}

bool JsonReader::isCharacter(std::string_view text) {
  return !text.empty() && scanUtf8(text).length == text.size();
}

Result<std::string> JsonReader::pattern(const json &component, const std::string &of) {
  const json *value = member(component, "pattern");
  std::string regex = value ? text(*value, "Regex") : "", literal = value ? text(*value, "String") : "";
  if (regex.empty() == literal.empty())
    return damaged("the pattern of " + of);
  return regex.empty() ? Regex::quoted(literal) : regex;
}

Status JsonReader::eachPart(const json &component, const char *kind, const char *name,
                            const std::function<Status(const json &)> &visit) {
  // Each takes its time on every text, and may make it longer.
  if (++parts_ > kMostParts)
    return builder_.failure("its " + std::string(kind) + " brings it to more than " +
                                std::to_string(kMostParts) + " parts",
                            "is the file whole?");
  if (text(component, "type") != "Sequence")
    return visit(component);
  const json *parts = member(component, name);
  if (!parts || !parts->is_array())
    return damaged(std::string("the ") + kind + " Sequence");
  for (const json &part : *parts)
    if (Status status = eachPart(part, kind, name, visit); !status)
      return status;
  return {};
}

// Where other than 64 letters stand, or a number of them that no bytes have, it is not base64.
static std::optional<std::string> fromBase64(std::string_view text) {
  static constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (!text.empty() && text.back() == '=')
    text.remove_suffix(1);
  if (text.size() % 4 == 1)
    return std::nullopt;
  int values[256];
  std::fill(std::begin(values), std::end(values), -1);
  for (size_t i = 0; i < alphabet.size(); ++i)
    values[static_cast<uint8_t>(alphabet[i])] = int(i);
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (char c : text) {
    int value = values[static_cast<uint8_t>(c)];
    if (value < 0)
      return std::nullopt;
    bits = bits << 6 | uint32_t(value);
    held += 6;
    if (held >= 8)
      bytes += char(bits >> (held -= 8));
  }
  return bytes;
}

Status JsonReader::readNormalizer() {
  const json *component = member(root_, "normalizer");
  if (!component)
    return {};
  if (Status status = eachPart(*component, "normalizer", "normalizers",
                               [&](const json &part) { return addNormalizer(part); });
      !status)
    return status;
  return checked();
}

Status JsonReader::addNormalizer(const json &component) {
  Normalizer &normalizer = builder_.impl().normalizer;
  static const std::pair<const char *, UnicodeForm> forms[] = {{"NFC", UnicodeForm::NFC},
                                                               {"NFD", UnicodeForm::NFD},
                                                               {"NFKC", UnicodeForm::NFKC},
                                                               {"NFKD", UnicodeForm::NFKD}};
  std::string type = text(component, "type");
  for (const auto &[name, form] : forms)
    if (type == name)
      return normalizer.addForm(form), Status();
  if (type == "Lowercase")
    return normalizer.addLowercase(), Status();
  if (type == "StripAccents")
    return normalizer.addStripAccents(), Status();
  if (type == "Strip") {
    bool left = flag(component, "strip_left", true);
    return normalizer.addStrip(left, flag(component, "strip_right", true)), checked();
  }
  if (type == "Prepend") {
    if (text(component, "prepend").empty())
      return damaged("the text of the normalizer Prepend");
    return normalizer.addPrepend(text(component, "prepend")), Status();
  }
  if (type == "Replace") {
    Result<std::string> what = pattern(component, "the normalizer Replace");
    if (!what)
      return what.takeFailure();
    const json *content = member(component, "content");
    if (!content || !content->is_string())
      return damaged("the content of the normalizer Replace");
    Result<std::unique_ptr<Regex>> regex = Regex::compile(*what, builder_.impl().where);
    if (!regex)
      return regex.takeFailure();
    return normalizer.addReplace(regex.take(), content->get<std::string>()), Status();
  }
  if (type == "Precompiled") {
    std::optional<std::string> blob = fromBase64(text(component, "precompiled_charsmap"));
    std::optional<Charsmap> map = blob ? Charsmap::read(*blob) : std::nullopt;
    if (!map)
      return damaged("the precompiled_charsmap of the normalizer");
    Result<std::unique_ptr<Regex>> graphemes = Regex::graphemes();
    if (!graphemes)
      return graphemes.takeFailure();
    return normalizer.addCharsmap(std::move(*map), graphemes.take()), Status();
  }
  return unsupported("the normalizer", type);
}

// What \w is to Rust's regular expressions, which Whitespace uses; those of Split are Oniguruma's.
#define RUST_WORD                                                                                            \
  R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149})"                      \
  R"(\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})"

Status JsonReader::readPreTokenizer() {
  const json *component = member(root_, "pre_tokenizer");
  if (!component)
    return {};
  if (Status status = eachPart(*component, "pre_tokenizer", "pretokenizers",
                               [&](const json &part) { return addPreTokenizer(part); });
      !status)
    return status;
  return checked();
}

Status JsonReader::addPreTokenizer(const json &component) {
  std::string type = text(component, "type");
  if (builder_.isByteLevel()) // it rewrites the text into the byte alphabet: a split after it would see that
    return builder_.unsupported("the pre_tokenizer " + type + " after ByteLevel");
  if (type == "ByteLevel") {
    builder_.setByteLevel();
    if (flag(component, "add_prefix_space", true))
      builder_.impl().preTokenizer.addPrefixSpace();
    return flag(component, "use_regex", true) ? builder_.addSplit(gpt2Pattern) : Status();
  }
  if (type == "Split")
    return addSplit(component);
  if (type == "Metaspace")
    return addMetaspace(component);
  if (type == "Digits") {
    bool individual = flag(component, "individual_digits", false);
    return builder_.addSplit(R"(\p{N})", individual ? SplitBehavior::Isolated : SplitBehavior::Contiguous);
  }
  if (type == "Whitespace")
    return builder_.addSplit("[" RUST_WORD "]+|[^" RUST_WORD R"(\s]+)", SplitBehavior::Removed,
                             /*invert=*/true);
  if (type == "WhitespaceSplit")
    return builder_.addSplit(R"(\s)", SplitBehavior::Removed);
  if (type == "Punctuation") {
    json split = component;
    split["pattern"] = {{"Regex", R"([\p{P}$+<=>\^`|~])"}};
    if (!member(split, "behavior"))
      split["behavior"] = "Isolated";
    return addSplit(split);
  }
  return unsupported("the pre_tokenizer", type);
}

Status JsonReader::addSplit(const json &component) {
  static const std::pair<const char *, SplitBehavior> behaviors[] = {
      {"Removed", SplitBehavior::Removed},
      {"Isolated", SplitBehavior::Isolated},
      {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
      {"MergedWithNext", SplitBehavior::MergedWithNext},
      {"Contiguous", SplitBehavior::Contiguous}};
  std::string type = text(component, "type"), name = text(component, "behavior");
  Result<std::string> what = pattern(component, "the pre_tokenizer " + type);
  if (!what)
    return what.takeFailure();
  for (const auto &[known, behavior] : behaviors)
    if (name == known)
      return builder_.addSplit(*what, behavior, flag(component, "invert", false));
  return builder_.unsupported("the behavior \"" + name + "\" of the pre_tokenizer " + type);
}

// Files from before 2023 say add_prefix_space instead of prepend_scheme.
Status JsonReader::addMetaspace(const json &component) {
  std::string blank = text(component, "replacement"), scheme = text(component, "prepend_scheme");
  if (!isCharacter(blank))
    return damaged("the replacement of the pre_tokenizer Metaspace");
  if (scheme.empty())
    scheme = flag(component, "add_prefix_space", true) ? "always" : "never";
  bool cuts = flag(component, "split", true);
  for (const auto &[name, value] : {std::pair("never", PrependScheme::Never),
                                    {"first", PrependScheme::First},
                                    {"always", PrependScheme::Always}})
    if (scheme == name)
      return builder_.impl().preTokenizer.addMetaspace(blank, value, cuts), Status();
  return builder_.unsupported("the prepend_scheme \"" + scheme + "\" of the pre_tokenizer Metaspace");
}

} // namespace tessera::text
