//===- TrainingPlan.cpp - The schedule that trains fastest ----------------===//
//
// Costs say which plans are worth a try; what fits into a limit is measured: the stages of a plan are
// compiled to rung exec, and what they and the lists take is what `info` will say. What costs said too little
// of, or too much, is made good from then on.
//
//===----------------------------------------------------------------------===//
#include "PipelinePlan.h"

#include "PipelineMemory.h"
#include "PipelineModels.h"
#include "ScheduleFile.h"

#include "tessera/runtime/schedule/Choose.h"
#include "tessera/runtime/schedule/Lower.h"
#include "tessera/runtime/schedule/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <map>
#include <tuple>

using namespace mlir;

namespace tessera {
namespace {

/// What stages may be told besides, and what they take then.
struct Variant {
  CompileOptions options;
  PipelineModels models;
};

/// A plan, as a whole.
struct Candidate {
  size_t variant = 0;
  schedule::Plan plan;
  RankMemory memory; ///< where it was measured
  std::string key() const {
    std::string text = std::to_string(variant) + " " + plan.toString();
    for (int64_t layers : plan.sizes)
      text += "," + std::to_string(layers);
    return text;
  }
};

/// Plans whose times are within a hundredth of each other are alike: predictions are worth no more. Of those
/// the one with fewer stages goes first, which sends less, then the one that keeps less.
std::tuple<double, size_t, double, double> rankOf(const schedule::Plan &plan) {
  constexpr double kAlike = 0.01;
  return {std::floor(std::log(std::max(plan.seconds, 1e-30)) / std::log1p(kAlike)), plan.sizes.size(),
          plan.mostBytes(), plan.seconds};
}

class TrainingPlanner {
public:
  TrainingPlanner(ModuleOp graph, const LayerLoop &loop, int32_t ranks, CompileOptions &options)
      : graph(graph), loop(loop), ranks(ranks), options(options), probe(graph, options.model) {}

  Status run();

private:
  Status readFlags();
  Status checkStages() const;
  Status findMicroBatches();
  void addVariants();
  /// What `variant` takes with the numbers of micro-batches that are looked at.
  Status addModels(Variant &variant);
  Result<std::vector<schedule::Plan>> plansOf(const Variant &variant, double bytes, double more);
  /// The fastest plan within `bytes` that is found; none where costs, or measures, say that nothing fits.
  Result<std::optional<Candidate>> search(int64_t bytes);
  void findRunnerUp(const Candidate &best, const std::vector<std::vector<schedule::Plan>> &plans,
                    double bytes);
  /// Plans that take less and less, until no other is found.
  Result<std::vector<Candidate>> smallest();
  Status measure(Candidate &candidate);
  Result<Candidate> fit();
  Result<Candidate> fastest(); ///< whatever it takes
  Result<schedule::Schedule> listsOf(const schedule::Plan &plan) const;
  void take(const Variant &variant, const schedule::Schedule &lists, const schedule::StageSizes &sizes,
            CompileOptions &into) const;
  std::string describe(const Candidate &candidate) const;
  std::string nameOf(const schedule::Plan &plan) const;

  ModuleOp graph;
  LayerLoop loop;
  int32_t ranks;
  CompileOptions &options;
  StageProbe probe;

  schedule::PipelineChoice choice;
  std::optional<schedule::Schedule> given; ///< lists of a file, and their computing actions alone
  schedule::Schedule computing;
  schedule::ChoiceLimits limits;
  std::vector<Variant> variants;
  std::optional<Candidate> runnerUp;
  std::map<std::string, RankMemory> measured;
};

} // namespace

Status TrainingPlanner::readFlags() {
  Result<schedule::PipelineChoice> read =
      schedule::parsePipelineChoice(options.pipeline.empty() ? "auto" : options.pipeline);
  if (!read)
    return read.takeFailure();
  choice = read.take();
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
  return {};
}

/// Numbers that may be chosen: those that divide the rows of a step.
Status TrainingPlanner::findMicroBatches() {
  if (given)
    options.microBatches = given->microBatches;
  if (options.microBatches) {
    limits.microBatches = {int32_t(options.microBatches)};
    return {};
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
  return {};
}

/// Without a limit nothing is better made again.
void TrainingPlanner::addVariants() {
  variants.push_back({options, {}});
  if (!options.memory || options.isRecomputeGiven)
    return;
  variants.push_back({options, {}});
  variants.back().options.recompute = "full";
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
      if (Status s = variant.models.add(probe, loop, stages, limits.microBatches); !s)
        return s;
  }
  return {};
}

Result<std::vector<schedule::Plan>> TrainingPlanner::plansOf(const Variant &variant, double bytes,
                                                             double more) {
  schedule::ChoiceLimits all = limits;
  all.bytes = bytes;
  Result<std::vector<schedule::Plan>> plans = schedule::pipelinePlans(
      [&](int32_t m, bool splits) {
        schedule::PipelineModel model = variant.models.of(m, splits);
        model.rankBytes += more;
        return model;
      },
      all);
  if (plans)
    llvm::stable_sort(*plans,
                      [](const schedule::Plan &a, const schedule::Plan &b) { return rankOf(a) < rankOf(b); });
  return plans;
}

//===----------------------------------------------------------------------===//
// What fits
//===----------------------------------------------------------------------===//

Status TrainingPlanner::measure(Candidate &candidate) {
  auto [known, isNew] = measured.try_emplace(candidate.key());
  if (isNew) {
    const Variant &variant = variants[candidate.variant];
    Result<schedule::Schedule> lists = listsOf(candidate.plan);
    if (!lists)
      return lists.takeFailure();
    CompileOptions stages = variant.options;
    take(variant, *lists, candidate.plan.sizes, stages);
    Result<std::vector<StageFigures>> figures = probe.measure(stages, Rung::Exec);
    if (!figures)
      return figures.takeFailure();
    known->second = memoryOfRanks(*figures, stages, &*lists);
  }
  candidate.memory = known->second;
  return {};
}

Result<std::optional<Candidate>> TrainingPlanner::search(int64_t bytes) {
  std::vector<double> more(variants.size(), 0);
  std::vector<std::vector<schedule::Plan>> plans(variants.size());
  std::vector<bool> isStale(variants.size(), true);
  std::optional<Candidate> best;
  std::map<std::string, int64_t> known; // of this search: no other one changes what it finds
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    std::optional<Candidate> next;
    for (size_t v = 0; v < variants.size(); ++v) {
      if (isStale[v]) {
        Result<std::vector<schedule::Plan>> found = plansOf(variants[v], double(bytes), more[v]);
        if (!found)
          return found.takeFailure();
        plans[v] = found.take();
        isStale[v] = false;
      }
      for (const schedule::Plan &plan : plans[v]) {
        Candidate candidate{v, plan, {}};
        auto measuredHere = known.find(candidate.key());
        const double takes = measuredHere == known.end() ? plan.mostBytes() : double(measuredHere->second);
        if (takes <= double(bytes)) {
          if (!next || rankOf(plan) < rankOf(next->plan))
            next = candidate;
          break;
        }
      }
    }
    if (!next || (best && rankOf(next->plan) >= rankOf(best->plan)))
      break;
    const double said = next->plan.mostBytes() - more[next->variant];
    if (Status s = measure(*next); !s)
      return s.takeFailure();
    known[next->key()] = next->memory.total();
    more[next->variant] = double(next->memory.total()) - said;
    isStale[next->variant] = true;
    if (next->memory.total() <= bytes)
      best = next;
  }
  if (best)
    findRunnerUp(*best, plans, double(bytes));
  return best;
}

/// The next in time of another schedule, number of micro-batches or variant.
void TrainingPlanner::findRunnerUp(const Candidate &best,
                                   const std::vector<std::vector<schedule::Plan>> &plans, double bytes) {
  runnerUp.reset();
  for (auto [v, ofVariant] : llvm::enumerate(plans))
    for (const schedule::Plan &plan : ofVariant)
      if ((bytes == 0 || plan.mostBytes() <= bytes) && rankOf(plan) >= rankOf(best.plan) &&
          (v != best.variant || nameOf(plan) != nameOf(best.plan) ||
           plan.microBatches != best.plan.microBatches) &&
          (!runnerUp || rankOf(plan) < rankOf(runnerUp->plan)))
        runnerUp = Candidate{v, plan, {}};
}

Result<std::vector<Candidate>> TrainingPlanner::smallest() {
  std::vector<Candidate> chain;
  std::optional<Candidate> least;
  for (size_t v = 0; v < variants.size(); ++v) {
    Result<std::vector<schedule::Plan>> plans = plansOf(variants[v], 1, 0);
    if (!plans)
      return plans.takeFailure();
    Candidate candidate{
        v,
        *llvm::min_element(*plans,
                           [](const auto &a, const auto &b) { return a.mostBytes() < b.mostBytes(); }),
        {}};
    if (Status s = measure(candidate); !s)
      return s.takeFailure();
    if (!least || candidate.memory.total() < least->memory.total())
      least = candidate;
  }
  constexpr size_t kMost = 10;
  while (least && chain.size() < kMost) {
    chain.push_back(*least);
    Result<std::optional<Candidate>> next = search(least->memory.total() - 1);
    if (!next)
      return next.takeFailure();
    least = next.take();
  }
  return chain;
}

Result<Candidate> TrainingPlanner::fit() {
  Result<std::optional<Candidate>> found = search(options.memory);
  if (!found)
    return found.takeFailure();
  std::optional<Candidate> best = found.take();
  if (!best) {
    Result<std::vector<Candidate>> chain = smallest();
    if (!chain)
      return chain.takeFailure();
    if (chain->back().memory.total() > options.memory)
      return doesNotFit(options, chain->back().memory);
    // The first that fits is the fastest of them.
    for (const Candidate &candidate : llvm::reverse(*chain))
      if (candidate.memory.total() <= options.memory)
        best = candidate;
    runnerUp.reset();
  }
  return *best;
}

Result<Candidate> TrainingPlanner::fastest() {
  Result<std::vector<schedule::Plan>> plans = plansOf(variants.front(), 0, 0);
  if (!plans)
    return plans.takeFailure();
  Candidate best{0, plans->front(), {}};
  findRunnerUp(best, {*plans}, 0);
  return best;
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
  Result<schedule::Schedule> made = schedule::generate(
      plan.name, ranks, plan.microBatches, schedule::takesStagesPerRank(plan.name) ? plan.stagesPerRank : 0);
  if (!made)
    return made;
  return schedule::lower(*made, schedule::Lowering::Eager);
}

void TrainingPlanner::take(const Variant &variant, const schedule::Schedule &lists,
                           const schedule::StageSizes &sizes, CompileOptions &into) const {
  into.recompute = variant.options.recompute;
  into.microBatches = lists.microBatches;
  into.splitsBackward = schedule::splitsBackward(lists);
  into.stageSizes.assign(sizes.begin(), sizes.end());
  into.stageCoordinates.assign(lists.rankOfStage.begin(), lists.rankOfStage.end());
  // As many as let no send wait, with what is predicted.
  schedule::Costs costs;
  if (!variant.models.isEmpty())
    costs = schedule::costsOf(variant.models.of(lists.microBatches, into.splitsBackward), sizes);
  into.sendBuffers = std::max(kSendBuffers, schedule::leastSendBuffers(lists, costs).withoutDelay);
  into.actionLists.clear();
  for (const schedule::ActionList &list : lists.ranks)
    into.actionLists.push_back(schedule::toString(list));
}

std::string TrainingPlanner::nameOf(const schedule::Plan &plan) const {
  if (given)
    return choice.file;
  std::string name(schedule::scheduleName(plan.name));
  return schedule::takesStagesPerRank(plan.name) ? name + ":" + std::to_string(plan.stagesPerRank) : name;
}

/// `1f1b, 8 micro-batches, cut 10,9,9,2: 12.30 us predicted`
static std::string describePlan(const schedule::Plan &plan, const std::string &name) {
  std::string cut;
  for (int64_t layers : plan.sizes)
    cut += (cut.empty() ? "" : ",") + std::to_string(layers);
  return llvm::formatv("{0}, {1} micro-batches, cut {2}: {3:f2} us predicted", name, plan.microBatches, cut,
                       plan.seconds * 1e6);
}

std::string TrainingPlanner::describe(const Candidate &candidate) const {
  auto one = [&](const Candidate &of) {
    std::string text = describePlan(of.plan, nameOf(of.plan));
    const CompileOptions &told = variants[of.variant].options;
    return told.recompute == options.recompute ? text : text + ", --recompute=" + told.recompute;
  };
  return one(candidate) + (options.memory ? "; " + describeMemory(options, candidate.memory) : "") +
         (runnerUp ? "; runner-up " + one(*runnerUp) : "");
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
  if (Status s = findMicroBatches(); !s)
    return s;
  Candidate best;
  addVariants();
  if ((choice.name || given) && limits.sizes && limits.microBatches.size() == 1 && !options.memory) {
    // There is nothing to choose.
    best.plan.name = choice.name.value_or(best.plan.name);
    best.plan.microBatches = limits.microBatches.front();
    best.plan.stagesPerRank = int32_t(limits.sizes->size()) / ranks;
    best.plan.sizes = *limits.sizes;
  } else {
    for (Variant &variant : variants)
      if (Status s = addModels(variant); !s)
        return s;
    Result<Candidate> chosen = options.memory ? fit() : fastest();
    if (!chosen)
      return chosen.takeFailure();
    best = chosen.take();
    options.planText = describe(best);
  }
  Result<schedule::Schedule> lists = listsOf(best.plan);
  if (!lists)
    return lists.takeFailure();
  options.scheduleName = nameOf(best.plan);
  take(variants[best.variant], *lists, best.plan.sizes, options);
  return {};
}

Status planTraining(ModuleOp graph, const LayerLoop &loop, int32_t ranks, CompileOptions &options) {
  return TrainingPlanner(graph, loop, ranks, options).run();
}

} // namespace tessera
