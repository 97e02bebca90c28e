#include "tessera/runtime/text/ChatTemplate.h"

#include "tessera/runtime/io/Json.h"

namespace tessera::text {

static const char *const cannotRead = "cannot read the chat template";
static const char *const cannotRender = "cannot format the conversation";

// What the language itself has no hint for.
static Failure withHint(Failure failure) {
  if (failure.hint.empty())
    failure.hint = ChatTemplate::doWithout;
  return failure;
}

namespace {
struct Sources {
  std::map<std::string, std::string> texts; // by name
  std::string where;
  jinja::Json specialTokens = jinja::Json::object();
};
} // namespace

// {"bos_token": "<s>", "eos_token": {"content": "</s>", ...}, ...}
static Status readSpecialTokens(const nlohmann::json &config, const std::string &where, jinja::Json &tokens) {
  constexpr size_t most = 1000; // each is looked for among those before it; models have eight
  const std::string ending = "_token";
  for (const auto &[name, value] : config.items()) {
    if (name.size() <= ending.size() || name.compare(name.size() - ending.size(), ending.size(), ending) != 0)
      continue;
    const nlohmann::json *text = &value;
    if (value.is_object() && value.contains("content"))
      text = &value["content"];
    if (tokens.size() == most)
      return Failure{cannotRead, where, "it has more than " + std::to_string(most) + " special tokens",
                     "correct that file"};
    if (text->is_string())
      tokens[name] = text->get<std::string>();
  }
  return {};
}

// A text, or [{"name": ..., "template": ...}, ...].
static Status readTemplates(const nlohmann::json &value, Sources &sources) {
  if (value.is_string()) {
    sources.texts["default"] = value.get<std::string>();
    return {};
  }
  auto bad = [&] {
    return Failure{cannotRead, sources.where, "it is neither a text nor a list of named ones",
                   "correct that file"};
  };
  if (!value.is_array())
    return bad();
  for (const nlohmann::json &one : value) {
    if (!one.is_object() || !one.contains("name") || !one["name"].is_string() || !one.contains("template") ||
        !one["template"].is_string())
      return bad();
    sources.texts[one["name"].get<std::string>()] = one["template"].get<std::string>();
  }
  return {};
}

static Status readDirectory(const io::ModelFile &model, Sources &sources) {
  std::string config = model.path() + "/tokenizer_config.json";
  nlohmann::json json = nlohmann::json::object();
  if (const std::string_view *text = model.text("tokenizer_config.json")) {
    Result<nlohmann::json> parsed = io::parseJson(*text, config);
    if (!parsed)
      return parsed.takeFailure();
    if (parsed->is_object())
      json = parsed.take();
  }
  if (Status status = readSpecialTokens(json, config, sources.specialTokens); !status)
    return status;
  if (const std::string_view *text = model.text("chat_template.jinja")) {
    sources.where = model.path() + "/chat_template.jinja";
    sources.texts["default"] = std::string(*text);
    return {};
  }
  sources.where = config + ", chat_template";
  if (!json.contains("chat_template") || json["chat_template"].is_null())
    return {};
  return readTemplates(json["chat_template"], sources);
}

static Status readGguf(const io::ModelFile &model, Sources &sources) {
  const std::string key = "tokenizer.chat_template";
  sources.where = model.path() + ", " + key;
  for (const auto &[name, value] : model.metadata()) {
    if (name != key && name.compare(0, key.size() + 1, key + ".") != 0)
      continue;
    if (value.kind != io::GgufValue::Kind::String)
      return Failure{cannotRead, model.path() + ", " + name, "it is not a text", "is the file whole?"};
    sources.texts[name == key ? "default" : name.substr(key.size() + 1)] = std::string(value.string);
  }
  const io::GgufValue *texts = model.metadata("tokenizer.ggml.tokens");
  static const char *const names[][2] = {{"bos", "bos"},     {"eos", "eos"},       {"unknown", "unk"},
                                         {"padding", "pad"}, {"seperator", "sep"}, {"separator", "sep"},
                                         {"cls", "cls"},     {"mask", "mask"}};
  for (const auto &[gguf, own] : names) {
    const io::GgufValue *id = model.metadata(std::string("tokenizer.ggml.") + gguf + "_token_id");
    if (id && texts && id->intValue >= 0 && uint64_t(id->intValue) < texts->strings.size())
      sources.specialTokens[std::string(own) + "_token"] = std::string(texts->strings[size_t(id->intValue)]);
  }
  return {};
}

Result<ChatTemplate> ChatTemplate::load(const io::ModelFile &model, const std::string &name) {
  Sources sources;
  bool isGguf = model.format() == io::ModelFormat::Gguf;
  if (Status status = isGguf ? readGguf(model, sources) : readDirectory(model, sources); !status)
    return status.takeFailure();
  std::string hint = "give the whole prompt to generate with --prompt=, without --chat";
  if (sources.texts.empty())
    return Failure{
        cannotRead, model.path(),
        isGguf ? "the model has no tokenizer.chat_template"
               : "the model has no chat_template.jinja, and its tokenizer_config.json no chat_template",
        hint};
  std::string names;
  for (const auto &[own, text] : sources.texts)
    names += (names.empty() ? "" : ", ") + own;
  if (!name.empty() && !sources.texts.count(name))
    return Failure{cannotRead, sources.where, "it has no template called " + name, "choose one of: " + names};
  if (name.empty() && !sources.texts.count("default") && sources.texts.size() > 1)
    return Failure{cannotRead, sources.where, "none of its templates is called default",
                   "choose one of: " + names};

  ChatTemplate made;
  made.where_ = sources.where;
  made.specialTokens_ = std::move(sources.specialTokens);
  for (const auto &[own, text] : sources.texts) {
    bool isAlone = sources.texts.size() == 1;
    bool isWanted = name.empty() ? isAlone || own == "default" || own == "tool_use" : own == name;
    if (!isWanted)
      continue;
    Result<jinja::Template> parsed = jinja::Template::parse(text, sources.where + (isAlone ? "" : " " + own));
    if (!parsed)
      return withHint(parsed.takeFailure());
    made.templates_.emplace(name.empty() && !isAlone ? own : "default", parsed.take());
  }
  return made;
}

Result<std::string> ChatTemplate::render(const Conversation &conversation, const std::tm &now) const {
  auto bad = [&](const std::string &why, const std::string &hint) {
    return Failure{cannotRender, where_, why, hint};
  };
  if (!conversation.messages.is_array())
    return bad("the messages are not a list", "give [{\"role\": \"user\", \"content\": \"...\"}]");
  for (const jinja::Json &message : conversation.messages)
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      return bad("a message has no role", "give {\"role\": \"user\", \"content\": \"...\"}");
  if (!conversation.tools.is_null() && !conversation.tools.is_array())
    return bad("the tools are not a list", "give a list of functions");
  jinja::Json context = specialTokens_;
  for (const auto &[name, value] : conversation.arguments.items()) {
    if (isOfConversation(name))
      return bad("'" + name + "' is no argument of a template", "it comes from the conversation itself");
    context[name] = value;
  }
  if (!context.contains("documents"))
    context["documents"] = nullptr; // as transformers gives it
  context["messages"] = conversation.messages;
  context["tools"] = conversation.tools;
  context["add_generation_prompt"] = conversation.addGenerationPrompt;
  auto chosen = templates_.find(conversation.tools.is_null() ? "default" : "tool_use");
  if (chosen == templates_.end())
    chosen = templates_.find("default");
  Result<std::string> text = chosen->second.render(context, now);
  return text ? std::move(text) : withHint(text.takeFailure());
}

bool ChatTemplate::isOfConversation(std::string_view variable) {
  return variable == "messages" || variable == "tools" || variable == "add_generation_prompt";
}

bool ChatTemplate::reads(std::string_view variable) const {
  for (const auto &[name, one] : templates_)
    if (one.reads(variable))
      return true;
  return false;
}

jinja::Json templateArgument(std::string_view value) {
  Result<jinja::Json> json = jinja::parseOrderedJson(value, "");
  return json ? json.take() : jinja::Json(std::string(value));
}

Result<std::vector<int32_t>> encodeConversation(const Tokenizer &tokenizer, std::string_view rendered) {
  return tokenizer.encode(rendered, /*addsAround=*/false);
}

} // namespace tessera::text
