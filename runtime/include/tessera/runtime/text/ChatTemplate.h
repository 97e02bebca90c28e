// A model's own chat template: which text a conversation is to the model.
#ifndef TESSERA_RUNTIME_TEXT_CHATTEMPLATE_H
#define TESSERA_RUNTIME_TEXT_CHATTEMPLATE_H

#include "tessera/runtime/io/ModelFile.h"
#include "tessera/runtime/jinja/Template.h"
#include "tessera/runtime/text/Tokenizer.h"

namespace tessera::text {

struct Conversation {
  jinja::Json messages =
      jinja::Json::array();        // [{"role": "user", "content": "..."}, ...] and what else it reads
  jinja::Json tools;               // a list of JSON schemas of functions; null: none
  bool addGenerationPrompt = true; // ends where the model's answer begins
  jinja::Json arguments = jinja::Json::object(); // by name, --template-arg=NAME=VALUE; before special tokens
};

// The value of --template-arg=NAME=VALUE: JSON where it is JSON (false, 3, ["a"]), and text otherwise.
jinja::Json templateArgument(std::string_view value);

// Immutable; may be used by many threads.
class ChatTemplate {
public:
  // Of a Hugging Face directory: chat_template.jinja, else `chat_template` of tokenizer_config.json, a text
  // or a list of named ones; of a GGUF file: tokenizer.chat_template and tokenizer.chat_template.NAME. `name`
  // chooses one; empty: the one called tool_use for conversations with tools, else the one called default (as
  // transformers does). Fails if there is none, and on templates that cannot be read.
  static Result<ChatTemplate> load(const io::ModelFile &model, const std::string &name = "");

  // The text of `conversation`, with special tokens written out: Tokenizer::encode parses them; call it
  // without what it adds itself (encodeConversation), for most templates write the BOS. `now`: the local
  // time, which some templates print. Fails where the template refuses the conversation, and as
  // jinja::Template::render does.
  Result<std::string> render(const Conversation &conversation, const std::tm &now) const;

  // Where the templates stand: a file, and what of it.
  const std::string &where() const { return where_; }
  // What a template gets from the conversation itself: no argument may have that name.
  static bool isOfConversation(std::string_view variable);
  // What to try where a template is missing or wrong.
  static constexpr const char *doWithout =
      "correct the template, or give the whole prompt to generate with --prompt=, without --chat";

  // Whether a template reads a variable, so that an argument of that name has an effect.
  bool reads(std::string_view variable) const;

  // Texts that a template may print: bos_token, eos_token, ... as tokenizer_config.json or GGUF names them.
  const jinja::Json &specialTokens() const { return specialTokens_; }

private:
  std::string where_;
  std::map<std::string, jinja::Template> templates_; // by name
  jinja::Json specialTokens_ = jinja::Json::object();
};

// The ids of a rendered conversation: special tokens are parsed, and nothing is added, so there is no second
// BOS.
Result<std::vector<int32_t>> encodeConversation(const Tokenizer &tokenizer, std::string_view rendered);

} // namespace tessera::text
#endif
