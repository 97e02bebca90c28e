#include "MeasuredMachine.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tessera::runtime {

MeasuredLink linkOf(int64_t ranks, double secondsOfNothing, double bytes, double seconds) {
  constexpr double least = 1e-9; // the clock's tick
  const double rounds = std::max(1.0, std::ceil(std::log2(double(ranks)))),
               empty = std::max(secondsOfNothing, least);
  // On a loaded machine the small one may have taken longer.
  const double moving = std::max(seconds - empty, std::max(seconds / 2, least));
  return {empty / rounds, double(ranks - 1) * bytes / moving};
}

std::string toJson(const MeasuredMachine &machine) {
  using Json = nlohmann::ordered_json;
  auto link = [](const MeasuredLink &one) {
    return Json{{"latency", one.latency}, {"bandwidth", one.bandwidth}};
  };
  Json json = {{"name", machine.name},
               {"cores", machine.cores},
               {"flops", {{"f32", machine.f32}, {"bf16", machine.bf16}, {"f16", machine.f16}}},
               {"memory_bandwidth", machine.memoryBandwidth},
               {"link", link(machine.link)}};
  if (machine.betweenNodes) {
    json["ranks_per_node"] = machine.ranksPerNode;
    json["between_nodes"] = link(*machine.betweenNodes);
  }
  return json.dump();
}

} // namespace tessera::runtime
