//===- FitMemory.cpp - The fastest program that fits ----------------------===//
//
// Predicted are times; bytes are measured, on rung exec. A strategy is what the rungs above decide: which
// values graph-build-train-step saves, how weights, states and gradients lie, and how many bytes of what a
// block makes placement lets a rank have at once. Below, SavedLoops has for each number of saved bytes the
// fastest program; which of them fits is found by bisection, a dozen programs at most. Which ones it tries
// does not depend on the limit until one fits into one limit and not into the other: so of the programs of
// one strategy no limit gives a slower one than a smaller limit.
//
//===----------------------------------------------------------------------===//
#include "FitMemory.h"

#include "tessera/Pipelines/ProgramMemory.h"
#include "tessera/Pipelines/SpmdFacts.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Dist/Transforms/SavedLoops.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Pipelines/Frontend.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Pipelines/Register.h"

using namespace mlir;

namespace tessera {
namespace {

struct Plan {
  CompileOptions options;
  ProgramMemory memory;
  double seconds = 0; ///< predicted, of the step
  bool isFasterThan(const Plan &other) const {
    return std::pair(seconds, memory.total()) < std::pair(other.seconds, other.memory.total());
  }
};

/// One way to come to a program of local shapes, and what it can save.
class Strategy {
public:
  /// Fails where the pipeline fails.
  static Result<std::unique_ptr<Strategy>> make(ModuleOp graph, CompileOptions options);

  /// The fastest plan, whatever it takes, and the one that saves least.
  Result<Plan> fastest() { return measure(loops->frontier().points().size() - 1); }
  Result<Plan> smallest() { return measure(0); }
  /// The fastest plan that fits, of those between: `smallest` does, `fastest` does not.
  Result<Plan> between(Plan smallest, int64_t limit);
  /// Axes of the mesh that no weight lies over, major to minor.
  std::vector<std::string> axesWithoutWeights() const;

private:
  Result<Plan> measure(size_t point);

  CompileOptions options;
  std::shared_ptr<const Target> target;
  OwningOpRef<ModuleOp> local; ///< rung spmd, before what is saved is chosen
  std::unique_ptr<dist::SavedLoops> loops;
  double leastSeconds = 0; ///< of a step in which nothing is made again
};

class Fitting {
public:
  Fitting(const CompileOptions &options)
      : options(options), context(registry(), MLIRContext::Threading::DISABLED) {}
  Result<CompileOptions> run();

private:
  static DialectRegistry registry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }
  std::vector<CompileOptions> strategies() const;
  std::vector<CompileOptions> layouts() const;
  Status consider(const std::vector<CompileOptions> &strategies);
  Status consider(const CompileOptions &strategy);
  Status considerTighter(const Plan &tooLargePlan);
  Status considerBetween(Strategy &strategy);
  void weigh(const Plan &plan);
  bool isWithin(const Plan &plan) const { return plan.memory.total() <= options.memory; }
  Failure doesNotFit() const;
  void explain(const Plan &plan) const;

  const CompileOptions &options;
  MLIRContext context;
  OwningOpRef<ModuleOp> graph;
  std::vector<std::string> idleAxes; ///< that no weight lies over, as the first strategy has them
  bool fits = false;                 ///< the fastest plan of some strategy
  std::optional<Plan> best;          ///< that fits
  std::optional<Plan> least;         ///< that takes fewest bytes
  std::vector<Plan> tooLarge;        ///< the first of each strategy, where it does not fit
};

} // namespace

Result<std::unique_ptr<Strategy>> Strategy::make(ModuleOp graph, CompileOptions options) {
  auto strategy = std::make_unique<Strategy>();
  Result<std::shared_ptr<const Target>> target = resolveTarget(options.target, options.targetOptions);
  if (!target)
    return target.takeFailure();
  strategy->target = target.take();
  strategy->options = options;
  strategy->local = OwningOpRef<ModuleOp>(cast<ModuleOp>(graph->clone()));
  DiagnosticCollector diagnostics(*graph->getContext());
  PassManager pm(graph->getContext());
  buildPhases(pm, Rung::Graph, Rung::Sharded, options);
  buildLocalProgram(pm);
  if (failed(pm.run(*strategy->local)))
    return diagnostics.failure("cannot compile", options.model);
  strategy->loops = std::make_unique<dist::SavedLoops>(
      *strategy->local, options.isRecomputeGiven ? dist::SavedFreedom::Gathers : dist::SavedFreedom::All);
  for (const StepTotals &total : SpmdFacts(*strategy->local).totals())
    strategy->leastSeconds = std::max(strategy->leastSeconds, total.seconds);
  strategy->leastSeconds -= strategy->loops->secondsNow();
  return strategy;
}

Result<Plan> Strategy::measure(size_t point) {
  Plan plan;
  plan.options = options;
  plan.options.savedBytes = loops->frontier().points()[point].bytes;
  plan.seconds = leastSeconds + loops->seconds(loops->frontier().choice(point));
  OwningOpRef<ModuleOp> module(cast<ModuleOp>(local.get()->clone()));
  DiagnosticCollector diagnostics(*local->getContext());
  PassManager pm(local->getContext());
  buildBundledProgram(pm, plan.options);
  buildPhases(pm, Rung::Kernels, Rung::Exec, plan.options);
  if (failed(pm.run(*module)))
    return diagnostics.failure("cannot compile", options.model);
  plan.memory = programMemory(*module, *target);
  return plan;
}

Result<Plan> Strategy::between(Plan smallest, int64_t limit) {
  Plan best = std::move(smallest);
  size_t fits = 0, tooMany = loops->frontier().points().size() - 1;
  while (tooMany - fits > 1) {
    size_t middle = fits + (tooMany - fits) / 2;
    Result<Plan> plan = measure(middle);
    if (!plan)
      return plan;
    if (plan->memory.total() <= limit) {
      best = plan.take();
      fits = middle;
    } else {
      tooMany = middle;
    }
  }
  return best;
}

std::vector<std::string> Strategy::axesWithoutWeights() const {
  const Mesh mesh = dist::getMesh(*local) ? dist::getMesh(*local).getMesh().toMesh() : Mesh();
  std::vector<std::string> idle;
  SmallVector<BlockArgument> weights;
  for (auto function : local.get().getOps<func::FuncOp>())
    llvm::copy_if(function.getArguments(), std::back_inserter(weights),
                  [](BlockArgument arg) { return graph::argumentKind(arg) == graph::Kind::Parameter; });
  for (auto [i, axis] : llvm::enumerate(mesh.axes)) {
    // Where there is no weight, no item may speak of weights.
    bool isUsed = axis.size == 1 || weights.empty();
    for (BlockArgument weight : weights)
      if (auto sharding = dist::getShardingAttr(weight.getType()))
        isUsed |= llvm::any_of(sharding.toSharding(mesh).usedAxes(),
                               [&](const AxisRef &used) { return used.axis == int(i); });
    if (!isUsed)
      idle.push_back(axis.name);
  }
  return idle;
}

/// With an item of --shard besides.
static CompileOptions withItem(CompileOptions options, const std::string &item) {
  options.shard += (options.shard.empty() ? "" : ",") + item;
  return options;
}

/// How the values of a class lie: whether an item speaks of the class, or of one of its values.
static bool isSaid(const CompileOptions &options, StringRef valueClass, StringRef prefix) {
  return llvm::any_of(llvm::split(options.shard, ','), [&](StringRef item) {
    StringRef value = item.split('=').first.contains(':') ? item.split(':').first.trim() : StringRef();
    return value == valueClass || (!prefix.empty() && value.starts_with(prefix));
  });
}

/// What rungs above may be told about gradients, the fastest first.
std::vector<CompileOptions> Fitting::strategies() const {
  std::vector<CompileOptions> list{options};
  if (options.task != Task::Train)
    return list;
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  // Gradients of one micro-batch are never whole where shards are enough.
  if (mesh && options.microBatches > 1 && !isSaid(options, dist::kGradients, "grad."))
    for (StringRef axis : {"fsdp", "dp"})
      if (auto found = mesh->find(axis.str()); found && mesh->axes[size_t(*found)].size > 1) {
        list.push_back(withItem(options, ("gradients:largest=" + axis).str()));
        break;
      }
  return list;
}

/// What else may lie over axes that no weight lies over: states, then gradients that are added up, then the
/// weights themselves, which are gathered to be used, or what is computed with them is moved.
std::vector<CompileOptions> Fitting::layouts() const {
  std::vector<CompileOptions> list;
  std::string error, axes;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  for (const MeshAxis &axis : mesh->axes) {
    const dist::StandardAxis *standard = dist::findStandardAxis(axis.name);
    if (axis.size > 1 &&
        ((standard && standard->largestFreeWeightDim) || llvm::is_contained(idleAxes, axis.name)))
      axes += (axes.empty() ? "" : "+") + axis.name;
  }
  if (idleAxes.empty() || axes.empty()) // a program may bring a mesh of its own
    return list;
  CompileOptions layout = options;
  auto add = [&](StringRef valueClass, StringRef prefix) {
    if (isSaid(options, valueClass, prefix))
      return false;
    layout = withItem(layout, (valueClass + ":" + dist::kLargest + "=" + axes).str());
    list.push_back(layout);
    return true;
  };
  if (options.task == Task::Train && add(dist::kStates, "") && options.microBatches > 1)
    add(dist::kGradients, "grad.");
  add(dist::kWeights, "");
  return list;
}

void Fitting::weigh(const Plan &plan) {
  if (!least || plan.memory.total() < least->memory.total())
    least = plan;
  if (isWithin(plan) && (!best || plan.isFasterThan(*best)))
    best = plan;
}

/// `strategy`, whose fastest plan does not fit: what it makes again.
Status Fitting::considerBetween(Strategy &strategy) {
  Result<Plan> smallest = strategy.smallest();
  if (!smallest)
    return smallest.takeFailure();
  weigh(*smallest);
  if (!isWithin(*smallest))
    return {};
  Result<Plan> between = strategy.between(smallest.take(), options.memory);
  if (!between)
    return between.takeFailure();
  weigh(*between);
  return {};
}

Status Fitting::consider(const CompileOptions &candidate) {
  Result<std::unique_ptr<Strategy>> strategy = Strategy::make(*graph, candidate);
  if (!strategy)
    return strategy.takeFailure();
  if (!least)
    idleAxes = (*strategy)->axesWithoutWeights();
  bool isFull = candidate.recompute != options.recompute;
  Result<Plan> fastest = isFull ? (*strategy)->smallest() : (*strategy)->fastest();
  if (!fastest)
    return fastest.takeFailure();
  weigh(*fastest);
  fits |= !isFull && isWithin(*fastest);
  if (isWithin(*fastest))
    return {};
  if (!isFull)
    if (Status s = considerBetween(**strategy); !s)
      return s;
  tooLarge.push_back(fastest.take());
  return {};
}

/// With less that a block may have at once: what the blocks make of the arena, halved until something fits.
Status Fitting::considerTighter(const Plan &tooLargePlan) {
  const int64_t arena = tooLargePlan.memory.arena;
  std::unique_ptr<Strategy> strategy;
  auto place = [&](int64_t bytes) -> Result<Plan> {
    CompileOptions tighter = tooLargePlan.options;
    tighter.savedBytes = -1;
    tighter.liveBytes = bytes;
    Result<std::unique_ptr<Strategy>> made = Strategy::make(*graph, tighter);
    if (!made)
      return made.takeFailure();
    strategy = made.take();
    Result<Plan> smallest = strategy->smallest();
    if (smallest)
      weigh(*smallest);
    return smallest;
  };
  // First as little as can be: where that does not fit, nothing does.
  Result<Plan> smallest = place(0);
  if (!smallest || !isWithin(*smallest))
    return smallest ? Status() : smallest.takeFailure();
  for (int64_t bytes : {arena / 2, arena / 4, arena / 8, int64_t(0)}) {
    smallest = place(bytes);
    if (!smallest)
      return smallest.takeFailure();
    if (isWithin(*smallest))
      break;
  }
  Result<Plan> fastest = strategy->fastest();
  if (!fastest)
    return fastest.takeFailure();
  weigh(*fastest);
  return isWithin(*fastest) ? Status() : considerBetween(*strategy);
}

static std::string partsText(const ProgramMemory &memory) {
  std::string text =
      "weights and states " + std::to_string(memory.weights) + ", arena " + std::to_string(memory.arena);
  return text + (memory.workspace ? ", workspace " + std::to_string(memory.workspace) : "");
}

Failure Fitting::doesNotFit() const {
  const ProgramMemory &memory = least->memory;
  std::string hint = "give --memory=" + std::to_string(memory.total());
  if (options.task == Task::Train)
    hint += options.microBatches >= std::max<int64_t>(options.batch, 1)
                ? ", a larger mesh, or a smaller --batch or --max-seq-len"
                : ", a larger mesh, or more --micro-batches";
  else
    hint += ", a larger mesh, or a smaller --max-seq-len or --batch";
  return {"does not fit", "--memory=" + std::to_string(options.memory),
          "needs at least " + std::to_string(memory.total()) + " bytes a rank: " + partsText(memory), hint};
}

void Fitting::explain(const Plan &plan) const {
  llvm::errs() << "remark: memory: " << plan.memory.total() << " of " << options.memory
               << " bytes of a rank: " << partsText(plan.memory);
  if (options.task == Task::Train)
    llvm::errs() << llvm::formatv("; a step takes {0:f2} us, predicted; loops save {1} bytes at most",
                                  plan.seconds * 1e6, plan.options.savedBytes);
  if (plan.options.shard != options.shard)
    llvm::errs() << "; --shard=" << plan.options.shard;
  if (plan.options.liveBytes == 0)
    llvm::errs() << "; what a block makes is placed for few bytes";
  else if (plan.options.liveBytes > 0)
    llvm::errs() << "; what a block makes is placed within " << plan.options.liveBytes << " bytes";
  llvm::errs() << "\n";
}

Status Fitting::consider(const std::vector<CompileOptions> &strategies) {
  for (const CompileOptions &strategy : strategies)
    if (Status s = consider(strategy); !s)
      return s;
  return {};
}

Result<CompileOptions> Fitting::run() {
  Result<OwningOpRef<ModuleOp>> loaded = loadModel(context, options);
  if (!loaded)
    return loaded.takeFailure();
  graph = loaded.take();
  std::vector<CompileOptions> all = strategies();
  if (Status s = consider(all); !s)
    return s.takeFailure();
  if (!fits) {
    std::vector<CompileOptions> more = layouts();
    if (Status s = consider(more); !s)
      return s.takeFailure();
    llvm::append_range(all, more);
  }
  // Above rung sharded, what backward makes again may lie otherwise than forward did: less memory, at times.
  if (!fits && options.task == Task::Train && !options.isRecomputeGiven) {
    for (CompileOptions &strategy : all)
      strategy.recompute = "full";
    if (Status s = consider(all); !s)
      return s.takeFailure();
  }
  // What a block is placed for is time, unless nothing else fits.
  if (!best && !options.mesh.empty())
    for (const Plan &plan : tooLarge)
      if (Status s = considerTighter(plan); !s)
        return s.takeFailure();
  if (!best)
    return doesNotFit();
  if (options.explain)
    explain(*best);
  return best->options;
}

Result<CompileOptions> fitMemory(const CompileOptions &options) { return Fitting(options).run(); }

} // namespace tessera
