#include "NumberPolicy.h"
#include "ReportText.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace tessera::runtime {

using Json = nlohmann::ordered_json;

std::string storedName(io::DType type) {
  const char *name = io::traits(type).name;
  return name ? name : io::dtypeName(type);
}

void addHeldBytes(const WeightPlan &plan, int64_t i, std::map<std::string, int64_t> &bytes) {
  const WeightPlan::Param &p = plan.param(i);
  if (!p.spec->isHeldInBlocks()) {
    bytes[io::traits(p.spec->dtype).name] += plan.bytes(i);
    return;
  }
  for (int64_t layer = 0; layer < p.layers; ++layer)
    bytes[io::dtypeName(p.spec->heldType(layer))] +=
        p.layerOffsets[size_t(layer) + 1] - p.layerOffsets[size_t(layer)];
}

void NumberPolicy::add(const Manifest &manifest, const WeightPlan &plan, int64_t groups) {
  for (int64_t i = 0; i < plan.count(); ++i)
    if (!plan.param(i).spec->isState()) // what an optimizer keeps is no weight
      addHeldBytes(plan, i, held_);
  // What is cleared before prompts is what is kept of a text.
  for (const StateSpec &state : manifest.states)
    if (state.clear == Clear::BeforePrompts)
      cached_[storedName(state.dtype)] += groups * state.bytes;
  for (const MatmulSpec &product : manifest.matmuls) {
    accumulated_.insert(io::traits(MatmulSpec::sum).name);
    // A program in text need not have one type: that of what enters its products.
    computed_.insert(manifest.dtype.empty() ? io::traits(product.x).name : manifest.dtype);
  }
}

static Json byBytes(const std::map<std::string, int64_t> &types) {
  std::vector<std::pair<std::string, int64_t>> sorted(types.begin(), types.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  Json list = Json::array();
  for (const auto &[type, bytes] : sorted)
    list.push_back({{"type", type}, {"bytes", bytes}});
  return list;
}

Json NumberPolicy::json() const {
  return {{"held", byBytes(held_)},
          {"computed", computed_},
          {"accumulated", accumulated_},
          {"cached", byBytes(cached_)}};
}

std::string policyText(const Json &numbers) {
  std::string text;
  for (const auto &[what, types] : numbers.items()) {
    if (types.empty())
      continue;
    text += (text.empty() ? "" : ", ") + what;
    for (size_t i = 0; i < types.size(); ++i) {
      text += i == 0 ? " " : i + 1 == types.size() ? " and " : ", ";
      text += types[i].is_object()
                  ? types[i]["type"].get<std::string>() + " " + mega(types[i]["bytes"].get<double>())
                  : types[i].get<std::string>();
    }
  }
  return text.empty() ? "" : "numbers      " + text + "\n";
}

} // namespace tessera::runtime
