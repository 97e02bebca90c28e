//===- FitMemory.cpp - The fastest program that fits ----------------------===//
//
// A strategy is what the rungs above decide: which values graph-build-train-step saves, how weights, states
// and gradients lie, and how many bytes of what a block makes placement lets a rank have at once. Below,
// SavedLoops has for each number of saved bytes the fastest program; which of them fits is found by
// bisection, a dozen programs at most. Which ones it tries does not depend on the limit until one fits into
// one limit and not into the other: so of the programs of one strategy no limit gives a slower one than a
// smaller limit.
//
//===----------------------------------------------------------------------===//
#include "FitMemory.h"
#include "FitStrategy.h"

#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Pipelines/Frontend.h"
#include "tessera/Pipelines/IdleLayouts.h"
#include "tessera/Pipelines/Register.h"

using namespace mlir;

namespace tessera {
namespace {

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
  /// What values may lie over axes that no weight lies over, and whether anything of it fits.
  struct Layout {
    CompileOptions options;
    StringRef valueClass; ///< that the last item speaks of
    bool fits = false, fitsFastest = false;
  };

  Status search(int64_t bytes);
  std::vector<CompileOptions> strategies() const;
  std::vector<Layout> layouts(ArrayRef<std::string> idle) const;
  Result<FitStrategy *> strategyOf(const CompileOptions &candidate);
  Result<bool> fitsWith(const CompileOptions &told, Result<FitPlan> (FitStrategy::*which)());
  Status consider(const std::vector<CompileOptions> &strategies);
  Status consider(Layout &layout);
  Status considerLayouts(std::vector<CompileOptions> &all);
  Status considerSmaller(size_t at, bool wantsFastest);
  Status considerTighter(const FitPlan &tooLargePlan);
  Status considerBetween(FitStrategy &strategy);
  void note(const FitPlan &plan);
  void weigh(const FitPlan &plan);
  bool isWithin(const FitPlan &plan) const { return plan.memory.total() <= limit; }
  bool savesWithoutOverlap();
  Failure doesNotFit();
  void explain(const FitPlan &plan) const;

  const CompileOptions &options;
  MLIRContext context;
  OwningOpRef<ModuleOp> graph;
  std::map<std::string, std::unique_ptr<FitStrategy>> known; ///< by what they are told
  std::vector<std::string> idleAxes; ///< that no weight lies over, as the first strategy has them
  std::optional<FitPlan> least;      ///< that takes fewest bytes, of all that were measured

  // Of the search for the program within `limit` bytes.
  int64_t limit = 0;
  bool fits = false;             ///< the fastest plan of some strategy
  std::optional<FitPlan> best;   ///< that fits
  std::vector<FitPlan> tooLarge; ///< the first of each strategy, where it does not fit
};

} // namespace

/// What rungs above may be told about gradients, the fastest first.
std::vector<CompileOptions> Fitting::strategies() const {
  std::vector<CompileOptions> list{options};
  if (options.task != Task::Train)
    return list;
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  // Gradients of one micro-batch are never whole where shards are enough.
  if (mesh && options.microBatches > 1 && !saysLayout(options, dist::kGradients, "grad."))
    for (StringRef axis : {"fsdp", "dp"})
      if (auto found = mesh->find(axis.str()); found && mesh->axes[size_t(*found)].size > 1) {
        list.push_back(withShardItem(options, ("gradients:largest=" + axis).str()));
        break;
      }
  return list;
}

std::vector<Fitting::Layout> Fitting::layouts(ArrayRef<std::string> idle) const {
  std::vector<Layout> list;
  for (const IdleLayout &layout : idleLayouts(options, idle, options.microBatches > 1))
    list.push_back({layout.options, layout.valueClass});
  return list;
}

void Fitting::note(const FitPlan &plan) {
  if (!least || plan.memory.total() < least->memory.total())
    least = plan;
}

void Fitting::weigh(const FitPlan &plan) {
  note(plan);
  if (isWithin(plan) && (!best || plan.isFasterThan(*best)))
    best = plan;
}

Result<FitStrategy *> Fitting::strategyOf(const CompileOptions &candidate) {
  auto &strategy =
      known[candidate.shard + " " + candidate.recompute + " " + std::to_string(candidate.liveBytes)];
  if (!strategy) {
    Result<std::unique_ptr<FitStrategy>> made = FitStrategy::make(*graph, candidate);
    if (!made)
      return made.takeFailure();
    strategy = made.take();
  }
  return strategy.get();
}

/// `strategy`, whose fastest plan does not fit: what it makes again.
Status Fitting::considerBetween(FitStrategy &strategy) {
  Result<FitPlan> smallest = strategy.smallest();
  if (!smallest)
    return smallest.takeFailure();
  weigh(*smallest);
  if (!isWithin(*smallest))
    return {};
  Result<FitPlan> between =
      strategy.between(smallest.take(), limit, [&](const FitPlan &plan) { note(plan); });
  if (!between)
    return between.takeFailure();
  weigh(*between);
  return {};
}

/// Whether a plan of what is told so fits.
Result<bool> Fitting::fitsWith(const CompileOptions &told, Result<FitPlan> (FitStrategy::*which)()) {
  Result<FitStrategy *> strategy = strategyOf(told);
  if (!strategy)
    return strategy.takeFailure();
  Result<FitPlan> plan = ((*strategy)->*which)();
  if (!plan)
    return plan.takeFailure();
  weigh(*plan);
  return isWithin(*plan);
}

Status Fitting::consider(Layout &candidate) {
  Result<FitStrategy *> strategy = strategyOf(candidate.options);
  if (!strategy)
    return strategy.takeFailure();
  if (!least)
    idleAxes = (*strategy)->axesWithoutWeights();
  bool isFull = candidate.options.recompute != options.recompute;
  Result<FitPlan> fastest = isFull ? (*strategy)->smallest() : (*strategy)->fastest();
  if (!fastest)
    return fastest.takeFailure();
  weigh(*fastest);
  candidate.fits = candidate.fitsFastest = isWithin(*fastest);
  fits |= !isFull && isWithin(*fastest);
  if (isWithin(*fastest))
    return {};
  if (!isFull) {
    if (Status s = considerBetween(**strategy); !s)
      return s;
    Result<FitPlan> smallest = (*strategy)->smallest();
    candidate.fits = smallest && isWithin(*smallest);
  }
  tooLarge.push_back(fastest.take());
  return {};
}

Status Fitting::consider(const std::vector<CompileOptions> &strategies) {
  for (const CompileOptions &strategy : strategies) {
    Layout layout = {strategy, ""};
    if (Status s = consider(layout); !s)
      return s;
  }
  return {};
}

/// Layouts over idle axes, added to `all`: those of whole classes, then the smallest part of the first one
/// that fits.
Status Fitting::considerLayouts(std::vector<CompileOptions> &all) {
  const bool fitBefore = best.has_value();
  std::vector<Layout> more = layouts(idleAxes);
  for (Layout &layout : more) {
    if (Status s = consider(layout); !s)
      return s;
    all.push_back(layout.options);
  }
  auto first = [&](bool Layout::*isFitting) {
    return size_t(llvm::find_if(more, [&](const Layout &layout) { return layout.*isFitting; }) -
                  more.begin());
  };
  if (size_t at = first(&Layout::fitsFastest); at < more.size())
    return considerSmaller(at, /*wantsFastest=*/true);
  if (size_t at = first(&Layout::fits); at < more.size() && !fitBefore)
    return considerSmaller(at, /*wantsFastest=*/false);
  return {};
}

/// Of the layout numbered `at`, which fits: the same over fewer axes, and of fewer values of its last class.
Status Fitting::considerSmaller(size_t at, bool wantsFastest) {
  auto isEnough = [&](Layout &layout) -> Result<bool> {
    if (wantsFastest)
      return fitsWith(layout.options, &FitStrategy::fastest);
    Status s = consider(layout);
    return s ? Result<bool>(layout.fits) : s.takeFailure();
  };
  std::vector<std::string> axes = idleAxes;
  for (const std::string &axis : idleAxes) {
    std::vector<std::string> fewer = axes;
    llvm::erase(fewer, axis);
    if (fewer.empty())
      break;
    Layout layout = layouts(fewer)[at];
    Result<bool> enough = isEnough(layout);
    if (!enough)
      return enough.takeFailure();
    if (*enough)
      axes = std::move(fewer);
  }
  const std::vector<Layout> chain = layouts(axes);
  const CompileOptions &base = at ? chain[at - 1].options : options;
  if (chain[at].valueClass == dist::kGradients)
    return {};
  Result<FitStrategy *> strategy = strategyOf(base);
  if (!strategy)
    return strategy.takeFailure();
  std::vector<std::string> names = (*strategy)->held(chain[at].valueClass == dist::kStates);
  llvm::erase_if(names, [&](const std::string &name) { return saysLayout(options, name, ""); });
  // The largest ones: so many that nothing fits, and that something does.
  size_t few = 0, many = names.size();
  while (many - few > 1 && many > few) {
    const size_t middle = few + (many - few) / 2;
    Layout layout = {base, chain[at].valueClass};
    for (const std::string &name : ArrayRef(names).take_front(middle))
      layout.options = withShardItem(layout.options,
                                     name + ":" + dist::kLargest.str() + "=" + axesOfLayout(options, axes));
    Result<bool> enough = isEnough(layout);
    if (!enough)
      return enough.takeFailure();
    (*enough ? many : few) = middle;
  }
  return {};
}

/// With less that a block may have at once: the most that something fits with, to a sixteenth of the arena
/// that is too large.
Status Fitting::considerTighter(const FitPlan &tooLargePlan) {
  CompileOptions tighter = tooLargePlan.options;
  tighter.savedBytes = -1;
  auto place = [&](int64_t bytes) -> Result<bool> {
    tighter.liveBytes = bytes;
    return fitsWith(tighter, &FitStrategy::smallest);
  };
  // First as little as can be: where that does not fit, others are not tried.
  int64_t enough = 0, tooMuch = tooLargePlan.memory.arena;
  if (Result<bool> fit = place(enough); !fit || !*fit)
    return fit ? Status() : fit.takeFailure();
  for (int halving = 0; halving < 4; ++halving) {
    const int64_t middle = enough + (tooMuch - enough) / 2;
    Result<bool> fit = place(middle);
    if (!fit)
      return fit.takeFailure();
    (*fit ? enough : tooMuch) = middle;
  }
  tighter.liveBytes = enough;
  Layout layout = {tighter, ""};
  return consider(layout);
}

/// Programs that generate have their states in the arena.
static std::string partsText(const CompileOptions &options, const ProgramMemory &memory) {
  std::string text = (options.task == Task::Train ? "weights and states " : "weights ") +
                     std::to_string(memory.weights) + ", arena " + std::to_string(memory.arena);
  return text + (memory.workspace ? ", workspace " + std::to_string(memory.workspace) : "");
}

/// Whether the least would be less if nothing were in flight beside what is computed.
bool Fitting::savesWithoutOverlap() {
  CompileOptions apart = least->options;
  apart.overlap = false;
  Result<std::unique_ptr<FitStrategy>> made = FitStrategy::make(*graph, apart);
  if (!made)
    return false;
  Result<FitPlan> smallest = (*made)->smallest();
  return smallest && smallest->memory.total() < least->memory.total();
}

/// Ranks that rows are split over by what axes mean: with no more rows each has one, whatever is left out.
static int64_t rowRanks(const std::optional<Mesh> &mesh) {
  int64_t ranks = 1;
  if (mesh)
    for (const MeshAxis &axis : mesh->axes)
      if (const dist::StandardAxis *standard = dist::findStandardAxis(axis.name);
          standard && llvm::is_contained(standard->activationDims, "batch"))
        ranks *= axis.size;
  return ranks;
}

Failure Fitting::doesNotFit() {
  const ProgramMemory &memory = least->memory;
  std::string hint = "give --memory=" + std::to_string(memory.total()), error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  const int64_t ranks = mesh ? mesh->numDevices() : 1;
  if (options.overlap && ranks > 1 && savesWithoutOverlap())
    hint += ", --overlap=off";
  hint += ", a larger mesh, or ";
  // With one row a rank more micro-batches are padding.
  if (options.task == Task::Train && options.batch > options.microBatches * ranks)
    hint += "more --micro-batches";
  else
    hint += options.batch > rowRanks(mesh) ? "a smaller --batch or --max-seq-len" : "a smaller --max-seq-len";
  return {"does not fit", "--memory=" + std::to_string(options.memory),
          "needs at least " + std::to_string(memory.total()) + " bytes a rank: " + partsText(options, memory),
          hint};
}

void Fitting::explain(const FitPlan &plan) const {
  llvm::errs() << "remark: memory: " << plan.memory.total() << " of " << options.memory
               << " bytes of a rank: " << partsText(options, plan.memory);
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

/// The fastest program within so many bytes, if there is one.
Status Fitting::search(int64_t bytes) {
  limit = bytes;
  fits = false;
  best.reset();
  tooLarge.clear();
  std::vector<CompileOptions> all = strategies();
  if (Status s = consider(all); !s)
    return s;
  if (!fits)
    if (Status s = considerLayouts(all); !s)
      return s;
  // Above rung sharded, what backward makes again may lie otherwise than forward did: less memory, at times.
  if (!fits && options.task == Task::Train && !options.isRecomputeGiven) {
    for (CompileOptions &strategy : all)
      strategy.recompute = "full";
    if (Status s = consider(all); !s)
      return s;
  }
  // What a block is placed for is time, unless nothing else fits.
  if (!best && !options.mesh.empty()) {
    const std::vector<FitPlan> plans = tooLarge;
    for (const FitPlan &plan : plans)
      if (Status s = considerTighter(plan); !s)
        return s;
  }
  return {};
}

Result<CompileOptions> Fitting::run() {
  Result<OwningOpRef<ModuleOp>> loaded = loadModel(context, options);
  if (!loaded)
    return loaded.takeFailure();
  graph = loaded.take();
  if (Status s = search(options.memory); !s)
    return s.takeFailure();
  if (!best) {
    // What is said to be the least is what its own limit gives: looking for that may come upon less, even so
    // little that it fits.
    int64_t said;
    do {
      said = least->memory.total();
      if (Status s = search(said); !s)
        return s.takeFailure();
    } while (least->memory.total() < said);
    if (least->memory.total() > options.memory)
      return doesNotFit();
    best = least;
  }
  if (options.explain)
    explain(*best);
  return best->options;
}

Result<CompileOptions> fitMemory(const CompileOptions &options) { return Fitting(options).run(); }

} // namespace tessera
