#include "PipelineReport.h"
#include "NumberPolicy.h"
#include "ReportText.h"
#include "tessera/runtime/pipeline/Prediction.h"
#include "tessera/runtime/pipeline/StageBytes.h"

#include <cstdio>
#include <map>
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
                      {"dtype", storedName(state.dtype)},
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
  Json json = {{"step_seconds", step->step.seconds()}, {"bubble", step->step.idle()}};
  for (const auto &[name, seconds] : stages.spec().times)
    json[name] = seconds;
  return json;
}

Json rankJson(const StagePrograms &stages, int64_t at, const Driver &driver) {
  const RankBytes bytes = bytesOfRank(stages, at, driver);
  Json json = {{"weight_bytes", bytes.weights},
               {"arena_bytes", bytes.arenas},
               {"more_slots_bytes", bytes.moreSlots}, // beside the first ones, which lie in the arenas
               {"value_bytes", bytes.values}};
  if (stages.whole().train) {
    json["kept_message_bytes"] = bytes.keptMessages;
    json["shared_bytes"] = bytes.shared;
  } else {
    json["token_bytes"] = bytes.tokens;
    json["output_bytes"] = bytes.outputs;
  }
  json["device_bytes"] = bytes.total();
  return json;
}

std::string rankText(int64_t at, const Json &rank) {
  std::string text = "per rank     at " + std::to_string(at) + ": weights " + mega(rank["weight_bytes"]) +
                     (rank.contains("shared_bytes") ? ", arenas " : ", arena ") + mega(rank["arena_bytes"]);
  const bool generates = rank.contains("token_bytes");
  for (auto [what, name] :
       {std::pair("more_slots_bytes", generates ? "other groups of rows" : "other micro-batches"),
        {"kept_message_bytes", "messages kept"},
        {"value_bytes", "values between stages"},
        {"shared_bytes", "gradients of shared weights"},
        {"token_bytes", "tokens on their way"},
        {"output_bytes", "outputs kept"}})
    if (rank.value(what, int64_t(0)) > 0)
      text += std::string(", ") + name + " " + mega(rank[what]);
  return text + "; " + mega(rank["device_bytes"]) + " in all\n";
}

std::string layersText(const PipelineSpec::Stage &stage) {
  if (stage.layers == 0)
    return "no layers";
  const std::string first = std::to_string(stage.firstLayer);
  return stage.layers == 1 ? "layer " + first
                           : "layers " + first + " to " + std::to_string(stage.firstLayer + stage.layers - 1);
}

// Where stages train the table of the pipeline says which; where they generate their gradients say nothing.
Json sharedJson(const StagePrograms &stages) {
  Json list = Json::array();
  for (const PipelineSpec::Shared &one : stages.spec().shared)
    list.push_back({{"parameter", one.parameter}, {"stages", {one.stages[0], one.stages[1]}}});
  if (stages.whole().train)
    return list;
  std::map<std::string, Json> holders;
  for (int32_t stage = 0; stage < stages.stages(); ++stage)
    for (const ParamSpec &param : stages.manifest(stage).params)
      if (param.layers == 0)
        holders[param.name].push_back(stage);
  for (const auto &[name, by] : holders)
    if (by.size() > 1)
      list.push_back({{"parameter", name}, {"stages", by}});
  return list;
}

std::string sharedText(const Json &shared) {
  std::string text;
  for (const Json &one : shared) {
    text += "shared       " + one["parameter"].get<std::string>() + ", by stages ";
    const Json &by = one["stages"];
    for (size_t i = 0; i < by.size(); ++i)
      text += (i == 0 ? "" : i + 1 == by.size() ? " and " : ", ") + std::to_string(by[i].get<int64_t>());
    text += ": each holds a copy\n";
  }
  return text;
}

Json numbersJson(const StagePrograms &stages, const Driver &driver) {
  NumberPolicy numbers;
  for (const Manifest &manifest : stages.manifests())
    numbers.add(manifest, WeightPlan(manifest, driver), stages.whole().generate ? stages.groups() : 1);
  return numbers.json();
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
          {"numbers", numbersJson(stages, driver)},
          {"pipeline",
           {{"axis", stages.spec().axis},
            {"schedule", stages.spec().schedule},
            {"send_buffers", stages.spec().sendBuffers},
            {"shared", sharedJson(stages)},
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

// Bytes that micro-batches keep, and what is sent for each; nothing of what there is none.
static std::string microBatchText(const Json &stage) {
  std::string text;
  if (stage["slot_bytes"] > 0)
    text += ", " + counted(stage["slots"], "micro-batch") + " of " + mega(stage["slot_bytes"]) + " kept";
  if (stage.contains("input_gradient")) {
    const Json &held = stage["input_gradient"];
    text += ", " + mega(held["bytes_within"]) + " within I, " + mega(held["bytes_after"]) + " from I to W";
  }
  const double on = stage["sends_bytes"], back = stage["sends_back_bytes"];
  if (on > 0 || back > 0)
    text += ", sends " + (on > 0 ? mega(on) + " on" : "") + (on > 0 && back > 0 ? " and " : "") +
            (back > 0 ? mega(back) + " back" : "");
  return text;
}

// What the second half of a backward reads: values of one name together.
static std::string readByWeightGradient(const Json &values) {
  std::vector<std::string> names;
  std::map<std::string, std::pair<int64_t, double>> sums; // values, bytes
  for (const Json &value : values) {
    const std::string name = value["value"];
    auto &[count, bytes] = sums[name];
    if (count++ == 0)
      names.push_back(name);
    bytes += value["bytes"].get<double>();
  }
  std::string text;
  for (const std::string &name : names) {
    const auto &[count, bytes] = sums[name];
    text += (text.empty() ? " " : ", ") + name +
            (count > 1 ? " (" + std::to_string(count) + " times) " : " ") + mega(bytes);
  }
  return text;
}

// A backward in two has two times.
static std::string backwardText(const Json &stage, double input, double weights) {
  return stage.contains("input_gradient")
             ? ", gradient of its input " + milliseconds(input) + ", of its weights " + milliseconds(weights)
             : ", backward " + milliseconds(input + weights);
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
  page += "training     " + counted(m.train->batch, "row") + " of " + counted(m.train->seq, "token") +
          " a step, " + counted(m.train->microBatches, "micro-batch") + ", vocabulary " +
          std::to_string(m.train->vocab) + "\n";
  page += "pipeline     " + pipeline["schedule"].get<std::string>() + " over " + stages.spec().axis + ", " +
          counted(stages.stages(), "stage") + ", " + counted(stages.spec().sendBuffers, "send buffer") +
          " a rank\n";
  for (size_t s = 0; s < pipeline["stages"].size(); ++s) {
    const Json &stage = pipeline["stages"][s];
    page += column("stage " + std::to_string(s)) + "at " + std::to_string(stage["at"].get<int64_t>()) + ", " +
            layersText(stages.spec().stages[s]) + ", weights " + mega(stage["weight_bytes"]) + ", arena " +
            mega(stage["arena_bytes"]) + microBatchText(stage) + "\n";
  }
  for (size_t s = 0; s < pipeline["stages"].size(); ++s) {
    const Json &stage = pipeline["stages"][s];
    if (stage.contains("weight_gradient_reads"))
      page += "W of stage " + std::to_string(s) + " reads" +
              readByWeightGradient(stage["weight_gradient_reads"]) + "\n";
  }
  if (const Json &predicted = pipeline["predicted"]; !predicted.is_null()) {
    page += "predicted    a step " + milliseconds(predicted["step_seconds"]) +
            " on the machine that the compiler assumes, of which ranks idle " + percent(predicted["bubble"]) +
            "\n";
    for (size_t s = 0; s < pipeline["stages"].size(); ++s)
      page +=
          column("  stage " + std::to_string(s)) + "forward " + milliseconds(predicted["forward"][s]) +
          backwardText(pipeline["stages"][s], predicted["input_gradient"][s],
                       predicted["weight_gradient"][s]) +
          ", once a step " + milliseconds(predicted["once"][s]) +
          (predicted["shared"][s] > 0
               ? ", gradients of shared weights " + milliseconds(predicted["shared"][s])
               : "") +
          (s + 1 < pipeline["stages"].size() && pipeline["stages"][s]["at"] != pipeline["stages"][s + 1]["at"]
               ? ", message on " + milliseconds(predicted["link"][s])
               : "") +
          "; " + giga(pipeline["stages"][s]["flops"]) + " a step\n";
  }
  page += policyText(info["numbers"]);
  page += sharedText(pipeline["shared"]);
  for (size_t at = 0; at < pipeline["ranks"].size(); ++at)
    page += rankText(int64_t(at), pipeline["ranks"][at]);
  for (size_t at = 0; at < pipeline["lists"].size(); ++at)
    page += "r" + std::to_string(at) + " " + pipeline["lists"][at].get<std::string>() + "\n";
  return page;
}

} // namespace tessera::runtime
