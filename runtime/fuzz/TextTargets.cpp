// Tokenizers: their files, and texts; chat templates.
#include "Targets.h"
#include "tessera/runtime/text/ChatTemplate.h"

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

static const char *const conversation = R"({"messages": [{"role": "system", "content": "Be brief."},
  {"role": "user", "content": " Hi \u00e9"}, {"role": "assistant", "content": null, "tool_calls": [{"type": "function",
  "function": {"name": "f", "arguments": {"x": [1, 2.5, true]}}}]}, {"role": "tool", "name": "f", "content": "7"}],
  "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
  "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>", "x": null,
  "user": {"name": "Ann", "age": 30, "items": 1}, "nested": {"b": [1, {"c": null}], "a": {"z": 1.5}},
  "users": [{"name": "Ann", "age": 30, "tags": ["x"], "admin": true}, {"name": "bob", "age": 20, "tags": []}]})";

// tokenizer_config.json, of which templates and special tokens are read.
static void runTokenizerConfig(std::string_view text) {
  static const Folder folder;
  folder.write("config.json", "{}");
  folder.write("tokenizer_config.json", text);
  auto model = io::ModelFile::open(folder.path());
  expect(bool(model), "a folder without weights is a model");
  auto chat = text::ChatTemplate::load(**model);
  if (!chat)
    return expectOneLine(chat.failure());
  const jinja::Json names = jinja::Json::parse(conversation);
  text::Conversation one;
  one.messages = names["messages"];
  one.arguments["enable_thinking"] = text::templateArgument(text.substr(0, 8));
  for (const char *tools : {"x", "tools"}) { // none, and those that there are
    one.tools = names[tools];
    if (auto rendered = chat->render(one, std::tm{}); !rendered)
      expectOneLine(rendered.failure());
  }
  chat->reads("enable_thinking");
  if (auto other = text::ChatTemplate::load(**model, "tool_use"); !other)
    expectOneLine(other.failure());
}

// A template, and behind a NUL the names that it may use, as JSON; without them a conversation with tools.
// What begins with `{"` is a tokenizer_config.json.
void runTemplate(std::string_view input) {
  if (input.substr(0, 2) == "{\"")
    return runTokenizerConfig(input);
  Parts parts = splitAtNul(input);
  auto context = jinja::parseOrderedJson(parts.second.value_or(conversation), "names");
  if (!context)
    return expectOneLine(context.failure());
  auto parsed = jinja::Template::parse(parts.first, "template");
  if (!parsed)
    return expectOneLine(parsed.failure());
  if (!context->is_object())
    return;
  // Less than models may use: thousands of inputs a second are worth more than one that takes its time.
  jinja::Limits limits;
  limits.maxSteps = 200'000;
  limits.maxValueBytes = size_t(16) << 20;
  limits.maxOutputBytes = size_t(1) << 20;
  auto text = parsed->render(*context, std::tm{}, limits);
  if (!text)
    return expectOneLine(text.failure());
  expect(text->size() <= limits.maxOutputBytes, "a text is no longer than it may be");
}

} // namespace tessera::fuzz
