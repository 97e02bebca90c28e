// What numbers of a program are: held, computed, accumulated, cached.
#ifndef TESSERA_RUNTIME_APP_NUMBERPOLICY_H
#define TESSERA_RUNTIME_APP_NUMBERPOLICY_H

#include "tessera/runtime/device/Device.h"
#include "tessera/runtime/device/Weights.h"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

namespace tessera::runtime {

// What numbers of a type are called that may be in blocks: f32, Q8_0.
std::string storedName(io::DType type);

// Adds to `bytes`, by the name of the type, what a rank holds of parameter `i`: Q4_K, f32.
void addHeldBytes(const WeightPlan &plan, int64_t i, std::map<std::string, int64_t> &bytes);

// `info` prints it, of one program or of the stages of a pipeline together.
class NumberPolicy {
public:
  // A program, as one rank has it; `groups` of rows each have caches of their own.
  void add(const Manifest &manifest, const WeightPlan &plan, int64_t groups = 1);

  // {"held": [{"type", "bytes"}...], "computed": [type...], "accumulated": [type...], "cached": as held}.
  // Types of which most is held come first.
  nlohmann::ordered_json json() const;

private:
  std::map<std::string, int64_t> held_, cached_;
  std::set<std::string> computed_, accumulated_;
};

// That, as a line for people.
std::string policyText(const nlohmann::ordered_json &numbers);

} // namespace tessera::runtime
#endif
