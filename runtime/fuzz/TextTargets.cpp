// Tokenizers: their files, and texts.
#include "Targets.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tessera::fuzz {

static const char *const samples[] = {
    "", " ", "a man a plan", "x=3.14;\n\t  def\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x8C\x9F<s>  e\xCC\x81 12345"};

static void use(const Result<std::unique_ptr<text::Tokenizer>> &tokenizer, std::string_view sample) {
  auto ids = (*tokenizer)->encode(sample);
  if (!ids)
    return expectOneLine(ids.failure());
  for (int32_t id : *ids)
    expect(id >= 0 && id < (*tokenizer)->vocabSize(), "an id is one of the vocabulary");
  (*tokenizer)->decode(*ids);
}

static void useAll(const Result<std::unique_ptr<text::Tokenizer>> &tokenizer) {
  if (!tokenizer)
    return expectOneLine(tokenizer.failure());
  for (const char *sample : samples)
    use(tokenizer, sample);
}

void runTokenizerJson(std::string_view input) { useAll(text::Tokenizer::fromJson(input, "tokenizer.json")); }

// The settings stand behind the last NUL.
void runSentencePiece(std::string_view input) {
  size_t end = input.rfind(std::string_view("\0{", 2));
  std::string_view settings = end == std::string_view::npos ? std::string_view() : input.substr(end + 1);
  useAll(text::Tokenizer::fromSentencePiece(input.substr(0, end), settings, "m/tokenizer.model"));
}

// Its first byte chooses the tokenizer: those of test/Inputs/tokenizer_pipelines.json, without the
// normalizers of which a text does not come back.
void runText(std::string_view input) {
  static const auto tokenizers = [] {
    std::vector<Result<std::unique_ptr<text::Tokenizer>>> all;
    std::ifstream file(TESSERA_INPUTS "/tokenizer_pipelines.json");
    nlohmann::json json = nlohmann::json::parse(file);
    for (const auto &one : json["cases"]) {
      nlohmann::json definition = json["vocabularies"][one["vocabulary"].get<std::string>()];
      definition.update(one["parts"]);
      definition["model"].update(one["model"]);
      all.push_back(text::Tokenizer::fromJson(definition.dump(), "cases"));
      expect(bool(all.back()), "the tests' tokenizers are read");
    }
    return all;
  }();
  if (input.empty())
    return;
  use(tokenizers[static_cast<uint8_t>(input[0]) % tokenizers.size()], input.substr(1));
}

} // namespace tessera::fuzz
