//===- DefaultsTest.cpp - What files leave out -----------------------------===//
//
// A setting that config.json lacks has the value that the class of transformers has, one that GGUF lacks what
// llama.cpp takes: another one is a model that talks, and not that model.
//
//===----------------------------------------------------------------------===//
#include "TempModel.h"
#include "TestFiles.h"

#include "tessera/Dialect/Graph/IR/Experts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Import/Family.h"
#include "tessera/Import/GGUF/GgufSettings.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>
#include <tuple>

using namespace mlir;
using namespace tessera;
using namespace tessera::importer;
using namespace tessera::test;
using io::test::GgufBytes;
using io::test::raw;
using nlohmann::json;

TEST(Defaults, OfConfigJsonAreThoseOfTransformers) {
  struct Case {
    const char *architecture, *type;
    double epsilon, theta;
    bool tied;
  };
  const Case cases[] = {{"LlamaForCausalLM", "llama", 1e-6, 1e4, false},
                        {"MistralForCausalLM", "mistral", 1e-6, 1e4, false},
                        {"MixtralForCausalLM", "mixtral", 1e-5, 1e6, false},
                        {"Qwen2ForCausalLM", "qwen2", 1e-6, 1e4, false},
                        {"Qwen3ForCausalLM", "qwen3", 1e-6, 1e4, false},
                        {"Qwen3MoeForCausalLM", "qwen3_moe", 1e-6, 1e4, false},
                        {"Phi3ForCausalLM", "phi3", 1e-5, 1e4, false},
                        {"GraniteForCausalLM", "granite", 1e-6, 1e4, false},
                        {"Olmo2ForCausalLM", "olmo2", 1e-5, 1e4, false},
                        {"SmolLM3ForCausalLM", "smollm3", 1e-6, 2e6, true},
                        {"GemmaForCausalLM", "gemma", 1e-6, 1e4, true},
                        {"Gemma2ForCausalLM", "gemma2", 1e-6, 1e4, true},
                        {"GptOssForCausalLM", "gpt_oss", 1e-5, 15e4, false}};
  MLIRContext context;
  for (const Case &one : cases) {
    SCOPED_TRACE(one.type);
    json config = decoderConfig(one.architecture, one.type);
    for (const char *key : {"rms_norm_eps", "rope_parameters", "tie_word_embeddings", "hidden_act"})
      config.erase(key);
    if (one.type == std::string("gpt_oss")) // it has to say how it stretches; this changes nothing
      config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 1.0}};
    TempModel directory(config);
    OwningOpRef<ModuleOp> module = importOrFail(context, directory.path());
    ASSERT_TRUE(module);
    EXPECT_EQ(module->lookupSymbol("unembedding") == nullptr, one.tied);
    int norms = 0, turns = 0;
    module->walk([&](graph::RmsNormOp op) {
      ++norms;
      EXPECT_EQ(op.getEps().convertToDouble(), one.epsilon);
    });
    module->walk([&](graph::RopeOp op) { // of the second of four pairs: theta^(-2/8)
      ++turns;
      EXPECT_NEAR(std::pow(op.getFrequencies()[1], -4.0), one.theta, 1e-3 * one.theta);
    });
    EXPECT_GT(norms, 0);
    EXPECT_GT(turns, 0);
  }
}

// Where windows are on, those of the layers from the 29th on.
TEST(Defaults, QwensWindowLeavesTwentyEightLayersOut) {
  MLIRContext context;
  for (int layers : {28, 29}) {
    TempModel directory(
        decoderConfig("Qwen2ForCausalLM", "qwen2",
                      {{"num_hidden_layers", layers}, {"use_sliding_window", true}, {"sliding_window", 7}}));
    int sliding = 0;
    importOrFail(context, directory.path(), {})->walk([&](graph::AttentionOp op) {
      sliding += op.getWindow().has_value();
    });
    EXPECT_EQ(sliding, layers == 29);
  }
}

// Shares of the chosen experts are those among all of them, unless the file says that they add up to 1.
TEST(Defaults, SharesOfExpertsAreNotNormalized) {
  MLIRContext context;
  auto normalizes = [&](const json &more) {
    json config = decoderConfig("Qwen3MoeForCausalLM", "qwen3_moe", more);
    TempModel directory(config);
    bool found = false;
    if (OwningOpRef<ModuleOp> module = importOrFail(context, directory.path()))
      module->walk([&](graph::DivOp) { found = true; });
    return found;
  };
  EXPECT_FALSE(normalizes({}));
  EXPECT_FALSE(normalizes({{"norm_topk_prob", false}}));
  EXPECT_TRUE(normalizes({{"norm_topk_prob", true}}));
}

// Of how many experts a token chooses how many.
TEST(Defaults, ExpertsAreAsManyAsTheClassHas) {
  MLIRContext context;
  const std::tuple<const char *, const char *, int64_t, int64_t> cases[] = {
      {"MixtralForCausalLM", "mixtral", 8, 2},
      {"Qwen3MoeForCausalLM", "qwen3_moe", 128, 8},
      {"GptOssForCausalLM", "gpt_oss", 128, 4}};
  for (auto [architecture, type, all, chosen] : cases) {
    json config = decoderConfig(architecture, type);
    config.erase("rope_parameters");
    if (type == std::string("gpt_oss"))
      config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 1.0}};
    TempModel directory(config);
    OwningOpRef<ModuleOp> module = importOrFail(context, directory.path());
    ASSERT_TRUE(module);
    int choices = 0;
    module->walk([&, all = all, chosen = chosen](graph::TopKOp op) {
      ++choices;
      EXPECT_EQ(cast<RankedTensorType>(op.getInput().getType()).getShape().back(), all);
      EXPECT_EQ(cast<RankedTensorType>(op.getIndices().getType()).getShape().back(), chosen);
    });
    EXPECT_GT(choices, 0);
  }
}

// What is published says nothing of the slope.
TEST(Defaults, GptOssClampsItsGatesAtSevenAndOpensThemBySlope) {
  MLIRContext context;
  auto numbers = [&](const json &config) {
    std::set<float> found;
    TempModel directory(config);
    if (OwningOpRef<ModuleOp> module = importOrFail(context, directory.path()))
      module->walk([&](graph::ConstantOp op) {
        if (auto value = dyn_cast<DenseElementsAttr>(op.getValue()); value.getElementType().isF32())
          found.insert(value.getSplatValue<float>());
      });
    return found;
  };
  json config = gptOssConfig();
  config.erase("swiglu_limit");
  EXPECT_EQ(numbers(config), (std::set<float>{-7, 0, 1, 1.702f, 7}));
  config.update({{"swiglu_limit", 3.0}, {"swiglu_alpha", 2.0}});
  EXPECT_EQ(numbers(config), (std::set<float>{-3, 0, 1, 2, 3}));
}

namespace {
/// A model in GGUF of so many layers, 8 wide with 2 heads of 8; `more` as the test wants it.
class GgufDefaults : public io::test::ScratchFolder {
protected:
  ModelConfig read(const std::string &architecture, uint32_t layers, const GgufBytes &more = {}) {
    GgufBytes file = more;
    auto number = [&](const char *key, uint32_t value) {
      file.value(architecture + "." + key, /*U32=*/4, raw(value));
    };
    number("block_count", layers);
    number("embedding_length", 32);
    number("attention.head_count", 2);
    number("attention.key_length", 8);
    number("attention.value_length", 8);
    number("feed_forward_length", 80);
    number("context_length", 128);
    file.value(architecture + ".attention.layer_norm_rms_epsilon", /*F32=*/6, raw(1e-6f));
    file.tensor("token_embd.weight", {32, 7}, /*F32=*/0, 0);
    file.data = std::string(32 * 7 * 4, '\0');
    auto model = io::ModelFile::open(write("m.gguf", file.bytes()));
    EXPECT_TRUE(bool(model)) << model.failure().message();
    GgufSettings settings(**model);
    for (const Family *family : allFamilies())
      if (llvm::is_contained(family->gguf.architectures, architecture)) {
        ModelConfig config = family->gguf.readConfig(settings, **model);
        EXPECT_FALSE(settings.failure()) << settings.failure()->message();
        return config;
      }
    ADD_FAILURE() << architecture;
    return {};
  }
};
} // namespace

// The largest model of each is known by its layers: its scores are scaled by the width over the heads.
TEST_F(GgufDefaults, TheLargestGemmasScaleByTheirWidth) {
  const double ofHead = 1 / std::sqrt(8.0), ofWidth = 1 / std::sqrt(16.0);
  for (auto [name, layers, scale] : {std::tuple("gemma2", 26, ofHead),
                                     {"gemma2", 46, ofWidth},
                                     {"gemma2", 62, ofHead},
                                     {"gemma3", 46, ofHead},
                                     {"gemma3", 62, ofWidth}})
    EXPECT_DOUBLE_EQ(read(name, uint32_t(layers)).attentionScale, scale) << name << " " << layers;
}

TEST_F(GgufDefaults, Gemma3sLayersThatSlideTurnByTenThousand) {
  GgufBytes file;
  file.value("gemma3.rope.freq_base", /*F32=*/6, raw(1e6f));
  ModelConfig config = read("gemma3", 7, file);
  EXPECT_EQ(config.rotary->theta, 1e6);
  EXPECT_EQ(config.slidingRotary->theta, 1e4);
  file.value("gemma3.rope.freq_base_swa", /*F32=*/6, raw(2e4f));
  EXPECT_EQ(read("gemma3", 7, file).slidingRotary->theta, 2e4);
}

// As llama.cpp takes it, where transformers has 1: the converter writes what config.json says.
TEST_F(GgufDefaults, GranitesScoresHaveTheScaleOfAHead) {
  GgufBytes file;
  EXPECT_DOUBLE_EQ(read("granite", 4, file).attentionScale, 1 / std::sqrt(8.0));
  file.value("granite.attention.scale", /*F32=*/6, raw(0.25f));
  EXPECT_EQ(read("granite", 4, file).attentionScale, 0.25);
}
