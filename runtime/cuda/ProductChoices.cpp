#include "ProductChoices.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

using cuda::cublasLtMatmulAlgo_t;

static std::string folder() {
  auto environment = [](const char *name) -> std::string {
    const char *value = getenv(name);
    return value ? value : "";
  };
  if (getenv("TESSERA_TUNING"))
    return environment("TESSERA_TUNING");
  std::string cache = environment("XDG_CACHE_HOME");
  if (cache.empty() && !environment("HOME").empty())
    cache = environment("HOME") + "/.cache";
  return cache.empty() ? "" : cache + "/tessera";
}

ProductChoices::ProductChoices(const std::string &machine) : title_("tessera products 1, " + machine) {
  std::string in = folder();
  if (in.empty())
    return;
  std::string name = machine;
  for (char &c : name)
    if (!isalnum(static_cast<unsigned char>(c)) && c != '.')
      c = '-';
  path_ = in + "/products-" + name + ".txt";
  known_ = read();
}

// The first line is the title; each other is SHAPE = 128 digits.
ProductChoices::Table ProductChoices::read() const {
  Table table;
  std::ifstream file(path_);
  std::string line;
  if (!std::getline(file, line) || line != title_)
    return {};
  while (std::getline(file, line)) {
    size_t at = line.find(" = ");
    if (at == std::string::npos)
      return {};
    cublasLtMatmulAlgo_t algorithm;
    const char *digits = line.c_str() + at + 3;
    if (line.size() - at - 3 != 16 * std::size(algorithm.data))
      return {};
    for (uint64_t &word : algorithm.data) {
      std::string part(digits, 16);
      char *end = nullptr;
      word = strtoull(part.c_str(), &end, 16);
      if (*end)
        return {};
      digits += 16;
    }
    table[line.substr(0, at)] = algorithm;
  }
  return table;
}

std::optional<cublasLtMatmulAlgo_t> ProductChoices::find(const std::string &shape) const {
  auto at = known_.find(shape);
  return at == known_.end() ? std::nullopt : std::optional(at->second);
}

void ProductChoices::add(const std::string &shape, const cublasLtMatmulAlgo_t &algorithm) {
  known_[shape] = added_[shape] = algorithm;
}

void ProductChoices::save() {
  if (path_.empty() || added_.empty())
    return;
  for (size_t at = path_.find('/', 1); at != std::string::npos; at = path_.find('/', at + 1))
    mkdir(path_.substr(0, at).c_str(), 0777); // most are there
  Table all = read();
  for (const auto &[shape, algorithm] : added_)
    all[shape] = algorithm;
  std::string scratch = path_ + "." + std::to_string(getpid());
  {
    std::ofstream file(scratch);
    file << title_ << "\n";
    for (const auto &[shape, algorithm] : all) {
      file << shape << " = ";
      for (uint64_t word : algorithm.data) {
        char digits[17];
        snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(word));
        file << digits;
      }
      file << "\n";
    }
    if (!file.flush()) {
      unlink(scratch.c_str());
      return;
    }
  }
  if (rename(scratch.c_str(), path_.c_str()) != 0)
    unlink(scratch.c_str());
  added_.clear();
}

} // namespace tessera::runtime
