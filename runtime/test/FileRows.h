// Weights in quantized blocks as a file has them: any bytes, with ordinary scales.
#ifndef TESSERA_RUNTIME_TEST_FILEROWS_H
#define TESSERA_RUNTIME_TEST_FILEROWS_H

#include "tessera/runtime/io/DType.h"

#include <cstring>
#include <random>
#include <vector>

namespace tessera::runtime {

inline std::vector<io::DType> blockTypes() {
  std::vector<io::DType> types;
  for (io::DType type : io::allDTypes())
    if (io::isQuantized(type))
      types.push_back(type);
  return types;
}

// Rows of a file, and their numbers.
struct FileRows {
  FileRows(io::DType type, int64_t rows, int64_t columns, uint32_t seed)
      : columns(columns), rowBytes(io::bytesOf(type, columns)), data(size_t(rows * rowBytes)),
        wide(size_t(rows * columns)) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (uint8_t &byte : data)
      byte = uint8_t(random());
    // Any bytes but for the scales of blocks, which are ordinary.
    auto blockBytes = size_t(io::blockBytes(type));
    for (size_t at = 0; at < data.size(); at += blockBytes) {
      if (type == io::DType::MXFP4) {
        data[at] = uint8_t(125 + random() % 5);
        continue;
      }
      if (type == io::DType::FP8) {
        float scale = normal(random) / 16;
        memcpy(&data[at], &scale, 4);
        for (size_t i = 4; i < blockBytes; ++i)
          if ((data[at + i] & 127) == 127) // no number
            data[at + i] = 126;
        continue;
      }
      size_t first = type == io::DType::Q6_K ? at + 208 : at; // d, and a minimum where there is one
      bool hasMinimum = type == io::DType::Q4_1 || type == io::DType::Q5_1 || type == io::DType::Q4_K ||
                        type == io::DType::Q5_K;
      for (size_t half = 0; half < (hasMinimum ? 2 : 1); ++half) {
        uint16_t bits = io::floatToHalf(normal(random) / 16);
        memcpy(&data[first + 2 * half], &bits, 2);
      }
    }
    io::dequantize(type, data.data(), rows * columns, wide.data());
  }
  const uint8_t *row(int64_t i) const { return data.data() + i * rowBytes; }
  int64_t columns, rowBytes;
  std::vector<uint8_t> data;
  std::vector<float> wide;
};

} // namespace tessera::runtime
#endif
