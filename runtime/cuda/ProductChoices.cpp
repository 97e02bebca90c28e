#include "ProductChoices.h"

#include <cstdio>
#include <cstdlib>

namespace tessera::runtime {

using cuda::cublasLtMatmulAlgo_t;

// 128 digits.
std::optional<cublasLtMatmulAlgo_t> ProductChoices::algorithmOf(const std::string &digits) {
  cublasLtMatmulAlgo_t algorithm;
  if (digits.size() != 16 * std::size(algorithm.data))
    return std::nullopt;
  size_t at = 0;
  for (uint64_t &word : algorithm.data) {
    std::string part = digits.substr(at, 16);
    char *end = nullptr;
    word = strtoull(part.c_str(), &end, 16);
    if (*end)
      return std::nullopt;
    at += 16;
  }
  return algorithm;
}

ProductChoices::ProductChoices(const std::string &machine, TuningFile::Remark remark)
    : file_(
          "products", machine, [](const std::string &value) { return algorithmOf(value).has_value(); },
          std::move(remark)) {}

std::optional<cublasLtMatmulAlgo_t> ProductChoices::find(const std::string &shape) const {
  std::optional<std::string> digits = file_.find(shape);
  return digits ? algorithmOf(*digits) : std::nullopt;
}

std::string ProductChoices::textOf(const cublasLtMatmulAlgo_t &algorithm) {
  std::string text;
  for (uint64_t word : algorithm.data) {
    char digits[17];
    snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(word));
    text += digits;
  }
  return text;
}

void ProductChoices::add(const std::string &shape, const cublasLtMatmulAlgo_t &algorithm) {
  file_.add(shape, textOf(algorithm));
}

} // namespace tessera::runtime
