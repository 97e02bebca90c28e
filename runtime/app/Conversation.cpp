#include "Conversation.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <ctime>

namespace tessera::runtime {

static bool isUser(const jinja::Json &message) { return message["role"] == "user"; }

Conversation::Conversation(const io::ModelFile &model, const text::Tokenizer &tokenizer,
                           const Options &options)
    : tokenizer_(tokenizer), template_(take(text::ChatTemplate::load(model))) {
  for (const auto &[name, value] : options.templateArguments) {
    const bool isOwn = text::ChatTemplate::isOfConversation(name);
    if (isOwn || !template_.reads(name))
      throw Error("cannot format the conversation", "--template-arg=" + name + "=" + value,
                  isOwn ? "the conversation itself gives " + name
                        : "the model's chat template reads nothing of that name",
                  "leave it out");
    conversation_.arguments[name] = text::templateArgument(value);
  }
  if (options.system)
    conversation_.messages.push_back({{"role", "system"}, {"content", *options.system}});
}

void Conversation::say(const std::string &text) {
  conversation_.messages.push_back({{"role", "user"}, {"content", text}});
}

void Conversation::answer(const std::string &text) {
  conversation_.messages.push_back({{"role", "assistant"}, {"content", text}});
}

size_t Conversation::turns() const {
  const jinja::Json &messages = conversation_.messages;
  return size_t(std::count_if(messages.begin(), messages.end(), isUser));
}

bool Conversation::dropOldest() {
  if (turns() < 2)
    return false;
  jinja::Json &messages = conversation_.messages;
  const auto first = std::find_if(messages.begin(), messages.end(), isUser);
  messages.erase(first, std::find_if(first + 1, messages.end(), isUser));
  return true;
}

std::vector<int32_t> Conversation::endTokens() const {
  const jinja::Json &tokens = template_.specialTokens();
  if (!tokens.contains("eos_token"))
    return {};
  Result<std::vector<int32_t>> ids =
      text::encodeConversation(tokenizer_, tokens["eos_token"].get<std::string>());
  return ids && ids->size() == 1 ? ids.take() : std::vector<int32_t>();
}

std::vector<int32_t> idsOf(Result<std::vector<int32_t>> ids, const std::string &whose) {
  if (ids)
    return ids.take();
  Failure failure = ids.takeFailure();
  failure.where = whose + (failure.where.empty() ? "" : ", ") + failure.where;
  throw Error(failure);
}

std::vector<int32_t> Conversation::tokens(const std::string &whose) const {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  Result<std::string> text = template_.render(conversation_, local);
  std::vector<int32_t> ids =
      idsOf(text ? text::encodeConversation(tokenizer_, *text) : text.takeFailure(), whose);
  if (ids.empty())
    throw Error("cannot format the conversation", whose + ", " + template_.where(),
                "the chat template makes no tokens of it", text::ChatTemplate::doWithout);
  return ids;
}

} // namespace tessera::runtime
