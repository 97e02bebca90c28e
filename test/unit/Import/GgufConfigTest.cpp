//===- GgufConfigTest.cpp - What import makes of GGUF metadata ------------===//
#include "TempModel.h"
#include "TestFiles.h"

#include "tessera/Import/Family.h"
#include "tessera/Import/GGUF/GgufSettings.h"

using namespace tessera;
using namespace tessera::importer;
using io::test::GgufBytes;
using io::test::raw;

namespace {

enum : uint32_t { U32 = 4, F32 = 6, Bool = 7, Text = 8 };

class GgufConfig : public io::test::ScratchFolder {
protected:
  /// A llama of 4 heads of size 8 on 2 KV heads, and a gpt2 of the same width. No weights but the table of
  /// words, and what the test adds.
  GgufConfig() {
    for (const char *key : {"llama.block_count", "gpt2.block_count"})
      number(key, 3);
    for (const char *name : {"llama", "gpt2"}) {
      std::string prefix = std::string(name) + ".";
      number(prefix + "embedding_length", 32);
      number(prefix + "attention.head_count", 4);
      number(prefix + "feed_forward_length", 80);
      number(prefix + "context_length", 128);
    }
    number("llama.attention.head_count_kv", 2);
    real("llama.attention.layer_norm_rms_epsilon", 1e-6f);
    real("gpt2.attention.layer_norm_epsilon", 1e-5f);
    file.tensor("token_embd.weight", {32, 7}, /*F32=*/0, 0);
    file.data = std::string(32 * 7 * 4, '\0');
  }
  void number(const std::string &key, uint32_t value) { file.value(key, U32, raw(value)); }
  void real(const std::string &key, float value) { file.value(key, F32, raw(value)); }
  void text(const std::string &key, const std::string &value) {
    file.value(key, Text, GgufBytes::text(value));
  }

  /// The configuration, or what is wrong with it in `problem`.
  ModelConfig read(const Family &family = llamaFamily()) {
    auto model = io::ModelFile::open(write("m.gguf", file.bytes()));
    EXPECT_TRUE(bool(model)) << model.failure().message();
    GgufSettings settings(**model);
    ModelConfig config = family.gguf.readConfig(settings, **model);
    settings.refuseUnreadSettings(family.name.str());
    problem = settings.failure() ? settings.failure()->message() : "";
    return config;
  }
  std::vector<double> frequencies() {
    ModelConfig config = read();
    EXPECT_EQ(problem, "");
    return rotaryFrequencies(*config.rotary, config.headDim, config.maxPositions);
  }
  GgufBytes file;
  std::string problem;
};

} // namespace

TEST_F(GgufConfig, SizesAreReadUnderTheirKeys) {
  ModelConfig c = read();
  EXPECT_EQ(problem, "");
  EXPECT_EQ(c.layers, 3);
  EXPECT_EQ(c.hidden, 32);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kvHeads, 2);
  EXPECT_EQ(c.headDim, 8);
  EXPECT_EQ(c.ffn, 80);
  EXPECT_EQ(c.vocab, 7);
  EXPECT_EQ(c.maxPositions, 128);
  EXPECT_EQ(float(c.normEps), 1e-6f);
  EXPECT_EQ(c.activation, Activation::Silu);
  EXPECT_TRUE(c.tiedHead);
  EXPECT_FALSE(c.attentionBias || c.mlpBias);
  EXPECT_DOUBLE_EQ(c.attentionScale, 1 / std::sqrt(8.0));
}

TEST_F(GgufConfig, Gpt2IsOfTheTanhFormWithBiases) {
  ModelConfig c = read(gpt2Family());
  EXPECT_EQ(problem, "");
  EXPECT_EQ(c.activation, Activation::GeluTanh);
  EXPECT_TRUE(c.attentionBias && c.mlpBias);
  EXPECT_EQ(c.kvHeads, 4);
  EXPECT_EQ(float(c.normEps), 1e-5f);
  EXPECT_FALSE(c.rotary);
}

// What converters have not always written.
TEST_F(GgufConfig, GptNeoxHasItsBlocksSideBySideUnlessTheFileSaysOtherwise) {
  for (auto [key, size] : {std::pair("block_count", 3),
                           {"embedding_length", 32},
                           {"attention.head_count", 4},
                           {"feed_forward_length", 80},
                           {"context_length", 128}})
    number(std::string("gptneox.") + key, uint32_t(size));
  real("gptneox.attention.layer_norm_epsilon", 1e-5f);
  EXPECT_TRUE(read(gptNeoxFamily()).parallelBlocks);
  EXPECT_EQ(problem, "");
  file.value("gptneox.use_parallel_residual", Bool, raw(uint8_t(0)));
  EXPECT_FALSE(read(gptNeoxFamily()).parallelBlocks);
}

TEST_F(GgufConfig, KeyLengthIsTheSizeOfAHead) {
  number("llama.attention.key_length", 16);
  number("llama.attention.value_length", 16);
  ModelConfig c = read();
  EXPECT_EQ(problem, "");
  EXPECT_EQ(c.headDim, 16);
  EXPECT_DOUBLE_EQ(c.attentionScale, 0.25);
  number("llama.rope.dimension_count", 8); // half of a head only
  read();
  EXPECT_NE(problem.find("llama.rope.dimension_count"), std::string::npos) << problem;
}

TEST_F(GgufConfig, ValuesOfAnotherLengthThanKeysAreRefused) {
  number("llama.attention.value_length", 16);
  read();
  EXPECT_NE(problem.find("llama.attention.value_length): the value 16"), std::string::npos) << problem;
}

TEST_F(GgufConfig, BiasesAndAHeadOfItsOwnAreWhereTheirTensorsAre) {
  file.tensor("output.weight", {32, 7}, 0, 896); // the table of words takes 896 bytes
  file.tensor("blk.0.attn_q.bias", {32}, 0, 1792).tensor("blk.0.ffn_up.bias", {80}, 0, 1920);
  file.data = std::string(1920 + 320, '\0');
  ModelConfig c = read();
  EXPECT_FALSE(c.tiedHead);
  EXPECT_TRUE(c.attentionBias);
  EXPECT_TRUE(c.mlpBias);
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

TEST_F(GgufConfig, RopeBaseIsTenThousandUnlessTheFileSays) {
  EXPECT_FLOAT_EQ(float(frequencies()[1]), 0.1f);
  real("llama.rope.freq_base", 500000);
  EXPECT_FLOAT_EQ(float(frequencies()[1]), std::pow(500000.0f, -0.25f));
}

TEST_F(GgufConfig, LinearScalingDividesEveryFrequency) {
  std::vector<double> plain = frequencies();
  text("llama.rope.scaling.type", "linear");
  real("llama.rope.scaling.factor", 4);
  std::vector<double> scaled = frequencies();
  ASSERT_EQ(scaled.size(), 4u);
  for (size_t i = 0; i < plain.size(); ++i)
    EXPECT_EQ(scaled[i], plain[i] / 4);
}

TEST_F(GgufConfig, TheOldKeyOfLinearScalingMeansTheSame) {
  std::vector<double> plain = frequencies();
  real("llama.rope.scale_linear", 2);
  std::vector<double> scaled = frequencies();
  for (size_t i = 0; i < plain.size(); ++i)
    EXPECT_EQ(scaled[i], plain[i] / 2);
}

TEST_F(GgufConfig, AFactorWithoutATypeIsLinearAsInLlamaCpp) {
  std::vector<double> plain = frequencies();
  real("llama.rope.scaling.factor", 4);
  std::vector<double> scaled = frequencies();
  for (size_t i = 0; i < plain.size(); ++i)
    EXPECT_EQ(scaled[i], plain[i] / 4);
  text("llama.rope.scaling.type", "none");
  EXPECT_EQ(frequencies(), plain);
}

TEST_F(GgufConfig, AFactorOfZeroIsNone) {
  std::vector<double> plain = frequencies();
  real("llama.rope.scaling.factor", 0);
  EXPECT_EQ(frequencies(), plain);
  real("llama.rope.scale_linear", 2);
  EXPECT_EQ(frequencies()[1], plain[1] / 2);
}

TEST_F(GgufConfig, TheOldKeyContradictsNoNewOne) {
  real("llama.rope.scaling.factor", 4);
  real("llama.rope.scale_linear", 2);
  read();
  EXPECT_NE(problem.find("llama.rope.scale_linear): contradicts rope.scaling.factor"), std::string::npos)
      << problem;
}

TEST_F(GgufConfig, OtherScalingsAreRefused) {
  text("llama.rope.scaling.type", "ntk");
  read();
  EXPECT_NE(problem.find("llama.rope.scaling.type): the value ntk"), std::string::npos) << problem;
}

TEST_F(GgufConfig, DivisorsOfFrequenciesAreATensor) {
  std::vector<double> plain = frequencies();
  file.tensor("rope_freqs.weight", {4}, 0, 896);
  for (float divisor : {1.0f, 2.0f, 4.0f, 8.0f})
    file.data += raw(divisor);
  std::vector<double> divided = frequencies();
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(divided[i], plain[i] / double(1 << i));
}

//===----------------------------------------------------------------------===//
// Settings nobody reads
//===----------------------------------------------------------------------===//

TEST_F(GgufConfig, SettingsThatWouldChangeTheNumbersAreRefused) {
  number("llama.attention.max_alibi_bias", 16);
  read();
  EXPECT_NE(problem.find("llama.attention.max_alibi_bias): the value 16"), std::string::npos) << problem;
}

TEST_F(GgufConfig, ChosenExpertsAreSomeOfThoseThatThereAre) {
  number("llama.expert_count", 0);
  read();
  EXPECT_EQ(problem, "");
  number("llama.expert_used_count", 2);
  read();
  EXPECT_NE(problem.find("llama.expert_used_count): the value 2"), std::string::npos) << problem;
}

TEST_F(GgufConfig, NoMoreExpertsAreChosenThanThereAre) {
  number("llama.expert_count", 4);
  number("llama.expert_used_count", 5);
  read();
  EXPECT_NE(problem.find("llama.expert_used_count): is 5 of 4 experts"), std::string::npos) << problem;
}

TEST_F(GgufConfig, AttentionThatIsNotCausalIsRefused) {
  file.value("llama.attention.causal", Bool, raw(uint8_t(0)));
  read();
  EXPECT_NE(problem.find("llama.attention.causal): the value false"), std::string::npos) << problem;
}

TEST_F(GgufConfig, AFactorOnAttentionOfOneChangesNothing) {
  real("llama.rope.scaling.attn_factor", 1);
  read();
  EXPECT_EQ(problem, "");
}

TEST_F(GgufConfig, AFactorOnAttentionIsRefused) {
  real("llama.rope.scaling.attn_factor", 2);
  read();
  EXPECT_NE(problem.find("llama.rope.scaling.attn_factor): the value 2"), std::string::npos) << problem;
}
