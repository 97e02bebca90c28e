//===- FitMemory.cpp - The fastest program that fits ----------------------===//
//
// Predicted are times; bytes are measured, on rung exec. A strategy is what the rungs above decide: which
// values graph-build-train-step saves, and how gradients lie. Below, SavedLoops has for each number of saved
// bytes the fastest program; which of them fits is found by bisection, a dozen programs at most. Which ones
// it tries does not depend on the limit until one fits into one limit and not into the other: so no limit
// gives a slower program than a smaller one.
//
//===----------------------------------------------------------------------===//
#include "FitMemory.h"

#include "tessera/Pipelines/ProgramMemory.h"
#include "tessera/Pipelines/SpmdFacts.h"

#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Dist/Transforms/SavedLoops.h"
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
  Status consider(const CompileOptions &strategy);
  Failure doesNotFit() const;
  void explain(const Plan &plan) const;

  const CompileOptions &options;
  MLIRContext context;
  OwningOpRef<ModuleOp> graph;
  bool fits = false;         ///< the fastest plan of some strategy
  std::optional<Plan> best;  ///< that fits
  std::optional<Plan> least; ///< that takes fewest bytes
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

/// What rungs above may be told, the fastest first.
std::vector<CompileOptions> Fitting::strategies() const {
  std::vector<CompileOptions> list{options};
  if (options.task != Task::Train)
    return list;
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  auto items = mesh ? dist::parseShardSpec(options.shard, *mesh, error) : std::nullopt;
  bool isSaid = items && llvm::any_of(*items, [](const dist::ShardItem &item) {
                  return item.value == dist::kGradients || StringRef(item.value).starts_with("grad.");
                });
  // Gradients of one micro-batch are never whole where shards are enough.
  if (mesh && options.microBatches > 1 && !isSaid)
    for (StringRef axis : {"fsdp", "dp"})
      if (auto found = mesh->find(axis.str()); found && mesh->axes[size_t(*found)].size > 1) {
        list.push_back(options);
        list.back().shard += (options.shard.empty() ? "" : ",") + ("gradients:largest=" + axis).str();
        break;
      }
  // Above rung sharded, what backward makes again may lie otherwise than forward did: less memory, at times.
  if (!options.isRecomputeGiven)
    for (size_t i = 0, n = list.size(); i < n; ++i) {
      list.push_back(list[i]);
      list.back().recompute = "full";
    }
  return list;
}

Status Fitting::consider(const CompileOptions &candidate) {
  Result<std::unique_ptr<Strategy>> strategy = Strategy::make(*graph, candidate);
  if (!strategy)
    return strategy.takeFailure();
  bool isFull = candidate.recompute != options.recompute;
  Result<Plan> fastest = isFull ? (*strategy)->smallest() : (*strategy)->fastest();
  if (!fastest)
    return fastest.takeFailure();
  auto offer = [&](std::optional<Plan> &to, const Plan &plan, bool isBetter) {
    if (!to || isBetter)
      to = plan;
  };
  auto weigh = [&](const Plan &plan) {
    offer(least, plan, least && plan.memory.total() < least->memory.total());
    if (plan.memory.total() <= options.memory)
      offer(best, plan, best && plan.isFasterThan(*best));
  };
  weigh(*fastest);
  fits |= !isFull && fastest->memory.total() <= options.memory;
  if (isFull || fastest->memory.total() <= options.memory)
    return {};
  Result<Plan> smallest = (*strategy)->smallest();
  if (!smallest)
    return smallest.takeFailure();
  weigh(*smallest);
  if (smallest->memory.total() > options.memory)
    return {};
  Result<Plan> between = (*strategy)->between(smallest.take(), options.memory);
  if (!between)
    return between.takeFailure();
  weigh(*between);
  return {};
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
  llvm::errs() << "\n";
}

Result<CompileOptions> Fitting::run() {
  Result<OwningOpRef<ModuleOp>> loaded = loadModel(context, options);
  if (!loaded)
    return loaded.takeFailure();
  graph = loaded.take();
  for (const CompileOptions &strategy : strategies()) {
    if (fits && strategy.recompute != options.recompute)
      break; // nothing need be made again
    if (Status s = consider(strategy); !s)
      return s.takeFailure();
  }
  if (!best)
    return doesNotFit();
  if (options.explain)
    explain(*best);
  return best->options;
}

Result<CompileOptions> fitMemory(const CompileOptions &options) { return Fitting(options).run(); }

} // namespace tessera
