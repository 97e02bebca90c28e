#include "PipelineReport.h"
#include "ReportText.h"
#include "tessera/runtime/device/DeviceMemory.h"
#include "tessera/runtime/pipeline/Prediction.h"
#include "tessera/runtime/pipeline/SlotPlan.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace tessera::runtime {

using Json = nlohmann::ordered_json;

// Of all ranks that have the stage, in a step: what the model takes there.
static double flopsOf(const StagePrograms &stages, int32_t number) {
  const TrainSpec &train = *stages.manifest(number).train;
  return double(train.flopsPerToken) * double(train.batch) * double(train.seq);
}

// Of a rank that holds it: bytes.
static Json stageJson(const StagePrograms &stages, int32_t number, const Driver &driver) {
  const PipelineSpec::Stage &spec = stages.spec().stages[size_t(number)];
  const Manifest &manifest = stages.manifest(number);
  const schedule::Schedule &lists = stages.lists(Role::Train);
  const SlotPlan slots = planSlots(lists.ranks[size_t(spec.at)], number, lists.microBatches);
  WeightPlan plan(manifest, driver);
  StageMessage sent = stages.message(number, Role::Train, true),
               sentBack = stages.message(number, Role::Train, false);
  const int64_t whole = manifest.slotBytes[0], until = manifest.slotBytes[1], from = manifest.slotBytes[2];
  Json json = {{"program", spec.program},
               {"first_layer", spec.firstLayer},
               {"layers", spec.layers},
               {"at", spec.at},
               {"weight_bytes", plan.bytes()},
               {"arena_bytes", manifest.arenaBytes},
               {"slots", slots.of(Slot::Whole).slots},
               {"slot_bytes", whole + until},
               {"sends_bytes", sent.bytes},
               {"sends_back_bytes", sentBack.bytes},
               {"flops", flopsOf(stages, number)}};
  if (manifest.partIndex(Role::Train, StagePart::WeightGradient) < 0)
    return json;
  // Of a micro-batch, when its input_gradient begins, while it runs, and when it has ended.
  json["input_gradient"] = {
      {"bytes_before", whole + until}, {"bytes_within", whole + until + from}, {"bytes_after", whole + from}};
  Json kinds = Json::object();
  for (int kind = 0; kind < kSlots; ++kind)
    kinds[slotName(Slot(kind))] = {{"slots", slots.kinds[size_t(kind)].slots},
                                   {"bytes", manifest.slotBytes[size_t(kind)]}};
  json["slots_by_kind"] = kinds;
  Json read = Json::array();
  for (const StateSpec &state : manifest.states)
    if (int kind = manifest.slotAt(state.offset);
        kind == int(Slot::Whole) || kind == int(Slot::FromInputGradient))
      read.push_back({{"value", state.holds},
                      {"dtype", io::traits(state.dtype).name},
                      {"shape", state.local},
                      {"bytes", state.bytes},
                      {"made_by", kind == int(Slot::Whole) ? "forward" : "input_gradient"}});
  json["weight_gradient_reads"] = read;
  return json;
}

// What the compiler predicts of a step; null where nobody does.
static Json predictedJson(const StagePrograms &stages) {
  const std::optional<Prediction> step = predictStep(stages);
  if (!step)
    return nullptr;
  Json json = {{"step_seconds", step->seconds()}, {"bubble", step->simulation.idle()}};
  for (const auto &[name, seconds] : stages.spec().times)
    json[name] = seconds;
  return json;
}

// Of a rank at a coordinate: gradients of weights that two stages have, the own one and the other's.
static int64_t sharedBytes(const StagePrograms &stages, int64_t at) {
  int64_t bytes = 0;
  for (const PipelineSpec::Shared &shared : stages.spec().shared)
    for (int64_t number : shared.stages) {
      const Manifest &manifest = stages.manifest(int32_t(number));
      const int64_t share = manifest.partIndex(Role::Train, StagePart::Share);
      if (stages.spec().stages[size_t(number)].at == at && share >= 0)
        bytes += 2 * manifest.entries[size_t(share)].output(sharedName(shared))->bytes;
    }
  return bytes;
}

// Of a rank at a coordinate: bytes by what they are for.
static Json rankJson(const StagePrograms &stages, int64_t at, const Driver &driver) {
  int64_t weights = 0, arenas = 0, slots = 0;
  for (int32_t number : stages.stagesAt(at)) {
    const Manifest &manifest = stages.manifest(number);
    const schedule::Schedule &lists = stages.lists(Role::Train);
    const SlotPlan plan = planSlots(lists.ranks[size_t(at)], number, lists.microBatches);
    const KeptMessages kept = stages.keptMessages(number, Role::Train);
    weights += WeightPlan(manifest, driver).bytes();
    arenas += manifest.arenaBytes;
    slots += bytesBesideArena(plan, manifest) + plan.of(Slot::Whole).slots * int64_t(kept.value) +
             plan.of(Slot::FromInputGradient).slots * int64_t(kept.gradient);
  }
  auto values = int64_t(planBuffers(stages.lists(Role::Train), int32_t(at), stages.sizes(Role::Train),
                                    stages.sendBuffers(Role::Train))
                            .bytes);
  const int64_t shared = sharedBytes(stages, at);
  return {{"weight_bytes", weights},
          {"arena_bytes", arenas},
          {"slot_bytes", slots}, // beside the first ones, which lie in the arenas
          {"value_bytes", values},
          {"shared_bytes", shared},
          {"device_bytes", weights + arenas + slots + values + shared}};
}

static Json infoJson(const StagePrograms &stages, const Driver &driver) {
  const Manifest &m = stages.whole();
  Json axes = Json::object();
  for (const MeshAxis &axis : m.mesh.axes())
    axes[axis.name] = axis.size;
  Json list = Json::array();
  for (int32_t stage = 0; stage < stages.stages(); ++stage)
    list.push_back(stageJson(stages, stage, driver));
  Json ranks = Json::array();
  for (int64_t at = 0; at < int64_t(stages.spec().lists.size()); ++at)
    ranks.push_back(rankJson(stages, at, driver));
  Json shared = Json::array();
  for (const PipelineSpec::Shared &one : stages.spec().shared)
    shared.push_back({{"parameter", one.parameter}, {"stages", {one.stages[0], one.stages[1]}}});
  Json train = {{"batch", m.train->batch},
                {"seq", m.train->seq},
                {"micro_batches", m.train->microBatches},
                {"vocab", m.train->vocab}};
  if (m.train->flopsPerToken > 0)
    train["flops_per_token"] = m.train->flopsPerToken;
  return {{"task", m.task},
          {"target", m.target},
          {"dtype", m.dtype},
          {"architecture", m.architecture},
          {"model", m.model},
          {"compiled_for", driver.compiledFor(m)},
          {"mesh", axes},
          {"ranks", m.mesh.size()},
          {"train", train},
          {"pipeline",
           {{"axis", stages.spec().axis},
            {"schedule", stages.spec().schedule},
            {"send_buffers", stages.spec().sendBuffers},
            {"shared", shared},
            {"stages", list},
            {"predicted", predictedJson(stages)},
            {"ranks", ranks},
            {"lists", stages.spec().lists}}}};
}

static std::string percent(const Json &share) {
  char text[32];
  snprintf(text, sizeof text, "%.1f %%", share.get<double>() * 100);
  return text;
}

static std::string giga(const Json &flops) {
  char text[32];
  snprintf(text, sizeof text, "%.4g GFLOPs", flops.get<double>() / 1e9);
  return text;
}

// What a micro-batch holds before and after its input_gradient.
static std::string backwardInTwo(const Json &stage) {
  if (!stage.contains("input_gradient"))
    return "";
  const Json &held = stage["input_gradient"];
  return mega(held["bytes_within"]) + " within I, " + mega(held["bytes_after"]) + " from I to W, ";
}

std::string describePipeline(const StagePrograms &stages, const Driver &driver, bool json) {
  if (stages.whole().generate)
    return describeGenerating(stages, driver, json);
  const Json info = infoJson(stages, driver);
  if (json)
    return info.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const Manifest &m = stages.whole();
  const Json &pipeline = info["pipeline"];
  std::string page =
      m.architecture + " " + m.model + ", " + m.task + ", " + m.dtype + " on " + m.target + "\n";
  page += "mesh         " + m.mesh.describe() + " (" + std::to_string(m.mesh.size()) + " ranks)\n";
  page += "training     " + std::to_string(m.train->batch) + " rows of " + std::to_string(m.train->seq) +
          " tokens a step, " + std::to_string(m.train->microBatches) + " micro-batches, vocabulary " +
          std::to_string(m.train->vocab) + "\n";
  page += "pipeline     " + pipeline["schedule"].get<std::string>() + " over " + stages.spec().axis + ", " +
          std::to_string(stages.stages()) + " stages, " + std::to_string(stages.spec().sendBuffers) +
          " send buffers a rank\n";
  for (size_t s = 0; s < pipeline["stages"].size(); ++s) {
    const Json &stage = pipeline["stages"][s];
    const int64_t first = stage["first_layer"], layers = stage["layers"];
    page += "stage " + std::to_string(s) + "      at " + std::to_string(stage["at"].get<int64_t>()) + ", " +
            (layers == 0 ? "no layers"
                         : "layers " + std::to_string(first) + " to " + std::to_string(first + layers - 1)) +
            ", weights " + mega(stage["weight_bytes"]) + ", arena " + mega(stage["arena_bytes"]) + ", " +
            std::to_string(stage["slots"].get<int64_t>()) + " micro-batches of " + mega(stage["slot_bytes"]) +
            " kept, " + backwardInTwo(stage) + "sends " + mega(stage["sends_bytes"]) + " on and " +
            mega(stage["sends_back_bytes"]) + " back\n";
  }
  for (size_t s = 0; s < pipeline["stages"].size(); ++s) {
    const Json &stage = pipeline["stages"][s];
    if (!stage.contains("weight_gradient_reads"))
      continue;
    page += "W of stage " + std::to_string(s) + " reads";
    const char *separator = " ";
    for (const Json &value : stage["weight_gradient_reads"]) {
      page += separator + value["value"].get<std::string>() + " " + mega(value["bytes"]);
      separator = ", ";
    }
    page += "\n";
  }
  if (const Json &predicted = pipeline["predicted"]; !predicted.is_null()) {
    page += "predicted    a step " + milliseconds(predicted["step_seconds"]) + ", of which ranks idle " +
            percent(predicted["bubble"]) + " between its first action and its last\n";
    for (size_t s = 0; s < pipeline["stages"].size(); ++s)
      page +=
          "  stage " + std::to_string(s) + "    forward " + milliseconds(predicted["forward"][s]) +
          ", gradient of its input " + milliseconds(predicted["input_gradient"][s]) + ", of its weights " +
          milliseconds(predicted["weight_gradient"][s]) + ", once a step " +
          milliseconds(predicted["once"][s]) +
          (s + 1 < pipeline["stages"].size() && pipeline["stages"][s]["at"] != pipeline["stages"][s + 1]["at"]
               ? ", message on " + milliseconds(predicted["link"][s])
               : "") +
          "; " + giga(pipeline["stages"][s]["flops"]) + " a step\n";
  }
  for (const Json &shared : pipeline["shared"])
    page += "shared       " + shared["parameter"].get<std::string>() + ", by stages " +
            std::to_string(shared["stages"][0].get<int64_t>()) + " and " +
            std::to_string(shared["stages"][1].get<int64_t>()) + "\n";
  for (size_t at = 0; at < pipeline["ranks"].size(); ++at) {
    const Json &rank = pipeline["ranks"][at];
    page += "per rank     at " + std::to_string(at) + ": weights " + mega(rank["weight_bytes"]) +
            ", arenas " + mega(rank["arena_bytes"]) + ", micro-batches kept " + mega(rank["slot_bytes"]) +
            ", values between stages " + mega(rank["value_bytes"]) +
            (rank["shared_bytes"] > 0 ? ", gradients of shared weights " + mega(rank["shared_bytes"]) : "") +
            "; " + mega(rank["device_bytes"]) + " in all\n";
  }
  for (size_t at = 0; at < pipeline["lists"].size(); ++at)
    page += "r" + std::to_string(at) + " " + pipeline["lists"][at].get<std::string>() + "\n";
  return page;
}

} // namespace tessera::runtime
