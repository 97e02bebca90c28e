//===- FamiliesTest.cpp - What families with Llama's names have besides ---===//
//
// Numbers that they give are judged with models (test/Import/families.test); here is what config.json may
// say.
//
//===----------------------------------------------------------------------===//
#include "TempModel.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>

using namespace mlir;
using namespace tessera;
using namespace tessera::importer;
using namespace tessera::test;
using nlohmann::json;

namespace {

struct Families : testing::Test {
  MLIRContext context;

  OwningOpRef<ModuleOp> import(const json &config, ImportOptions options = {}) {
    TempModel directory(config);
    return importOrFail(context, directory.path(), options);
  }
  std::string failure(const json &config) {
    TempModel directory(config);
    auto module = importModel(context, directory.path(), {});
    return module ? "accepted" : module.failure().message();
  }
  /// Of the attentions, in order: the window, or 0.
  std::vector<int64_t> windows(const json &config) {
    std::vector<int64_t> found;
    import(config)->walk(
        [&](graph::AttentionOp op) { found.push_back(int64_t(op.getWindow().value_or(0))); });
    return found;
  }
  /// Of the first rope: frequencies and the factor.
  std::pair<std::vector<double>, double> rope(const json &config, ImportOptions options = {}) {
    std::pair<std::vector<double>, double> found;
    auto module = import(config, options);
    if (module)
      module->walk([&](graph::RopeOp op) {
        found = {op.getFrequencies().vec(), op.getMagnitude().convertToDouble()};
      });
    return found;
  }
};

json mistral(const json &more = {}) { return decoderConfig("MistralForCausalLM", "mistral", more); }
json qwen2(const json &more = {}) { return decoderConfig("Qwen2ForCausalLM", "qwen2", more); }
json phi3(const json &more = {}) { return decoderConfig("Phi3ForCausalLM", "phi3", more); }
json smollm3(const json &more = {}) { return decoderConfig("SmolLM3ForCausalLM", "smollm3", more); }

} // namespace

// The weights of an expert are read for the sake of who chose it.
TEST_F(Families, PaddingChoosesNoExpert) {
  auto module = import(decoderConfig("MixtralForCausalLM", "mixtral", {{"num_local_experts", 5}}));
  ASSERT_TRUE(module);
  int found = 0;
  module->walk([&](graph::SelectOp op) {
    auto padding = op.getRhs().getDefiningOp<graph::ConstantOp>();
    ASSERT_TRUE(padding);
    EXPECT_EQ(llvm::cast<mlir::DenseIntElementsAttr>(padding.getValue()).getSplatValue<int32_t>(), -1);
    ++found;
  });
  EXPECT_EQ(found, 1);
}

// Every other layer of GPT-OSS slides, the first one too; all have sinks, and gates that are clamped.
TEST_F(Families, GptOssHasSinksInLayersOfTwoKinds) {
  EXPECT_EQ(windows(gptOssConfig()), (std::vector<int64_t>{7, 0}));
  auto module = import(gptOssConfig());
  module->walk([&](graph::AttentionOp op) {
    ASSERT_TRUE(op.getSinks());
    EXPECT_EQ(op.getSinks().getType().getShape(), (llvm::ArrayRef<int64_t>{2, 3}));
  });
  std::set<float> limits;
  auto note = [&](Value number) {
    auto constant = number.getDefiningOp<graph::ConstantOp>();
    ASSERT_TRUE(constant);
    limits.insert(llvm::cast<mlir::DenseFPElementsAttr>(constant.getValue()).getSplatValue<float>());
  };
  module->walk([&](graph::MinimumOp op) { note(op.getRhs()); });
  module->walk([&](graph::MaximumOp op) { note(op.getRhs()); });
  EXPECT_EQ(limits, (std::set<float>{-2.5f, 2.5f}));
  json endless = gptOssConfig();
  endless["sliding_window"] = nullptr;
  EXPECT_NE(failure(endless).find("sliding_window): is null, but layers slide"), std::string::npos);
}

TEST_F(Families, HaveThePublishedNumberOfParameters) {
  auto sizes = [](int width, int ffn, int layers, int heads, int kvHeads, int vocab, bool tied) -> json {
    return {{"hidden_size", width},           {"intermediate_size", ffn},
            {"num_hidden_layers", layers},    {"num_attention_heads", heads},
            {"num_key_value_heads", kvHeads}, {"vocab_size", vocab},
            {"tie_word_embeddings", tied},    {"head_dim", nullptr}};
  };
  auto wide = [](json config, int headDim) {
    config["head_dim"] = headDim;
    return config;
  };
  json qwen3 = sizes(1024, 3072, 28, 16, 8, 151936, true);
  qwen3["head_dim"] = 128;
  json phi4 = sizes(3072, 8192, 32, 24, 8, 200064, true);
  phi4["partial_rotary_factor"] = 0.75;
  json pythia = gptNeoxConfig();
  pythia.update({{"hidden_size", 768},
                 {"intermediate_size", 3072},
                 {"num_hidden_layers", 12},
                 {"num_attention_heads", 12},
                 {"vocab_size", 50304},
                 {"rotary_pct", 0.25}});
  json mixtral = sizes(4096, 14336, 32, 32, 8, 32000, false),
       qwen3Moe = sizes(2048, 6144, 48, 32, 4, 151936, false);
  mixtral.update({{"num_local_experts", 8}, {"num_experts_per_tok", 2}, {"sliding_window", nullptr}});
  qwen3Moe.update(
      {{"head_dim", 128}, {"num_experts", 128}, {"num_experts_per_tok", 8}, {"moe_intermediate_size", 768}});
  json gptOss = gptOssConfig();
  gptOss.update(sizes(2880, 2880, 24, 64, 8, 201088, false));
  gptOss.update({{"head_dim", 64}, {"num_local_experts", 32}, {"num_experts_per_tok", 4}});
  const std::pair<json, int64_t> published[] = {
      {gptOss, 20'914'757'184},
      {decoderConfig("MixtralForCausalLM", "mixtral", mixtral), 46'702'792'704},
      {decoderConfig("Qwen3MoeForCausalLM", "qwen3_moe", qwen3Moe), 30'532'122'624},
      {mistral(sizes(4096, 14336, 32, 32, 8, 32000, false)), 7'241'732'096},
      {qwen2(sizes(896, 4864, 24, 14, 2, 151936, true)), 494'032'768},
      {decoderConfig("Qwen3ForCausalLM", "qwen3", qwen3), 596'049'920},
      {phi3(sizes(3072, 8192, 32, 32, 32, 32064, false)), 3'821'079'552},
      {phi3(phi4), 3'836'021'760},
      {decoderConfig("GraniteForCausalLM", "granite", sizes(2048, 8192, 40, 32, 8, 49155, true)),
       2'533'531'648},
      {decoderConfig("Olmo2ForCausalLM", "olmo2", sizes(4096, 11008, 32, 32, 32, 100352, false)),
       7'298'617'344},
      {pythia, 162'322'944},
      {smollm3(sizes(2048, 11008, 36, 16, 4, 128256, true)), 3'075'098'624},
      {decoderConfig("GemmaForCausalLM", "gemma", wide(sizes(2048, 16384, 18, 8, 1, 256000, true), 256)),
       2'506'172'416},
      {decoderConfig("Gemma2ForCausalLM", "gemma2", wide(sizes(2304, 9216, 26, 8, 4, 256000, true), 256)),
       2'614'341'888},
      {decoderConfig("Gemma3ForCausalLM", "gemma3_text",
                     wide(sizes(1152, 6912, 26, 4, 1, 262144, true), 256)),
       999'885'952},
  };
  for (const auto &[config, count] : published) {
    auto module = import(config);
    ASSERT_TRUE(module) << config.dump();
    EXPECT_EQ(countParameters(*module), count) << config.dump();
  }
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

TEST_F(Families, MistralsWindowIsThatOfTransformers) {
  EXPECT_EQ(windows(mistral({{"sliding_window", 7}})), std::vector<int64_t>{7});
  EXPECT_EQ(windows(mistral()), std::vector<int64_t>{4096});
  json none = mistral();
  none["sliding_window"] = nullptr;
  EXPECT_EQ(windows(none), std::vector<int64_t>{0});
  EXPECT_NE(failure(mistral({{"sliding_window", 0}})).find("sliding_window): is 0"), std::string::npos);
}

TEST_F(Families, QwensWindowIsOffUnlessItIsSwitchedOn) {
  EXPECT_EQ(windows(qwen2({{"sliding_window", 7}, {"max_window_layers", 0}})), std::vector<int64_t>{0});
  json on = {{"sliding_window", 7}, {"use_sliding_window", true}, {"max_window_layers", 0}};
  EXPECT_EQ(windows(qwen2(on)), std::vector<int64_t>{7});
  on["max_window_layers"] = 4;
  EXPECT_EQ(windows(qwen2(on)), std::vector<int64_t>{0});
  on["max_window_layers"] = 3;
  EXPECT_EQ(windows(qwen2(on)), (std::vector<int64_t>{0, 0, 0, 7}));
  on["num_hidden_layers"] = 17; // more bodies than there may be: two loops
  EXPECT_EQ(windows(qwen2(on)), (std::vector<int64_t>{0, 7}));
  on["num_hidden_layers"] = 65537;
  EXPECT_NE(failure(qwen2(on)).find("max_window_layers): the value 3"), std::string::npos)
      << failure(qwen2(on));
  json kinds = {{"sliding_window", 7}, {"use_sliding_window", true}};
  kinds["layer_types"] = std::vector<std::string>(4, "sliding_attention");
  EXPECT_EQ(windows(qwen2(kinds)), std::vector<int64_t>{7});
  kinds["layer_types"][0] = "full_attention";
  EXPECT_EQ(windows(qwen2(kinds)), (std::vector<int64_t>{0, 7, 7, 7}));
  kinds["layer_types"].erase(0);
  EXPECT_NE(failure(qwen2(kinds)).find("layer_types): has 3 entries for 4 layers"), std::string::npos);
  kinds["layer_types"] = std::vector<std::string>(4, "chunked_attention");
  EXPECT_NE(failure(qwen2(kinds)).find("layer_types): the value"), std::string::npos);
}

TEST_F(Families, Qwen3MoesWindowIsOfAllLayers) {
  auto moe = [](json more) {
    more.update({{"sliding_window", 7}, {"num_experts", 5}, {"num_experts_per_tok", 2}});
    return decoderConfig("Qwen3MoeForCausalLM", "qwen3_moe", more);
  };
  EXPECT_EQ(windows(moe({{"max_window_layers", 2}})), std::vector<int64_t>{0});
  json on = {{"use_sliding_window", true}};
  EXPECT_EQ(windows(moe(on)), std::vector<int64_t>{7});
  on["max_window_layers"] = 0;
  EXPECT_EQ(windows(moe(on)), std::vector<int64_t>{7});
  on["max_window_layers"] = 2;
  EXPECT_NE(failure(moe(on)).find("max_window_layers): the value 2"), std::string::npos) << failure(moe(on));
}

TEST_F(Families, KindsOfLayersAreAsManyBodiesAsTheirOrderHas) {
  auto of = [](const std::string &order) {
    json kinds = {{"sliding_window", 7}, {"use_sliding_window", true}, {"num_hidden_layers", order.size()}};
    for (char kind : order)
      kinds["layer_types"].push_back(kind == 's' ? "sliding_attention" : "full_attention");
    return qwen2(kinds);
  };
  EXPECT_EQ(windows(of("fsfsf")), (std::vector<int64_t>{0, 7}));
  EXPECT_EQ(windows(of("sssf"
                       "ss")),
            (std::vector<int64_t>{7, 7, 7, 0}));
  EXPECT_EQ(windows(of("sssf"
                       "sf")),
            (std::vector<int64_t>{7, 7, 7, 0, 7, 0}));
  EXPECT_EQ(windows(of("ssfssfssfs")), (std::vector<int64_t>{7, 7, 0}));
  std::string once(40, 's');
  EXPECT_EQ(windows(of(once)), std::vector<int64_t>{7});
  once[20] = 'f'; // an order of 21: three loops
  EXPECT_EQ(windows(of(once)), (std::vector<int64_t>{7, 0, 7}));
  // No part of it comes three times in a row (Thue 1912).
  std::string never;
  for (unsigned i = 0; i < 64; ++i)
    never += llvm::popcount(i) % 2 ? 's' : 'f';
  EXPECT_NE(failure(of(never)).find("an order that takes 34 bodies of loops; implemented: 16 at most"),
            std::string::npos)
      << failure(of(never));
}

TEST_F(Families, GemmasSettingsAreThoseOfTransformers) {
  // Missing: a cap of scores and of logits, windows in every other layer; null: none.
  auto text = [&](const json &config) {
    std::string printed;
    llvm::raw_string_ostream(printed) << *import(config);
    return printed;
  };
  json second = decoderConfig("Gemma2ForCausalLM", "gemma2");
  EXPECT_EQ(windows(second), (std::vector<int64_t>{4096, 0}));
  EXPECT_NE(text(second).find("softcap = 5.0"), std::string::npos);
  EXPECT_NE(text(second).find("graph.tanh"), std::string::npos);
  second.update({{"attn_logit_softcapping", nullptr}, {"final_logit_softcapping", nullptr}});
  EXPECT_EQ(text(second).find("softcap"), std::string::npos);
  EXPECT_EQ(text(second).find("graph.tanh"), std::string::npos);

  json third = decoderConfig("Gemma3ForCausalLM", "gemma3_text", {{"num_hidden_layers", 7}});
  EXPECT_EQ(windows(third), (std::vector<int64_t>{4096, 4096, 4096, 4096, 4096, 0}));
  third["sliding_window_pattern"] = 3;
  EXPECT_EQ(windows(third), (std::vector<int64_t>{4096, 4096, 0}));
  third["sliding_window_pattern"] = 8;
  EXPECT_EQ(windows(third), std::vector<int64_t>{4096});
  third["use_bidirectional_attention"] = true;
  EXPECT_NE(failure(third).find("use_bidirectional_attention): the value true"), std::string::npos);

  // The exact GELU is none that a Gemma has; by its newer name it would be.
  json first = decoderConfig("GemmaForCausalLM", "gemma", {{"hidden_act", "gelu"}});
  EXPECT_NE(text(first).find("graph.gelu_tanh"), std::string::npos);
  first["hidden_activation"] = "gelu";
  EXPECT_NE(text(first).find("graph.gelu_erf"), std::string::npos);
}

TEST_F(Families, TextOfAModelWithImagesHasSettingsOfItsOwn) {
  json config = {{"architectures", {"Gemma3ForConditionalGeneration"}},
                 {"model_type", "gemma3"},
                 {"text_config",
                  {{"model_type", "gemma3_text"},
                   {"hidden_size", 2560},
                   {"intermediate_size", 10240},
                   {"num_hidden_layers", 34},
                   {"sliding_window", 1024},
                   {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}}}}};
  // As published: the rest is what the class has.
  auto module = import(config);
  ASSERT_TRUE(module);
  EXPECT_EQ(countParameters(*module), 3'880'263'168);
  EXPECT_EQ(windows(config), (std::vector<int64_t>{1024, 1024, 1024, 1024, 1024, 0}));
  json other = config;
  other["text_config"]["tie_word_embeddings"] = true;
  other["tie_word_embeddings"] = false; // of the whole, which counts
  EXPECT_EQ(countParameters(*import(other)), 3'880'263'168 + 262208LL * 2560);
  other = config;
  other["text_config"]["attn_logit_softcapping"] = -1.0;
  EXPECT_NE(failure(other).find("text_config, attn_logit_softcapping): is -1.0"), std::string::npos)
      << failure(other);
  other = config;
  other["quantization_config"] = {{"bits", 4}};
  EXPECT_NE(failure(other).find("quantization_config"), std::string::npos);
  other = config;
  other.erase("text_config");
  EXPECT_NE(failure(other).find("text_config): is missing or no object"), std::string::npos)
      << failure(other);
}

// 1 is added to a norm's weight in float32, and the root of the width is rounded to what the embedding has.
TEST_F(Families, GemmasFactorsAreRoundedWhereTransformersRoundsThem) {
  auto module = import(decoderConfig("GemmaForCausalLM", "gemma", {{"hidden_size", 42}, {"head_dim", 8}}),
                       {.dtype = NumberFormat::BF16});
  module->walk([&](graph::RmsNormOp op) {
    EXPECT_TRUE(getElementTypeOrSelf(op.getInput()).isBF16());
    EXPECT_TRUE(getElementTypeOrSelf(op.getWeight()).isF32());
  });
  std::vector<float> factors;
  module->walk([&](graph::MulOp op) {
    if (auto constant = op.getOperand(1).getDefiningOp<graph::ConstantOp>())
      factors.push_back(cast<DenseElementsAttr>(constant.getValue()).getSplatValue<float>());
  });
  EXPECT_EQ(factors, std::vector<float>{6.46875f});
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

TEST_F(Families, LayersThatSlideTurnByABaseOfTheirOwn) {
  auto bases = [&](const json &config) { // of the second pair: theta^(-2/8)
    std::vector<double> found;
    import(config)->walk([&](graph::RopeOp op) {
      if (op.getInput().getType().getRank() == 5)
        found.push_back(std::pow(op.getFrequencies()[1], -4.0));
    });
    return found;
  };
  json config = decoderConfig("Gemma3ForCausalLM", "gemma3_text",
                              {{"head_dim", 8}, {"num_hidden_layers", 2}, {"sliding_window_pattern", 2}});
  config.erase("rope_parameters");
  auto expect = [&](double sliding, double full) {
    std::vector<double> found = bases(config);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_NEAR(found[0], sliding, 1e-3 * sliding);
    EXPECT_NEAR(found[1], full, 1e-3 * full);
  };
  expect(10000, 1e6);
  config.update({{"rope_theta", 500000.0}, {"rope_local_base_freq", 20000.0}});
  expect(20000, 500000);
  config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 4.0}}; // of full layers alone
  expect(20000, 500000 * 256);
  config.erase("rope_scaling");
  config["rope_parameters"]["full_attention"] = {{"rope_type", "default"}, {"rope_theta", 300000.0}};
  config["rope_parameters"]["sliding_attention"] = {{"rope_type", "default"}};
  expect(20000, 300000); // what a group lacks stands at the top
  config["rope_parameters"]["sliding_attention"] = {{"rope_theta", 7000.0}};
  config["rope_parameters"].update(
      {{"rope_type", "default"}, {"rope_theta", nullptr}}); // as 5.0 to 5.16 wrote it
  expect(7000, 300000);
}

TEST_F(Families, HeadsOfKeysThatAreMissingAreNotMadeUp) {
  json config = mistral();
  config.erase("num_key_value_heads");
  EXPECT_NE(failure(config).find("num_key_value_heads): is missing"), std::string::npos);
  config["num_key_value_heads"] = nullptr;
  auto module = import(config);
  auto k = module->lookupSymbol<graph::ParameterOp>("layers.k");
  EXPECT_EQ(cast<RankedTensorType>(k.getType()).getDimSize(1), 6);
}

TEST_F(Families, YarnsAttentionFactorIsItsOwnUnlessTheFileSays) {
  json yarn = {{"rope_type", "yarn"},
               {"rope_theta", 10000.0},
               {"factor", 4.0},
               {"original_max_position_embeddings", 32}};
  EXPECT_NEAR(rope(qwen2({{"rope_parameters", yarn}})).second, 0.1 * std::log(4.0) + 1, 1e-12);
  yarn["mscale"] = 0.7;
  yarn["mscale_all_dim"] = 0.5;
  EXPECT_NEAR(rope(qwen2({{"rope_parameters", yarn}})).second,
              (0.07 * std::log(4.0) + 1) / (0.05 * std::log(4.0) + 1), 1e-12);
  yarn["attention_factor"] = 1.5;
  EXPECT_EQ(rope(qwen2({{"rope_parameters", yarn}})).second, 1.5);
}

// Values of transformers' _compute_yarn_parameters for head_dim 8: the ramp goes from pair 0 to pair 2, and,
// not cut to whole pairs, from 0 to 1.4.
TEST_F(Families, YarnStretchesAlongARamp) {
  json yarn = {{"rope_type", "yarn"},
               {"rope_theta", 10000.0},
               {"factor", 4.0},
               {"original_max_position_embeddings", 150}};
  std::vector<double> whole = rope(qwen2({{"rope_parameters", yarn}})).first;
  ASSERT_EQ(whole.size(), 4u);
  EXPECT_NEAR(whole[0], 1, 1e-7);
  EXPECT_NEAR(whole[1], 0.1 * (0.5 / 4 + 0.5), 1e-7);
  EXPECT_NEAR(whole[2], 0.01 / 4, 1e-9);
  yarn["truncate"] = false;
  std::vector<double> broken = rope(qwen2({{"rope_parameters", yarn}})).first;
  double last = 8 * std::log(150 / (2 * M_PI)) / (2 * std::log(10000.0));
  EXPECT_NEAR(broken[1], 0.1 * (1 / last / 4 + 1 - 1 / last), 1e-7);
}

TEST_F(Families, YarnMakesTheContextLonger) {
  json yarn = {{"rope_type", "yarn"},
               {"rope_theta", 10000.0},
               {"factor", 4.0},
               {"original_max_position_embeddings", 100}};
  json config = qwen2({{"rope_parameters", yarn}});
  auto module = import(config, {1, 400});
  EXPECT_TRUE(module);
  TempModel directory(config);
  EXPECT_FALSE(importModel(context, directory.path(), {1, 401}));
}

// Up to max_position_embeddings nothing is stretched, and longer sequences there are none.
TEST_F(Families, DynamicScalingIsNoneWithinTheContext) {
  json dynamic = {{"rope_type", "dynamic"}, {"rope_theta", 10000.0}, {"factor", 4.0}};
  EXPECT_EQ(rope(qwen2({{"rope_parameters", dynamic}})), rope(qwen2()));
}

TEST_F(Families, LongropeHasTwoListsAndTheLongestSequenceChooses) {
  json config = phi3({{"original_max_position_embeddings", 32}, {"partial_rotary_factor", 0.75}});
  config["rope_parameters"] = nullptr;
  config["rope_theta"] = 10000.0;
  config["rope_scaling"] = {
      {"type", "longrope"}, {"short_factor", {1.0, 2.0, 4.0}}, {"long_factor", {8.0, 16.0, 32.0}}};
  auto [shortOnes, factor] = rope(config, {1, 32});
  auto longOnes = rope(config, {1, 33}).first;
  ASSERT_EQ(shortOnes.size(), 3u); // 6 of 8 elements turn
  EXPECT_NEAR(factor, std::sqrt(1 + std::log(4.0) / std::log(32.0)), 1e-12);
  json own = config;
  own["rope_scaling"]["attention_factor"] = 1.25;
  EXPECT_EQ(rope(own, {1, 32}).second, 1.25);
  for (int pair = 0; pair < 3; ++pair) {
    EXPECT_NEAR(shortOnes[pair], std::pow(10000.0, -pair / 3.0) / (1 << pair), 1e-7);
    EXPECT_NEAR(longOnes[pair], shortOnes[pair] / 8, 1e-8);
  }
  json inside = config;
  inside.erase("rope_theta");
  inside.erase("rope_scaling");
  inside.erase("partial_rotary_factor");
  inside["rope_parameters"] = config["rope_scaling"];
  inside["rope_parameters"].update({{"rope_theta", 10000.0}, {"partial_rotary_factor", 0.75}});
  EXPECT_EQ(rope(inside, {1, 32}).first, shortOnes) << "the newer spelling";
  json both = config;
  both["rope_parameters"] = inside["rope_parameters"];
  both["rope_parameters"].update({{"original_max_position_embeddings", 32}, {"short_factor", {1, 2, 4}}});
  EXPECT_EQ(rope(both, {1, 32}).first, shortOnes) << "both, for older readers and newer ones";

  json bad = config;
  bad["rope_scaling"]["short_factor"] = {1.0, 2.0};
  EXPECT_NE(failure(bad).find("rope_scaling.short_factor): has 2 numbers for 3 pairs"), std::string::npos)
      << failure(bad);
  bad["rope_scaling"]["short_factor"] = {1.0, -2.0, 4.0};
  EXPECT_NE(failure(bad).find("rope_scaling.short_factor): has -2.0"), std::string::npos) << failure(bad);
  bad["rope_scaling"].erase("short_factor");
  EXPECT_NE(failure(bad).find("rope_scaling.short_factor): is missing"), std::string::npos) << failure(bad);
  bad = config;
  bad["rope_scaling"]["factor"] = 3.0;
  EXPECT_NE(failure(bad).find("rope_scaling.factor): is 3.0, but"), std::string::npos) << failure(bad);
  bad = config;
  bad["original_max_position_embeddings"] = 1; // what it is stretched by is divided by the logarithm of this
  EXPECT_NE(failure(bad).find("rope_scaling.attention_factor): is missing, and the other settings give none"),
            std::string::npos)
      << failure(bad);
}

TEST_F(Families, GptNeoxTurnsAQuarterOfAHeadUnlessTheFileSays) {
  json config = gptNeoxConfig();
  EXPECT_EQ(rope(config).first.size(), 2u);
  config["hidden_size"] = 96; // heads of 16
  config.erase("rotary_pct");
  EXPECT_EQ(rope(config).first.size(), 2u);
  config["rope_parameters"] = {
      {"rope_type", "default"}, {"rope_theta", 500.0}, {"partial_rotary_factor", 1.0}};
  EXPECT_EQ(rope(config).first.size(), 8u);
  EXPECT_NEAR(rope(config).first[1], std::pow(500.0, -1 / 8.0), 1e-7);
  config["rotary_pct"] = 0.5;
  EXPECT_NE(failure(config).find("stands elsewhere"), std::string::npos) << failure(config);
  json odd = gptNeoxConfig();
  odd["rotary_pct"] = 0.4; // 3 of 8
  EXPECT_NE(failure(odd).find("no pairs"), std::string::npos) << failure(odd);
}

//===----------------------------------------------------------------------===//
// Layers without rotary embedding
//===----------------------------------------------------------------------===//

TEST_F(Families, SmolLM3sLayersWithoutRotaryEmbeddingAreBodiesOfTheirOwn) {
  auto turning = [&](const json &config) {
    std::vector<int> found;
    import(config)->walk([&](graph::RepeatOp op) {
      for (Region &body : op.getBodies())
        found.push_back(llvm::range_size(body.getOps<graph::RopeOp>()) / 2);
    });
    return found;
  };
  EXPECT_EQ(turning(smollm3()), (std::vector<int>{1, 1, 1, 0}));
  EXPECT_EQ(turning(smollm3({{"no_rope_layer_interval", 2}})), (std::vector<int>{1, 0}));
  EXPECT_EQ(turning(smollm3({{"no_rope_layers", {1, 0, 1, 0, 0}}})), (std::vector<int>{1, 0}));
  EXPECT_EQ(turning(smollm3({{"no_rope_layers", {0, 0, 0, 0}}})), (std::vector<int>{0}));
  EXPECT_NE(
      failure(smollm3({{"no_rope_layers", {1, 0, 1}}})).find("no_rope_layers): has 3 entries for 4 layers"),
      std::string::npos);
  EXPECT_NE(failure(smollm3({{"no_rope_layers", {1, 2, 1, 1}}})).find("no_rope_layers): has 2"),
            std::string::npos);
  EXPECT_NE(failure(smollm3({{"use_sliding_window", true}})).find("use_sliding_window): the value true"),
            std::string::npos);
}
