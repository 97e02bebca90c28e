//===- ImportTest.cpp - What import makes of settings ---------------------===//
#include "TempModel.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Import/ModelConfig.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::importer;
using namespace tessera::test;
using nlohmann::json;

//===----------------------------------------------------------------------===//
// Parameter counts (as published)
//===----------------------------------------------------------------------===//

struct Published {
  const char *name, *family;
  json sizes;
  int64_t parameters;
};

static json gpt2(int width, int layers, int heads) {
  return {{"n_embd", width}, {"n_layer", layers}, {"n_head", heads}};
}
static json llama(int width, int ffn, int layers, int heads, int kvHeads, int vocab, bool tied = false) {
  return {{"hidden_size", width},         {"intermediate_size", ffn},       {"num_hidden_layers", layers},
          {"num_attention_heads", heads}, {"num_key_value_heads", kvHeads}, {"vocab_size", vocab},
          {"tie_word_embeddings", tied}};
}

TEST(ParameterCount, IsThePublishedOneFromConfigAlone) {
  const Published models[] = {
      {"GPT-2", "gpt2", gpt2(768, 12, 12), 124'439'808},
      {"GPT-2 medium", "gpt2", gpt2(1024, 24, 16), 354'823'168},
      {"GPT-2 large", "gpt2", gpt2(1280, 36, 20), 774'030'080},
      {"GPT-2 XL", "gpt2", gpt2(1600, 48, 25), 1'557'611'200},
      {"TinyLlama", "llama", llama(2048, 5632, 22, 32, 4, 32000), 1'100'048'384},
      {"Llama-3.2-1B", "llama", llama(2048, 8192, 16, 32, 8, 128256, true), 1'235'814'400},
      {"Llama-2-7B", "llama", llama(4096, 11008, 32, 32, 32, 32000), 6'738'415'616},
      {"Llama-2-70B", "llama", llama(8192, 28672, 80, 64, 8, 32000), 68'976'648'192},
      {"Llama-3-8B", "llama", llama(4096, 14336, 32, 32, 8, 128256), 8'030'261'248},
      {"Llama-3.1-405B", "llama", llama(16384, 53248, 126, 128, 8, 128256), 405'853'388'800},
  };
  for (const Published &model : models) {
    json config =
        model.family == std::string("gpt2")
            ? json{{"architectures", {"GPT2LMHeadModel"}}, {"n_positions", 1024}, {"vocab_size", 50257}}
            : json{{"architectures", {"LlamaForCausalLM"}}, {"max_position_embeddings", 4096}};
    config.update(model.sizes);
    MLIRContext context;
    TempModel directory(config);
    auto module = importOrFail(context, directory.path());
    ASSERT_TRUE(module) << model.name;
    EXPECT_EQ(countParameters(*module), model.parameters) << model.name;
  }
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

struct ImportSettings : testing::Test {
  MLIRContext context;

  OwningOpRef<ModuleOp> import(const json &config, ImportOptions options = {}) {
    TempModel directory(config);
    return importOrFail(context, directory.path(), options);
  }
  ArrayRef<int64_t> shape(ModuleOp module, StringRef parameter) {
    auto op = module.lookupSymbol<graph::ParameterOp>(parameter);
    return op ? cast<RankedTensorType>(op.getType()).getShape() : ArrayRef<int64_t>();
  }
};

TEST_F(ImportSettings, SequenceLengthIsTheSmallerOf2048AndTheModels) {
  auto seq = [&](const json &config, int64_t maxSeqLen) {
    auto module = import(config, {1, maxSeqLen});
    auto forward = module->lookupSymbol<func::FuncOp>("forward");
    return cast<RankedTensorType>(forward.getArgumentTypes()[0]).getDimSize(1);
  };
  json longer = llamaConfig();
  longer["max_position_embeddings"] = 131072;
  EXPECT_EQ(seq(llamaConfig(), 0), 128);
  EXPECT_EQ(seq(longer, 0), 2048);
  EXPECT_EQ(seq(longer, 100000), 100000);
}

TEST_F(ImportSettings, MissingHeadsAndHeadSizeFollowFromTheRest) {
  json config = llamaConfig();
  config.erase("num_key_value_heads");
  config["head_dim"] = nullptr;
  auto module = import(config);
  EXPECT_EQ(shape(*module, "layers.q"), (ArrayRef<int64_t>{4, 6, 1, 8, 48}));
  EXPECT_EQ(shape(*module, "layers.k"), (ArrayRef<int64_t>{4, 6, 8, 48}));
}

TEST_F(ImportSettings, HeadSizeMayDifferFromHiddenByHeads) {
  json config = llamaConfig();
  config["head_dim"] = 32;
  auto module = import(config);
  EXPECT_EQ(shape(*module, "layers.q"), (ArrayRef<int64_t>{4, 2, 3, 32, 48}));
  EXPECT_EQ(shape(*module, "layers.o"), (ArrayRef<int64_t>{4, 48, 2, 3, 32}));
}

TEST_F(ImportSettings, TiedHeadHasNoWeightOfItsOwn) {
  json config = llamaConfig();
  EXPECT_EQ(shape(*import(config), "unembedding"), (ArrayRef<int64_t>{389, 48}));
  config["tie_word_embeddings"] = true;
  auto module = import(config);
  EXPECT_TRUE(shape(*module, "unembedding").empty());
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  EXPECT_EQ(std::distance(forward.getArgument(2).use_begin(), forward.getArgument(2).use_end()), 2)
      << "embedding and head";
}

TEST_F(ImportSettings, BiasesAppearWhereTheConfigAsksForThem) {
  json config = llamaConfig();
  config["attention_bias"] = true;
  auto module = import(config);
  EXPECT_EQ(shape(*module, "layers.q_bias"), (ArrayRef<int64_t>{4, 2, 3, 8}));
  EXPECT_EQ(shape(*module, "layers.o_bias"), (ArrayRef<int64_t>{4, 48}));
  EXPECT_TRUE(shape(*module, "layers.gate_bias").empty());
  config["attention_bias"] = false;
  config["mlp_bias"] = true;
  module = import(config);
  EXPECT_TRUE(shape(*module, "layers.q_bias").empty());
  EXPECT_EQ(shape(*module, "layers.gate_bias"), (ArrayRef<int64_t>{4, 80}));
}

TEST_F(ImportSettings, ProgramDoesNotGrowWithDepth) {
  auto operations = [&](int layers) {
    json config = llamaConfig();
    config["num_hidden_layers"] = layers;
    int64_t n = 0;
    import(config)->walk([&](Operation *) { ++n; });
    return n;
  };
  EXPECT_EQ(operations(4), operations(400));
  EXPECT_EQ(operations(4), operations(65536)) << "nor does the time that it takes";
}

TEST_F(ImportSettings, Gpt2ScaleOfScoresCanBeOff) {
  auto scale = [&](const json &config) {
    double value = 0;
    import(config)->walk([&](graph::AttentionOp op) { value = op.getScale().convertToDouble(); });
    return value;
  };
  json config = gpt2Config();
  EXPECT_DOUBLE_EQ(scale(config), 1 / std::sqrt(8.0));
  config["scale_attn_weights"] = false;
  EXPECT_EQ(scale(config), 1);
}

// What config.json may leave out, as transformers has it.
TEST_F(ImportSettings, NormsHaveTheEpsilonOfTheirFamily) {
  auto epsilon = [&](const json &config) {
    double found = 0;
    import(config)->walk([&](Operation *op) {
      if (auto norm = dyn_cast<graph::RmsNormOp>(op))
        found = norm.getEps().convertToDouble();
      if (auto norm = dyn_cast<graph::LayerNormOp>(op))
        found = norm.getEps().convertToDouble();
    });
    return found;
  };
  json llama = llamaConfig(), gpt2 = gpt2Config();
  llama["rms_norm_eps"] = gpt2["layer_norm_epsilon"] = 0.25;
  EXPECT_EQ(epsilon(llama), 0.25);
  EXPECT_EQ(epsilon(gpt2), 0.25);
  llama.erase("rms_norm_eps");
  gpt2.erase("layer_norm_epsilon");
  EXPECT_EQ(epsilon(llama), 1e-6);
  EXPECT_EQ(epsilon(gpt2), 1e-5);
}

// Rotary embedding turns queries and keys, with the frequencies of the model.
TEST_F(ImportSettings, QueriesAndKeysAreRotated) {
  SmallVector<int64_t> ranks;
  import(llamaConfig())->walk([&](graph::RopeOp op) {
    ranks.push_back(cast<RankedTensorType>(op.getType()).getRank());
  });
  EXPECT_EQ(ranks, (SmallVector<int64_t>{5, 4}));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

// `gelu` is the form with erf; the tanh form of GPT-2 has names of its own.
TEST_F(ImportSettings, EveryNameOfAnActivationIsItsOp) {
  auto activation = [&](const json &config) {
    std::string found;
    import(config)->walk([&](Operation *op) {
      if (isa<graph::SiluOp, graph::GeluErfOp, graph::GeluTanhOp, graph::ReluOp>(op))
        found = op->getName().stripDialect();
    });
    return found;
  };
  const std::pair<const char *, const char *> names[] = {{"silu", "silu"},
                                                         {"swish", "silu"},
                                                         {"relu", "relu"},
                                                         {"gelu", "gelu_erf"},
                                                         {"gelu_python", "gelu_erf"},
                                                         {"gelu_new", "gelu_tanh"},
                                                         {"gelu_fast", "gelu_tanh"},
                                                         {"gelu_pytorch_tanh", "gelu_tanh"}};
  for (auto [name, op] : names) {
    json llama = llamaConfig(), gpt2 = gpt2Config();
    llama["hidden_act"] = gpt2["activation_function"] = name;
    EXPECT_EQ(activation(llama), op) << name;
    EXPECT_EQ(activation(gpt2), op) << name;
  }
  json llama = llamaConfig(), gpt2 = gpt2Config();
  llama.erase("hidden_act");
  gpt2.erase("activation_function");
  EXPECT_EQ(activation(llama), "silu");
  EXPECT_EQ(activation(gpt2), "gelu_tanh");
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

static std::vector<double> frequencies(MLIRContext &context, const json &config) {
  TempModel directory(config);
  auto module = importOrFail(context, directory.path());
  std::vector<double> found;
  if (module)
    module->walk([&](graph::RopeOp op) { found = op.getFrequencies().vec(); });
  return found;
}

TEST_F(ImportSettings, RopeThetaIsReadInBothPlaces) {
  json top = llamaConfig(), inside = llamaConfig();
  top.erase("rope_parameters");
  top["rope_theta"] = 500000.0;
  top["rope_scaling"] = nullptr;
  inside["rope_parameters"]["rope_theta"] = 500000.0;
  EXPECT_EQ(frequencies(context, top), frequencies(context, inside));
  EXPECT_FLOAT_EQ(float(frequencies(context, top)[1]), std::pow(500000.0f, -0.25f));
  top.erase("rope_theta"); // transformers' default
  EXPECT_FLOAT_EQ(float(frequencies(context, top)[1]), 0.1f);
}

// Values of transformers' _compute_llama3_parameters for head_dim 8: a short wave is kept, a middle one
// blended, long ones divided.
TEST_F(ImportSettings, Llama3ScalingStretchesLongWaves) {
  json config = llamaConfig();
  config["rope_parameters"] = {{"rope_type", "llama3"},   {"rope_theta", 500000.0},
                               {"factor", 8.0},           {"low_freq_factor", 1.0},
                               {"high_freq_factor", 4.0}, {"original_max_position_embeddings", 256}};
  std::vector<double> f = frequencies(context, config);
  ASSERT_EQ(f.size(), 4u);
  double plain = std::pow(500000.0, -0.25), wave = 2 * M_PI / plain, smooth = (256 / wave - 1) / 3;
  EXPECT_EQ(f[0], 1);
  ASSERT_TRUE(wave > 64 && wave < 256);
  EXPECT_NEAR(f[1], (1 - smooth) * plain / 8 + smooth * plain, 1e-8);
  EXPECT_NEAR(f[2], std::pow(500000.0, -0.5) / 8, 1e-10);
  EXPECT_NEAR(f[3], std::pow(500000.0, -0.75) / 8, 1e-11);

  json old = config;
  old.erase("rope_parameters");
  old["rope_theta"] = 500000.0;
  old["rope_scaling"] = config["rope_parameters"];
  old["rope_scaling"].erase("rope_theta");
  EXPECT_EQ(frequencies(context, old), f) << "the older spelling";
}

TEST_F(ImportSettings, LinearScalingDividesEveryFrequency) {
  json config = llamaConfig();
  config["rope_parameters"] = {{"rope_type", "linear"}, {"rope_theta", 10000.0}, {"factor", 4.0}};
  std::vector<double> plain = frequencies(context, llamaConfig()), scaled = frequencies(context, config);
  ASSERT_EQ(plain.size(), 4u);
  for (size_t i = 0; i < plain.size(); ++i)
    EXPECT_EQ(scaled[i], plain[i] / 4);
  json old = llamaConfig();
  old.erase("rope_parameters");
  old["rope_scaling"] = {{"type", "linear"}, {"factor", 4.0}};
  EXPECT_EQ(frequencies(context, old), scaled) << "the older spelling";
}
