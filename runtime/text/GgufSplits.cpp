#include "GgufSplits.h"

#include "PreTokenizer.h"

namespace tessera::text {

// The patterns are those of the models' own tokenizer.json.
#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define BEFORE_WORD R"([^\r\n\p{L}\p{N}]?)"
#define BLANKS R"(\s*[\r\n]+|\s+(?!\S)|\s+)"

static constexpr const char *digit = R"(\p{N})";
static constexpr const char *threeDigits =
    CONTRACTIONS "|" BEFORE_WORD R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" BLANKS;
static constexpr const char *oneDigit =
    CONTRACTIONS "|" BEFORE_WORD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" BLANKS;
static constexpr const char *lettersWithMarks =
    CONTRACTIONS "|" BEFORE_WORD R"([\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" BLANKS;
static constexpr const char *tekken = BEFORE_WORD UPPER "*" LOWER "+|" BEFORE_WORD UPPER "+" LOWER
                                                        R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" BLANKS;
static constexpr const char *o200k =
    BEFORE_WORD UPPER "*" LOWER "+" CONTRACTIONS "?|" BEFORE_WORD UPPER "+" LOWER "*" CONTRACTIONS
                      R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" BLANKS;
static constexpr const char *deepseekLetters =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295})"
    R"(-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E})"
    R"(-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0})"
    R"(-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77})"
    R"(\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50})"
    R"(-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2})"
    R"(-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4})"
    R"(\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128})"
    R"(\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184})"
    R"(\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680})"
    R"(-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06})"
    R"(\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8})"
    R"(-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
static constexpr const char *ideographs = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";

static const std::vector<GgufSplit> &knownSplits() {
  static const std::vector<GgufSplit> table = {
      {{"gpt-2", "phi-2", "granite-docling"}, {gpt2Pattern}},
      {{"mpt", "olmo"}, {gpt2Pattern}, false, false, /*nfc=*/true}, // GPT-NeoX's vocabulary
      {{"smollm", "starcoder", "refact", "codeshell"}, {digit, gpt2Pattern}},
      {{"command-r"}, {digit, gpt2Pattern}, false, false, /*nfc=*/true},
      {{"llama-bpe", "llama3", "llama-v3"}, {threeDigits}, /*ignoreMerges=*/true, /*addBos=*/true},
      {{"dbrx", "smaug-bpe"}, {threeDigits}},
      {{"tekken"}, {tekken}, /*ignoreMerges=*/true, /*addBos=*/true},
      {{"qwen2", "deepseek-r1-qwen"}, {oneDigit}, false, false, /*nfc=*/true},
      {{"qwen35"}, {lettersWithMarks}},
      {{"stablelm2"}, {oneDigit}},
      {{"gpt-4o", "llama4"}, {o200k}},
      {{"falcon"}, {R"([\p{P}\$\+<=>\^~\|`]+)", gpt2Pattern, "[0-9][0-9][0-9]"}},
      {{"deepseek-llm"},
       {"[\r\n]", deepseekLetters,
        R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)", R"(\s+$)",
        ideographs, R"(\p{N}+)"}},
      {{"deepseek-coder"}, {"[\r\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)", ideographs, digit}},
      {{"deepseek-v3"},
       {R"(\p{N}{1,3})", R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)",
        R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
        R"(| ?[\p{P}\p{S}]+[\r\n]*|)" BLANKS}},
      {{"default"}, {R"([\p{P}\$\+<=>\^~\|]+)", gpt2Pattern, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
  };
  return table;
}

const GgufSplit *findGgufSplit(std::string_view name) {
  for (const GgufSplit &split : knownSplits())
    for (std::string_view known : split.names)
      if (known == name)
        return &split;
  return nullptr;
}

} // namespace tessera::text
