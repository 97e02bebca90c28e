#include "tessera/runtime/text/ChatTemplate.h"
#include "TestFiles.h"

using namespace tessera;
using namespace tessera::text;
using namespace tessera::io::test;

namespace {
class Chat : public ScratchFolder {
protected:
  void SetUp() override {
    ScratchFolder::SetUp();
    write("config.json", "{}");
  }
  Result<ChatTemplate> load(const std::string &name = "", const std::string &file = "") {
    auto model = io::ModelFile::open(file.empty() ? folder : path(file));
    EXPECT_TRUE(model) << model.failure().message();
    return ChatTemplate::load(**model, name);
  }
  static std::string render(const Result<ChatTemplate> &chat, const Conversation &conversation) {
    if (!chat)
      return "error: " + chat.failure().message();
    auto text = chat->render(conversation, std::tm{});
    return text ? *text : "error: " + text.failure().message();
  }
  static Conversation hello() {
    Conversation conversation;
    conversation.messages = {{{"role", "user"}, {"content", "Hi"}}};
    return conversation;
  }
  static constexpr const char *plain =
      "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}{{ tools is none }}{{ style }}";
};
} // namespace

TEST_F(Chat, TheFileComesBeforeTheConfig) {
  write(
      "tokenizer_config.json",
      R"({"chat_template": "config", "bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}})");
  EXPECT_EQ(render(load(), hello()), "config");
  write("chat_template.jinja", plain);
  EXPECT_EQ(render(load(), hello()), "<s><user>Hi</s><assistant>True");
}

TEST_F(Chat, ArgumentsAreSeenByName) {
  write("chat_template.jinja", plain);
  Conversation conversation = hello();
  conversation.arguments = {{"style", templateArgument("[1, true]")}, {"bos_token", templateArgument("<b>")}};
  conversation.addGenerationPrompt = false;
  EXPECT_EQ(render(load(), conversation), "<b><user>HiTrue[1, True]");
  // Of the tokenizer's own tokens it is the argument that counts.
  write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": "</s>"})");
  EXPECT_EQ(render(load(), conversation), "<b><user>Hi</s>True[1, True]");
  conversation.arguments = {{"messages", 1}};
  EXPECT_TRUE(render(load(), conversation).find("'messages' is no argument of a template") !=
              std::string::npos);
  EXPECT_TRUE(load()->reads("style"));
  EXPECT_FALSE(load()->reads("enable_thinking"));
}

// As transformers calls a template: what nobody gave is none, not undefined.
TEST_F(Chat, ToolsAndDocumentsAreNoneUnlessTheyAreGiven) {
  write("chat_template.jinja",
        "{{ tools is none }} {{ documents is none }} {{ documents | length if documents }}");
  EXPECT_EQ(render(load(), hello()), "True True ");
  Conversation conversation = hello();
  conversation.arguments = {{"documents", templateArgument("[1, 2]")}};
  EXPECT_EQ(render(load(), conversation), "True False 2");
}

TEST_F(Chat, ValuesOfArgumentsAreJsonOrText) {
  EXPECT_EQ(templateArgument("false"), jinja::Json(false));
  EXPECT_EQ(templateArgument("3"), jinja::Json(3));
  EXPECT_EQ(templateArgument("low"), jinja::Json("low"));
  EXPECT_EQ(templateArgument("\"3\""), jinja::Json("3"));
}

TEST_F(Chat, NamedTemplatesAreChosenByNameOrTools) {
  write("tokenizer_config.json",
        R"({"chat_template": [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"},
    {"name": "rag", "template": "r{% if %}"}]})");
  EXPECT_EQ(render(load(), hello()), "d");
  Conversation conversation = hello();
  conversation.tools = {{{"type", "function"}}};
  EXPECT_EQ(render(load(), conversation), "t");
  EXPECT_EQ(render(load("default"), conversation), "d");
  EXPECT_TRUE(render(load("rag"), hello())
                  .find("tokenizer_config.json, chat_template rag, line 1): a value is wanted, not '%}'; "
                        "correct the template, or give the whole prompt to generate") != std::string::npos);
  EXPECT_TRUE(render(load("nope"), hello())
                  .find("has no template called nope; choose one of: default, rag, tool_use") !=
              std::string::npos);
}

TEST_F(Chat, GgufHoldsItInMetadata) {
  GgufBytes file;
  auto text = [&](const std::string &key, const std::string &value) {
    file.value(key, 8, GgufBytes::text(value));
  };
  text("tokenizer.chat_template", plain);
  text("tokenizer.chat_template.tool_use", "t");
  file.value("tokenizer.ggml.tokens", 9,
             raw(uint32_t(8)) + raw(uint64_t(2)) + GgufBytes::text("<s>") + GgufBytes::text("</s>"));
  file.value("tokenizer.ggml.bos_token_id", 4, raw(uint32_t(0)));
  file.value("tokenizer.ggml.eos_token_id", 4, raw(uint32_t(1)));
  file.value("tokenizer.ggml.unknown_token_id", 4, raw(uint32_t(0)));
  file.value("tokenizer.ggml.seperator_token_id", 4, raw(uint32_t(1))); // as the format spells it
  file.value("tokenizer.ggml.padding_token_id", 4, raw(uint32_t(7)));   // out of range: none
  write("m.gguf", file.bytes());
  auto chat = load("", "m.gguf");
  EXPECT_EQ(render(chat, hello()), "<s><user>Hi</s><assistant>True");
  EXPECT_EQ(chat->specialTokens(),
            (jinja::Json{
                {"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<s>"}, {"sep_token", "</s>"}}));
  EXPECT_EQ(render(load("tool_use", "m.gguf"), hello()), "t");
}

TEST_F(Chat, AModelWithoutOneSaysSo) {
  EXPECT_TRUE(render(load(), hello()).find("the model has no chat_template.jinja") != std::string::npos);
  write("tokenizer_config.json", R"({"chat_template": null})");
  EXPECT_FALSE(load());
  write("m.gguf", GgufBytes().bytes());
  EXPECT_TRUE(render(load("", "m.gguf"), hello()).find("no tokenizer.chat_template") != std::string::npos);
}

TEST_F(Chat, WhatIsNoTemplateIsRefused) {
  for (const char *value :
       {"3", "[1]", "{}", "[{\"name\": \"a\"}]", "[{\"name\": 1, \"template\": \"x\"}]"}) {
    write("tokenizer_config.json", std::string("{\"chat_template\": ") + value + "}");
    EXPECT_TRUE(render(load(), hello()).find("neither a text nor a list of named ones") != std::string::npos)
        << value;
  }
  write("tokenizer_config.json", "{");
  EXPECT_FALSE(load());
}

TEST_F(Chat, WhatIsNoConversationIsRefused) {
  write("chat_template.jinja", plain);
  Conversation conversation;
  conversation.messages = {{{"content", "x"}}};
  EXPECT_TRUE(render(load(), conversation).find("a message has no role") != std::string::npos);
  conversation.messages = 3;
  EXPECT_TRUE(render(load(), conversation).find("the messages are not a list") != std::string::npos);
  conversation = hello();
  conversation.tools = 3;
  EXPECT_TRUE(render(load(), conversation).find("the tools are not a list") != std::string::npos);
}

TEST_F(Chat, NoSecondBos) {
  write("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"<s>": 0, "a": 1}, "merges": []},
    "added_tokens": [{"id": 0, "content": "<s>", "special": true}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
      {"Sequence": {"id": "A", "type_id": 0}}], "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
    "decoder": {"type": "ByteLevel"}})");
  auto model = io::ModelFile::open(folder);
  ASSERT_TRUE(model);
  auto tokenizer = Tokenizer::load(**model);
  ASSERT_TRUE(tokenizer) << tokenizer.failure().message();
  EXPECT_EQ(*(*tokenizer)->encode("<s>a"), (std::vector<int32_t>{0, 0, 1}));
  EXPECT_EQ(*encodeConversation(**tokenizer, "<s>a"), (std::vector<int32_t>{0, 1}));
}

TEST(ChatOfSmolLM2, ItsTurnsBeginAndEndWithSpecialTokens) {
  auto model = io::ModelFile::open(TESSERA_SMOLLM2);
  if (!model)
    GTEST_SKIP() << "no " TESSERA_SMOLLM2 "; scripts/fetch-smollm2 build/models";
  auto chat = ChatTemplate::load(**model);
  ASSERT_TRUE(chat) << chat.failure().message();
  Conversation conversation;
  conversation.messages = {{{"role", "system"}, {"content", "Be brief."}},
                           {{"role", "user"}, {"content", "Hi"}}};
  auto text = chat->render(conversation, std::tm{});
  ASSERT_TRUE(text) << text.failure().message();
  EXPECT_EQ(
      *text,
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  auto tokenizer = Tokenizer::load(**model);
  ASSERT_TRUE(tokenizer);
  auto ids = encodeConversation(**tokenizer, *text);
  ASSERT_TRUE(ids);
  std::string special; // those of the text, in order
  for (int32_t id : *ids)
    if ((*tokenizer)->isSpecial(id))
      special += (*tokenizer)->bytes(id);
  EXPECT_EQ(special, "<|im_start|><|im_end|><|im_start|><|im_end|><|im_start|>");
}
