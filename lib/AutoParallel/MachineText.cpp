//===- MachineText.cpp - Machines as JSON ---------------------------------===//
#include "tessera/AutoParallel/Machine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

using namespace tessera;

namespace {
/// Deepest nesting of a description that is parsed.
constexpr int kMachineDepth = 16;
/// Bytes of a machine's name at most: it stands in lines that people read.
constexpr size_t kNameBytes = 4096;

class MachineParser {
public:
  explicit MachineParser(std::string &error) : error(error) {}

  bool parse(const llvm::json::Object &object, Machine &machine) {
    machine.name = Machine::kUnnamed;
    // Before the others, which take from it what they do not say.
    if (const llvm::json::Value *common = object.get("link"); common && !link("link", *common, machine.link))
      return false;
    machine.betweenNodes = machine.link;
    for (const auto &entry : object)
      if (!field(entry.first, entry.second, machine))
        return false;
    for (const char *ofNodes : {"between_nodes", "within"})
      if (object.get(ofNodes) && machine.ranksPerNode == 0)
        return fail(std::string(ofNodes) + " speaks of nodes, and ranks_per_node is missing");
    return true;
  }

private:
  bool field(llvm::StringRef key, const llvm::json::Value &value, Machine &machine) {
    if (key == "name")
      return name(value, machine.name);
    if (key == "cores")
      return count("cores", value, machine.cores);
    if (key == "flops")
      return flops(value, machine);
    if (key == "memory_bandwidth")
      return number("memory_bandwidth", value, machine.memoryBandwidth);
    if (key == "link")
      return true;
    if (key == "ranks_per_node")
      return count("ranks_per_node", value, machine.ranksPerNode);
    if (key == "between_nodes")
      return link("between_nodes", value, machine.betweenNodes);
    if (key == "axes")
      return axes(value, machine);
    if (key == "within")
      return within(value, machine);
    return fail(
        "unknown field '" + key.str() +
        "' (name, cores, flops, memory_bandwidth, link, ranks_per_node, between_nodes, axes and within "
        "are known)");
  }

  bool fail(std::string what) {
    error = std::move(what);
    return false;
  }
  bool name(const llvm::json::Value &value, std::string &out) {
    auto text = value.getAsString();
    if (!text || text->empty() || text->size() > kNameBytes ||
        llvm::any_of(*text, [](char c) { return c >= 0 && c < ' '; }))
      return fail("name is no text of 1 to " + std::to_string(kNameBytes) + " bytes on one line");
    out = text->str();
    return true;
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
  bool count(const std::string &path, const llvm::json::Value &value, int64_t &out) {
    auto parsed = value.getAsInteger();
    if (!parsed || *parsed < 1 || *parsed > kMaxRanks)
      return fail(path + " is not a whole number from 1 to " + std::to_string(kMaxRanks));
    out = *parsed;
    return true;
  }
  bool flops(const llvm::json::Value &value, Machine &machine) {
    const auto *byType = value.getAsObject();
    if (!byType) {
      double all = 0;
      if (!number("flops", value, all))
        return false;
      machine.flops.fill(all);
      return true;
    }
    // What is not said goes as fast as float32.
    if (const llvm::json::Value *f32 = byType->get("f32")) {
      double rate = 0;
      if (!number("flops.f32", *f32, rate))
        return false;
      machine.flops.fill(rate);
    }
    for (const auto &entry : *byType) {
      llvm::StringRef key = entry.first;
      int type = 0;
      while (type < kComputeTypes && key != toString(ComputeType(type)))
        ++type;
      if (type == kComputeTypes)
        return fail("unknown field '" + key.str() + "' in flops (f32, bf16 and f16 are known)");
      if (!number("flops." + key.str(), entry.second, machine.flops[size_t(type)]))
        return false;
    }
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
  bool within(const llvm::json::Value &value, Machine &machine) {
    const auto *object = value.getAsObject();
    if (!object)
      return fail("within is not an object of counts by axis name");
    for (const auto &entry : *object)
      if (!count("within." + entry.first.str(), entry.second, machine.within[entry.first.str()]))
        return false;
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

llvm::json::Object linkJson(const Link &link) {
  return llvm::json::Object{{"latency", link.latency}, {"bandwidth", link.bandwidth}};
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

std::string tessera::toJson(const Machine &machine) {
  llvm::json::Object flops;
  for (int type = 0; type < kComputeTypes; ++type)
    flops[toString(ComputeType(type))] = machine.flops[size_t(type)];
  llvm::json::Object json{{"name", machine.name},
                          {"flops", std::move(flops)},
                          {"memory_bandwidth", machine.memoryBandwidth},
                          {"link", linkJson(machine.link)}};
  if (machine.cores)
    json["cores"] = machine.cores;
  if (machine.ranksPerNode) {
    json["ranks_per_node"] = machine.ranksPerNode;
    json["between_nodes"] = linkJson(machine.betweenNodes);
  }
  llvm::json::Object axes, within;
  for (const auto &[axis, link] : machine.axes)
    axes[axis] = linkJson(link);
  for (const auto &[axis, count] : machine.within)
    within[axis] = count;
  if (!axes.empty())
    json["axes"] = std::move(axes);
  if (!within.empty())
    json["within"] = std::move(within);
  return llvm::formatv("{0}", llvm::json::Value(std::move(json))).str();
}
