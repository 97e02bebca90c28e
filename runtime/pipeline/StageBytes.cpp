#include "tessera/runtime/pipeline/StageBytes.h"

#include <algorithm>
#include <set>

namespace tessera::runtime {

static constexpr Role kSteps[] = {Role::Train, Role::TrainDropout, Role::Evaluate};

StageBytes bytesOfStage(const StagePrograms &stages, int32_t number) {
  const Manifest &manifest = stages.manifest(number);
  StageBytes stage;
  stage.arena = manifest.arenaBytes;
  stage.slots = manifest.slotBytes;
  if (!stages.whole().train)
    return stage;
  for (Role role : kSteps)
    if (stages.has(role)) {
      const KeptMessages kept = stages.keptMessages(number, role);
      stage.kept.value = std::max(stage.kept.value, kept.value);
      stage.kept.gradient = std::max(stage.kept.gradient, kept.gradient);
    }
  const int64_t share = manifest.partIndex(Role::Train, StagePart::Share);
  for (const PipelineSpec::Shared &weight : stages.spec().shared)
    if (share >= 0 && (weight.stages[0] == number || weight.stages[1] == number))
      stage.shared += manifest.entries[size_t(share)].output(sharedName(weight))->bytes;
  return stage;
}

StageBytes bytesOfStage(const StagePrograms &stages, int32_t number, const Driver &driver) {
  StageBytes stage = bytesOfStage(stages, number);
  stage.weights = WeightPlan(stages.manifest(number), driver).bytes();
  return stage;
}

std::vector<StepTraffic> trafficOf(const StagePrograms &stages) {
  std::vector<StepTraffic> steps;
  for (Role role : kSteps)
    if (stages.has(role))
      steps.push_back({&stages.lists(role), stages.sizes(role), stages.sendBuffers(role)});
  return steps;
}

GeneratingTraffic generatingTraffic(const StagePrograms &stages, int32_t number) {
  auto mostSent = [&](int32_t stage) {
    return int64_t(std::max(stages.message(stage, Role::Prompt, true).bytes,
                            stages.message(stage, Role::Next, true).bytes));
  };
  const Mesh &mesh = stages.whole().mesh;
  GeneratingTraffic traffic;
  traffic.groups = stages.groups();
  traffic.received = number > 0 ? mostSent(number - 1) : 0;
  traffic.sent = mostSent(number);
  traffic.sendBuffers = stages.spec().sendBuffers;
  traffic.tokensAhead = stages.groupRows() + 1;
  for (const EntrySpec &entry : stages.manifest(stages.stages() - 1).entries)
    if (const OutputSpec *next = entry.output(Gives::NextTokens)) {
      const auto pieces = int64_t(mesh.group(0, next->sharding[0]).size());
      traffic.tokens = std::max(traffic.tokens, pieces * io::bytesOf(next->dtype, elementCount(next->local)));
    }
  std::set<std::pair<int64_t, int64_t>> kept;
  const std::vector<EntrySpec> &entries = stages.manifest(number).entries;
  for (const EntrySpec &entry : entries)
    for (const InputSpec &input : entry.inputs)
      if (input.fill == Fill::Output && kept.insert({input.entry, input.output}).second)
        traffic.outputs += entries[size_t(input.entry)].outputs[size_t(input.output)].bytes;
  return traffic;
}

RankBytes bytesOfRank(const StagePrograms &stages, int64_t at, const Driver &driver) {
  if (stages.whole().generate) // a stage at each coordinate, in order
    return bytesOfRank(bytesOfStage(stages, int32_t(at), driver), generatingTraffic(stages, int32_t(at)));
  std::vector<StageBytes> all;
  for (int32_t number = 0; number < stages.stages(); ++number)
    all.push_back(bytesOfStage(stages, number, driver));
  return bytesOfRank(all, trafficOf(stages), at);
}

} // namespace tessera::runtime
