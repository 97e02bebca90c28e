#include "Regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace tessera::text {

struct Regex::State {
  std::string pattern, where;
  pcre2_code *code = nullptr;
  pcre2_match_context *limits = nullptr;
  ~State() {
    pcre2_match_context_free(limits);
    pcre2_code_free(code);
  }
};

Regex::~Regex() = default;

static constexpr const char *notImplemented = "cannot use the tokenizer";

// Rewrites the escapes that Oniguruma and PCRE2 understand differently.
static Result<std::string> translated(const std::string &pattern, const std::string &where) {
  static const std::string space = "\\p{Z}\\x{9}-\\x{D}\\x{85}";
  // The last four ranges: letters in circles and squares, which Unicode calls alphabetic symbols.
  static const std::string word =
      "\\p{L}\\p{M}\\p{N}\\p{Pc}\\x{24B6}-\\x{24E9}\\x{1F130}-\\x{1F149}\\x{1F150}-\\x{1F169}"
      "\\x{1F170}-\\x{1F189}";
  auto unsupported = [&](const std::string &what) {
    return Failure{notImplemented, where, what + " in the split pattern " + pattern + " is not implemented",
                   ""};
  };
  std::string out;
  bool inClass = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      char escaped = pattern[++i];
      switch (escaped) {
      case 's':
        out += inClass ? space : "[" + space + "]";
        break;
      case 'w':
        out += inClass ? word : "[" + word + "]";
        break;
      case 'S':
      case 'W':
        if (!inClass)
          out += "[^" + (escaped == 'S' ? space : word) + "]";
        else if (escaped == 'S')
          out += "\\S"; // differs from White_Space only in U+180E
        else
          return unsupported("\\W inside [...]");
        break;
      case 'h':
      case 'H':
      case 'b':
      case 'B':
      case 'R':
      case 'X':
      case 'K':
      case 'G':
      case 'C':
        return unsupported(std::string("\\") + escaped);
      default:
        out += {'\\', escaped};
      }
      continue;
    }
    if (inClass && (c == '[' || (c == '&' && i + 1 < pattern.size() && pattern[i + 1] == '&')))
      return unsupported("a set operation inside [...]");
    if (c == '[' && !inClass) {
      inClass = true;
      out += c;
      if (i + 1 < pattern.size() && pattern[i + 1] == '^')
        out += pattern[++i];
      continue;
    }
    if (c == ']')
      inClass = false;
    out += c;
  }
  return out;
}

Result<std::unique_ptr<Regex>> Regex::compile(const std::string &pattern, const std::string &where) {
  if (pattern.size() > 65536)
    return Failure{notImplemented, where,
                   "a split pattern of " + std::to_string(pattern.size()) + " bytes is too long", ""};
  Result<std::string> rewritten = translated(pattern, where);
  if (!rewritten)
    return rewritten.takeFailure();
  return compileTranslated(*rewritten, pattern, where);
}

Result<std::unique_ptr<Regex>> Regex::graphemes() { return compileTranslated("\\X", "\\X", ""); }

Result<std::unique_ptr<Regex>>
Regex::compileTranslated(const std::string &rewritten, const std::string &pattern, const std::string &where) {
  std::unique_ptr<Regex> regex(new Regex);
  regex->state_ = std::make_unique<State>();
  State &state = *regex->state_;
  state.pattern = pattern;
  state.where = where;
  int error = 0;
  PCRE2_SIZE at = 0;
  state.code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rewritten.data()), rewritten.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr);
  if (!state.code) {
    PCRE2_UCHAR message[256] = {};
    pcre2_get_error_message(error, message, sizeof message);
    return Failure{notImplemented, where,
                   "bad split pattern " + pattern + ": " + reinterpret_cast<const char *>(message), ""};
  }
  pcre2_jit_compile(state.code, PCRE2_JIT_COMPLETE); // without a JIT the interpreter matches
  state.limits = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(state.limits, 10'000'000);
  pcre2_set_heap_limit(state.limits, 256 * 1024);
  return regex;
}

std::string Regex::quoted(std::string_view literal) {
  std::string out;
  for (char c : literal) {
    if (static_cast<unsigned char>(c) < 0x80 && !isalnum(static_cast<unsigned char>(c)) && c >= 0x20)
      out += '\\';
    out += c;
  }
  return out;
}

Status Regex::forEachMatch(std::string_view text, const std::function<void(size_t, size_t)> &match) const {
  struct MatchData {
    pcre2_match_data *data;
    ~MatchData() { pcre2_match_data_free(data); }
  } holder{pcre2_match_data_create(1, nullptr)};
  const PCRE2_SIZE *range = pcre2_get_ovector_pointer(holder.data);
  auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t at = 0;
  while (at < text.size()) {
    int count =
        pcre2_match(state_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK, holder.data, state_->limits);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT) // the interpreter's memory is on the heap
      count = pcre2_match(state_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                          holder.data, state_->limits);
    if (count == PCRE2_ERROR_NOMATCH)
      break;
    if (count < 0) {
      PCRE2_UCHAR message[256] = {};
      pcre2_get_error_message(count, message, sizeof message);
      return Failure{"cannot split the text", state_->where,
                     "the pattern " + state_->pattern + " fails at byte " + std::to_string(at) + ": " +
                         reinterpret_cast<const char *>(message),
                     "use a shorter text"};
    }
    size_t begin = range[0], end = range[1];
    if (end > begin && begin >= at) {
      match(begin, end);
      at = end;
      continue;
    }
    // An empty match: look again one character further.
    at = std::max(at, end) + 1;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80)
      ++at;
  }
  return {};
}

} // namespace tessera::text
