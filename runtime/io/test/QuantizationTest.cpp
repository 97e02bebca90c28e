// Quantized weights of safetensors, put together of their parts. Whole models are tried in
// test/Integration/held-safetensors.test.
#include "TestFiles.h"

#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::io;
using namespace tessera::io::test;

namespace {
// A folder whose model.safetensors is put together of tensors, all of them zero but for what a test sets.
class Quantized : public ScratchFolder {
protected:
  struct Part {
    std::string dtype;
    std::vector<int64_t> shape;
    std::string bytes;
  };
  std::map<std::string, Part> parts;
  nlohmann::json config;

  void add(const std::string &name, const std::string &dtype, std::vector<int64_t> shape) {
    int64_t elements = 1;
    for (int64_t size : shape)
      elements *= size;
    int64_t width = dtype == "F16" || dtype == "BF16" ? 2 : dtype == "F8_E4M3" || dtype == "U8" ? 1 : 4;
    parts[name] = {dtype, std::move(shape), std::string(size_t(elements * width), '\0')};
  }
  template <typename T> void set(const std::string &name, int64_t i, T value) {
    std::memcpy(parts[name].bytes.data() + size_t(i) * sizeof value, &value, sizeof value);
  }
  std::string save() {
    nlohmann::json header;
    std::string data;
    for (const auto &[name, part] : parts) {
      header[name] = {{"dtype", part.dtype},
                      {"shape", part.shape},
                      {"data_offsets", {data.size(), data.size() + part.bytes.size()}}};
      data += part.bytes;
    }
    write("config.json", nlohmann::json{{"quantization_config", config}}.dump());
    write("model.safetensors", safetensors(header.dump(), data));
    return folder;
  }
  void expectFailure(const std::string &part) {
    std::string message = openFailure(save());
    EXPECT_NE(message.find(part), std::string::npos) << "wanted: " << part << "\ngave: " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  // Of the weight `w`, read in pieces that begin within blocks.
  std::vector<float> weight(DType type, std::vector<int64_t> shape) {
    auto model = ModelFile::open(save());
    EXPECT_TRUE(bool(model)) << (model ? "" : model.failure().message());
    const TensorInfo *tensor = model ? (*model)->find("w.weight") : nullptr;
    if (!tensor)
      return {};
    EXPECT_EQ(tensor->dtype, type);
    EXPECT_EQ(tensor->shape, shape);
    EXPECT_EQ((*model)->tensors().size(), 1u) << "parts are no weights";
    std::vector<float> values(size_t(tensor->elements));
    for (int64_t at = 0; at < tensor->elements; at += 77)
      EXPECT_TRUE(bool((*model)->readRange(*tensor, at, std::min<int64_t>(77, tensor->elements - at),
                                           &values[size_t(at)])));
    // In one go, too: then rows are put together several at a time.
    std::vector<float> whole(values.size());
    EXPECT_TRUE(bool((*model)->readRange(*tensor, 0, tensor->elements, whole.data())));
    EXPECT_EQ(whole, values);
    ModelFile::release(*tensor);
    return values;
  }

  // Code, zero and scale of input i and output o of group g.
  static int code(int64_t i, int64_t o) { return int(i * 5 + o * 3) % 16; }
  static int zero(int64_t g, int64_t o) { return int(g * 7 + o) % 15 + 1; }
  static float scale(int64_t g, int64_t o) { return 0.125f * float(1 + g * 16 + o); }
  static constexpr int64_t in = 128, out = 16, group = 64;
  void makeInt4(bool awq, int lessOne) {
    static constexpr int order[8] = {0, 2, 4, 6, 1, 3, 5, 7};
    add("w.scales", "F16", {in / group, out});
    add("w.qzeros", "I32", {in / group, out / 8});
    for (int64_t g = 0; g < in / group; ++g)
      for (int64_t o = 0; o < out; ++o) {
        set("w.scales", g * out + o, floatToHalf(scale(g, o)));
        uint32_t word = 0;
        for (int64_t p = 0; p < 8; ++p)
          word |= uint32_t(zero(g, o / 8 * 8 + (awq ? order[p] : p)) - lessOne) << 4 * p;
        set("w.qzeros", g * (out / 8) + o / 8, word);
      }
    if (awq) {
      add("w.qweight", "I32", {in, out / 8});
      for (int64_t i = 0; i < in; ++i)
        for (int64_t c = 0; c < out / 8; ++c) {
          uint32_t word = 0;
          for (int64_t p = 0; p < 8; ++p)
            word |= uint32_t(code(i, 8 * c + order[p])) << 4 * p;
          set("w.qweight", i * (out / 8) + c, word);
        }
      return;
    }
    add("w.qweight", "I32", {in / 8, out});
    for (int64_t r = 0; r < in / 8; ++r)
      for (int64_t o = 0; o < out; ++o) {
        uint32_t word = 0;
        for (int64_t p = 0; p < 8; ++p)
          word |= uint32_t(code(8 * r + p, o)) << 4 * p;
        set("w.qweight", r * out + o, word);
      }
    add("w.g_idx", "I32", {in});
    for (int64_t i = 0; i < in; ++i)
      set("w.g_idx", i, int32_t(i / group));
  }
  void expectInt4() {
    std::vector<float> values = weight(DType::INT4_64, {out, in});
    ASSERT_EQ(values.size(), size_t(in * out));
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i)
        ASSERT_EQ(values[size_t(o * in + i)], scale(i / group, o) * float(code(i, o) - zero(i / group, o)))
            << "output " << o << ", input " << i;
  }
  void makeFp8(int64_t rows, int64_t columns) {
    add("w.weight", "F8_E4M3", {rows, columns});
    for (int64_t i = 0; i < rows * columns; ++i)
      set("w.weight", i, uint8_t(i % 127));
  }
  void expectFp8(int64_t rows, int64_t columns, int64_t blockRows, int64_t blockColumns, int64_t scales) {
    std::vector<float> values = weight(DType::FP8, {rows, columns});
    ASSERT_EQ(values.size(), size_t(rows * columns));
    for (int64_t i = 0; i < rows * columns; ++i) {
      uint8_t one = uint8_t(i % 127);
      float number, scale = 1.5f + float(i / columns / blockRows * scales + i % columns / blockColumns);
      dequantize(DType::F8_E4M3, &one, 1, &number);
      ASSERT_EQ(values[size_t(i)], scale * number) << i;
    }
  }
};
} // namespace

TEST_F(Quantized, GptqStoresZerosLessOne) {
  config = {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 64}};
  makeInt4(false, 1);
  expectInt4();
}

TEST_F(Quantized, ItsSecondVersionStoresThemAsTheyAre) {
  config = {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 64}, {"checkpoint_format", "gptq_v2"}};
  makeInt4(false, 0);
  parts.erase("w.g_idx");
  expectInt4();
}

TEST_F(Quantized, AwqHasOutputsInAnOrderOfItsOwn) {
  config = {{"quant_method", "awq"}, {"w_bit", 4}, {"q_group_size", 64}, {"version", "GEMM"}};
  makeInt4(true, 0);
  expectInt4();
}

// Its words are of eight rows. Whatever rows are asked for, and in whatever pieces, they are the same.
TEST_F(Quantized, RowsOfAwqTogetherAreWhatEachIsAlone) {
  config = {{"quant_method", "awq"}, {"w_bit", 4}, {"q_group_size", 64}, {"version", "GEMM"}};
  makeInt4(true, 0);
  auto model = ModelFile::open(save());
  ASSERT_TRUE(bool(model)) << model.failure().message();
  const TensorInfo *tensor = (*model)->find("w.weight");
  ASSERT_NE(tensor, nullptr);
  const int64_t perRow = in / 64, blocks = out * perRow, bytes = blockBytes(DType::INT4_64);
  std::string alone(size_t(blocks * bytes), '\0');
  for (int64_t b = 0; b < blocks; ++b)
    tensor->blocks->read(b, 1, reinterpret_cast<uint8_t *>(&alone[size_t(b * bytes)]));
  for (int64_t first = 0; first < blocks; ++first)
    for (int64_t count = 1; first + count <= blocks; ++count) {
      std::string some(size_t(count * bytes), '\xAA');
      tensor->blocks->read(first, count, reinterpret_cast<uint8_t *>(some.data()));
      ASSERT_EQ(some, alone.substr(size_t(first * bytes), some.size())) << first << ", " << count;
    }
}

// More than a piece that is put together at a time.
TEST_F(Quantized, LongRangesAreReadInPieces) {
  config = {{"quant_method", "fp8"}};
  makeFp8(3, 128 * 1024);
  add("w.weight_scale", "F32", {});
  set("w.weight_scale", 0, 1.5f);
  expectFp8(3, 128 * 1024, 3, 128 * 1024, 1);
}

TEST_F(Quantized, FloatsOfEightBitsHaveAScaleForEachBlock) {
  config = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  makeFp8(130, 384);
  add("w.weight_scale_inv", "F32", {2, 3});
  for (int64_t i = 0; i < 6; ++i)
    set("w.weight_scale_inv", i, 1.5f + float(i));
  expectFp8(130, 384, 128, 128, 3);
}

TEST_F(Quantized, TheLastBlockOfARowMayBeCut) {
  config = {{"quant_method", "fp8"}, {"weight_block_size", {128, 256}}};
  makeFp8(130, 384);
  add("w.weight_scale_inv", "F32", {2, 2});
  for (int64_t i = 0; i < 4; ++i)
    set("w.weight_scale_inv", i, 1.5f + float(i));
  expectFp8(130, 384, 128, 256, 2);
}

// A group is whole blocks, of the longest kind that is.
TEST_F(Quantized, BlocksAreAsLongAsGroupsAllow) {
  struct Case {
    nlohmann::json size; // null: 128
    int64_t in, group;
    DType type;
  };
  for (bool awq : {false, true})
    for (const Case &one : {Case{nullptr, 256, 128, DType::INT4_128},
                            {-1, 128, 128, DType::INT4_128},
                            {-1, 96, 96, DType::INT4_32},
                            {256, 512, 256, DType::INT4_128},
                            {192, 384, 192, DType::INT4_64},
                            {32, 64, 32, DType::INT4_32}}) {
      parts.clear();
      config = {{"quant_method", awq ? "awq" : "gptq"}, {"bits", 4}};
      if (!one.size.is_null())
        config["group_size"] = one.size;
      add("w.qweight", "I32", awq ? std::vector<int64_t>{one.in, 1} : std::vector<int64_t>{one.in / 8, 8});
      add("w.qzeros", "I32", {one.in / one.group, 1});
      for (int64_t g = 0; awq && g < one.in / one.group; ++g)
        set("w.qzeros", g, 0x11111111u); // as GPTQ's zeros are that stand there less one
      add("w.scales", "F16", {one.in / one.group, 8});
      for (int64_t g = 0; g < one.in / one.group; ++g)
        for (int64_t o = 0; o < 8; ++o)
          set("w.scales", g * 8 + o, floatToHalf(scale(g, o)));
      std::vector<float> values = weight(one.type, {8, one.in});
      ASSERT_EQ(values.size(), size_t(8 * one.in));
      for (int64_t o = 0; o < 8; ++o)
        for (int64_t i = 0; i < one.in; ++i)
          ASSERT_EQ(values[size_t(o * one.in + i)], -scale(i / one.group, o)) << o << " " << i;
    }
}

TEST_F(Quantized, OrForEachRowOrOne) {
  config = {{"quant_method", "compressed-tensors"}, {"format", "float-quantized"}};
  makeFp8(3, 256);
  add("w.weight_scale", "BF16", {3, 1});
  for (int64_t i = 0; i < 3; ++i)
    set("w.weight_scale", i, floatToBfloat16(1.5f + float(i)));
  expectFp8(3, 256, 1, 256, 1);
  add("w.weight_scale", "F32", {});
  set("w.weight_scale", 0, 1.5f);
  add("w.input_scale", "F32", {}); // of activations, which are never quantized
  expectFp8(3, 256, 3, 256, 1);
}

TEST_F(Quantized, WhatDoesNotFitIsSaidInOneLine) {
  config = {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 64}};
  makeInt4(false, 1);
  set("w.g_idx", 3, int32_t(1));
  expectFailure("w.g_idx): input 3 is not in its group");
  makeInt4(false, 1);
  set("w.g_idx", in - 1, int32_t(0)); // of the last group
  expectFailure("w.g_idx): input " + std::to_string(in - 1) + " is not in its group");
  makeInt4(false, 1);
  parts.erase("w.scales");
  expectFailure("w.scales): it is missing");
  makeInt4(false, 1);
  add("w.scales", "BF16", {in / group, out});
  expectFailure("it is BF16 [2, 16], its weight needs F16 [2, 16]");
  config["group_size"] = 96;
  expectFailure("not whole groups of 96 inputs");
  parts.clear();
  makeFp8(4, 128);
  expectFailure("no weight is");
  config = {{"quant_method", "fp8"}, {"weight_block_size", {2, 128}}};
  expectFailure("has no w.weight_scale");
  add("w.weight_scale_inv", "F32", {3, 1});
  expectFailure("its shape is [3, 1], its weight needs [2, 1]");
  add("w.weight_scale_inv", "F32", {1, 1});
  expectFailure("its shape is [1, 1], its weight needs [2, 1]");
  add("w.weight_scale_inv", "F32", {3, 1});
  config = {{"quant_method", "fp8"}};
  expectFailure("neither one scale nor one a row");
  parts.clear();
  makeFp8(4, 96);
  add("w.weight_scale", "F32", {});
  expectFailure("rows of 96 are no whole blocks of 128");
  parts.clear();
  add("w.weight", "F8_E4M3", {INT64_MAX, 0});
  add("w.weight_scale", "F32", {});
  expectFailure("its shape [9223372036854775807, 0] is impossibly large");
}

// The part that is at fault, not one that is as it should be.
TEST_F(Quantized, ThePartAtFaultIsNamed) {
  for (bool awq : {false, true}) {
    config = {{"quant_method", awq ? "awq" : "gptq"}, {"bits", 4}, {"group_size", 64}};
    makeInt4(awq, 1);
    parts["v.weight"] = parts["w.scales"]; // not quantized, and no part of w
    parts.erase("w.qweight");
    expectFailure("tensor w.qweight): it is missing, and w.qzeros, which belongs to it, is there");
    parts.erase("w.qzeros");
    expectFailure("tensor w.qweight): it is missing, and w.scales, which belongs to it, is there");
    makeInt4(awq, 1);
    parts["w.qweight"].shape = awq ? std::vector<int64_t>{2, 128} : std::vector<int64_t>{8, 32};
    expectFailure(awq ? "tensor w.qweight): its shape is [2, 128], and w.scales [2, 16] needs [128, 2]"
                      : "tensor w.qweight): its shape is [8, 32], and w.scales [2, 16] needs [16, 16]");
    if (!awq)
      continue;
    config["group_size"] = -1;
    add("w.scales", "F16", {1, out});
    add("w.qzeros", "I32", {1, out / 8});
    expectFailure("tensor w.qweight): its shape is [2, 128], and w.scales [1, 16] needs [128, 2]");
  }
}

TEST_F(Quantized, AWeightIsThereOnce) {
  config = {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 64}};
  makeInt4(/*awq=*/false, /*lessOne=*/1);
  add("w.weight", "F16", {out, in});
  expectFailure("tensor w.weight): it is there in parts, too");
}

TEST_F(Quantized, ScalesOfFloatsOfEightBitsHaveTheirWeight) {
  for (const char *scale : {"w.weight_scale", "w.weight_scale_inv"}) {
    parts.clear();
    config = {{"quant_method", "fp8"}};
    makeFp8(4, 128);
    add(scale, "F32", {1});
    EXPECT_EQ(openFailure(save()), "");
    parts["w.weight"].dtype = "U8";
    expectFailure(std::string("tensor w.weight): it is U8 and has ") + scale + ", must be F8_E4M3");
    parts.erase("w.weight");
    expectFailure(std::string("tensor w.weight): it is missing, and ") + scale +
                  ", which belongs to it, is there");
  }
}

// Only where config.json says so: bytes of other files may be called alike.
TEST_F(Quantized, BlocksAndScalesOfMxfp4ComeTogether) {
  config = {{"quant_method", "mxfp4"}};
  add("w_blocks", "U8", {2, 1, 16});
  add("w_scales", "U8", {2, 1});
  EXPECT_EQ(openFailure(save()), "");
  Part scales = parts["w_scales"];
  parts.erase("w_scales");
  expectFailure("tensor w_scales): it is missing, and w_blocks, which belongs to it, is there");
  add("w_scales", "F32", {2, 1});
  expectFailure("tensor w_scales): it is F32, must be U8 as w_blocks");
  parts.erase("w_blocks");
  EXPECT_EQ(openFailure(save()), ""); // of floats: another's name
  parts["w_scales"] = scales;
  expectFailure("tensor w_blocks): it is missing, and w_scales, which belongs to it, is there");
  config = nlohmann::json();
  EXPECT_EQ(openFailure(save()), "");
}

TEST_F(Quantized, WhatIsNotReadIsNamed) {
  makeFp8(1, 128);
  for (auto [text, part] :
       {std::pair<const char *, const char *>{"null", ""},
        {"3", "quantization_config is no object"},
        {R"({})", "quant_method): is missing"},
        {R"({"quant_method": "bitsandbytes"})", "is bitsandbytes, must be fp8, gptq, awq or mxfp4"},
        {R"({"quant_method": "gptq", "bits": 8})", "bits): is 8, must be 4"},
        {R"({"quant_method": "gptq", "bits": "4"})", R"(bits): is "4", must be a whole number of 32 bits)"},
        {R"({"quant_method": "gptq", "bits": 4, "group_size": 0})", "is 0, must be -1 or a multiple"},
        {R"({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"})",
         "checkpoint_format): is marlin, must be gptq or gptq_v2"},
        {R"({"quant_method": "gptq", "bits": 4, "checkpoint_format": 2})", "is 2, must be a text"},
        {R"({"quant_method": "gptq", "bits": 4, "group_size": 18446744073709551615})",
         "must be a whole number"},
        {R"({"quant_method": "gptq", "bits": 4, "desc_act": true})", "desc_act"},
        {R"({"quant_method": "awq", "bits": 4, "zero_point": false})", "zero_point): is false"},
        {R"({"quant_method": "awq", "bits": 4, "version": "gemv"})", "is gemv, must be gemm"},
        {R"({"quant_method": "fp8", "fmt": "e5m2"})", "is e5m2, must be e4m3"},
        {R"({"quant_method": "fp8", "weight_block_size": [128]})", "must be two sizes"},
        {R"({"quant_method": "compressed-tensors", "format": "pack-quantized"})",
         "is pack-quantized, must be float-quantized"}}) {
    config = nlohmann::json::parse(text);
    if (*part)
      expectFailure(part);
    else
      EXPECT_EQ(openFailure(save()), "");
  }
}
