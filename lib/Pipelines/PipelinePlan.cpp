//===- PipelinePlan.cpp ---------------------------------------------------===//
#include "PipelinePlan.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Interfaces/Interfaces.h"
#include "tessera/runtime/schedule/Choose.h"
#include "tessera/runtime/schedule/Lower.h"
#include "tessera/runtime/schedule/Text.h"
#include "tessera/runtime/schedule/Validate.h"

#include "tessera/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MemoryBuffer.h"

#include <numeric>

using namespace mlir;

namespace tessera {
namespace {

/// The axis that stages lie along.
constexpr llvm::StringLiteral kPipelineAxis = "pp";
/// Values that are sent, at least: the next one can be made while one is under way.
constexpr int32_t kSendBuffers = 2;

Failure badFlag(const std::string &flag, const std::string &why, const std::string &hint = "") {
  return {"cannot compile", flag, why, hint};
}

double flopsOf(Operation &op) {
  double flops = 0;
  op.walk([&](CostOpInterface inner) {
    if (!isa<graph::RepeatOp>(inner.getOperation()))
      flops += inner.getCost().flops;
  });
  return flops;
}

/// FLOPs of the parts of @forward.
Result<schedule::LayerCosts> costsOf(ModuleOp module, const CompileOptions &options) {
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  graph::RepeatOp loop;
  if (forward && !forward.isExternal())
    for (auto repeat : forward.getBody().front().getOps<graph::RepeatOp>())
      loop = repeat;
  if (!loop)
    return badFlag("--mesh=" + options.mesh, "the model has no run of equal layers that could be cut",
                   "use another axis than pp");
  schedule::LayerCosts costs;
  for (Operation &op : forward.getBody().front())
    if (&op != loop)
      (op.isBeforeInBlock(loop) ? costs.before : costs.after) += flopsOf(op);
  SmallVector<double> ofBody;
  for (Region &body : loop.getBodies()) {
    ofBody.push_back(0);
    for (Operation &op : body.front())
      ofBody.back() += flopsOf(op);
  }
  for (int64_t layer = 0; layer < int64_t(loop.getCount()); ++layer)
    costs.layers.push_back(ofBody[size_t(layer) % ofBody.size()]);
  return costs;
}

Result<schedule::Schedule> readSchedule(const std::string &file, const CompileOptions &options,
                                        int32_t ranks) {
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  if (!buffer)
    return badFlag("--pipeline=" + file, "the file cannot be read: " + buffer.getError().message(),
                   "name a file with lists of actions, or a schedule");
  Result<schedule::Schedule> read =
      schedule::parseSchedule({(*buffer)->getBufferStart(), (*buffer)->getBufferSize()}, file);
  if (!read)
    return read;
  schedule::Schedule lists = schedule::scheduleOf(read->ranks);
  if (lists.numRanks() != ranks)
    return badFlag("--pipeline=" + file,
                   "it has lists of " + std::to_string(lists.numRanks()) + " ranks, and the axis pp has " +
                       std::to_string(ranks),
                   "give --mesh=pp=" + std::to_string(lists.numRanks()));
  if (lists.microBatches != options.microBatches)
    return badFlag("--pipeline=" + file,
                   "it is for " + std::to_string(lists.microBatches) + " micro-batches, and a step has " +
                       std::to_string(options.microBatches),
                   "give --micro-batches=" + std::to_string(lists.microBatches));
  for (const schedule::ActionList &list : lists.ranks)
    for (const schedule::Action &action : list)
      if (schedule::ofWholeStage(action.kind))
        return badFlag("--pipeline=" + file,
                       "it has " + schedule::toString(action) + ", and weights are gathered in each layer",
                       "leave out actions of whole stages");
  if (std::optional<schedule::Problem> problem = schedule::validate(lists)) {
    llvm::errs() << schedule::grid(lists, *problem);
    return badFlag("--pipeline=" + file, "it cannot run: " + problem->why, "mend the lists");
  }
  return lists;
}

/// Size of the mesh's axis for stages; 1: there is none.
int64_t ranksOfPipeline(const CompileOptions &options) {
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  std::optional<int> axis = mesh ? mesh->find(kPipelineAxis.str()) : std::nullopt;
  return axis ? mesh->axes[size_t(*axis)].size : 1;
}

/// Of a chunk of a prompt: its head, which is of one position, is next to nothing.
schedule::LayerCosts withoutHead(schedule::LayerCosts costs) {
  costs.after = 0;
  return costs;
}

/// The time of a batch's prompts and of what follows them, half of the context each: chunks of all groups
/// follow each other through the stages, and a group takes its next token when it is through.
double generationTime(const schedule::LayerCosts &position, const schedule::StageSizes &sizes, double groups,
                      double chunk, double context) {
  schedule::LayerCosts ofChunk = position; // logits are of one position
  ofChunk.before *= chunk;
  for (double &layer : ofChunk.layers)
    layer *= chunk;
  auto sum = [](const std::vector<double> &costs) { return std::accumulate(costs.begin(), costs.end(), 0.); };
  auto most = [](const std::vector<double> &costs) { return *std::max_element(costs.begin(), costs.end()); };
  const std::vector<double> prompt = schedule::stageCosts(ofChunk, sizes),
                            token = schedule::stageCosts(position, sizes);
  const double chunks = std::max(1., context / 2 / chunk);
  return sum(prompt) + (chunks * groups - 1) * most(prompt) +
         context / 2 * std::max(sum(token), groups * most(token));
}

/// Each rank has a stage, and takes the groups of rows in turn.
Status planGeneration(ModuleOp graph, const schedule::LayerCosts &costs, int32_t ranks,
                      CompileOptions &options) {
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

  const schedule::LayerCosts &position = costs; // in proportion
  const int64_t context = options.maxSeqLen ? options.maxSeqLen : logits.getDimSize(1);
  int64_t chunk = context;
  if (Result<std::shared_ptr<const Target>> target = resolveTarget(options.target, options.targetOptions))
    chunk = std::min<int64_t>(chunk, (*target)->tiling().prefillChunk);
  auto time = [&](const schedule::StageSizes &sizes) {
    return generationTime(position, sizes, double(groups), double(chunk), double(context));
  };
  Result<schedule::StageSizes> sizes =
      options.stages.empty() ? schedule::cutLayers(withoutHead(position), ranks)
                             : schedule::parseStageSizes(options.stages, int64_t(costs.layers.size()));
  if (!sizes)
    return sizes.takeFailure();
  if (int32_t(sizes->size()) != ranks)
    return badFlag("--stages=" + options.stages,
                   "it names " + std::to_string(sizes->size()) + " stages, and the axis pp has " +
                       std::to_string(ranks) + " ranks",
                   "give as many numbers, separated by commas");
  if (options.stages.empty())
    *sizes = schedule::improveCut(*sizes, time);
  options.stageSizes.assign(sizes->begin(), sizes->end());
  for (int32_t stage = 0; stage < ranks; ++stage)
    options.stageCoordinates.push_back(stage);
  options.scheduleName = "in-turn";
  options.sendBuffers = kSendBuffers;
  return {};
}

bool hasMessages(const schedule::Schedule &lists) {
  for (const schedule::ActionList &list : lists.ranks)
    for (const schedule::Action &action : list)
      if (schedule::sends(action.kind))
        return true;
  return false;
}
} // namespace

Status checkPipeline(const CompileOptions &options) {
  const bool isPlanned = !options.pipeline.empty() || !options.stages.empty();
  const std::string flag =
      options.pipeline.empty() ? "--stages=" + options.stages : "--pipeline=" + options.pipeline;
  const int64_t ranks = ranksOfPipeline(options);
  if (ranks == 1)
    return isPlanned ? Status(badFlag(flag, "the mesh has no axis pp that stages could lie along",
                                      "give --mesh=pp=2, for example"))
                     : Status();
  if (options.task != Task::Train && !options.pipeline.empty())
    return badFlag(flag, "stages that generate text take groups of rows in turn", "leave it out");
  for (auto [isGiven, name] : {std::pair(options.explain, "--explain"),
                               {options.check, "--check"},
                               {!options.report.empty(), "--report"},
                               {options.memory > 0, "--memory"}})
    if (isGiven)
      return badFlag(name, "it is not implemented for pipelines", "leave it out");
  return {};
}

Status planPipeline(ModuleOp graph, CompileOptions &options) {
  if (ranksOfPipeline(options) == 1)
    return {};
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  auto ranks = int32_t(ranksOfPipeline(options));
  auto microBatches = int32_t(options.microBatches);
  Result<schedule::LayerCosts> costs = costsOf(graph, options);
  if (!costs)
    return costs.takeFailure();
  for (const MeshAxis &one : mesh->axes)
    options.stageMesh += (options.stageMesh.empty() ? "" : ",") + one.name + "=" +
                         std::to_string(one.name == kPipelineAxis ? 1 : one.size);
  if (options.task == Task::Generate)
    return planGeneration(graph, *costs, ranks, options);
  Result<schedule::PipelineChoice> choice =
      schedule::parsePipelineChoice(options.pipeline.empty() ? "auto" : options.pipeline);
  if (!choice)
    return choice.takeFailure();
  std::optional<schedule::StageSizes> pinned;
  if (!options.stages.empty()) {
    Result<schedule::StageSizes> sizes =
        schedule::parseStageSizes(options.stages, int64_t(costs->layers.size()));
    if (!sizes)
      return sizes.takeFailure();
    pinned = sizes.take();
  }

  schedule::Schedule lists;
  if (!choice->file.empty()) {
    Result<schedule::Schedule> read = readSchedule(choice->file, options, ranks);
    if (!read)
      return read.takeFailure();
    lists = read.take();
    options.scheduleName = choice->file;
  } else {
    // Gradients of the input and of weights take about as long as forward, each of them.
    schedule::PipelineModel model{*costs, *costs, *costs};
    schedule::ChoiceLimits limits;
    limits.ranks = ranks;
    limits.microBatches = {microBatches};
    limits.name = choice->name;
    limits.stagesPerRank = choice->stagesPerRank;
    limits.sizes = pinned;
    Result<schedule::Choice> chosen = schedule::choosePipeline([&](int32_t) { return model; }, limits);
    if (!chosen)
      return chosen.takeFailure();
    const schedule::Plan &best = chosen->best;
    Result<schedule::Schedule> made = schedule::generate(best.name, ranks, microBatches, best.stagesPerRank);
    if (!made)
      return made.takeFailure();
    lists = made.take();
    pinned = best.sizes;
    options.scheduleName = std::string(schedule::scheduleName(best.name));
    if (schedule::takesStagesPerRank(best.name))
      options.scheduleName += ":" + std::to_string(best.stagesPerRank);
  }
  if (!pinned) {
    Result<schedule::StageSizes> sizes = schedule::cutLayers(*costs, lists.numStages());
    if (!sizes)
      return sizes.takeFailure();
    pinned = sizes.take();
  }
  if (int64_t(pinned->size()) != lists.numStages())
    return badFlag("--stages=" + options.stages,
                   "it names " + std::to_string(pinned->size()) + " stages, and " + options.scheduleName +
                       " has " + std::to_string(lists.numStages()) + " on " + std::to_string(ranks) +
                       " ranks",
                   "give as many numbers, separated by commas");
  for (const schedule::ActionList &list : lists.ranks)
    for (const schedule::Action &action : list)
      options.splitsBackward |=
          action.kind == schedule::Kind::BackwardInput || action.kind == schedule::Kind::BackwardWeight;
  if (!hasMessages(lists))
    lists = schedule::lower(lists, schedule::Lowering::Eager);
  options.stageSizes.assign(pinned->begin(), pinned->end());
  options.stageCoordinates.assign(lists.rankOfStage.begin(), lists.rankOfStage.end());
  options.sendBuffers = std::max(kSendBuffers, schedule::leastSendBuffers(lists).withoutDelay);
  for (const schedule::ActionList &list : lists.ranks)
    options.actionLists.push_back(schedule::toString(list));
  return {};
}

void writeSchedule(ModuleOp module, const CompileOptions &options) {
  for (auto pipeline : module.getOps<dist::PipelineOp>()) {
    Builder b(module.getContext());
    SmallVector<StringRef> lists(options.actionLists.begin(), options.actionLists.end());
    pipeline.setScheduleAttr(b.getStringAttr(options.scheduleName));
    pipeline.setListsAttr(b.getStrArrayAttr(lists));
    pipeline.setSendBuffersAttr(b.getI64IntegerAttr(options.sendBuffers));
  }
  if (options.task != Task::Generate)
    return;
  // Of the whole: its stages take the rows of a group.
  for (auto stage : module.getOps<ModuleOp>())
    if (auto of = stage->getAttrOfType<graph::GenerateAttr>(graph::kGenerateAttr))
      module->setAttr(graph::kGenerateAttr,
                      graph::GenerateAttr::get(module.getContext(), options.batch, of.getChunk(),
                                               of.getMaxSeqLen(), of.getVocab()));
}

} // namespace tessera
