#include "Versions.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace tessera::runtime {

static std::string listed(const std::vector<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ", ") + name;
  return list;
}

size_t chooseVersion(const std::vector<std::string> &held, const char *forced,
                     const std::function<bool(size_t)> &runs) {
  if (forced && *forced) {
    const auto found = std::find(held.begin(), held.end(), forced);
    if (found == held.end())
      throw Error("cannot choose code for this CPU", std::string("TESSERA_CPU=") + forced,
                  "this executable holds " + listed(held), "name one of them, or leave the variable out");
    return size_t(found - held.begin());
  }
  for (size_t number = held.size(); number-- > 1;)
    if (runs(number))
      return number;
  return 0;
}

ChosenProgram chooseProgram(const ts_program &program, const std::function<bool(const Manifest &)> &runs) {
  if (program.num_versions == 0)
    return {&program, {}};
  ChosenProgram chosen{&program, {}};
  for (size_t number = 0; number < program.num_versions; ++number)
    chosen.held.push_back(program.versions[number].name);
  chosen.number = chooseVersion(chosen.held, getenv("TESSERA_CPU"), [&](size_t number) {
    const ts_program &version = *program.versions[number].program;
    return runs(Manifest::parse({version.manifest, size_t(version.manifest_bytes)}));
  });
  chosen.program = program.versions[chosen.number].program;
  return chosen;
}

// `line` behind the first one of a page.
static std::string withLine(const std::string &page, const std::string &line) {
  const size_t at = page.find('\n') + 1;
  return page.substr(0, at) + line + "\n" + page.substr(at);
}

std::string withVersions(const std::string &described, const ChosenProgram &chosen, bool json) {
  if (chosen.held.empty())
    return described;
  const std::string &name = chosen.held[chosen.number];
  if (json) {
    auto info = nlohmann::ordered_json::parse(described);
    info["version"] = name;
    info["versions"] = chosen.held;
    return info.dump() + "\n";
  }
  return withLine(described, "code         " + name + ", of " + listed(chosen.held));
}

// Weights in blocks are expanded, whatever type a program computes in: no such unit multiplies them.
static bool multipliesBfloat16(const Manifest &manifest, const MatmulSpec &product) {
  const bool blocks = product.param >= 0 && manifest.params[size_t(product.param)].isHeldInBlocks();
  return product.x == io::DType::BF16 && product.w == io::DType::BF16 && !blocks;
}

std::string withBfloat16Unit(const std::string &described, const Manifest &manifest, const std::string &unit,
                             bool json) {
  // A pipeline's own manifest has no products: its stages have.
  const bool multiplies =
      manifest.pipeline
          ? manifest.dtype == "bf16"
          : std::any_of(manifest.matmuls.begin(), manifest.matmuls.end(),
                        [&](const MatmulSpec &product) { return multipliesBfloat16(manifest, product); });
  if (unit.empty() || !multiplies)
    return described;
  if (json) {
    auto info = nlohmann::ordered_json::parse(described);
    info["bfloat16_unit"] = unit;
    return info.dump() + "\n";
  }
  return withLine(described, "bfloat16     multiplied by " + unit + " here");
}

} // namespace tessera::runtime
