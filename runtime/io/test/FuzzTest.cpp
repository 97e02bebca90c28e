// Random damage: whatever a file says, opening it, reading all its weights and loading its tokenizer ends
// with a result or a one-line Failure. Run under the address and undefined-behaviour sanitizers too (preset
// asan).
#include "TestFiles.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <random>

using namespace tessera;
using namespace tessera::io;
using namespace tessera::io::test;

namespace {
class Fuzz : public ScratchFolder {
protected:
  static constexpr int mutations = 150;
  std::mt19937 random{20261121};

  size_t below(size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random); }

  // One of the ways files go bad. Damage to the first `header` bytes is likelier: that is where the claims
  // are.
  std::string damaged(std::string bytes, size_t header) {
    auto somewhere = [&] { return below(below(4) ? std::min(header, bytes.size()) : bytes.size()); };
    for (size_t count = 1 + below(4); count > 0 && !bytes.empty(); --count) {
      size_t at = somewhere();
      switch (below(7)) {
      case 0:
        bytes[at] = char(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = char(below(256));
        break;
      case 2: // a number that means trouble
        for (size_t i = 0; i < 8 && at + i < bytes.size(); ++i)
          bytes[at + i] = char(i == 7 ? 0x7F : 0xFF);
        break;
      case 3:
        bytes.resize(at);
        break;
      case 4:
        bytes.insert(at, std::string(1 + below(64), char(below(256))));
        break;
      case 5:
        bytes.erase(at, 1 + below(16));
        break;
      case 6: { // a piece of the file in another place
        size_t length = std::min(bytes.size() - at, 1 + below(64));
        bytes.replace(somewhere() / 2, length, bytes.substr(at, length));
        break;
      }
      }
    }
    return bytes;
  }

  static void expectOneLine(const Failure &failure) {
    std::string message = failure.message();
    EXPECT_FALSE(failure.what.empty() || failure.why.empty());
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_LT(message.size(), 2000u);
  }

  // True if the file opens.
  static bool use(const std::string &path) {
    auto model = ModelFile::open(path);
    if (!model) {
      expectOneLine(model.failure());
      return false;
    }
    std::vector<float> values;
    for (const TensorInfo &tensor : (*model)->tensors()) {
      values.resize(size_t(tensor.elements));
      if (Status status = (*model)->readRange(tensor, 0, tensor.elements, values.data()); !status)
        expectOneLine(status.failure());
      ModelFile::release(tensor);
    }
    auto tokenizer = text::Tokenizer::load(**model);
    if (!tokenizer) {
      expectOneLine(tokenizer.failure());
    } else if (auto ids = (*tokenizer)->encode("def f(n):\n  return 3 \xC3\xA9<|endoftext|>"); ids) {
      (*tokenizer)->decode(*ids);
    }
    if (auto ends = text::endTokens(**model); !ends)
      expectOneLine(ends.failure());
    return true;
  }
};
} // namespace

TEST_F(Fuzz, Safetensors) {
  std::string good = readBytes(TESSERA_MODELS "/tiny-llama/model-00001-of-00004.safetensors");
  ASSERT_TRUE(use(write("m.safetensors", good)));
  int refused = 0;
  for (int i = 0; i < mutations; ++i)
    refused += !use(write("m.safetensors", damaged(good, 1600)));
  EXPECT_GT(refused, mutations / 2);
}

TEST_F(Fuzz, Gguf) {
  std::string good = readBytes(TESSERA_TEST_INPUTS "/quantized/gguf-q8_0/model.gguf");
  ASSERT_TRUE(use(write("m.gguf", good)));
  int refused = 0;
  for (int i = 0; i < mutations; ++i)
    refused += !use(write("m.gguf", damaged(good, 16000)));
  EXPECT_GT(refused, mutations / 3);
}

TEST_F(Fuzz, Index) {
  for (auto &entry : std::filesystem::directory_iterator(TESSERA_MODELS "/tiny-llama"))
    std::filesystem::copy(entry.path(), folder);
  std::string good = readBytes(path("model.safetensors.index.json"));
  ASSERT_TRUE(use(folder));
  for (int i = 0; i < mutations; ++i) {
    write("model.safetensors.index.json", damaged(good, good.size()));
    use(folder);
  }
}

TEST_F(Fuzz, TokenizerJson) {
  std::filesystem::copy(TESSERA_MODELS "/tiny-llama/config.json", folder);
  std::string good = readBytes(TESSERA_MODELS "/tiny-llama/tokenizer.json");
  write("tokenizer.json", good);
  ASSERT_TRUE(use(folder));
  for (int i = 0; i < mutations; ++i) {
    write("tokenizer.json", damaged(good, i % 2 ? good.size() : 1200));
    use(folder);
  }
}
