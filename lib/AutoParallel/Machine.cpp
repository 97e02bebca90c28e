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
/// Deepest nesting of a description that is parsed.
constexpr int kMachineDepth = 16;

class MachineParser {
public:
  explicit MachineParser(std::string &error) : error(error) {}

  bool parse(const llvm::json::Object &object, Machine &machine) {
    // Before the axes, which take from it what they do not say.
    if (const llvm::json::Value *common = object.get("link"); common && !link("link", *common, machine.link))
      return false;
    for (const auto &entry : object) {
      llvm::StringRef key = entry.first;
      bool ok =
          key == "flops"              ? number("flops", entry.second, machine.flops)
          : key == "memory_bandwidth" ? number("memory_bandwidth", entry.second, machine.memoryBandwidth)
          : key == "link"             ? true
          : key == "axes"
              ? axes(entry.second, machine)
              : fail("unknown field '" + key.str() + "' (flops, memory_bandwidth, link and axes are known)");
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
  /// `path` says which number: `axes.tp.latency`.
  bool number(const std::string &path, const llvm::json::Value &value, double &out) {
    auto parsed = value.getAsNumber();
    // Beyond, sums of costs would not be finite.
    if (!parsed || !(*parsed >= kLeast && *parsed <= kMost))
      return fail(path + " is not a number above 0 (between 1e-30 and 1e30)");
    out = *parsed;
    return true;
  }
  bool link(const std::string &path, const llvm::json::Value &value, Link &out) {
    const auto *object = value.getAsObject();
    if (!object)
      return fail(path + " is not an object with latency and bandwidth");
    for (const auto &entry : *object) {
      llvm::StringRef key = entry.first;
      std::string at = path + "." + key.str();
      bool ok =
          key == "latency" ? number(at, entry.second, out.latency)
          : key == "bandwidth"
              ? number(at, entry.second, out.bandwidth)
              : fail("unknown field '" + key.str() + "' in " + path + " (latency and bandwidth are known)");
      if (!ok)
        return false;
    }
    return true;
  }
  bool axes(const llvm::json::Value &value, Machine &machine) {
    const auto *object = value.getAsObject();
    if (!object)
      return fail("axes is not an object of links by axis name");
    for (const auto &entry : *object) {
      Link own = machine.link;
      if (!link("axes." + entry.first.str(), entry.second, own))
        return false;
      machine.axes[entry.first.str()] = own;
    }
    return true;
  }
  static constexpr double kLeast = 1e-30, kMost = 1e30;
  std::string &error;
};

/// Brackets that are open at once, at most; the parser goes as deep. Those in texts open and close nothing.
int nesting(llvm::StringRef json) {
  int depth = 0, most = 0;
  bool isText = false;
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (isText && c == '\\')
      ++i;
    else if (c == '"')
      isText = !isText;
    else if (!isText)
      depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    most = std::max(most, depth);
  }
  return most;
}
} // namespace

std::optional<Machine> tessera::parseMachine(llvm::StringRef json, std::string &error) {
  if (nesting(json) > kMachineDepth) {
    error = "its values are nested more than " + std::to_string(kMachineDepth) + " deep";
    return std::nullopt;
  }
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

double tessera::stepTime(const Machine &machine, const Mesh &mesh, const ReshardStep &step,
                         double elementBytes) {
  if (step.received <= 0)
    return step.written * elementBytes / machine.memoryBandwidth;
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
  // Of plans that take alike the one with fewer steps: each is an op of its own, with an element to write if
  // nothing else.
  double written = elementBytes / machine.memoryBandwidth;
  if (step.kind == StepKind::GroupedSend)
    return latency * step.messages +
           kSendPenalty * std::max(step.received, step.sent) * elementBytes / bandwidth + written;
  return latency * std::ceil(std::log2(group)) + step.received * elementBytes / bandwidth + written;
}

double tessera::planTime(const Machine &machine, const Mesh &mesh, const ReshardPlan &plan,
                         double elementBytes) {
  double time = 0;
  for (const ReshardStep &step : plan.steps)
    time += stepTime(machine, mesh, step, elementBytes);
  return time;
}

double tessera::workTime(const Machine &machine, double flops, double bytes, double fraction) {
  return fraction * (flops / machine.flops + bytes / machine.memoryBandwidth);
}
