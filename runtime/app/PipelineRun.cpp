#include "PipelineRun.h"
#include "tessera/runtime/pipeline/PipelineChannels.h"
#include "tessera/runtime/schedule/Text.h"

namespace tessera::runtime {

PipelineRun::PipelineRun(const StagePrograms &stages, const ts_program &program, const Driver &driver)
    : stages_(stages), plan_{stages.whole(), {}, {}, {}} {
  plan_.manifests.push_back({program.manifest, size_t(program.manifest_bytes)});
  for (uint64_t i = 0; i < program.num_programs; ++i)
    plan_.manifests.push_back({program.programs[i]->manifest, size_t(program.programs[i]->manifest_bytes)});
  weights_.reserve(size_t(stages.stages()));
  std::vector<std::string> &names = plan_.names.names;
  auto next = [&] { return int32_t(names.size()); };
  for (int32_t stage = 0; stage < stages.stages(); ++stage) {
    weights_.emplace_back(stages.manifest(stage), driver);
    firstCollective_.push_back(next());
    addCollectiveNames(plan_.names, stages.manifest(stage), "stage " + std::to_string(stage) + ", ");
  }
  // One numbering for all ranks.
  firstValue_ = next();
  for (int64_t group = 0; stages.whole().generate && group < stages.groups(); ++group) {
    const std::string rows = " of group " + std::to_string(group);
    for (int32_t stage = 0; stage < stages.stages(); ++stage)
      names.push_back("what stage " + std::to_string(stage) + " sends" + rows);
    names.push_back("the tokens" + rows);
  }
  for (Role role : {Role::Train, Role::Evaluate})
    for (int64_t at = 0; at < stages.lists(role).numRanks(); ++at) {
      actions_[{role == Role::Evaluate, at}] = next();
      for (const schedule::Action &action : stages.lists(role).ranks[size_t(at)])
        names.push_back(schedule::toString(action));
    }
  firstShared_ = next();
  for (const PipelineSpec::Shared &shared : stages.spec().shared)
    names.push_back("the exchange of the gradient of " + shared.parameter);
  sums_ = next();
  names.push_back("the sum over the stages");
  const Mesh &mesh = stages.whole().mesh;
  plan_.ofRank = [this, &mesh](int64_t rank) {
    std::vector<ProgramOfRank> programs;
    for (int32_t stage : stages_.stagesAt(mesh.index(rank, stages_.axis())))
      programs.push_back(
          {stages_.program(stage), stages_.manifest(stage), weights(stage), firstCollective_[size_t(stage)]});
    return programs;
  };
  plan_.channels = channelsOf(stages);
  plan_.ownGroups = [this, &mesh](int64_t rank) {
    return std::vector<RankGroup>{{mesh.group(rank, stages_.axis()), mesh.index(rank, stages_.axis())}};
  };
}

int32_t PipelineRun::firstAction(Role role, int64_t coordinate) const {
  return actions_.at({role == Role::Evaluate, coordinate});
}

} // namespace tessera::runtime
