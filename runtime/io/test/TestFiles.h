// Files for tests: a scratch folder per test, and model files put together byte by byte.
#ifndef TESSERA_RUNTIME_IO_TEST_TESTFILES_H
#define TESSERA_RUNTIME_IO_TEST_TESTFILES_H

#include "tessera/runtime/io/ModelFile.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace tessera::io::test {

class ScratchFolder : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tessera-io-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return folder + "/" + name; }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  // The Failure's message, or "" where opening works.
  static std::string openFailure(const std::string &path) {
    auto model = ModelFile::open(path);
    return model ? "" : model.failure().message();
  }
  std::string folder;
};

inline std::string readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename T> std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// A safetensors file from the text of its header and the tensors' bytes.
inline std::string safetensors(const std::string &header, const std::string &data) {
  return raw(uint64_t(header.size())) + header + data;
}

// A GGUF file put together from its parts, each as good or bad as the test wants.
struct GgufBytes {
  uint32_t version = 3;
  std::string values, tensors, data;
  uint64_t valueCount = 0, tensorCount = 0;
  size_t alignment = 32;

  static std::string text(const std::string &bytes) { return raw(uint64_t(bytes.size())) + bytes; }
  GgufBytes &value(const std::string &key, uint32_t type, const std::string &bytes) {
    values += text(key) + raw(type) + bytes;
    ++valueCount;
    return *this;
  }
  GgufBytes &tensor(const std::string &name, const std::vector<uint64_t> &dims, uint32_t type,
                    uint64_t offset) {
    tensors += text(name) + raw(uint32_t(dims.size()));
    for (uint64_t dim : dims)
      tensors += raw(dim);
    tensors += raw(type) + raw(offset);
    ++tensorCount;
    return *this;
  }
  std::string bytes() const {
    std::string file = "GGUF" + raw(version) + raw(tensorCount) + raw(valueCount) + values + tensors;
    file.resize((file.size() + alignment - 1) / alignment * alignment);
    return file + data;
  }
};

} // namespace tessera::io::test
#endif
