#include "tessera/runtime/pipeline/PipelineChannels.h"

#include <set>

namespace tessera::runtime {

std::vector<int64_t> tokenSources(const StagePrograms &stages, int64_t rank, const OutputSpec &next) {
  const Mesh &mesh = stages.whole().mesh;
  return mesh.group(mesh.member(rank, stages.axis(), stages.stages() - 1), next.sharding[0]);
}

std::vector<int64_t> tokenTakers(const StagePrograms &stages, int64_t rank, const OutputSpec &next) {
  const Mesh &mesh = stages.whole().mesh;
  std::vector<int64_t> takers;
  for (int64_t beside : mesh.group(rank, next.sharding[0]))
    for (int64_t along : mesh.group(beside, stages.axis()))
      if (along != rank)
        takers.push_back(along);
  return takers;
}

std::vector<Channel> channelsOf(const StagePrograms &stages) {
  const Mesh &mesh = stages.whole().mesh;
  const std::vector<PipelineSpec::Stage> &table = stages.spec().stages;
  std::set<Channel> channels;
  auto between = [&](int64_t from, int64_t to) {
    for (int64_t rank = 0; rank < mesh.size(); ++rank)
      if (from != to && mesh.index(rank, stages.axis()) == from)
        channels.insert({rank, mesh.member(rank, stages.axis(), to)});
  };
  const bool trains = stages.has(Role::Train);
  for (size_t stage = 0; stage + 1 < table.size(); ++stage) {
    between(table[stage].at, table[stage + 1].at);
    if (trains)
      between(table[stage + 1].at, table[stage].at);
  }
  if (trains)
    for (const PipelineSpec::Shared &shared : stages.spec().shared)
      for (int end : {0, 1})
        between(table[size_t(shared.stages[end])].at, table[size_t(shared.stages[1 - end])].at);
  if (!stages.whole().generate)
    return {channels.begin(), channels.end()};
  for (const EntrySpec &entry : stages.manifest(stages.stages() - 1).entries)
    if (const OutputSpec *next = entry.output(Gives::NextTokens))
      for (int64_t rank = 0; rank < mesh.size(); ++rank)
        if (mesh.index(rank, stages.axis()) + 1 == stages.stages())
          for (int64_t taker : tokenTakers(stages, rank, *next))
            channels.insert({rank, taker});
  return {channels.begin(), channels.end()};
}

} // namespace tessera::runtime
