//===- LayerRunsTest.cpp - Layers of several kinds as loops ---------------===//
#include "TempModel.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Import/LayerRuns.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::importer;
using namespace tessera::test;
using nlohmann::json;

namespace {

/// Layers of a model, a letter each: d is dense, e has experts, and in capitals it slides.
ModelConfig layersOf(const std::string &order) {
  ModelConfig config;
  config.layers = int64_t(order.size());
  for (char c : order)
    config.kinds.push_back({.slides = c == 'D' || c == 'E', .isDense = c == 'd' || c == 'D'});
  return config;
}

/// A run as "first+layers:kinds", an apostrophe where each place of the order has stacks of its own.
std::string runsOf(const ModelConfig &config) {
  std::string text;
  for (const LayerRun &run : layerRuns(config)) {
    text += (text.empty() ? "" : " ") + std::to_string(run.first) + "+" + std::to_string(run.layers) + ":";
    for (const LayerKind &kind : run.kinds)
      text += kind.isDense ? (kind.slides ? 'D' : 'd') : (kind.slides ? 'E' : 'e');
    text += run.sharesStacks ? "" : "'";
    EXPECT_EQ(run.isModel, run.sharesStacks && run.layers == config.layers);
    EXPECT_EQ(run.layers % run.step(), 0);
  }
  return text;
}

json moe(const json &more) {
  json config =
      decoderConfig("Qwen3MoeForCausalLM", "qwen3_moe",
                    {{"num_experts", 5}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 24}});
  config.merge_patch(more);
  return config;
}

struct Runs : testing::Test {
  MLIRContext context;

  OwningOpRef<ModuleOp> import(const json &config) {
    TempModel directory(config);
    return importOrFail(context, directory.path());
  }
  /// Of each loop: iterations x bodies, and the layers of each stack of dense and of experts' weights.
  std::string loops(const json &config) {
    std::string text;
    auto module = import(config);
    module->walk([&](graph::RepeatOp op) {
      text += (text.empty() ? "" : ", ") + std::to_string(op.getCount()) + "x" +
              std::to_string(op.getBodies().size());
    });
    return text;
  }
  /// Name of the first tensor of parameter `name`, and the layers that it has.
  std::string source(ModuleOp module, StringRef name) {
    auto parameter = dyn_cast_or_null<graph::ParameterOp>(SymbolTable::lookupSymbolIn(module, name));
    if (!parameter)
      return "none";
    auto first = cast<graph::SourceAttr>(parameter.getSources()[0]);
    return std::to_string(cast<RankedTensorType>(parameter.getType()).getDimSize(0)) + " " +
           first.getName().str();
  }
};

} // namespace

TEST(LayerRuns, TakeAsFewBodiesAsTheyCan) {
  EXPECT_EQ(runsOf(layersOf("eeeee")), "0+5:e");
  EXPECT_EQ(runsOf(layersOf("deeee")), "0+1:d 1+4:e");
  EXPECT_EQ(runsOf(layersOf("dddeeeee")), "0+3:d 3+5:e");
  EXPECT_EQ(runsOf(layersOf("dede")), "0+4:de'");
  // A whole order or none of it where stacks are apart; the rest is a run.
  EXPECT_EQ(runsOf(layersOf("deded")), "0+4:de' 4+1:d");
  EXPECT_EQ(runsOf(layersOf("ddeddeddeddedd")), "0+12:dde' 12+2:d");
  // Kinds with the same weights are bodies of one loop, cut short at the end.
  EXPECT_EQ(runsOf(layersOf("EEeEEeE")), "0+7:EEe");
  EXPECT_EQ(runsOf(layersOf("DdEEeEEeEE")), "0+2:Dd 2+8:EEe");
  EXPECT_EQ(runsOf(layersOf("dddd")), "0+4:d");
  // A run ends early where the next one begins better for it.
  EXPECT_EQ(runsOf(layersOf("dddede")), "0+2:d 2+4:de'");
}

TEST(LayerRuns, AreManyLayersWhereTheOrderIsShort) {
  ModelConfig config = layersOf("Eee");
  config.layers = int64_t(1) << 30;
  EXPECT_EQ(runsOf(config), "0+1073741824:Eee");
  config = layersOf("de"); // whose layers would be looked at one by one
  config.layers = kMostMixedLayers;
  EXPECT_EQ(runsOf(config), "0+65536:de'");
  config.layers = kMostMixedLayers + 1;
  EXPECT_EQ(runsOf(config), "");
}

TEST_F(Runs, OfAModelAreLoopsAndTheirStacksNameTheirLayers) {
  auto module = import(moe({{"num_hidden_layers", 5}, {"mlp_only_layers", {0}}}));
  ASSERT_TRUE(module);
  EXPECT_EQ(source(*module, "layers0.q"), "1 model.layers.{}.self_attn.q_proj.weight");
  EXPECT_EQ(source(*module, "layers0.gate"), "1 model.layers.{}.mlp.gate_proj.weight");
  EXPECT_EQ(source(*module, "layers1.q"), "4 model.layers.{i+1}.self_attn.q_proj.weight");
  EXPECT_EQ(source(*module, "layers1.experts.up"), "4 model.layers.{i+1}.mlp.experts.0.up_proj.weight");
  EXPECT_EQ(source(*module, "layers1.router"), "4 model.layers.{i+1}.mlp.gate.weight");
  for (const char *name : {"layers.q", "layers0.router", "layers1.gate"})
    EXPECT_EQ(source(*module, name), "none") << name;

  module = import(moe({{"num_hidden_layers", 5}, {"decoder_sparse_step", 2}}));
  ASSERT_TRUE(module);
  EXPECT_EQ(source(*module, "layers0.gate"), "2 model.layers.{2i}.mlp.gate_proj.weight");
  EXPECT_EQ(source(*module, "layers1.experts.gate"), "2 model.layers.{2i+1}.mlp.experts.0.gate_proj.weight");
  EXPECT_EQ(source(*module, "layers1.k"), "2 model.layers.{2i+1}.self_attn.k_proj.weight");
  EXPECT_EQ(source(*module, "layers4.k"), "1 model.layers.{i+4}.self_attn.k_proj.weight");
  EXPECT_EQ(source(*module, "layers4.router"), "none");
}

// What --check interprets: every kind of layer, and of each stack two slices.
TEST_F(Runs, BeginWithAllThatTheyHave) {
  auto begin = [](const std::string &order) {
    std::string text;
    for (const LayerRun &run : layerRuns(layersOf(order)))
      text += (text.empty() ? "" : " ") + std::to_string(beginOf(run).layers);
    return text;
  };
  EXPECT_EQ(begin("eeeee"), "2");
  EXPECT_EQ(begin("e"), "1");
  EXPECT_EQ(begin("deeee"), "1 2");
  EXPECT_EQ(begin("EEEEEeEEEEEe"), "6"); // the sixth sees all keys
  EXPECT_EQ(begin("dedededed"), "4 1");
  TempModel directory(moe({{"num_hidden_layers", 9}, {"mlp_only_layers", {0, 1, 2}}}));
  ImportOptions options;
  options.cutsRuns = true;
  auto module = importModel(context, directory.path(), options);
  ASSERT_TRUE(bool(module));
  EXPECT_EQ(source(**module, "layers0.gate"), "2 model.layers.{}.mlp.gate_proj.weight");
  EXPECT_EQ(source(**module, "layers3.router"), "2 model.layers.{i+3}.mlp.gate.weight");
}

// Three dense layers and then experts: two loops of one body, whatever the depth.
TEST_F(Runs, DoNotGrowWithDepth) {
  json config = moe({{"num_hidden_layers", 5}, {"mlp_only_layers", {0, 1, 2}}});
  EXPECT_EQ(loops(config), "3x1, 2x1");
  config["num_hidden_layers"] = 400;
  EXPECT_EQ(loops(config), "3x1, 397x1");
}

// As transformers has it: every step's last layer, but for those listed; numbers of no layer mean nothing.
TEST_F(Runs, AreWhereQwenHasExperts) {
  auto of = [&](const json &more) {
    json config = moe({{"num_hidden_layers", 6}});
    config.merge_patch(more);
    return loops(config);
  };
  EXPECT_EQ(of({{"mlp_only_layers", json::array()}}), "6x1");
  EXPECT_EQ(of({{"mlp_only_layers", {-1, 6, 100}}}), "6x1");
  EXPECT_EQ(of({{"mlp_only_layers", {5}}}), "5x1, 1x1");
  EXPECT_EQ(of({{"decoder_sparse_step", 3}}), "2x1");
  EXPECT_EQ(of({{"decoder_sparse_step", 2}, {"mlp_only_layers", {1}}}), "2x1, 2x1");
  auto module = import(moe({{"num_hidden_layers", 6}, {"decoder_sparse_step", 7}}));
  ASSERT_TRUE(module); // nowhere
  EXPECT_EQ(source(*module, "layers.gate"), "6 model.layers.{}.mlp.gate_proj.weight");
  EXPECT_EQ(source(*module, "layers.router"), "none");
  module = import(moe({{"num_hidden_layers", 2}, {"mlp_only_layers", {0, 1}}}));
  ASSERT_TRUE(module);
  EXPECT_EQ(source(*module, "layers.up"), "2 model.layers.{}.mlp.up_proj.weight");
}
