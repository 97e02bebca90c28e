//===- PipelineTimes.cpp --------------------------------------------------===//
//
// `info`, traces, reports and `--explain` tell what was predicted of the very program that runs, not of the
// probes it was planned by.
//
//===----------------------------------------------------------------------===//
#include "tessera/Planner/PipelineTimes.h"

#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/runtime/schedule/Text.h"

using namespace mlir;

namespace tessera {

double secondsOnWire(const Link &link, double bytes) { return bytes / link.bandwidth; }

double secondsOfMessage(const Link &link, double bytes) { return link.latency + secondsOnWire(link, bytes); }

std::vector<double> secondsOfTokens(const std::vector<StageFigures> &stages, const Link &link) {
  std::vector<double> seconds;
  for (const StageFigures &stage : stages)
    seconds.push_back(secondsOfMessage(link, double(stage.of(graph::Role::Next).sent)));
  if (!stages.empty())
    seconds.back() = secondsOfMessage(link, double(stages.back().tokens));
  return seconds;
}

/// The machine that the stages' programs are for.
static Machine machineOf(dist::PipelineOp pipeline) {
  auto first = cast<dist::StageAttr>(pipeline.getStages()[0]);
  return dist::machineOf(cast<ModuleOp>(pipeline->getParentOp()).lookupSymbol<ModuleOp>(first.getProgram()));
}

Link linkOf(dist::PipelineOp pipeline) {
  // The programs' mesh has one rank along it; how many share a node the machine says.
  Mesh along;
  along.axes.push_back({pipeline.getAxis().str(), 1});
  for (auto stage : pipeline.getStages().getAsRange<dist::StageAttr>())
    along.axes.front().size = std::max<int64_t>(along.axes.front().size, stage.getAt() + 1);
  return machineOf(pipeline).linkOf(along, wholeAxis(along, 0));
}

/// In which gradients that each stage shares with one on another rank travel. Between stages of one rank they
/// are copied.
static std::vector<double> secondsShared(const std::vector<StageFigures> &stages,
                                         const std::vector<int64_t> &coordinates, const Link &link) {
  std::vector<double> seconds(stages.size(), 0);
  for (size_t s = 0; s < stages.size(); ++s)
    for (const auto &own : stages[s].sharedGradients)
      for (size_t other = 0; other < stages.size(); ++other)
        if (coordinates[other] != coordinates[s] &&
            llvm::any_of(stages[other].sharedGradients,
                         [&](const auto &one) { return one.first == own.first; }))
          seconds[s] += secondsOfMessage(link, double(own.second));
  return seconds;
}

StageTimes timesOf(const std::vector<StageFigures> &stages, const std::vector<int64_t> &coordinates,
                   Task task, const Link &link) {
  StageTimes times;
  auto add = [&](const char *name, Figure figure) {
    for (const StageFigures &stage : stages)
      times[name].push_back(stage.of(figure));
  };
  if (task == Task::Train) {
    add("forward", Figure::Forward);
    add("input_gradient", Figure::InputGradient);
    add("weight_gradient", Figure::WeightGradient);
    add("once", Figure::Once);
    times["shared"] = secondsShared(stages, coordinates, link);
  } else {
    add("chunk", Figure::Chunk);
    add("token", Figure::Token);
    times["token_link"] = secondsOfTokens(stages, link);
  }
  for (size_t s = 0; s + 1 < stages.size(); ++s) {
    const auto bytes = double(std::max(stages[s].sent, stages[s + 1].sentBack));
    times["link"].push_back(secondsOfMessage(link, bytes));
    if (task == Task::Train) // the simulator's
      times["wire"].push_back(secondsOnWire(link, bytes));
  }
  return times;
}

int32_t sendBuffersOf(const schedule::Schedule &lists, const StageTimes &times) {
  return std::max(kSendBuffers,
                  schedule::leastSendBuffers(lists, schedule::stepCosts(times).costs).withoutDelay);
}

void writePipelineTimes(ModuleOp module, const CompileOptions &options) {
  for (auto pipeline : module.getOps<dist::PipelineOp>()) {
    Builder b(module.getContext());
    std::vector<int64_t> coordinates;
    for (auto stage : pipeline.getStages().getAsRange<dist::StageAttr>())
      coordinates.push_back(stage.getAt());
    const StageTimes times = timesOf(readStages(module), coordinates, options.task, linkOf(pipeline));
    NamedAttrList written;
    for (const auto &[name, seconds] : times)
      written.append(name, b.getDenseF64ArrayAttr(seconds));
    pipeline.setTimesAttr(written.getDictionary(module.getContext()));
    if (std::optional<schedule::Schedule> lists = readLists(pipeline))
      pipeline.setSendBuffersAttr(b.getI64IntegerAttr(sendBuffersOf(*lists, times)));
  }
}

StageTimes readTimes(dist::PipelineOp pipeline) {
  StageTimes times;
  if (DictionaryAttr written = pipeline.getTimesAttr())
    for (NamedAttribute one : written)
      if (auto seconds = dyn_cast<DenseF64ArrayAttr>(one.getValue()))
        times[one.getName().str()] = seconds.asArrayRef().vec();
  return times;
}

std::optional<schedule::Schedule> readLists(dist::PipelineOp pipeline) {
  if (!pipeline.getLists() || pipeline.getLists()->empty())
    return std::nullopt;
  std::vector<schedule::ActionList> lists;
  for (auto text : pipeline.getLists()->getAsRange<StringAttr>()) {
    Result<schedule::ActionList> list = schedule::parseActions(text.getValue());
    if (!list)
      return std::nullopt;
    lists.push_back(list.take());
  }
  schedule::Schedule schedule = schedule::scheduleOf(std::move(lists));
  schedule.rankOfStage.clear();
  for (auto stage : pipeline.getStages().getAsRange<dist::StageAttr>())
    schedule.rankOfStage.push_back(int32_t(stage.getAt()));
  return schedule;
}

schedule::StepPrediction predictStep(dist::PipelineOp pipeline, const schedule::Schedule &lists) {
  schedule::Transport transport;
  transport.sendBuffers = int32_t(pipeline.getSendBuffers().value_or(kSendBuffers));
  return schedule::predictStep(lists, schedule::stepCosts(readTimes(pipeline)), transport);
}

} // namespace tessera
