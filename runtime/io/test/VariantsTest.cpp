// The files that test/Inputs/make_variants.py makes hold the weights they should: read here, compared with
// the originals.
#include "TestFiles.h"

#include <cmath>

using namespace tessera;
using namespace tessera::io;
using namespace tessera::io::test;

static std::unique_ptr<ModelFile> openModel(const std::string &path) {
  auto model = ModelFile::open(path);
  EXPECT_TRUE(model) << model.failure().message();
  return model ? model.take() : nullptr;
}

static std::vector<float> valuesOf(const ModelFile &model, const std::string &name) {
  const TensorInfo *tensor = model.find(name);
  EXPECT_NE(tensor, nullptr) << name;
  std::vector<float> values(tensor ? size_t(tensor->elements) : 0);
  if (tensor)
    EXPECT_TRUE(model.readRange(*tensor, 0, tensor->elements, values.data()));
  return values;
}

// The largest difference, over the largest value.
static double relativeError(const std::vector<float> &a, const std::vector<float> &b) {
  double error = 0, largest = 0;
  EXPECT_EQ(a.size(), b.size());
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    error = std::max(error, std::fabs(double(a[i]) - b[i]));
    largest = std::max(largest, std::fabs(double(b[i])));
  }
  return error / largest;
}

TEST(Variants, RoundedSafetensorsAreClose) {
  for (std::string name : {"tiny-llama", "tiny-gpt2"}) {
    auto original = openModel(std::string(TESSERA_MODELS) + "/" + name);
    for (auto [variant, bound] : {std::pair<const char *, double>{"f16", 0x1p-11}, {"bf16", 0x1p-8}}) {
      auto rounded = openModel(std::string(TESSERA_TEST_INPUTS) + "/" + name + "/" + variant);
      ASSERT_TRUE(original && rounded);
      ASSERT_EQ(rounded->tensors().size(), original->tensors().size());
      for (const TensorInfo &tensor : original->tensors()) {
        double error = relativeError(valuesOf(*rounded, tensor.name), valuesOf(*original, tensor.name));
        EXPECT_LE(error, bound) << variant << " " << tensor.name;
        EXPECT_GT(error + (tensor.shape.size() == 1), 0) << variant << " " << tensor.name;
      }
    }
  }
}

TEST(Variants, GgufKeepsWhatIsNotPermuted) {
  auto original = openModel(TESSERA_MODELS "/tiny-llama");
  auto gguf = openModel(TESSERA_TEST_INPUTS "/tiny-llama/gguf-f32/model.gguf");
  ASSERT_TRUE(original && gguf);
  EXPECT_EQ(valuesOf(*gguf, "blk.2.attn_v.weight"),
            valuesOf(*original, "model.layers.2.self_attn.v_proj.weight"));
  EXPECT_EQ(gguf->find("token_embd.weight")->shape, original->find("model.embed_tokens.weight")->shape);
  // Heads of 8: row 1 of a head is the original's row 4.
  std::vector<float> q = valuesOf(*gguf, "blk.0.attn_q.weight"),
                     was = valuesOf(*original, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_TRUE(std::equal(q.begin() + 48, q.begin() + 96, was.begin() + 4 * 48));
}

TEST(Variants, QuantizedBlocksAreClose) {
  auto original = openModel(TESSERA_TEST_INPUTS "/quantized/f32");
  for (auto [variant, bound] : {std::pair<const char *, double>{"q8_0", 1.0 / 200}, {"q4_1", 1.0 / 12}}) {
    auto quantized =
        openModel(std::string(TESSERA_TEST_INPUTS) + "/quantized/gguf-" + variant + "/model.gguf");
    ASSERT_TRUE(original && quantized);
    EXPECT_TRUE(isQuantized(quantized->find("blk.0.ffn_down.weight")->dtype));
    double error = relativeError(valuesOf(*quantized, "blk.0.ffn_down.weight"),
                                 valuesOf(*original, "model.layers.0.mlp.down_proj.weight"));
    EXPECT_LE(error, bound) << variant;
    EXPECT_GT(error, 0) << variant;
  }
}
