#include "tessera/runtime/pipeline/StagePrograms.h"

#include "tessera/runtime/core/Fields.h"
#include "tessera/runtime/pipeline/EvaluationLists.h"
#include "tessera/runtime/schedule/Text.h"
#include "tessera/runtime/schedule/Validate.h"

#include <algorithm>
#include <set>

namespace tessera::runtime {

using schedule::Kind;

static void require(bool ok, const std::string &where, const std::string &why) {
  if (!ok)
    damaged(where, why);
}
static std::string stageName(int32_t stage) { return "stage " + std::to_string(stage); }

std::string sharedName(const PipelineSpec::Shared &shared) { return "shared." + shared.parameter; }

const TravellingValue *StageMessage::find(const std::string &name) const {
  for (const TravellingValue &value : values)
    if (value.name == name)
      return &value;
  return nullptr;
}

StagePrograms::StagePrograms(const ts_program &program, const Manifest &whole) : whole_(whole) {
  for (const MeshAxis &axis : whole.mesh.axes())
    if (axis.name == spec().axis)
      axis_ = {{axis.name, 1, axis.size}};
  readStages(program);
  for (int32_t stage = 0; stage < stages(); ++stage)
    checkStage(stage);
  if (!whole.train) {
    checkGeneration();
    return;
  }
  require(has(Role::Train), "pipeline", "its stages have no parts of the role train");
  for (Role role : {Role::Train, Role::TrainDropout, Role::Evaluate})
    if (has(role))
      checkStep(role);
  readLists();
}

void StagePrograms::readStages(const ts_program &program) {
  for (size_t s = 0; s < spec().stages.size(); ++s) {
    const PipelineSpec::Stage &stage = spec().stages[s];
    std::string where = stageName(int32_t(s));
    require(stage.program < int64_t(program.num_programs), where,
            "its program is number " + std::to_string(stage.program) + " of " +
                std::to_string(program.num_programs));
    const ts_program &own = *program.programs[stage.program];
    require(own.abi_version == TESSERA_ABI_VERSION, where,
            "its program is for version " + std::to_string(own.abi_version) + " of abi.h");
    Manifest manifest = Manifest::parse({own.manifest, size_t(own.manifest_bytes)});
    require(manifest.entries.size() == own.num_entries, where,
            "its manifest names another number of entries than there are");
    // Its types and groups know nothing of pipelines.
    std::vector<MeshAxis> axes = whole_.mesh.axes();
    for (MeshAxis &axis : axes)
      if (axis.name == spec().axis)
        axis.size = 1;
    require(Mesh(axes).describe() == manifest.mesh.describe(), where,
            "it was compiled for the mesh " + manifest.mesh.describe() + ", the whole for " +
                whole_.mesh.describe());
    manifest.mesh = whole_.mesh;
    for (ParamSpec &param : manifest.params) {
      param.firstLayer = param.layers ? stage.firstLayer : 0;
      param.heldAlong = axis_;
      param.heldAt = stage.at;
    }
    manifests_.push_back(std::move(manifest));
    programs_.push_back(&own);
  }
}

void StagePrograms::checkStage(int32_t stage) const {
  const Manifest &m = manifest(stage);
  std::string where = stageName(stage);
  require(!m.pipeline, where, "it is a pipeline itself");
  require(m.target == whole_.target && m.dtype == whole_.dtype && m.task == whole_.task, where,
          "it is of another task, type or target than the whole");
  if (!whole_.train)
    return;
  const TrainSpec &all = *whole_.train;
  require(m.train && m.train->batch == all.batch && m.train->seq == all.seq &&
              m.train->microBatches == all.microBatches,
          where, "its sizes of training are not those of the whole");
  for (const EntrySpec &e : m.entries)
    require(e.part != StagePart::Whole, where, "entry " + e.name + " is no part of a step");
}

std::vector<int32_t> StagePrograms::stagesAt(int64_t coordinate) const {
  std::vector<int32_t> at;
  for (int32_t stage = 0; stage < stages(); ++stage)
    if (spec().stages[size_t(stage)].at == coordinate)
      at.push_back(stage);
  return at;
}

bool StagePrograms::has(Role role) const {
  for (const Manifest &m : manifests_)
    for (const EntrySpec &e : m.entries)
      if (e.role == role)
        return true;
  return false;
}

Role StagePrograms::ownRole(int32_t stage, Role role) const {
  return role == Role::TrainDropout && manifest(stage).partIndex(role, StagePart::Forward) < 0 ? Role::Train
                                                                                               : role;
}

void StagePrograms::checkStep(Role role) const {
  bool takesScale = false;
  const std::vector<std::string> summed = sums(role);
  for (int32_t stage = 0; stage < stages(); ++stage) {
    const Manifest &m = manifest(stage);
    std::string where = stageName(stage);
    const Role own = ownRole(stage, role);
    int64_t update = m.partIndex(own, StagePart::Update);
    require(m.partIndex(own, StagePart::Forward) >= 0 && update >= 0, where,
            "it has no forward or no update where other stages have one");
    const EntrySpec &last = m.entries[size_t(update)];
    require(last.output(Gives::Loss) && (role == Role::Evaluate || last.output(Gives::GradNorm)), where,
            "entry " + last.name + " gives no loss, or no norm");
    entriesOf(stage, role, [&](const EntrySpec &e) {
      takesScale |= e.input(Fill::LossScale) != nullptr;
      for (const InputSpec &input : e.inputs)
        require(input.fill != Fill::StageSum ||
                    std::find(summed.begin(), summed.end(), input.name) != summed.end(),
                where, "entry " + e.name + ", input " + input.name + ": no stage gives it");
    });
    for (bool forward : {true, false})
      checkMessages(stage, role, forward);
    require(stage + 1 == stages() || message(stage, role, true).bytes > 0, where,
            "it sends nothing to the next stage");
    require(stage == 0 || role == Role::Evaluate || message(stage, role, false).bytes > 0, where,
            "it sends nothing back to the stage before");
  }
  require(role == Role::Evaluate || takesScale == whole_.train->lossScale.has_value(), "train",
          "either its stages take a loss scale or it has a first one, and not both");
  checkShared(role);
}

StageMessage StagePrograms::message(int32_t stage, Role role, bool forward) const {
  StageMessage message;
  entriesOf(stage, role, [&](const EntrySpec &e) {
    for (const OutputSpec &output : e.outputs)
      if (output.gives == (forward ? Gives::Sent : Gives::SentGradient)) {
        auto bytes = size_t(io::bytesOf(output.dtype, elementCount(output.local)));
        message.values.push_back({output.name, placeInMessage(message.bytes, bytes), bytes});
      }
  });
  return message;
}

ValueSizes StagePrograms::sizes(Role role) const {
  ValueSizes sizes;
  for (int32_t stage = 0; stage + 1 < stages(); ++stage) {
    sizes.forward.push_back(message(stage, role, true).bytes);
    sizes.backward.push_back(message(stage + 1, role, false).bytes);
  }
  return sizes;
}

KeptMessages StagePrograms::keptMessages(int32_t stage, Role role) const {
  KeptMessages kept;
  entriesOf(stage, role, [&](const EntrySpec &e) {
    if (isOfMicroBatch(e.part) && e.part != StagePart::Forward && e.input(Fill::Received))
      kept.value = message(stage - 1, role, true).bytes;
    if (e.part == StagePart::WeightGradient && e.input(Fill::ReceivedGradient))
      kept.gradient = message(stage + 1, role, false).bytes;
  });
  return kept;
}

std::vector<std::string> StagePrograms::sums(Role role) const {
  std::vector<std::string> names;
  for (int32_t stage = 0; stage < stages(); ++stage)
    entriesOf(stage, role, [&](const EntrySpec &e) {
      for (const OutputSpec &output : e.outputs)
        if (output.gives == Gives::StageSum &&
            std::find(names.begin(), names.end(), output.name) == names.end())
          names.push_back(output.name);
    });
  return names;
}

// What `stage` gives in a direction is what the neighbour there takes, and lies on the ranks alike.
void StagePrograms::checkMessages(int32_t stage, Role role, bool forward) const {
  const int32_t next = stage + (forward ? 1 : -1);
  const Gives gives = forward ? Gives::Sent : Gives::SentGradient;
  const Fill fill = forward ? Fill::Received : Fill::ReceivedGradient;
  std::vector<const OutputSpec *> given;
  entriesOf(stage, role, [&](const EntrySpec &e) {
    for (const OutputSpec &output : e.outputs)
      if (output.gives == gives)
        given.push_back(&output);
  });
  std::set<std::string> taken;
  auto takes = [&](int32_t by) {
    if (by < 0 || by >= stages())
      return;
    entriesOf(by, role, [&](const EntrySpec &e) {
      for (const InputSpec &input : e.inputs) {
        if (input.fill != fill)
          continue;
        std::string where = stageName(by) + ", entry " + e.name + ", input " + input.name;
        auto from = std::find_if(given.begin(), given.end(),
                                 [&](const OutputSpec *output) { return output->name == input.name; });
        require(from != given.end(), where, stageName(stage) + " does not send it");
        require((*from)->dtype == input.dtype && (*from)->shape == input.shape &&
                    (*from)->local == input.local && (*from)->sharding == input.sharding,
                where, "is sharded or shaped differently from what " + stageName(stage) + " sends");
        taken.insert(input.name);
      }
    });
  };
  takes(next);
  for (const OutputSpec *output : given)
    require(taken.count(output->name) > 0, stageName(stage) + ", output " + output->name,
            "no stage receives it");
  // At the ends there is nobody who could give anything.
  const int32_t end = forward ? 0 : stages() - 1;
  if (stage == end)
    entriesOf(end, role, [&](const EntrySpec &e) {
      require(!e.input(fill), stageName(end) + ", entry " + e.name, "receives what no stage sends");
    });
}

void StagePrograms::checkShared(Role role) const {
  if (role == Role::Evaluate)
    return;
  std::set<std::pair<int32_t, std::string>> known;
  for (const PipelineSpec::Shared &shared : spec().shared) {
    const OutputSpec *given[2] = {nullptr, nullptr};
    for (int end : {0, 1}) {
      auto stage = int32_t(shared.stages[end]);
      bool taken = false;
      entriesOf(stage, role, [&](const EntrySpec &e) {
        for (const OutputSpec &output : e.outputs)
          if (output.gives == Gives::SharedGradient && output.name == sharedName(shared))
            given[end] = &output;
        for (const InputSpec &input : e.inputs)
          taken |= input.fill == Fill::SharedGradient && input.name == sharedName(shared);
      });
      require(given[end] && taken, stageName(stage),
              "it has " + shared.parameter +
                  " as another stage does, and does not give or take its gradient");
      known.insert({stage, sharedName(shared)});
    }
    require(given[0]->dtype == given[1]->dtype && given[0]->local == given[1]->local &&
                given[0]->sharding == given[1]->sharding,
            "pipeline, shared", "the gradients of " + shared.parameter + " lie otherwise on its two stages");
  }
  for (int32_t stage = 0; stage < stages(); ++stage)
    entriesOf(stage, role, [&](const EntrySpec &e) {
      for (const InputSpec &input : e.inputs)
        require(input.fill != Fill::SharedGradient || known.count({stage, input.name}), stageName(stage),
                "entry " + e.name + ", input " + input.name + ": no other stage gives it");
      for (const OutputSpec &output : e.outputs)
        require(output.gives != Gives::SharedGradient || known.count({stage, output.name}), stageName(stage),
                "entry " + e.name + ", output " + output.name + ": no other stage takes it");
    });
}

void StagePrograms::readLists() {
  lists_.microBatches = int32_t(whole_.train->microBatches);
  for (const PipelineSpec::Stage &stage : spec().stages)
    lists_.rankOfStage.push_back(int32_t(stage.at));
  for (size_t at = 0; at < spec().lists.size(); ++at) {
    Result<schedule::ActionList> list = schedule::parseActions(spec().lists[at]);
    if (!list)
      damaged("pipeline, list " + std::to_string(at), list.failure().message());
    lists_.ranks.push_back(list.take());
    for (const schedule::Action &action : lists_.ranks.back())
      require(!schedule::ofWholeStage(action.kind), "pipeline, list " + std::to_string(at),
              "this runtime has nothing to do for " + schedule::toString(action));
  }
  schedule::Transport transport;
  transport.sendBuffers = int32_t(spec().sendBuffers);
  if (std::optional<schedule::Problem> problem = schedule::validate(lists_, transport))
    damaged("pipeline, lists", problem->why);
  bool sends = false, crosses = false;
  for (const schedule::ActionList &list : lists_.ranks)
    for (const schedule::Action &action : list)
      sends |= schedule::sends(action.kind);
  for (int32_t stage = 0; stage + 1 < stages(); ++stage)
    crosses |= lists_.crosses(stage, stage + 1);
  require(sends == crosses, "pipeline, lists", "they have no sends and receives");
  for (const schedule::ActionList &list : lists_.ranks)
    for (const schedule::Action &action : list)
      if (action.kind == Kind::BackwardInput || action.kind == Kind::BackwardWeight)
        require(manifest(action.stage).partIndex(Role::Train, StagePart::Backward) < 0,
                stageName(action.stage), "its backward is one entry, and the lists have it in two");
  EvaluationLists evaluation = evaluationLists(lists_);
  forwards_ = std::move(evaluation.lists);
  forwardBuffers_ = evaluation.sendBuffers;
}

} // namespace tessera::runtime
