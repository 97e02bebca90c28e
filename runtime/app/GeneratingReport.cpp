#include "NumberPolicy.h"
#include "PipelineReport.h"
#include "ReportText.h"
#include "tessera/runtime/pipeline/StageBytes.h"

#include <nlohmann/json.hpp>

namespace tessera::runtime {

using Json = nlohmann::ordered_json;

// Of a rank that holds it: bytes, and what it sends for a group of rows.
static Json stageJson(const StagePrograms &stages, int32_t number, const Driver &driver) {
  const PipelineSpec::Stage &spec = stages.spec().stages[size_t(number)];
  const Manifest &manifest = stages.manifest(number);
  const StageBytes bytes = bytesOfStage(stages, number, driver);
  int64_t caches = 0;
  for (const StateSpec &state : manifest.states)
    caches += state.clear == Clear::BeforePrompts ? state.bytes : 0;
  return {{"program", spec.program},
          {"first_layer", spec.firstLayer},
          {"layers", spec.layers},
          {"at", spec.at},
          {"weight_bytes", bytes.weights},
          {"arena_bytes", bytes.arena},
          {"slots", stages.groups()},
          {"slot_bytes", bytes.slots[size_t(Slot::Whole)]},
          {"cache_bytes", caches * stages.groups()},
          {"sends_bytes_of_chunk", stages.message(number, Role::Prompt, true).bytes},
          {"sends_bytes_of_token", stages.message(number, Role::Next, true).bytes}};
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
  Json ranks = Json::array();
  for (int32_t stage = 0; stage < stages.stages(); ++stage) {
    list.push_back(stageJson(stages, stage, driver));
    ranks.push_back(rankJson(stages, stage, driver)); // which has this stage
  }
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
                     {"numbers", numbersJson(stages, driver)},
                     {"pipeline",
                      {{"axis", stages.spec().axis},
                       {"groups", stages.groups()},
                       {"group_rows", stages.groupRows()},
                       {"send_buffers", stages.spec().sendBuffers},
                       {"shared", sharedJson(stages)},
                       {"stages", list},
                       {"predicted", predicted},
                       {"ranks", ranks}}}};
  if (json)
    return info.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::string page =
      m.architecture + " " + m.model + ", " + m.task + ", " + m.dtype + " on " + m.target + "\n";
  page += "mesh         " + m.mesh.describe() + " (" + std::to_string(m.mesh.size()) + " ranks)\n";
  page += "generating   batch " + std::to_string(m.generate->batch) + ", prompts in chunks of " +
          std::to_string(m.generate->chunk) + ", longest context " + std::to_string(m.generate->maxSeqLen) +
          ", vocabulary " + std::to_string(m.generate->vocab) + "\n";
  page += "pipeline     over " + stages.spec().axis + ", " + counted(stages.stages(), "stage") + ", " +
          groupsOf(stages) + ", " + counted(stages.spec().sendBuffers, "send buffer") + " a rank\n";
  for (size_t s = 0; s < list.size(); ++s) {
    const Json &stage = list[s];
    const double ofChunk = stage["sends_bytes_of_chunk"], ofToken = stage["sends_bytes_of_token"];
    page += column("stage " + std::to_string(s)) + layersText(stages.spec().stages[s]) + ", caches " +
            mega(stage["cache_bytes"]) +
            (ofChunk > 0 ? ", sends " + mega(ofChunk) + " a chunk and " + mega(ofToken) + " a token" : "") +
            (predicted.is_null() ? ""
                                 : "; predicted " + milliseconds(predicted["chunk"][s]) + " a chunk, " +
                                       milliseconds(predicted["token"][s]) + " a token") +
            "\n";
  }
  page += policyText(info["numbers"]);
  page += sharedText(info["pipeline"]["shared"]);
  for (size_t at = 0; at < ranks.size(); ++at)
    page += rankText(int64_t(at), ranks[at]);
  return page;
}

} // namespace tessera::runtime
