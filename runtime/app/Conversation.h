// The messages of a conversation and what they are to the model.
#ifndef TESSERA_RUNTIME_APP_CONVERSATION_H
#define TESSERA_RUNTIME_APP_CONVERSATION_H

#include "Options.h"
#include "tessera/runtime/text/ChatTemplate.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::runtime {

// The ids that became of a text, which an Error calls `whose` ("prompt 2"): it is one of many.
std::vector<int32_t> idsOf(Result<std::vector<int32_t>> ids, const std::string &whose);

// A turn is what the user says and what follows it, up to the next one.
class Conversation {
public:
  // With the model's own template and what the command line says of it. Throws Error if the model has none,
  // and on arguments that the template does not read.
  Conversation(const io::ModelFile &model, const text::Tokenizer &tokenizer, const Options &options);

  void say(const std::string &text);
  void answer(const std::string &text);
  // All that was said, to go back to.
  using Said = jinja::Json;
  const Said &said() const { return conversation_.messages; }
  void putBack(const Said &said) { conversation_.messages = said; }
  size_t turns() const;
  // The oldest turn leaves, whole. False: there is one alone.
  bool dropOldest();

  // The ids of all of it, up to where an answer begins; the template writes the BOS, and nothing adds one
  // more. A failure, of the template that refuses the conversation or of the tokenizer, says that it is that
  // of `whose`.
  std::vector<int32_t> tokens(const std::string &whose) const;

  // The end token that the tokenizer's own settings name: of chat models often another one than the list of
  // those that generation ends at has. Empty: they name none.
  std::vector<int32_t> endTokens() const;

private:
  const text::Tokenizer &tokenizer_;
  text::ChatTemplate template_;
  text::Conversation conversation_;
};

} // namespace tessera::runtime
#endif
