//===- GgufWindowTest.cpp - Which layers of a GGUF file slide -------------===//
#include "TempModel.h"
#include "TestFiles.h"

#include "tessera/Import/Family.h"
#include "tessera/Import/GGUF/GgufSettings.h"

using namespace tessera;
using namespace tessera::importer;
using io::test::GgufBytes;
using io::test::raw;

namespace {

enum : uint32_t { U32 = 4, I32 = 5, F32 = 6, Bool = 7, Array = 9 };

/// A model of `layers` layers of one architecture, of which the test says what slides.
class GgufWindow : public io::test::ScratchFolder {
protected:
  void start(const std::string &name, uint32_t layers) {
    file = GgufBytes();
    architecture = name;
    number("block_count", layers);
    number("embedding_length", 32);
    number("attention.head_count", 4);
    number("feed_forward_length", 80);
    number("context_length", 128);
    file.value(name + ".attention.layer_norm_rms_epsilon", F32, raw(1e-6f));
    if (name == "gpt-oss" || name == "qwen3moe") {
      number("expert_count", 4);
      number("expert_used_count", 2);
    }
    file.tensor("token_embd.weight", {32, 7}, /*F32=*/0, 0);
    file.data = std::string(32 * 7 * 4, '\0');
  }
  void number(const std::string &key, uint32_t value) {
    file.value(architecture + "." + key, U32, raw(value));
  }
  void window(uint32_t keys) { number("attention.sliding_window", keys); }
  void period(uint32_t layers) { number("attention.sliding_window_pattern", layers); }
  /// "SSF": the first two slide.
  void list(const std::string &kinds, uint32_t type = Bool) {
    std::string bytes = raw(type) + raw(uint64_t(kinds.size()));
    for (char kind : kinds)
      bytes += type == Bool ? raw(uint8_t(kind == 'S'))
                            : raw(uint32_t(kind == 'S'   ? 1
                                           : kind == 'F' ? 0
                                                         : 2));
    file.value(architecture + ".attention.sliding_window_pattern", Array, bytes);
  }

  /// What is wrong, or which layers slide: "16 SSFSSF" with a window of 16 keys.
  std::string read() {
    auto model = io::ModelFile::open(write("m.gguf", file.bytes()));
    EXPECT_TRUE(bool(model)) << model.failure().message();
    GgufSettings settings(**model);
    const Family *family = nullptr;
    for (const Family *one : allFamilies())
      if (llvm::is_contained(one->gguf.architectures, architecture))
        family = one;
    ModelConfig config = family->gguf.readConfig(settings, **model);
    settings.refuseUnreadSettings(architecture);
    if (settings.failure())
      return settings.failure()->message();
    std::string text = config.window ? std::to_string(*config.window) + " " : "";
    for (int64_t layer = 0; layer < config.layers; ++layer)
      text += config.kind(layer).slides ? 'S' : 'F';
    return text;
  }
  void expectRefused(const std::string &part) {
    std::string text = read();
    EXPECT_NE(text.find(part), std::string::npos) << "wanted: " << part << "\ngave: " << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }

  GgufBytes file;
  std::string architecture;
};

} // namespace

TEST_F(GgufWindow, WhatFilesLeaveOutIsTheFamilys) {
  const std::pair<const char *, const char *> families[] = {
      {"gemma2", "4096 SFSFSFS"}, {"gemma3", "FFFFFFF"}, {"phi3", "FFFFFFF"},    {"llama", "FFFFFFF"},
      {"qwen2", "FFFFFFF"},       {"qwen3", "FFFFFFF"},  {"qwen3moe", "FFFFFFF"}};
  for (auto [name, kinds] : families) {
    start(name, 7);
    EXPECT_EQ(read(), kinds) << name;
  }
  start("gpt-oss", 7);
  expectRefused("gpt-oss.attention.sliding_window): is missing");
}

TEST_F(GgufWindow, AWindowAloneIsOfTheLayersThatTheFamilySays) {
  const std::pair<const char *, const char *> families[] = {{"gemma2", "16 SFSFSFS"},
                                                            {"gemma3", "16 SSSSSFS"},
                                                            {"gpt-oss", "16 SFSFSFS"},
                                                            {"phi3", "16 SSSSSSS"},
                                                            {"llama", "16 SSSSSSS"}};
  for (auto [name, kinds] : families) {
    start(name, 7);
    window(16);
    EXPECT_EQ(read(), kinds) << name;
  }
  // In these it would be the upper layers, and nothing says where they begin.
  for (const char *name : {"qwen2", "qwen3", "qwen3moe"}) {
    start(name, 7);
    window(16);
    expectRefused(std::string(name) + ".attention.sliding_window_pattern): is missing, and " + name +
                  ".attention.sliding_window is 16");
  }
}

TEST_F(GgufWindow, APatternIsAPeriod) {
  for (const char *name : {"gemma2", "gemma3", "gpt-oss", "phi3", "llama", "qwen2", "qwen3", "qwen3moe"}) {
    start(name, 7);
    window(16);
    period(3);
    EXPECT_EQ(read(), "16 SSFSSFS") << name;
    start(name, 7);
    window(16);
    period(0); // none sees all
    EXPECT_EQ(read(), "16 SSSSSSS") << name;
    start(name, 7);
    window(16);
    period(1);
    EXPECT_EQ(read(), "FFFFFFF") << name;
  }
}

TEST_F(GgufWindow, OrAListWithAnEntryALayer) {
  for (const char *name : {"gemma2", "gemma3", "gpt-oss", "phi3", "llama", "qwen2", "qwen3", "qwen3moe"})
    for (uint32_t type : {uint32_t(Bool), uint32_t(U32), uint32_t(I32)}) {
      start(name, 7);
      window(16);
      list("FSSFFSS", type);
      EXPECT_EQ(read(), "16 FSSFFSS") << name << ", " << type;
    }
}

TEST_F(GgufWindow, WhatDoesNotFitIsRefused) {
  start("gemma3", 7);
  window(16);
  list("SSFS");
  expectRefused("gemma3.attention.sliding_window_pattern): has 4 entries for 7 layers");
  start("gemma3", 7);
  window(16);
  list("SSFSxSS", U32);
  expectRefused("gemma3.attention.sliding_window_pattern): has 2, must hold true and false");
  // Which layers slide, and no window for them.
  for (const char *name : {"gemma3", "phi3", "llama", "qwen2"}) {
    start(name, 7);
    list("SSFSSSS");
    expectRefused(std::string(name) + ".attention.sliding_window): is missing, but layers slide");
    start(name, 7);
    window(0);
    period(2);
    expectRefused(std::string(name) + ".attention.sliding_window): is 0, but layers slide");
  }
  start("llama", 7);
  window(16);
  file.value("llama.attention.sliding_window_pattern", F32, raw(2.0f));
  expectRefused("llama.attention.sliding_window_pattern): is 2, must be an integer");
}
