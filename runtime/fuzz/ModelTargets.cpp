// Model files: their tables, all their weights, and what they say of a tokenizer.
#include "Targets.h"
#include "tessera/runtime/data/TokenRows.h"
#include "tessera/runtime/io/ModelFile.h"
#include "tessera/runtime/text/ChatTemplate.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tessera::fuzz {

// A model out of `bytes` bytes.
static void readAll(const io::ModelFile &model, size_t bytes) {
  std::vector<float> values;
  size_t total = 0;
  for (const io::TensorInfo &tensor : model.tensors()) {
    const uint8_t *data = tensor.data;
    // Blocks that are put together have some scales more often than the file.
    size_t most = tensor.blocks ? 2 * bytes : bytes;
    expect(tensor.bytes <= most && tensor.elements >= 0, "a tensor is inside its file");
    total += tensor.blocks ? tensor.bytes / 2 : tensor.bytes;
    if (tensor.bytes)
      expect(data != nullptr || tensor.blocks, "a tensor has bytes");
    // Overlapping tensors could claim more than a file holds.
    if (!io::isFloatLike(tensor.dtype)) {
      if (Status status = model.readRange(tensor, 0, 0, values.data()); !status)
        expectOneLine(status.failure());
      continue;
    }
    values.resize(size_t(tensor.elements));
    if (Status status = model.readRange(tensor, 0, tensor.elements, values.data()); !status)
      expectOneLine(status.failure());
  }
  expect(total <= bytes, "tensors do not overlap");
  auto tokenizer = text::Tokenizer::load(model);
  if (!tokenizer)
    expectOneLine(tokenizer.failure());
  else if (auto ids = (*tokenizer)->encode("a 12\n\xC3\xA9 <s>"); ids)
    (*tokenizer)->decode(*ids);
  else
    expectOneLine(ids.failure());
  if (auto ends = text::endTokens(model); !ends)
    expectOneLine(ends.failure());
  if (auto chat = text::ChatTemplate::load(model); !chat)
    expectOneLine(chat.failure());
}

static void readFile(std::string_view bytes) {
  MemoryFile file(bytes);
  auto model = io::ModelFile::open(file.path());
  if (!model)
    return expectOneLine(model.failure());
  readAll(**model, bytes.size());
}

// Inputs that begin with '!' are a file as it is.
void runSafetensors(std::string_view input) {
  if (!input.empty() && input[0] == '!')
    return readFile(input.substr(1));
  readFile(safetensorsOf(input));
}

// "quantization_config", and behind a NUL model.safetensors, as above.
void runQuantized(std::string_view input) {
  static const Folder folder;
  Parts parts = splitAtNul(input);
  std::string weights = safetensorsOf(parts.second.value_or("{}"));
  folder.write("config.json", "{\"quantization_config\": " + std::string(parts.first) + "}");
  folder.write("model.safetensors", weights);
  auto model = io::ModelFile::open(folder.path());
  if (!model)
    return expectOneLine(model.failure());
  readAll(**model, weights.size());
}

// The table of what an executable carries, and behind a NUL the executable before the table. A table that
// does not stand where the end of the file says is an input that begins with '!'.
void runEmbedded(std::string_view input) {
  std::string file;
  if (!input.empty() && input[0] == '!') {
    file = input.substr(1);
  } else {
    Parts parts = splitAtNul(input);
    file = parts.second.value_or("");
    uint64_t words[] = {file.size(), parts.first.size()};
    file.append(parts.first).append(reinterpret_cast<const char *>(words), sizeof words).append("TSRWGT01");
  }
  MemoryFile executable(file);
  auto model = io::ModelFile::openEmbedded(executable.path());
  if (!model)
    return expectOneLine(model.failure());
  if (*model)
    readAll(**model, std::numeric_limits<size_t>::max() / 2); // entries may be the same file
}

// Magic and version are given, unless the input begins with '!'.
void runGguf(std::string_view input) {
  if (!input.empty() && input[0] == '!')
    return readFile(input.substr(1));
  readFile(std::string("GGUF\x03\0\0\0", 8) + std::string(input));
}

// A .bin of ids, or a .safetensors, if it begins with '{'. The program takes rows of 4 ids, of a vocabulary
// of 99.
void runTrainingData(std::string_view input) {
  static const Folder folder;
  bool isTable = input.substr(0, 1) == "{";
  std::string name = isTable ? "data.safetensors" : "data.bin";
  folder.write(name, isTable ? safetensorsOf(input) : std::string(input));
  auto rows = data::TokenRows::open(folder.path() + "/" + name, 3, 99);
  if (!rows)
    return expectOneLine(rows.failure());
  for (int64_t row = 0; row < (*rows)->rows(); ++row) {
    int32_t ids[4];
    int64_t length = (*rows)->length(row);
    expect(length >= 0 && length <= 4 && (*rows)->targets(row) < 4, "a row has no more ids than it is long");
    expect(bool((*rows)->read(row, ids)), "what was checked when it was opened can be read");
    for (int64_t column = 0; column < 4; ++column)
      expect(column < length ? ids[column] >= 0 && ids[column] < 99 : ids[column] == -1,
             "ids are of the vocabulary");
  }
}

// The definitions that DType.h gives, element by element.
static float byDefinition(io::DType type, const uint8_t *block, int64_t i) {
  auto half = [&](int64_t at) {
    uint16_t bits;
    std::memcpy(&bits, block + at, sizeof bits);
    return io::halfToFloat(bits);
  };
  // Bits [first, first + count) of the bytes from `at` on, of a number no longer than a byte.
  auto bits = [&](int64_t at, int64_t first, int count) {
    return int(block[at + first / 8] >> first % 8 & ((1 << count) - 1));
  };
  using io::DType;
  auto nibble = [&](int64_t at) { return bits(at + i % 16, i % 32 / 16 * 4, 4); };
  const int64_t s = i / 32, e = i % 32; // sub-block, and place in it
  switch (type) {
  case DType::Q8_0:
    return half(0) * float(int8_t(block[2 + i]));
  case DType::Q4_0:
    return half(0) * float(nibble(2) - 8);
  case DType::Q4_1:
    return half(0) * float(nibble(4)) + half(2);
  case DType::Q5_0:
    return half(0) * float(nibble(6) + 16 * bits(2, i, 1) - 16);
  case DType::Q5_1:
    return half(0) * float(nibble(8) + 16 * bits(4, i, 1)) + half(2);
  case DType::Q4_K:
  case DType::Q5_K: {
    int64_t low = s < 4 ? bits(4 + s, 0, 6) : bits(8 + s, 0, 4) + 16 * bits(s, 6, 2);
    int64_t least = s < 4 ? bits(8 + s, 0, 6) : bits(8 + s, 4, 4) + 16 * bits(4 + s, 6, 2);
    bool five = type == DType::Q5_K;
    int q = bits((five ? 48 : 16) + s / 2 * 32 + e, s % 2 * 4, 4) + (five ? 16 * bits(16 + e, s, 1) : 0);
    return half(0) * float(low) * float(q) - half(2) * float(least);
  }
  case DType::Q6_K: {
    int64_t part = s % 4;
    int q =
        bits(s / 4 * 64 + part % 2 * 32 + e, part / 2 * 4, 4) + 16 * bits(128 + s / 4 * 32 + e, part * 2, 2);
    return half(208) * float(int8_t(block[192 + i / 16])) * float(q - 32);
  }
  case DType::MXFP4: {
    static const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    float scale = std::ldexp(1.0f, block[0] - 128); // of twice the value: 6 * 2^127 would be too large
    float value = scale * (2 * values[nibble(1) & 7]);
    return nibble(1) & 8 ? -value : value;
  }
  case DType::FP8: {
    int exponent = bits(4 + i, 3, 4), fraction = bits(4 + i, 0, 3);
    float d,
        value = exponent ? std::ldexp(float(8 + fraction), exponent - 10) : std::ldexp(float(fraction), -9);
    std::memcpy(&d, block, sizeof d);
    if (exponent == 15 && fraction == 7)
      return NAN;
    return d * (block[4 + i] & 128 ? -value : value);
  }
  case DType::INT4_32:
  case DType::INT4_64:
  case DType::INT4_128:
    return half(0) * float(nibble(3 + s * 16) - block[2]);
  default:
    break;
  }
  // Other types: one block at a time is what many together are.
  float values[io::kMostBlockElements];
  io::dequantize(type, block, io::blockElements(type), values);
  return values[i];
}

// A type, and its blocks.
void runBlocks(std::string_view input) {
  std::vector<io::DType> types;
  for (io::DType type : io::allDTypes())
    if (io::isFloatLike(type))
      types.push_back(type);
  if (input.empty())
    return;
  io::DType type = types[static_cast<uint8_t>(input[0]) % types.size()];
  const std::vector<uint8_t> bytes(input.begin() + 1, input.end());
  const int64_t perBlock = io::blockElements(type), blocks = int64_t(bytes.size()) / io::blockBytes(type);
  expect(perBlock <= io::kMostBlockElements, "blocks have at most so many elements");
  std::vector<float> all(size_t(blocks * perBlock));
  io::dequantize(type, bytes.data(), blocks * perBlock, all.data());
  for (int64_t i = 0; i < blocks * perBlock; ++i) {
    float one = byDefinition(type, bytes.data() + i / perBlock * io::blockBytes(type), i % perBlock);
    float other = all[size_t(i)];
    expect(one == other || (std::isnan(one) && std::isnan(other)),
           ("a block of " + std::string(io::dtypeName(type)) + " is read as it is defined").c_str());
  }
}

} // namespace tessera::fuzz
