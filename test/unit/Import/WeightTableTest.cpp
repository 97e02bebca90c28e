//===- WeightTableTest.cpp - Sources of weights and files that disagree ---===//
#include "TempModel.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Import/WeightTable.h"
#include "tessera/runtime/io/SafetensorsWriter.h"

using namespace tessera;
using namespace tessera::importer;
using namespace tessera::test;
using nlohmann::json;

using Sizes = llvm::SmallVector<int64_t>;

static const Weight q{"q", {{"kv_heads", 2}, {"group", 3}, {"head_dim", 8}, {"hidden", 48}}, 1, 4};
static const Weight k{"k", {{"kv_heads", 2}, {"head_dim", 8}, {"hidden", 48}}, 1, 4};
static const Weight v{"v", {{"kv_heads", 2}, {"head_dim", 8}, {"hidden", 48}}, 1, 4};

TEST(WeightSource, OutputMajorIsAReshape) {
  WeightSource s = weightSource(q, {q}, {{{"q", "l.{}.q"}}, "", {}}, false);
  EXPECT_EQ(s.file, (Sizes{48, 48}));
  EXPECT_EQ(s.reshape, (Sizes{2, 3, 8, 48}));
  EXPECT_TRUE(s.slice.empty());
  EXPECT_TRUE(s.permute.empty());
}

TEST(WeightSource, InputMajorIsPermuted) {
  WeightSource s = weightSource(k, {k}, {{{"k", "l.{}.k", StorageOrder::InputMajor}}, "", {}}, false);
  EXPECT_EQ(s.file, (Sizes{48, 16}));
  EXPECT_EQ(s.reshape, (Sizes{48, 2, 8}));
  EXPECT_EQ(s.permute, (Sizes{1, 2, 0}));
}

TEST(WeightSource, AdjacentPairsAreMovedApart) {
  WeightSource s = weightSource(q, {q}, {{{"q", "l.{}.q", StorageOrder::AdjacentPairs}}, "", {}}, false);
  EXPECT_EQ(s.reshape, (Sizes{2, 3, 4, 2, 48}));
  EXPECT_EQ(s.permute, (Sizes{0, 1, 3, 2, 4}));
}

// q has three times the rows of k and v: the pieces are counted in heads.
TEST(WeightSource, SharedTensorIsCutInTheOrderOfTheTable) {
  WeightTable table{{{"q", "l.{}.qkv"}, {"k", "l.{}.qkv"}, {"v", "l.{}.qkv"}}, "", {}};
  WeightSource s = weightSource(v, {v, k, q}, table, false);
  EXPECT_EQ(s.file, (Sizes{80, 48}));
  EXPECT_EQ(s.reshape, (Sizes{10, 8, 48}));
  EXPECT_EQ(s.slice, (Sizes{8, 10, 0, 8, 0, 48}));
  s = weightSource(q, {v, k, q}, table, false);
  EXPECT_EQ(s.reshape, (Sizes{10, 8, 48}));
  EXPECT_EQ(s.slice, (Sizes{0, 6, 0, 8, 0, 48}));
}

// Two runs of layers are named by the same lines: each shares tensors with stacks of its own layers alone.
TEST(WeightSource, SharedTensorIsThatOfTheRunsLayers) {
  WeightTable table{{{"k", "l.{}.kv"}, {"v", "l.{}.kv"}}, "", {}};
  auto ofRun = [](Weight weight, int64_t first, int64_t step) {
    weight.parameter = weight.name;
    weight.name = "run" + std::to_string(first) + weight.name;
    weight.firstLayer = first;
    weight.layerStep = step;
    return weight;
  };
  std::vector<Weight> all = {ofRun(k, 0, 2), ofRun(k, 1, 2), ofRun(v, 0, 2),
                             ofRun(v, 1, 2), ofRun(k, 8, 1), ofRun(v, 8, 1)};
  WeightSource s = weightSource(all[3], all, table, false);
  EXPECT_EQ(s.tensor, "l.{2i+1}.kv");
  EXPECT_EQ(s.file, (Sizes{32, 48}));
  EXPECT_EQ(s.slice, (Sizes{2, 4, 0, 8, 0, 48}));
  EXPECT_EQ(tensorNames(s, 3)[0], "l.7.kv");
  EXPECT_EQ(weightSource(all[5], all, table, false).tensor, "l.{i+8}.kv");
}

TEST(WeightSource, SharedInputMajorTensorIsCutAlongItsColumns) {
  WeightTable table{
      {{"k", "l.{}.kv", StorageOrder::InputMajor}, {"v", "l.{}.kv", StorageOrder::InputMajor}}, "", {}};
  WeightSource s = weightSource(v, {k, v}, table, false);
  EXPECT_EQ(s.file, (Sizes{48, 32}));
  EXPECT_EQ(s.reshape, (Sizes{48, 4, 8}));
  EXPECT_EQ(s.slice, (Sizes{0, 48, 2, 4, 0, 8}));
  EXPECT_EQ(s.permute, (Sizes{1, 2, 0}));
}

// Three heads of queries, then the key and the value that go with them, then the same of the next group.
TEST(WeightSource, HeadByHeadEveryGroupHasItsPieces) {
  constexpr StorageOrder order = StorageOrder::HeadByHead;
  WeightTable table{{{"q", "l.{}.qkv", order}, {"k", "l.{}.qkv", order}, {"v", "l.{}.qkv", order}}, "", {}};
  WeightSource s = weightSource(q, {v, k, q}, table, false);
  EXPECT_EQ(s.file, (Sizes{80, 48}));
  EXPECT_EQ(s.reshape, (Sizes{2, 5, 8, 48}));
  EXPECT_EQ(s.slice, (Sizes{0, 2, 0, 3, 0, 8, 0, 48}));
  s = weightSource(v, {v, k, q}, table, false);
  EXPECT_EQ(s.reshape, (Sizes{2, 5, 8, 48}));
  EXPECT_EQ(s.slice, (Sizes{0, 2, 4, 5, 0, 8, 0, 48}));
  Weight bias{"k", {{"kv_heads", 2}, {"head_dim", 8}}, 0, 4}, first = q, last = bias;
  first.dims.pop_back();
  first.inDims = 0;
  last.name = "v";
  s = weightSource(bias, {first, bias, last}, table, false);
  EXPECT_EQ(s.file, (Sizes{80}));
  EXPECT_EQ(s.slice, (Sizes{0, 2, 3, 4, 0, 8}));
}

// Gate and up of an expert by turns, outputs first or inputs first; a tensor of one weight is not cut.
TEST(WeightSource, AlternatingOutputsOfExperts) {
  Weight gate{"gate", {{"expert", 3}, {"ffn", 6}, {"hidden", 8}}, 1, 4}, up = gate, down = gate;
  up.name = "up", down.name = "down";
  auto table = [](StorageOrder order) {
    return WeightTable{
        {{"gate", "l.{}.gu", order}, {"up", "l.{}.gu", order}, {"down", "l.{}.d", order}}, "", {}};
  };
  WeightSource s = weightSource(up, {down, up, gate}, table(StorageOrder::ExpertAlternating), false);
  EXPECT_EQ(s.file, (Sizes{3, 12, 8}));
  EXPECT_EQ(s.reshape, (Sizes{3, 6, 2, 8}));
  EXPECT_EQ(s.slice, (Sizes{0, 3, 0, 6, 1, 2, 0, 8}));
  EXPECT_TRUE(s.permute.empty());
  s = weightSource(gate, {down, up, gate}, table(StorageOrder::ExpertInputMajor), false);
  EXPECT_EQ(s.file, (Sizes{3, 8, 12}));
  EXPECT_EQ(s.reshape, (Sizes{3, 8, 6, 2}));
  EXPECT_EQ(s.slice, (Sizes{0, 3, 0, 8, 0, 6, 0, 1}));
  EXPECT_EQ(s.permute, (Sizes{0, 2, 3, 1}));
  s = weightSource(down, {down, up, gate}, table(StorageOrder::ExpertInputMajor), false);
  EXPECT_EQ(s.file, (Sizes{3, 8, 6}));
  EXPECT_TRUE(s.slice.empty());
  gate.dims.pop_back(), up.dims.pop_back(); // biases
  gate.inDims = up.inDims = 0;
  s = weightSource(up, {up, gate}, table(StorageOrder::ExpertAlternating), false);
  EXPECT_EQ(s.file, (Sizes{3, 12}));
  EXPECT_EQ(s.slice, (Sizes{0, 3, 0, 6, 1, 2}));
}

TEST(WeightSource, PrefixIsLeftOutWhereTheFileDoes) {
  WeightTable table{{{"k", "transformer.l.{}.k"}}, "transformer.", {}};
  EXPECT_EQ(weightSource(k, {k}, table, false).tensor, "transformer.l.{}.k");
  EXPECT_EQ(weightSource(k, {k}, table, true).tensor, "l.{}.k");
  WeightTable other = table;
  other.otherPrefix = "model.";
  EXPECT_EQ(weightSource(k, {k}, other, false).tensor, "transformer.l.{}.k");
  EXPECT_EQ(weightSource(k, {k}, other, true).tensor, "model.l.{}.k");
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

namespace {
/// A GPT-2 of one layer and width 4, with its weights (zeros) under `names` as the hub has them.
struct TinyFile {
  std::map<std::string, std::vector<int64_t>> shapes = {{"wte.weight", {5, 4}},
                                                        {"wpe.weight", {8, 4}},
                                                        {"h.0.ln_1.weight", {4}},
                                                        {"h.0.ln_1.bias", {4}},
                                                        {"h.0.attn.c_attn.weight", {4, 12}},
                                                        {"h.0.attn.c_attn.bias", {12}},
                                                        {"h.0.attn.c_proj.weight", {4, 4}},
                                                        {"h.0.attn.c_proj.bias", {4}},
                                                        {"h.0.ln_2.weight", {4}},
                                                        {"h.0.ln_2.bias", {4}},
                                                        {"h.0.mlp.c_fc.weight", {4, 16}},
                                                        {"h.0.mlp.c_fc.bias", {16}},
                                                        {"h.0.mlp.c_proj.weight", {16, 4}},
                                                        {"h.0.mlp.c_proj.bias", {4}},
                                                        {"ln_f.weight", {4}},
                                                        {"ln_f.bias", {4}}};
  io::DType dtype = io::DType::F32;
  std::string prefix;
  double head = 0;  // each number of lm_head.weight, if the file has one
  double other = 0; // each number of the other tensors
  std::optional<io::DType> headType;
  mutable std::string program; // what was imported

  static json config() {
    return {{"architectures", {"GPT2LMHeadModel"}},
            {"n_embd", 4},
            {"n_head", 2},
            {"n_layer", 1},
            {"n_positions", 8},
            {"vocab_size", 5}};
  }
  /// 256 elements of `type`, as a file has them.
  static std::vector<char> filled(io::DType type, double number) {
    std::vector<char> bytes(256 * 8);
    if (auto narrow = io::traits(type).narrow)
      narrow(std::vector<float>(256, float(number)).data(), 256, bytes.data());
    return bytes;
  }

  /// "" if accepted.
  std::string import(const json &settings = config()) const {
    TempModel directory(settings);
    const io::DType headAs = headType.value_or(dtype);
    std::vector<char> others = filled(dtype, other), heads = filled(headAs, head);
    std::vector<io::TensorToWrite> tensors;
    for (const auto &[name, shape] : shapes)
      if (name == "lm_head.weight")
        tensors.push_back({name, headAs, shape, heads.data()});
      else
        tensors.push_back({prefix + name, dtype, shape, others.data()});
    Status written = io::writeSafetensors(directory.path() + "/model.safetensors", tensors);
    EXPECT_TRUE(bool(written));
    mlir::MLIRContext context;
    auto module = importModel(context, directory.path(), {});
    if (!module)
      return module.failure().message();
    program.clear();
    llvm::raw_string_ostream(program) << **module;
    return "";
  }
};
} // namespace

TEST(CheckTensors, AcceptsTheHubsFile) { EXPECT_EQ(TinyFile().import(), ""); }

TEST(CheckTensors, AcceptsThePrefix) {
  TinyFile file;
  file.prefix = "transformer.";
  EXPECT_EQ(file.import(), "");
}

TEST(CheckTensors, IgnoresBuffersAndTheTiedCopyOfTheHead) {
  TinyFile file;
  file.shapes["h.0.attn.bias"] = {1, 1, 8, 8};
  file.shapes["h.0.attn.masked_bias"] = {};
  file.shapes["lm_head.weight"] = {5, 4};
  EXPECT_EQ(file.import(), "");
}

TEST(CheckTensors, AHeadThatIsNoCopyOfTheEmbeddingIsReadWhateverIsSaidOfATie) {
  TinyFile file;
  file.shapes["lm_head.weight"] = {5, 4};
  for (const char *prefix : {"", "transformer."}) {
    file.prefix = prefix;
    for (double number : {0.0, 1.0}) {
      file.head = number;
      EXPECT_EQ(file.import(), "");
      EXPECT_EQ(file.program.find("lm_head.weight") != std::string::npos, number != 0) << file.program;
    }
  }
}

// 0.1 is another number in each type, and 0.5 is not.
TEST(CheckTensors, ACopyOfTheEmbeddingInAnotherTypeIsOneIfNoBitDiffers) {
  TinyFile file;
  file.shapes["lm_head.weight"] = {5, 4};
  for (io::DType type : {io::DType::F32, io::DType::F16, io::DType::BF16})
    for (io::DType other : {io::DType::F32, io::DType::F16, io::DType::BF16})
      for (double number : {0.5, 0.1}) {
        file.dtype = type;
        file.headType = other;
        file.head = file.other = number;
        EXPECT_EQ(file.import(), "");
        const bool isCopy = number == 0.5 || type == other;
        EXPECT_EQ(file.program.find("lm_head.weight") == std::string::npos, isCopy) << file.program;
      }
}

TEST(CheckTensors, MissingTensor) {
  TinyFile file;
  file.shapes.erase("h.0.mlp.c_fc.bias");
  EXPECT_NE(file.import().find("tensor h.0.mlp.c_fc.bias): it is missing"), std::string::npos)
      << file.import();
}

TEST(CheckTensors, FewerLayersThanTheConfigSays) {
  json config = TinyFile::config();
  config["n_layer"] = 2;
  EXPECT_NE(TinyFile().import(config).find("tensor h.1."), std::string::npos) << TinyFile().import(config);
}

TEST(CheckTensors, MoreLayersThanTheConfigSays) {
  TinyFile file;
  file.shapes["h.1.ln_1.weight"] = {4};
  EXPECT_NE(file.import().find("tensor h.1.ln_1.weight): the model described by"), std::string::npos)
      << file.import();
}

TEST(CheckTensors, AnotherShape) {
  json config = TinyFile::config();
  config["vocab_size"] = 6;
  EXPECT_NE(TinyFile().import(config).find("its shape is [5, 4], but"), std::string::npos)
      << TinyFile().import(config);
}

TEST(CheckTensors, ATypeThatHoldsNoWeights) {
  TinyFile file;
  file.dtype = io::DType::I32;
  EXPECT_NE(file.import().find("I32 holds no weights"), std::string::npos) << file.import();
}

// Only where something says so is the embedding in place of a head that is missing: the family's default
// (GPT-2's ties), or the file.
TEST(CheckTensors, AMissingHeadIsRefusedUnlessItIsTied) {
  json config = TinyFile::config();
  EXPECT_EQ(TinyFile().import(config), "");
  config["tie_word_embeddings"] = true;
  EXPECT_EQ(TinyFile().import(config), "");
  config["tie_word_embeddings"] = false;
  std::string line = TinyFile().import(config);
  EXPECT_NE(line.find("tensor lm_head.weight): it is missing, and tie_word_embeddings"), std::string::npos)
      << line;
  EXPECT_NE(line.find("; fetch all files"), std::string::npos) << line;
}

TEST(CheckTensors, TheTinyModelsAgreeWithTheirConfigs) {
  for (const char *name : {"tiny-llama", "tiny-gpt2"}) {
    mlir::MLIRContext context;
    EXPECT_TRUE(importOrFail(context, std::string(TESSERA_TEST_MODELS) + "/" + name)) << name;
  }
}
