#include "Report.h"
#include "NumberPolicy.h"
#include "PeakFlops.h"
#include "ReportText.h"
#include "Terminal.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/device/DeviceMemory.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

namespace tessera::runtime {

using Json = nlohmann::ordered_json;

static std::string axisText(const Manifest &manifest, const SubAxis &sub) {
  auto axis = std::find_if(manifest.mesh.axes().begin(), manifest.mesh.axes().end(),
                           [&](const MeshAxis &a) { return a.name == sub.axis; });
  return sub.size == axis->size ? sub.axis
                                : sub.axis + ":(" + std::to_string(sub.pre) + ")" + std::to_string(sub.size);
}

// What the calls of a collective make.
static void addValues(const std::vector<CallSpec> &calls, int64_t id, std::set<std::string> &values) {
  for (const CallSpec &call : calls) {
    bool isIt = (call.kind == CallKind::Collective || call.kind == CallKind::Start) && call.id == id;
    if (isIt && !call.value.empty())
      values.insert(call.value);
    addValues(call.calls, id, values);
  }
}

// What a call of an entry does: its collectives; the weights, as held, and the states that it touches.
static Json stepJson(const Manifest &manifest, const WeightPlan &plan, const EntrySpec &entry) {
  int64_t bytesRead = 0; // of tables of which rows are looked up, too
  for (int64_t i : entry.paramsRead)
    bytesRead += plan.param(i).layerOffsets.back();
  auto names = [](const std::vector<int64_t> &numbers, const auto &specs) {
    Json list = Json::array();
    for (int64_t i : numbers)
      list.push_back(specs[size_t(i)].name);
    return list;
  };
  Json collectives = Json::array();
  for (auto [id, executions] : entry.collectives) {
    const CollectiveSpec &c = manifest.collectives[id];
    if (mostBytesSent(manifest, c) == 0) // of a part each rank may have its piece itself
      continue;
    Json axes = Json::array();
    for (const SubAxis &sub : manifest.groups[c.group])
      axes.push_back(axisText(manifest, sub));
    std::set<std::string> values;
    addValues(entry.calls, id, values);
    collectives.push_back({{"kind", collectiveName(c.kind)},
                           {"dtype", io::traits(c.type).name},
                           {"axes", axes},
                           {"values", values},
                           {"executions", executions},
                           {"bytes_per_rank", executions * bytesSent(manifest, c)},
                           {"why", c.why}});
    // Of what data decides: at even routing, and at most.
    if (c.width > 0)
      collectives.back()["most_bytes_per_rank"] = executions * mostBytesSent(manifest, c);
  }
  Json step = {{"collectives", collectives},
               {"weights_read", names(entry.paramsRead, manifest.params)},
               {"weight_bytes_read", bytesRead},
               {"weights_updated", names(entry.paramsUpdated, manifest.params)},
               {"states_read", names(entry.statesRead, manifest.states)},
               {"states_written", names(entry.statesWritten, manifest.states)}};
  if (entry.paddingFlops > 0) {
    step["padding_flops"] = entry.paddingFlops;
    step["flops"] = entry.flops;
  }
  return step;
}

namespace {
// Weights and states with a dimension that its axes do not divide: of one size, over the same axes. Bytes of
// one rank, the mean over ranks.
struct Padded {
  std::string axes;
  int64_t size, padded;
  double weightBytes = 0, stateBytes = 0;
  std::vector<std::string> values;
};
} // namespace

static std::vector<Padded> paddedDims(const Manifest &m) {
  std::vector<Padded> list;
  auto add = [&](const std::string &name, const Shape &shape, const Shape &local, const Sharding &sharding,
                 int64_t bytes, double Padded::*held) {
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t padded = local[d] * shardCount(sharding[d]);
      if (padded == shape[d])
        continue;
      std::string axes;
      for (const SubAxis &sub : sharding[d])
        axes += (axes.empty() ? "" : "+") + axisText(m, sub);
      auto at = std::find_if(list.begin(), list.end(),
                             [&](const Padded &p) { return p.axes == axes && p.size == shape[d]; });
      if (at == list.end())
        at = list.insert(at, {axes, shape[d], padded, 0, 0, {}});
      (*at).*held += double(bytes) * double(padded - shape[d]) / double(padded);
      if (std::find(at->values.begin(), at->values.end(), name) == at->values.end())
        at->values.push_back(name);
    }
  };
  for (const ParamSpec &p : m.params)
    add(p.name, p.shape, p.local, p.sharding,
        std::max<int64_t>(p.layers, 1) * io::bytesOf(p.dtype, elementCount(p.local)), &Padded::weightBytes);
  for (const BufferSpec &state : m.states)
    add(state.name, state.shape, state.local, state.sharding, state.bytes, &Padded::stateBytes);
  return list;
}

// How a parameter is held: types, and of how many of its layers.
static std::map<std::string, int64_t> heldLayers(const ParamSpec &spec) {
  int64_t layers = std::max<int64_t>(spec.layers, 1);
  std::map<std::string, int64_t> held;
  if (!spec.isHeldInBlocks())
    return {{io::traits(spec.dtype).name, layers}};
  for (int64_t layer = 0; layer < layers; ++layer)
    ++held[io::dtypeName(spec.heldType(layer))];
  return held;
}

// "Q4_K and Q6_K"
static std::string heldTypesText(const ParamSpec &spec) {
  std::string text;
  for (const auto &[type, layers] : heldLayers(spec))
    text += (text.empty() ? "" : " and ") + type;
  return text;
}

// Bytes of a layer as blocks or elements alone, without padding.
static double plainBytes(const ParamSpec &spec, int64_t layer) {
  io::DType type = spec.isHeldInBlocks() ? spec.heldType(layer) : spec.dtype;
  return double(elementCount(spec.local)) / double(io::blockElements(type)) * double(io::blockBytes(type));
}

// What a rank holds: weights with what the packed form adds, and states.
static Json weightsJson(const WeightPlan &plan) {
  Json list = Json::array();
  for (int64_t i = 0; i < plan.count(); ++i) {
    const WeightPlan::Param &p = plan.param(i);
    int64_t bytes =
        p.layerOffsets.back() + (p.plain ? p.layers * p.plain->bytes : 0); // a variable may lie in both
    double plain = 0;
    for (int64_t layer = 0; layer < p.layers; ++layer)
      plain += plainBytes(*p.spec, layer);
    list.push_back({{"name", p.spec->name},
                    {"stored", heldTypesText(*p.spec)},
                    {"layers", p.spec->layers},
                    {"shape", p.spec->local},
                    {"packed", p.layout->packed},
                    {"bytes", bytes},
                    {"packing_bytes", bytes - int64_t(plain)}});
    if (p.spec->isHeldInBlocks())
      list.back()["held"] = heldLayers(*p.spec);
  }
  return list;
}

static Json statesJson(const Manifest &m) {
  Json list = Json::array();
  for (const BufferSpec &state : m.states)
    list.push_back({{"name", state.name},
                    {"stored", storedName(state.dtype)},
                    {"shape", state.local},
                    {"bytes", state.bytes}});
  return list;
}

// The policy of products: how the operands are stored, what sums are kept in, what results are rounded to.
static Json productsJson(const Manifest &m) {
  Json list = Json::array();
  for (const MatmulSpec &spec : m.matmuls) {
    Json product = {{"x", io::traits(spec.x).name},
                    {"weight", io::traits(spec.w).name},
                    {"accumulated", io::traits(MatmulSpec::sum).name},
                    {"result", io::traits(spec.y).name}};
    if (spec.param >= 0 && m.params[size_t(spec.param)].isHeldInBlocks())
      product["held"] = heldTypesText(m.params[size_t(spec.param)]);
    if (std::find(list.begin(), list.end(), product) == list.end())
      list.push_back(std::move(product));
  }
  return list;
}

static Json paddingJson(const Manifest &m) {
  Json list = Json::array();
  for (const Padded &p : paddedDims(m))
    list.push_back({{"axes", p.axes},
                    {"size", p.size},
                    {"padded", p.padded},
                    {"weight_bytes", p.weightBytes},
                    {"state_bytes", p.stateBytes},
                    {"values", p.values}});
  return list;
}

// What the memory of a rank is for: bytes by kind and type, in all its weight_bytes and arena_bytes. Masters
// are weights that are computed with in another type.
static Json memoryJson(const Manifest &m, const WeightPlan &plan) {
  std::map<std::string, std::map<std::string, int64_t>> memory = m.memory;
  if (memory.empty() && m.arenaBytes)
    memory["scratch"]["untyped"] = m.arenaBytes;
  for (int64_t i = 0; i < plan.count(); ++i) {
    const ParamSpec &spec = *plan.param(i).spec;
    std::string type = io::traits(spec.dtype).name;
    bool isMaster = m.train && spec.variable && !m.dtype.empty() && type != m.dtype;
    addHeldBytes(plan, i, memory[spec.isState() ? "moments" : isMaster ? "masters" : "parameters"]);
  }
  return memory;
}

static Json savedJson(const Manifest &m) {
  Json list = Json::array();
  for (const SavedSpec &saved : m.saved)
    list.push_back(
        {{"value", saved.value}, {"stored", saved.dtype}, {"shape", saved.shape}, {"bytes", saved.bytes}});
  return list;
}

static Json infoJson(const ts_program &program, const Manifest &m) {
  int64_t ranks = m.mesh.size();
  const Driver &driver = driverFor(m.target);
  WeightPlan plan(m, driver);
  std::vector<DeviceMemory> memory;
  for (int64_t rank = 0; rank < ranks; ++rank)
    memory.push_back(deviceMemory(program, m, plan, rank));
  auto byRank = [&](auto what) {
    std::vector<int64_t> list;
    for (const DeviceMemory &one : memory)
      list.push_back(std::invoke(what, one));
    return list;
  };
  Json axes = Json::object();
  for (const MeshAxis &axis : m.mesh.axes())
    axes[axis.name] = axis.size;
  Json steps = Json::object();
  for (const EntrySpec &entry : m.entries)
    if (entry.role != Role::Logits) // a tool of --logits, no step
      steps[entry.name] = stepJson(m, plan, entry);
  Json info = {{"task", m.task},
               {"target", m.target},
               {"dtype", m.dtype},
               {"architecture", m.architecture},
               {"model", m.model},
               {"compiled_for", driver.compiledFor(m)},
               {"mesh", axes},
               {"ranks", ranks},
               {"weight_bytes", byRank(&DeviceMemory::weights)},
               {"arena_bytes", byRank(&DeviceMemory::arena)},
               {"workspace_bytes", byRank(&DeviceMemory::workspace)},
               {"staging_bytes", byRank(&DeviceMemory::staging)},
               {"output_bytes", byRank(&DeviceMemory::outputs)},
               {"code_bytes", byRank(&DeviceMemory::code)},
               {"device_bytes", byRank(&DeviceMemory::total)},
               {"pinned_bytes", driver.pinnedBytes()},
               {"weights", weightsJson(plan)},
               {"states", statesJson(m)},
               {"products", productsJson(m)},
               {"padding", paddingJson(m)},
               {"steps", steps}};
  info["memory"] = memoryJson(m, plan);
  NumberPolicy numbers;
  numbers.add(m, plan);
  info["numbers"] = numbers.json();
  if (m.train)
    info["saved"] = savedJson(m);
  if (m.train) {
    info["train"] = {{"batch", m.train->batch},
                     {"seq", m.train->seq},
                     {"micro_batches", m.train->microBatches},
                     {"vocab", m.train->vocab}};
    if (m.train->flopsPerToken > 0)
      info["train"]["flops_per_token"] = m.train->flopsPerToken;
  }
  if (m.generate) {
    info["batch"] = m.generate->batch;
    info["max_seq_len"] = m.generate->maxSeqLen;
    info["vocab"] = m.generate->vocab;
    for (const GenerateSpec::Prompt &prompt : m.generate->prompts)
      info["prompt_sizes"].push_back(prompt.positions);
  }
  return info;
}

// Of whole rows; of all ranks.
static std::string flopsText(const TrainSpec &train) {
  if (train.flopsPerToken == 0)
    return "";
  char text[64];
  snprintf(text, sizeof text, ", %.4g GFLOP",
           double(train.flopsPerToken) * double(train.batch) * double(train.seq) / 1e9);
  return text;
}

// The program as a whole. One in text need not say what it is for, nor have one type.
static std::string promptSizes(const GenerateSpec &generate) {
  std::string sizes;
  for (const GenerateSpec::Prompt &prompt : generate.prompts)
    sizes += (sizes.empty() ? ", prompts in pieces of " : " or ") + std::to_string(prompt.positions);
  return sizes;
}

static std::string programText(const Manifest &m, const Json &info) {
  std::string machine = info["compiled_for"];
  std::string text = m.architecture + " " + m.model + (m.task.empty() ? "" : ", " + m.task) +
                     (m.dtype.empty() ? "" : ", " + m.dtype) + " on " + m.target +
                     (machine.empty() ? "" : " (" + machine + ")") + "\n";
  text += "mesh         " + m.mesh.describe() + " (" + counted(m.mesh.size(), "rank") + ")\n";
  if (m.generate)
    text += "batch        " + std::to_string(m.generate->batch) + ", context up to " +
            std::to_string(m.generate->maxSeqLen) + ", vocabulary " + std::to_string(m.generate->vocab) +
            promptSizes(*m.generate) + "\n";
  if (m.train)
    text += "training     " + counted(m.train->batch, "row") + " of " + counted(m.train->seq, "token") +
            " a step, " + counted(m.train->microBatches, "micro-batch") + ", vocabulary " +
            std::to_string(m.train->vocab) + flopsText(*m.train) + "\n";
  text += "per rank     weights " + mega(info["weight_bytes"][0].get<double>()) + ", arena " +
          mega(double(m.arenaBytes));
  // What a device takes beside its weights and its arena; of ranks that differ, the one that takes most.
  auto most = [&](const char *what) {
    return std::max_element(info[what].begin(), info[what].end())->get<double>();
  };
  for (auto [what, name] : {std::pair("workspace_bytes", "workspace of products"),
                            {"staging_bytes", "staging of collectives"},
                            {"code_bytes", "code"}})
    if (double bytes = most(what); bytes > 0)
      text += std::string(", ") + name + " " + mega(bytes);
  text += "; " + mega(most("device_bytes")) + " in all";
  if (double kept = most("output_bytes"); kept > 0)
    text += ", and " + mega(kept) + " of outputs kept with --logits";
  if (double pinned = info["pinned_bytes"].get<double>(); pinned > 0)
    text += ", and up to " + mega(pinned) + " of pinned host memory while weights come in";
  text += "\n";
  std::string kinds;
  for (const auto &[kind, types] : info["memory"].items())
    for (const auto &[type, bytes] : types.items())
      kinds += (kinds.empty() ? "" : ", ") + kind + " " + mega(bytes.get<double>()) + " " + type;
  text += "memory       " + kinds + "\n";
  text += policyText(info["numbers"]);
  for (const Json &p : info["products"])
    text += "products     " + p["x"].get<std::string>() + " by weights of " +
            p.value("held", p["weight"].get<std::string>()) + ", added up in " +
            p["accumulated"].get<std::string>() + ", rounded to " + p["result"].get<std::string>() + "\n";
  return text;
}

// What a rank holds from call to call, and what of it is padding.
static std::string heldText(const Json &info) {
  std::string text;
  auto held = [&](const char *kind, const Json &value, const std::string &more) {
    text += kind + value["name"].get<std::string>() + " " + value["stored"].get<std::string>() + " " +
            toString(value["shape"].get<Shape>()) + more + ", " + mega(value["bytes"].get<double>());
  };
  for (const Json &w : info["weights"]) {
    int64_t layers = w["layers"].get<int64_t>();
    held("weight       ", w, layers ? " of " + std::to_string(layers) + " layers" : "");
    double packing = w["packing_bytes"].get<double>();
    const char *where = w["packed"].get<bool>() ? " padding of the packed form" : " between layers";
    text += (packing > 0 ? ", of it " + mega(packing) + where : "") + "\n";
  }
  for (const Json &state : info["states"]) {
    held("state        ", state, "");
    text += "\n";
  }
  for (const Json &p : info["padding"]) {
    double weights = p["weight_bytes"].get<double>(), states = p["state_bytes"].get<double>();
    text += "padding      " + std::to_string(p["size"].get<int64_t>()) + " over " +
            p["axes"].get<std::string>() + " is " + std::to_string(p["padded"].get<int64_t>()) + ": ";
    if (weights > 0)
      text += mega(weights) + " of the weights" + (states > 0 ? ", " : "");
    if (states > 0)
      text += mega(states) + " of the states";
    const Json &values = p["values"];
    text += " (" + values[0].get<std::string>() +
            (values.size() > 1 ? " and " + std::to_string(values.size() - 1) + " more" : "") + ")\n";
  }
  return text;
}

static std::string stepText(const std::string &name, const Json &step) {
  std::string text = name + ": touches " + mega(step["weight_bytes_read"].get<double>()) + " of weights";
  if (!step["weights_updated"].empty())
    text += ", updates " + counted(step["weights_updated"].size(), "weight");
  if (!step["states_written"].empty())
    text += ", writes " + counted(step["states_written"].size(), "state");
  if (step.contains("padding_flops")) {
    char share[48];
    snprintf(share, sizeof(share), ", %.1f %% of its FLOPs on padding",
             100 * step["padding_flops"].get<double>() / step["flops"].get<double>());
    text += share;
  }
  text += step["collectives"].empty() ? ", no collectives\n" : "\n";
  for (const Json &c : step["collectives"]) {
    std::string over;
    for (const Json &axis : c["axes"])
      over += (over.empty() ? "" : ",") + axis.get<std::string>();
    text += "  " + c["kind"].get<std::string>() + " over " + (over.empty() ? "nobody" : over) + ", " +
            std::to_string(c["executions"].get<int64_t>()) + " times, " + mega(c["bytes_per_rank"]) +
            (c.contains("most_bytes_per_rank")
                 ? " at even routing, at most " + mega(c["most_bytes_per_rank"]) + ","
                 : "") +
            " of " + c["dtype"].get<std::string>() + " a rank: " + c["why"].get<std::string>() + "\n";
  }
  return text;
}

std::string describeProgram(const ts_program &program, const Manifest &m, bool json) {
  Json info = infoJson(program, m);
  if (json)
    return info.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::string page = programText(m, info) + heldText(info);
  for (auto &[name, step] : info["steps"].items())
    page += stepText(name, step);
  return page;
}

} // namespace tessera::runtime
