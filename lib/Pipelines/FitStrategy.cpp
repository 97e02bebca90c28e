//===- FitStrategy.cpp - What programs of one layout take -----------------===//
#include "FitStrategy.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Pipelines/IdleLayouts.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Pipelines/SpmdFacts.h"
#include "tessera/Support/TypeSizes.h"

using namespace mlir;

namespace tessera {

Result<std::unique_ptr<FitStrategy>> FitStrategy::make(ModuleOp graph, const CompileOptions &options) {
  auto strategy = std::make_unique<FitStrategy>();
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

Result<FitPlan> FitStrategy::measure(size_t point) {
  if (auto known = measured.find(point); known != measured.end())
    return known->second;
  FitPlan plan;
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
  measured[point] = plan;
  return plan;
}

Result<FitPlan> FitStrategy::between(FitPlan smallest, int64_t limit,
                                     function_ref<void(const FitPlan &)> seen) {
  FitPlan best = std::move(smallest);
  size_t fits = 0, tooMany = loops->frontier().points().size() - 1;
  while (tooMany - fits > 1) {
    size_t middle = fits + (tooMany - fits) / 2;
    Result<FitPlan> plan = measure(middle);
    if (!plan)
      return plan;
    seen(*plan);
    if (plan->memory.total() <= limit) {
      best = plan.take();
      fits = middle;
    } else {
      tooMany = middle;
    }
  }
  return best;
}

std::vector<std::string> FitStrategy::axesWithoutWeights() const {
  std::vector<std::string> idle;
  // Where there is no weight, no item may speak of weights.
  if (!dist::getMesh(*local) || heldArguments(*local).empty())
    return idle;
  const std::set<std::string> used = axesOfWeights(*local);
  for (const MeshAxis &axis : dist::getMesh(*local).getMesh().toMesh().axes)
    if (axis.size > 1 && !used.count(axis.name))
      idle.push_back(axis.name);
  return idle;
}

std::vector<std::string> FitStrategy::held(bool states) const {
  std::map<std::string, int64_t> bytes;
  for (auto [function, argument] : heldArguments(*local)) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kNameAttr);
    auto parameter = name ? local.get().lookupSymbol<graph::ParameterOp>(name) : graph::ParameterOp();
    if (parameter && parameter->hasAttr(graph::kStateOfAttr) == states)
      bytes[name.str()] = arrayBytes(argument.getType());
  }
  std::vector<std::string> names;
  for (const auto &entry : bytes)
    names.push_back(entry.first);
  llvm::sort(names, [&](const std::string &a, const std::string &b) {
    return std::pair(-bytes[a], a) < std::pair(-bytes[b], b);
  });
  return names;
}

} // namespace tessera
