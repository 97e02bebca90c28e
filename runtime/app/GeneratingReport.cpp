#include "PipelineReport.h"
#include "ReportText.h"
#include "tessera/runtime/device/Weights.h"

#include <nlohmann/json.hpp>

namespace tessera::runtime {

using Json = nlohmann::ordered_json;

// Of a rank that holds it: bytes, and what it sends for a group of rows.
static Json stageJson(const StagePrograms &stages, int32_t number, const Driver &driver) {
  const PipelineSpec::Stage &spec = stages.spec().stages[size_t(number)];
  const Manifest &manifest = stages.manifest(number);
  const int64_t weights = WeightPlan(manifest, driver).bytes(),
                slots = (stages.groups() - 1) * ((manifest.slotBytes[0] + 63) / 64 * 64),
                values = int64_t(number > 0 ? stages.mostSent(number - 1) : 0) +
                         stages.spec().sendBuffers * int64_t(stages.mostSent(number));
  int64_t caches = 0;
  for (const StateSpec &state : manifest.states)
    caches += state.clear == Clear::BeforePrompts ? state.bytes : 0;
  return {{"program", spec.program},
          {"first_layer", spec.firstLayer},
          {"layers", spec.layers},
          {"at", spec.at},
          {"weight_bytes", weights},
          {"arena_bytes", manifest.arenaBytes},
          {"slot_bytes", slots}, // beside the first group's, which lie in the arena
          {"cache_bytes", caches * stages.groups()},
          {"sends_bytes_of_chunk", stages.message(number, Role::Prompt, true).bytes},
          {"sends_bytes_of_token", stages.message(number, Role::Next, true).bytes},
          {"value_bytes", values}, // what is received for a call, and buffers of what is sent
          {"device_bytes", weights + manifest.arenaBytes + slots + values}};
}

// `4 groups of at most 2 rows`: programs are for those of the largest one.
static std::string groupsOf(const StagePrograms &stages) {
  const bool isEven = stages.groups() * stages.groupRows() == stages.whole().generate->batch;
  return counted(stages.groups(), "group") + (isEven ? " of " : " of at most ") +
         counted(stages.groupRows(), "row");
}

std::string describeGenerating(const StagePrograms &stages, const Driver &driver, bool json) {
  const Manifest &m = stages.whole();
  Json list = Json::array(), axes = Json::object();
  for (const MeshAxis &axis : m.mesh.axes())
    axes[axis.name] = axis.size;
  for (int32_t stage = 0; stage < stages.stages(); ++stage)
    list.push_back(stageJson(stages, stage, driver));
  Json predicted; // of a rank; null where nobody says it
  for (const auto &[name, seconds] : stages.spec().times)
    predicted[name] = seconds;
  const Json info = {{"task", m.task},
                     {"target", m.target},
                     {"dtype", m.dtype},
                     {"architecture", m.architecture},
                     {"model", m.model},
                     {"compiled_for", driver.compiledFor(m)},
                     {"mesh", axes},
                     {"ranks", m.mesh.size()},
                     {"generate",
                      {{"batch", m.generate->batch},
                       {"chunk", m.generate->chunk},
                       {"max_seq_len", m.generate->maxSeqLen},
                       {"vocab", m.generate->vocab}}},
                     {"pipeline",
                      {{"axis", stages.spec().axis},
                       {"groups", stages.groups()},
                       {"group_rows", stages.groupRows()},
                       {"send_buffers", stages.spec().sendBuffers},
                       {"predicted", predicted},
                       {"stages", list}}}};
  if (json)
    return info.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::string page =
      m.architecture + " " + m.model + ", " + m.task + ", " + m.dtype + " on " + m.target + "\n";
  page += "mesh         " + m.mesh.describe() + " (" + std::to_string(m.mesh.size()) + " ranks)\n";
  page += "generating   batch " + std::to_string(m.generate->batch) + ", prompts in chunks of " +
          std::to_string(m.generate->chunk) + ", longest context " + std::to_string(m.generate->maxSeqLen) +
          ", vocabulary " + std::to_string(m.generate->vocab) + "\n";
  page += "pipeline     over " + stages.spec().axis + ", " + std::to_string(stages.stages()) + " stages, " +
          groupsOf(stages) + ", " + std::to_string(stages.spec().sendBuffers) + " send buffers a rank\n";
  for (size_t s = 0; s < list.size(); ++s) {
    const Json &stage = list[s];
    const int64_t first = stage["first_layer"], layers = stage["layers"];
    page += "stage " + std::to_string(s) + "      " +
            (layers == 0 ? "no layers"
                         : "layers " + std::to_string(first) + " to " + std::to_string(first + layers - 1)) +
            "; a rank: weights " + mega(stage["weight_bytes"]) + ", caches " + mega(stage["cache_bytes"]) +
            ", sends " + mega(stage["sends_bytes_of_chunk"]) + " a chunk and " +
            mega(stage["sends_bytes_of_token"]) + " a token; " + mega(stage["device_bytes"]) + " in all" +
            (predicted.is_null() ? ""
                                 : "; predicted " + milliseconds(predicted["chunk"][s]) + " a chunk, " +
                                       milliseconds(predicted["token"][s]) + " a token") +
            "\n";
  }
  return page;
}

} // namespace tessera::runtime
