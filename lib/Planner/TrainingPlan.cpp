//===- TrainingPlan.cpp - The schedule that trains fastest ----------------===//
//
// Costs of compiled stages say which plans are worth a try; what fits into a limit is measured: the stages of
// a plan are compiled to rung exec, and what they and the lists take is what `info` will say.
//
//===----------------------------------------------------------------------===//
#include "tessera/Planner/PipelinePlan.h"

#include "PipelineMemory.h"
#include "PipelineModels.h"
#include "ScheduleFile.h"
#include "tessera/Pipelines/IdleLayouts.h"
#include "tessera/Planner/PipelineTimes.h"

#include "tessera/runtime/schedule/Lower.h"
#include "tessera/runtime/schedule/Search.h"
#include "tessera/runtime/schedule/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;

namespace tessera {
namespace {

/// What stages may be told besides, and what they take then.
struct Variant {
  CompileOptions options;
  PipelineModels models;
};

class TrainingPlanner {
public:
  TrainingPlanner(ModuleOp graph, const LayerLoop &loop, int32_t ranks, CompileOptions &options)
      : graph(graph), loop(loop), ranks(ranks), options(options), probe(graph, options.model) {}

  Status run();

private:
  Status readFlags();
  Status checkStages() const;
  void findMicroBatches();
  void addVariants(const CompileOptions &told);
  void dropVariants(size_t first);
  /// What `variant` takes with the numbers of micro-batches that are looked at.
  Status addModels(Variant &variant);
  /// What stages of the plan take of a rank, compiled to rung exec.
  Result<RankMemory> measure(size_t variant, const schedule::Plan &plan);
  /// Of the variants so far.
  Result<schedule::Choice> search();
  Result<schedule::Choice> choose();
  Result<schedule::Schedule> listsOf(const schedule::Plan &plan) const;
  static void take(const Variant &variant, const schedule::Schedule &lists, const schedule::StageSizes &sizes,
                   CompileOptions &into);
  std::string describe(const schedule::Choice &chosen) const;

  ModuleOp graph;
  LayerLoop loop;
  int32_t ranks;
  CompileOptions &options;
  StageProbe probe;
  Link link;

  schedule::PipelineChoice choice;
  std::optional<schedule::Schedule> given; ///< lists of a file, and their computing actions alone
  schedule::Schedule computing;
  schedule::ChoiceLimits limits;
  std::vector<Variant> variants;
  std::map<std::pair<size_t, std::string>, RankMemory> measured; ///< by variant and plan
  std::vector<std::vector<std::string>> idle; ///< sets of axes that weights, as asked for, leave out
};

} // namespace

Status TrainingPlanner::readFlags() {
  Result<schedule::PipelineChoice> read =
      schedule::parsePipelineChoice(options.pipeline.empty() ? "auto" : options.pipeline);
  if (!read)
    return read.takeFailure();
  choice = read.take();
  Result<Link> joined = readLink(options);
  if (!joined)
    return joined.takeFailure();
  link = joined.take();
  limits.ranks = ranks;
  limits.name = choice.name;
  limits.stagesPerRank = choice.stagesPerRank;
  if (!options.stages.empty()) {
    Result<schedule::StageSizes> sizes = schedule::parseStageSizes(options.stages, loop.layers);
    if (!sizes)
      return sizes.takeFailure();
    limits.sizes = sizes.take();
  }
  if (choice.file.empty())
    return {};
  Result<schedule::Schedule> lists = readSchedule(choice.file, options, ranks);
  if (!lists)
    return lists.takeFailure();
  given = lists.take();
  computing = *given;
  for (schedule::ActionList &list : computing.ranks)
    llvm::erase_if(list, [](const schedule::Action &action) { return !schedule::computes(action.kind); });
  limits.given = &computing;
  limits.givenName = choice.file;
  return {};
}

/// Numbers that may be chosen: those that divide the rows of a step.
void TrainingPlanner::findMicroBatches() {
  if (given)
    options.microBatches = given->microBatches;
  if (options.microBatches) {
    limits.microBatches = {int32_t(options.microBatches)};
    return;
  }
  int64_t rows = options.batch;
  auto forward = graph.lookupSymbol<func::FuncOp>("forward");
  for (Type type : forward.getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && !rows && tensor.getRank() > 0)
      rows = tensor.getDimSize(0);
  // More than that leave next to nothing idle, and each costs its messages.
  constexpr int64_t kMostPerRank = 8;
  for (int64_t m = 1; m <= rows; ++m)
    if (rows % m == 0 && (m <= kMostPerRank * ranks || m == 1))
      limits.microBatches.push_back(int32_t(m));
  if (limits.microBatches.empty())
    limits.microBatches.push_back(1);
}

/// Without a limit nothing is better made again.
void TrainingPlanner::addVariants(const CompileOptions &told) {
  variants.push_back({told, {}});
  if (!options.memory || options.isRecomputeGiven)
    return;
  variants.push_back({told, {}});
  variants.back().options.recompute = "full";
}

/// All from `first` on, as if they had not been added.
void TrainingPlanner::dropVariants(size_t first) {
  variants.erase(variants.begin() + ptrdiff_t(first), variants.end());
  measured.erase(measured.lower_bound({first, ""}), measured.end());
}

Status TrainingPlanner::addModels(Variant &variant) {
  for (bool splits : {false, true}) {
    bool isWanted = !limits.name && !limits.given;
    if (limits.given)
      isWanted = schedule::splitsBackward(*limits.given) == splits;
    else if (limits.name)
      isWanted = schedule::splitsBackward(*limits.name) == splits;
    CompileOptions stages = variant.options;
    stages.splitsBackward = splits;
    if (isWanted)
      if (Status s = variant.models.add(probe, loop, stages, link, limits.microBatches); !s)
        return s;
  }
  return {};
}

Result<RankMemory> TrainingPlanner::measure(size_t variant, const schedule::Plan &plan) {
  const std::pair<size_t, std::string> key = {variant, plan.toString()};
  if (auto known = measured.find(key); known != measured.end())
    return known->second;
  Result<schedule::Schedule> lists = listsOf(plan);
  if (!lists)
    return lists.takeFailure();
  CompileOptions stages = variants[variant].options;
  take(variants[variant], *lists, plan.sizes, stages);
  Result<std::vector<StageFigures>> figures = probe.measure(stages, Rung::Exec);
  if (!figures)
    return figures.takeFailure();
  stages.sendBuffers = sendBuffersOf(*lists, timesOf(*figures, stages.stageCoordinates, Task::Train, link));
  RankMemory memory = memoryOfRanks(*figures, stages, &*lists);
  if (variants[variant].options.shard == options.shard)
    idle = idleAxesOfStages(*figures, options);
  measured[key] = memory;
  return memory;
}

Result<schedule::Choice> TrainingPlanner::search() {
  std::vector<schedule::ModelOf> models;
  for (Variant &variant : variants) {
    if (variant.models.isEmpty())
      if (Status s = addModels(variant); !s)
        return s.takeFailure();
    models.emplace_back([&known = variant.models](int32_t m, bool splits) { return known.of(m, splits); });
  }
  limits.bytes = double(options.memory);
  return schedule::choosePlan(
      models, limits, [&](size_t variant, const schedule::Plan &plan) -> Result<double> {
        Result<RankMemory> memory = measure(variant, plan);
        return memory ? Result<double>(double(memory->total())) : memory.takeFailure();
      });
}

/// Where nothing fits as it is asked for, states, gradients and weights may lie over axes that no weight lies
/// over, as few as are enough.
Result<schedule::Choice> TrainingPlanner::choose() {
  addVariants(options);
  Result<schedule::Choice> chosen = search();
  const std::vector<std::vector<std::string>> sets = idle;
  for (const std::vector<std::string> &axes : sets) {
    if (!chosen || chosen->fits)
      return chosen;
    const std::vector<IdleLayout> layouts = idleLayouts(options, axes, /*addsUpGradients=*/true);
    const size_t known = variants.size();
    for (const IdleLayout &layout : layouts)
      addVariants(layout.options);
    if (Result<schedule::Choice> wider = search()) {
      chosen = std::move(wider);
      continue;
    }
    // Nobody asked for them: what does not compile is left out.
    dropVariants(known);
    for (const IdleLayout &layout : layouts) {
      const size_t before = variants.size();
      addVariants(layout.options);
      if (Result<schedule::Choice> wider = search())
        chosen = std::move(wider);
      else
        dropVariants(before);
    }
  }
  if (chosen && !chosen->fits)
    return doesNotFit(options, measured.at({chosen->best.variant, chosen->best.plan.toString()}));
  return chosen;
}

//===----------------------------------------------------------------------===//
// What is taken
//===----------------------------------------------------------------------===//

Result<schedule::Schedule> TrainingPlanner::listsOf(const schedule::Plan &plan) const {
  if (given && llvm::any_of(given->ranks, [](const schedule::ActionList &list) {
        return llvm::any_of(list, [](const schedule::Action &a) { return schedule::sends(a.kind); });
      }))
    return *given;
  if (given)
    return schedule::lower(*given, schedule::Lowering::Eager);
  Result<schedule::Schedule> made = schedule::generate(plan, ranks);
  if (!made)
    return made;
  return schedule::lower(*made, schedule::Lowering::Eager);
}

void TrainingPlanner::take(const Variant &variant, const schedule::Schedule &lists,
                           const schedule::StageSizes &sizes, CompileOptions &into) {
  into.recompute = variant.options.recompute;
  into.shard = variant.options.shard;
  into.microBatches = lists.microBatches;
  into.splitsBackward = schedule::splitsBackward(lists);
  into.stageSizes.assign(sizes.begin(), sizes.end());
  into.stageCoordinates.assign(lists.rankOfStage.begin(), lists.rankOfStage.end());
  into.actionLists.clear();
  for (const schedule::ActionList &list : lists.ranks)
    into.actionLists.push_back(schedule::toString(list));
}

std::string TrainingPlanner::describe(const schedule::Choice &chosen) const {
  auto one = [&](const schedule::Candidate &of) -> std::string {
    const CompileOptions &told = variants[of.variant].options;
    return llvm::formatv("{0}: {1:f2} us planned{2}{3}", of.plan.toString(), of.plan.seconds * 1e6,
                         told.recompute == options.recompute ? "" : ", --recompute=" + told.recompute,
                         told.shard == options.shard ? "" : ", --shard=" + told.shard);
  };
  std::string text = one(chosen.best);
  if (options.memory)
    text += "; " + describeMemory(options, measured.at({chosen.best.variant, chosen.best.plan.toString()}));
  return text + (chosen.runnerUp ? "; runner-up " + one(*chosen.runnerUp) : "");
}

/// Whether there are as many pinned stages as the schedule has.
Status TrainingPlanner::checkStages() const {
  if (!limits.sizes)
    return {};
  const auto stages = int32_t(limits.sizes->size());
  int32_t ofRank = limits.stagesPerRank ? limits.stagesPerRank : std::max(1, stages / ranks);
  if (limits.name && !schedule::takesStagesPerRank(*limits.name))
    ofRank = schedule::isVShaped(*limits.name) ? 2 : 1;
  const int32_t expected = given ? given->numStages() : ranks * ofRank;
  if (stages == expected)
    return {};
  return badFlag("--stages=" + options.stages,
                 "it names " + std::to_string(stages) + " stages, and " +
                     (options.pipeline.empty() ? "a schedule" : options.pipeline) + " has " +
                     std::to_string(expected) + " on " + std::to_string(ranks) + " ranks",
                 "give as many numbers, separated by commas");
}

Status TrainingPlanner::run() {
  if (Status s = readFlags(); !s)
    return s;
  if (Status s = checkStages(); !s)
    return s;
  const std::string flags = describeGiven(options); // before anything is completed
  findMicroBatches();
  size_t variant = 0;
  schedule::Plan plan;
  if (std::optional<schedule::Plan> pinned = schedule::pinnedPlan(limits); pinned && !options.memory) {
    // There is nothing to choose.
    plan = *pinned;
    addVariants(options);
    options.planText = plan.toString();
  } else {
    Result<schedule::Choice> chosen = choose();
    if (!chosen)
      return chosen.takeFailure();
    options.planText = describe(*chosen);
    variant = chosen->best.variant;
    plan = chosen->best.plan;
  }
  Result<schedule::Schedule> lists = listsOf(plan);
  if (!lists)
    return lists.takeFailure();
  options.planText += flags;
  options.scheduleName = plan.schedule;
  take(variants[variant], *lists, plan.sizes, options);
  return {};
}

Status planTraining(ModuleOp graph, const LayerLoop &loop, int32_t ranks, CompileOptions &options) {
  return TrainingPlanner(graph, loop, ranks, options).run();
}

} // namespace tessera
