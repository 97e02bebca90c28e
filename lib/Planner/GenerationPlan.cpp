//===- GenerationPlan.cpp - Stages that generate text ---------------------===//
#include "tessera/Planner/PipelinePlan.h"

#include "PipelineMemory.h"
#include "tessera/Pipelines/IdleLayouts.h"
#include "tessera/Planner/PipelineExplain.h"
#include "tessera/Planner/PipelineTimes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;

namespace tessera {
namespace {

/// Plans the stages of one model.
class GenerationPlanner {
public:
  GenerationPlanner(ModuleOp graph, const LayerLoop &loop, int32_t ranks, CompileOptions &options)
      : graph(graph), loop(loop), ranks(ranks), options(options), probe(graph, options.model),
        asked(options.shard) {}

  Status run();

private:
  Status readSizes();
  double seconds(const schedule::StageSizes &sizes) const;
  Status cut();
  /// What is taken, for people; `memory`: where it was measured.
  std::string describe(const RankMemory *memory) const;
  /// Whether what the stage takes is within the limit, as far as costs tell.
  bool fits(int32_t stage, int64_t begin, int64_t end) const;
  Status readTimes();
  /// With what `options` says of layouts: within the limit, or what takes least.
  Result<RankMemory> fit();
  Result<RankMemory> cutToFit();
  Result<RankMemory> fitOverIdleAxes(RankMemory least);
  Result<RankMemory> least();
  Result<RankMemory> measure(const schedule::StageSizes &sizes);

  ModuleOp graph;
  LayerLoop loop;
  int32_t ranks;
  CompileOptions &options;
  StageProbe probe;
  const std::string asked; ///< of --shard

  int64_t chunk = 0, context = 0;
  schedule::GenerationCosts costsOf(const schedule::StageSizes &of) const;

  schedule::LayerCosts ofChunk, ofToken, bytes;
  double ofLink = 0, ofTokenLink = 0, ofReturn = 0; ///< seconds of messages: docs/Schedules.md
  double limit = 0;                                 ///< of `bytes`: what is left where costs said too little
  schedule::StageSizes sizes;
  std::vector<StageFigures> compiled; ///< measured last
};

} // namespace

/// Rows of a batch, positions, and how many of them go together.
Status GenerationPlanner::readSizes() {
  auto forward = graph.lookupSymbol<func::FuncOp>("forward");
  auto logits = forward.getNumResults() == 1 ? dyn_cast<RankedTensorType>(forward.getResultTypes().front())
                                             : RankedTensorType();
  if (!logits || logits.getRank() != 3)
    return badFlag("--mesh=" + options.mesh, "@forward does not return logits [batch, seq, vocab]",
                   "leave pp out of the mesh");
  if (!options.batch)
    options.batch = logits.getDimSize(0);
  int64_t &groups = options.microBatches;
  if (groups > options.batch)
    return badFlag("--micro-batches=" + std::to_string(groups),
                   "a batch has " + std::to_string(options.batch) + " rows",
                   "use a larger --batch or fewer micro-batches");
  if (!groups)
    groups = std::min<int64_t>(options.batch, ranks);
  // There is one program for all of them.
  options.groupRows = (options.batch + groups - 1) / groups;
  context = options.maxSeqLen ? options.maxSeqLen : logits.getDimSize(1);
  chunk = context;
  if (Result<std::shared_ptr<const Target>> target = resolveTarget(options.target, options.targetOptions))
    chunk = std::min<int64_t>(chunk, (*target)->tiling().largestChunk(options.groupRows));
  return {};
}

schedule::GenerationCosts GenerationPlanner::costsOf(const schedule::StageSizes &of) const {
  schedule::GenerationCosts costs;
  costs.chunk = schedule::stageCosts(ofChunk, of);
  costs.token = schedule::stageCosts(ofToken, of);
  costs.link.assign(of.size() - 1, ofLink);
  costs.tokenLink.assign(of.size() - 1, ofTokenLink);
  costs.tokenLink.push_back(ofReturn);
  return costs;
}

/// The time of a prompt of one chunk, and of tokens up to the end of the context.
double GenerationPlanner::seconds(const schedule::StageSizes &of) const {
  const schedule::GenerationPrediction taken = schedule::predictGeneration(costsOf(of), options.microBatches);
  return taken.prompt + double(std::max(context - chunk, chunk)) * taken.token;
}

/// `2 groups of rows, cut 2,2: a chunk of a prompt 12.30 us, a token 4.50 us planned`
std::string GenerationPlanner::describe(const RankMemory *memory) const {
  std::string text = std::to_string(options.microBatches) + " groups of rows, cut ";
  for (auto [stage, layers] : llvm::enumerate(sizes))
    text += (stage ? "," : "") + std::to_string(layers);
  if (!ofChunk.layers.empty())
    text += ": " + describeGeneration(costsOf(sizes), options.microBatches) + " planned";
  return text + (options.shard == asked ? "" : ", --shard=" + options.shard) +
         (memory ? "; " + describeMemory(options, *memory) : "");
}

bool GenerationPlanner::fits(int32_t stage, int64_t begin, int64_t end) const {
  if (!options.memory)
    return true;
  double taken = (stage == 0 ? bytes.before : 0) + (stage + 1 == ranks ? bytes.after : 0) +
                 (end > begin ? bytes.stage : 0);
  for (int64_t layer = begin; layer < end; ++layer)
    taken += bytes.layers[size_t(layer)];
  return taken <= limit;
}

/// The fastest, from what suits prompts and from what suits tokens. Of equal ones the first: where groups do
/// not follow each other, no cut is faster than another.
Status GenerationPlanner::cut() {
  auto ofStage = [&](int32_t stage, int64_t begin, int64_t end) { return fits(stage, begin, end); };
  auto measure = [&](const schedule::StageSizes &other) { return seconds(other); };
  schedule::StageSizes best;
  for (const schedule::LayerCosts *costs : {&ofChunk, &ofToken}) {
    Result<schedule::StageSizes> even = schedule::cutLayers(*costs, ranks, ofStage);
    if (!even)
      return even.takeFailure();
    schedule::StageSizes improved = schedule::improveCut(even.take(), measure, ofStage);
    if (best.empty() || seconds(improved) < seconds(best) * (1 - 1e-9))
      best = std::move(improved);
  }
  sizes = std::move(best);
  return {};
}

/// In hundredths of a layer: less moves none, and where cuts are alike but for that more layers stand in
/// front.
static schedule::LayerCosts rounded(schedule::LayerCosts costs) {
  const double grain =
      std::accumulate(costs.layers.begin(), costs.layers.end(), 0.) / double(costs.layers.size()) / 100;
  for (double *part : {&costs.before, &costs.after, &costs.stage})
    if (grain > 0)
      *part = std::round(*part / grain) * grain;
  return costs;
}

Result<RankMemory> GenerationPlanner::measure(const schedule::StageSizes &of) {
  options.stageSizes.assign(of.begin(), of.end());
  Result<std::vector<StageFigures>> stages = probe.measure(options, Rung::Exec);
  if (!stages)
    return stages.takeFailure();
  compiled = stages.take();
  return memoryOfRanks(compiled, options, nullptr);
}

/// Bytes are measured: the cut is made again for less until its programs fit.
Result<RankMemory> GenerationPlanner::cutToFit() {
  Result<StageCosts> costs = StageCosts::probe(probe, loop, options, Rung::Exec);
  if (!costs)
    return costs.takeFailure();
  const auto groups = double(options.microBatches);
  bytes = schedule::plus(costs->of(Figure::Weights), costs->of(Figure::Arena));
  bytes = schedule::plus(bytes, costs->of(Figure::Slot), groups);
  limit = double(options.memory);
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    // That no cut fits is what costs say, which the evenest one has to show.
    if (Status made = cut(); !made)
      break;
    Result<RankMemory> memory = measure(sizes);
    if (!memory || memory->total() <= options.memory)
      return memory;
    limit -= double(memory->total() - options.memory);
  }
  return least();
}

/// Costs say that the evenest cut in bytes takes least, but not what stages share: from there moves of layers
/// are measured, as many as take a few seconds.
Result<RankMemory> GenerationPlanner::least() {
  Result<schedule::StageSizes> evenest = schedule::cutLayers(bytes, ranks);
  if (!evenest)
    return evenest.takeFailure();
  constexpr int64_t kMeasured = 24;
  std::optional<Failure> failure;
  auto total = [&](const schedule::StageSizes &of) {
    Result<RankMemory> memory = measure(of);
    if (memory)
      return double(memory->total());
    failure = memory.takeFailure();
    return std::numeric_limits<double>::infinity();
  };
  sizes = schedule::improveCut(evenest.take(), total, {}, kMeasured);
  if (failure)
    return *failure;
  return measure(sizes);
}

/// What chunks, tokens and their messages take.
Status GenerationPlanner::readTimes() {
  // Of a short context: a long one is spread over stages as their layers are.
  CompileOptions brief = options;
  brief.maxSeqLen = std::min(context, 2 * chunk);
  Result<StageCosts> costs = StageCosts::probe(probe, loop, brief, Rung::Spmd);
  if (!costs)
    return costs.takeFailure();
  ofChunk = rounded(costs->of(Figure::Chunk));
  ofToken = rounded(costs->of(Figure::Token));
  Result<Link> link = readLink(options);
  if (!link)
    return link.takeFailure();
  const std::vector<double> tokens = secondsOfTokens(costs->compiled(), *link);
  ofLink = secondsOfMessage(*link, costs->messageBytes());
  ofTokenLink = tokens.front();
  ofReturn = tokens.back();
  return {};
}

Result<RankMemory> GenerationPlanner::fit() { return options.stages.empty() ? cutToFit() : measure(sizes); }

/// Where nothing fits as it is asked for, which takes `least`: weights over axes that none lies over, as few
/// as are enough. Nobody asked for such a layout: one that does not compile is none.
Result<RankMemory> GenerationPlanner::fitOverIdleAxes(RankMemory least) {
  for (const std::vector<std::string> &axes : idleAxesOfStages(compiled, options))
    for (const IdleLayout &layout : idleLayouts(options, axes, /*addsUpGradients=*/false)) {
      options.shard = layout.options.shard;
      if (!options.stages.empty() || readTimes())
        if (Result<RankMemory> memory = fit()) {
          if (memory->total() <= options.memory)
            return memory;
          if (memory->total() < least.total())
            least = *memory;
        }
      options.shard = asked;
    }
  return least;
}

Status GenerationPlanner::run() {
  const std::string flags = describeGiven(options); // before anything is completed
  if (Status s = readSizes(); !s)
    return s;
  for (int32_t stage = 0; stage < ranks; ++stage)
    options.stageCoordinates.push_back(stage);
  options.scheduleName = "in-turn";
  options.sendBuffers = kSendBuffers;
  if (!options.stages.empty()) {
    Result<schedule::StageSizes> pinned = schedule::parseStageSizes(options.stages, loop.layers);
    if (!pinned)
      return pinned.takeFailure();
    sizes = pinned.take();
    if (int32_t(sizes.size()) != ranks)
      return badFlag("--stages=" + options.stages,
                     "it names " + std::to_string(sizes.size()) + " stages, and the axis pp has " +
                         std::to_string(ranks) + " ranks",
                     "give as many numbers, separated by commas");
  } else if (Status s = readTimes(); !s) {
    return s;
  }
  std::optional<RankMemory> taken;
  if (options.memory) {
    Result<RankMemory> memory = fit();
    if (memory && memory->total() > options.memory)
      memory = fitOverIdleAxes(*memory);
    if (!memory)
      return memory.takeFailure();
    if (memory->total() > options.memory)
      return doesNotFit(options, *memory);
    taken = *memory;
  } else if (options.stages.empty()) {
    if (Status s = cut(); !s)
      return s;
  }
  options.planText = describe(taken ? &*taken : nullptr) + flags;
  options.stageSizes.assign(sizes.begin(), sizes.end());
  return {};
}

Status planGeneration(ModuleOp graph, const LayerLoop &loop, int32_t ranks, CompileOptions &options) {
  return GenerationPlanner(graph, loop, ranks, options).run();
}

} // namespace tessera
