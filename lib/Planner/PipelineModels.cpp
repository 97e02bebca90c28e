//===- PipelineModels.cpp -------------------------------------------------===//
#include "PipelineModels.h"

#include "tessera/Planner/PipelineTimes.h"

namespace tessera {

static schedule::PipelineModel modelOf(const StageCosts &costs, const CompileOptions &options,
                                       const Link &link) {
  schedule::PipelineModel model;
  model.forward = costs.of(Figure::Forward);
  model.backwardInput = costs.of(Figure::InputGradient);
  model.backwardWeight = costs.of(Figure::WeightGradient);
  model.once = costs.of(Figure::Once);
  model.messageBytes = costs.messageBytes();
  model.link = secondsOfMessage(link, model.messageBytes);
  model.wire = secondsOnWire(link, model.messageBytes);
  model.shared = costs.sharedBytes() > 0 ? secondsOfMessage(link, costs.sharedBytes()) : 0;
  if (!options.memory) {
    // Bytes are not known: of plans that are alike, the one that keeps fewer layers' values takes less.
    model.messageBytes = 0;
    model.weights = model.saved = model.freed = model.made = schedule::plus(model.forward, model.forward, -1);
    model.saved.layers.assign(model.saved.layers.size(), 1);
    return model;
  }
  model.weights = schedule::plus(costs.of(Figure::Weights), costs.of(Figure::Arena));
  model.freed = costs.of(Figure::SlotOfInput);
  model.saved = schedule::plus(costs.of(Figure::Slot), model.freed);
  model.saved.stage += costs.keptValueBytes();
  model.made = costs.of(Figure::SlotOfWeight);
  model.made.stage += costs.keptGradientBytes();
  return model;
}

/// On the way from `a` to `b`, 0 to 1.
static schedule::PipelineModel between(schedule::PipelineModel a, const schedule::PipelineModel &b,
                                       double way) {
  using Model = schedule::PipelineModel;
  for (auto part : {&Model::forward, &Model::backwardInput, &Model::backwardWeight, &Model::once,
                    &Model::weights, &Model::saved, &Model::freed, &Model::made})
    a.*part = schedule::plus(schedule::plus(a.*part, a.*part, -way), b.*part, way);
  a.link += way * (b.link - a.link);
  a.wire += way * (b.wire - a.wire);
  a.shared += way * (b.shared - a.shared);
  a.messageBytes += way * (b.messageBytes - a.messageBytes);
  return a;
}

Status PipelineModels::add(StageProbe &probe, const LayerLoop &loop, const CompileOptions &options,
                           const Link &link, const std::vector<int32_t> &microBatches) {
  const bool splits = options.splitsBackward;
  // What a micro-batch takes grows with its rows: of many numbers the two at the ends say what the others do.
  const int32_t fewest = microBatches.front(), most = microBatches.back();
  for (int32_t m : microBatches) {
    if (microBatches.size() > 2 && m != fewest && m != most)
      continue;
    CompileOptions stages = options;
    stages.microBatches = m;
    Result<StageCosts> costs =
        StageCosts::probe(probe, loop, stages, options.memory ? Rung::Exec : Rung::Spmd);
    if (!costs)
      return costs.takeFailure();
    models[{m, splits}] = modelOf(*costs, options, link);
  }
  for (int32_t m : microBatches)
    if (!models.count({m, splits})) {
      const double few = 1. / most, many = 1. / fewest;
      models[{m, splits}] =
          between(models[{most, splits}], models[{fewest, splits}], (1. / m - few) / (many - few));
    }
  return {};
}

const schedule::PipelineModel &PipelineModels::of(int32_t microBatches, bool splitsBackward) const {
  // A schedule that may split backwards, and happens to split none, has stages that could.
  auto found = models.find({microBatches, splitsBackward});
  return found == models.end() ? models.at({microBatches, !splitsBackward}) : found->second;
}

} // namespace tessera
