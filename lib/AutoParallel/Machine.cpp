//===- Machine.cpp - What a cluster can do, and what steps cost -----------===//
#include "tessera/AutoParallel/Machine.h"

#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cmath>

using namespace tessera;

const Link &Machine::linkOf(llvm::StringRef axis) const {
  auto it = axes.find(axis.str());
  return it == axes.end() ? link : it->second;
}

namespace {
class MachineParser {
public:
  explicit MachineParser(std::string &error) : error(error) {}

  bool parse(const llvm::json::Object &object, Machine &machine) {
    for (const auto &entry : object) {
      llvm::StringRef key = entry.first;
      bool ok = key == "flops"              ? number(key, entry.second, machine.flops)
                : key == "memory_bandwidth" ? number(key, entry.second, machine.memoryBandwidth)
                : key == "link"             ? link(key, entry.second, machine.link)
                : key == "axes"             ? axes(entry.second, machine)
                                            : fail("unknown field '" + key.str() + "'");
      if (!ok)
        return false;
    }
    return true;
  }

private:
  bool fail(std::string what) {
    error = std::move(what);
    return false;
  }
  bool number(llvm::StringRef key, const llvm::json::Value &value, double &out) {
    auto parsed = value.getAsNumber();
    if (!parsed || !(*parsed > 0) || !std::isfinite(*parsed))
      return fail("'" + key.str() + "' is not a number above 0");
    out = *parsed;
    return true;
  }
  bool link(llvm::StringRef name, const llvm::json::Value &value, Link &out) {
    const auto *object = value.getAsObject();
    if (!object)
      return fail("'" + name.str() + "' is not an object with latency and bandwidth");
    for (const auto &entry : *object) {
      llvm::StringRef key = entry.first;
      bool ok = key == "latency"     ? number(key, entry.second, out.latency)
                : key == "bandwidth" ? number(key, entry.second, out.bandwidth)
                                     : fail("unknown field '" + key.str() + "' in '" + name.str() + "'");
      if (!ok)
        return false;
    }
    return true;
  }
  bool axes(const llvm::json::Value &value, Machine &machine) {
    const auto *object = value.getAsObject();
    if (!object)
      return fail("'axes' is not an object of links by axis name");
    for (const auto &entry : *object) {
      Link own = machine.link;
      if (!link(entry.first, entry.second, own))
        return false;
      machine.axes[entry.first.str()] = own;
    }
    return true;
  }
  std::string &error;
};
} // namespace

std::optional<Machine> tessera::parseMachine(llvm::StringRef json, std::string &error) {
  auto value = llvm::json::parse(json);
  if (!value) {
    error = llvm::toString(value.takeError());
    return std::nullopt;
  }
  Machine machine;
  const auto *object = value->getAsObject();
  if (!object) {
    error = "the machine is not a JSON object";
    return std::nullopt;
  }
  if (!MachineParser(error).parse(*object, machine))
    return std::nullopt;
  return machine;
}

double tessera::stepTime(const Machine &machine, const Mesh &mesh, const ReshardStep &step, double elementBytes) {
  if (step.received <= 0)
    return 0;
  double latency = 0, bandwidth = 0, group = 1;
  auto use = [&](const Link &link) {
    latency = std::max(latency, link.latency);
    bandwidth = bandwidth == 0 ? link.bandwidth : std::min(bandwidth, link.bandwidth);
  };
  for (const AxisMove &move : step.moves)
    for (const AxisRef &axis : move.axes) {
      use(machine.linkOf(mesh.axes[axis.axis].name));
      group *= double(axis.size);
    }
  if (bandwidth == 0) {
    // Whole pieces go anywhere: every axis of the state may be crossed.
    for (const AxisRef &axis : step.result.usedAxes())
      use(machine.linkOf(mesh.axes[axis.axis].name));
    if (bandwidth == 0)
      use(machine.link);
    group = 2;
  }
  return latency * std::ceil(std::log2(group)) + step.received * elementBytes / bandwidth;
}

double tessera::planTime(const Machine &machine, const Mesh &mesh, const ReshardPlan &plan, double elementBytes) {
  double time = 0;
  for (const ReshardStep &step : plan.steps)
    time += stepTime(machine, mesh, step, elementBytes);
  return time;
}

double tessera::workTime(const Machine &machine, double flops, double bytes, double fraction) {
  return fraction * (flops / machine.flops + bytes / machine.memoryBandwidth);
}
