//===- PipelineProbe.cpp --------------------------------------------------===//
#include "tessera/Planner/PipelineProbe.h"

#include "tessera/Pipelines/IdleLayouts.h"
#include "tessera/Pipelines/ProgramMemory.h"
#include "tessera/Pipelines/SpmdFacts.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Graph/IR/Entries.h"
#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Pipelines/Register.h"
#include "tessera/Support/TypeSizes.h"
#include "tessera/runtime/pipeline/BufferPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <numeric>

using namespace mlir;

namespace tessera {

std::optional<LayerLoop> findLayerLoop(ModuleOp graph) {
  auto forward = graph.lookupSymbol<func::FuncOp>("forward");
  std::optional<LayerLoop> found;
  if (forward && !forward.isExternal())
    for (auto repeat : forward.getBody().front().getOps<graph::RepeatOp>())
      found = LayerLoop{int64_t(repeat.getCount()), int64_t(repeat.getBodies().size()),
                        found ? found->loops + 1 : 1};
  return found;
}

//===----------------------------------------------------------------------===//
// One stage
//===----------------------------------------------------------------------===//

/// What the seconds of an entry count as; none: it is no part of what is planned for.
static std::optional<Figure> figureOf(func::FuncOp entry) {
  auto role = entry->getAttrOfType<graph::RoleAttr>(graph::kRoleAttr);
  if (!role)
    return std::nullopt;
  switch (role.getValue()) {
  case graph::Role::Prompt:
    return Figure::Chunk;
  case graph::Role::Next: // drawing is what some runs do besides
    return Figure::Token;
  case graph::Role::Train:
    break;
  default:
    return std::nullopt;
  }
  auto part = entry->getAttrOfType<graph::StagePartAttr>(graph::kStagePartAttr);
  if (!part)
    return std::nullopt;
  switch (part.getValue()) {
  case graph::StagePart::Forward:
    return Figure::Forward;
  case graph::StagePart::Backward: // both halves at once
  case graph::StagePart::InputGradient:
    return Figure::InputGradient;
  case graph::StagePart::WeightGradient:
    return Figure::WeightGradient;
  default:
    return Figure::Once;
  }
}

/// Number of the body of a loop in `function` that `op` is in: of the outermost loop.
static std::optional<unsigned> bodyOf(Operation *op, func::FuncOp function) {
  for (Region *region = op->getParentRegion(); region && region->getParentOp() != function;
       region = region->getParentOp()->getParentRegion())
    if (region->getParentOp()->getParentOp() == function && isa<graph::RepeatOp>(region->getParentOp()))
      return region->getRegionNumber();
  return std::nullopt;
}

static void readSeconds(func::FuncOp entry, Figure figure, const SpmdFacts &facts, StageFigures &figures) {
  entry.walk([&](Operation *op) {
    double seconds = facts.seconds(op);
    figures.all[size_t(figure)] += seconds;
    if (seconds == 0)
      return;
    if (std::optional<unsigned> body = bodyOf(op, entry)) {
      if (figures.bodies.size() <= *body)
        figures.bodies.resize(*body + 1);
      figures.bodies[*body][size_t(figure)] += seconds;
    }
  });
}

/// Bytes of a call's tokens as every rank gets them: all pieces of its rows, padded ones included.
static int64_t tokenBytes(Type type, const Mesh &mesh) {
  dist::ShardingAttr sharding = dist::getShardingAttr(type);
  return arrayBytes(type) * (sharding ? sharding.toSharding(mesh).shards(0) : 1);
}

/// What the entry gives to other stages, or to a later entry.
static void readResults(func::FuncOp entry, graph::Role role, const Mesh &mesh, StageFigures &figures) {
  StageFigures::Messages &messages = figures.messages[role];
  auto add = [](int64_t &message, Type type) {
    auto bytes = size_t(message);
    runtime::placeInMessage(bytes, size_t(arrayBytes(type)));
    message = int64_t(bytes);
  };
  for (auto [i, type] : llvm::enumerate(entry.getResultTypes())) {
    std::optional<graph::Gives> gives = graph::givesOf(entry, unsigned(i));
    if (!gives)
      continue;
    switch (*gives) {
    case graph::Gives::Sent:
      add(messages.sent, type);
      break;
    case graph::Gives::SentGradient:
      add(messages.sentBack, type);
      break;
    case graph::Gives::SharedGradient:
      if (role == graph::Role::Train) {
        figures.shared += arrayBytes(type);
        figures.sharedGradients.emplace_back(graph::resultName(entry, unsigned(i)).str(), arrayBytes(type));
      }
      break;
    case graph::Gives::NextTokens:
      figures.tokens = std::max(figures.tokens, tokenBytes(type, mesh));
      break;
    default:
      break;
    }
  }
}

/// What the entry takes of messages that came for an earlier one, and of outputs of others.
static void readArguments(func::FuncOp entry, graph::Role role, StageFigures &figures,
                          std::set<std::pair<StringRef, StringRef>> &outputs) {
  auto part = entry->getAttrOfType<graph::StagePartAttr>(graph::kStagePartAttr);
  StageFigures::Messages &messages = figures.messages[role];
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto fill = entry.getArgAttrOfType<graph::FillAttr>(i, graph::kFillAttr);
    if (!fill)
      continue;
    if (fill.getSource() == graph::FillSource::Output &&
        outputs.insert({fill.getEntry().getValue(), fill.getOutput().getValue()}).second)
      figures.outputs += arrayBytes(entry.getArgumentTypes()[i]);
    if (!part)
      continue;
    const bool givesWeights = part.getValue() == graph::StagePart::WeightGradient;
    messages.keepsReceived |= fill.getSource() == graph::FillSource::Received &&
                              (givesWeights || part.getValue() == graph::StagePart::Backward ||
                               part.getValue() == graph::StagePart::InputGradient);
    messages.keepsGradient |= fill.getSource() == graph::FillSource::ReceivedGradient && givesWeights;
  }
}

static StageFigures readStage(ModuleOp stage) {
  StageFigures figures;
  SpmdFacts facts(stage);
  figures.axesOfWeights = axesOfWeights(stage);
  std::set<std::pair<StringRef, StringRef>> outputs;
  for (auto entry : stage.getOps<func::FuncOp>()) {
    auto role = entry->getAttrOfType<graph::RoleAttr>(graph::kRoleAttr);
    if (entry.isExternal() || !role)
      continue;
    if (std::optional<Figure> figure = figureOf(entry))
      readSeconds(entry, *figure, facts, figures);
    readResults(entry, role.getValue(), facts.mesh(), figures);
    readArguments(entry, role.getValue(), figures, outputs);
  }
  const bool trains = figures.messages.count(graph::Role::Train);
  const StageFigures::Messages &most = figures.of(trains ? graph::Role::Train : graph::Role::Prompt);
  figures.sent = most.sent;
  figures.sentBack = most.sentBack;
  return figures;
}

const StageFigures::Messages &StageFigures::of(graph::Role role) const {
  static const Messages none;
  auto found = messages.find(role);
  if (found == messages.end() && role == graph::Role::TrainDropout)
    found = messages.find(graph::Role::Train);
  return found == messages.end() ? none : found->second;
}

static std::vector<StageFigures> inOrder(ModuleOp module, const std::map<StringRef, StageFigures> &programs) {
  std::vector<StageFigures> stages;
  for (auto pipeline : module.getOps<dist::PipelineOp>())
    for (auto stage : pipeline.getStages().getAsRange<dist::StageAttr>())
      stages.push_back(programs.at(stage.getProgram().getValue()));
  return stages;
}

static std::map<StringRef, StageFigures> readPrograms(ModuleOp module) {
  std::map<StringRef, StageFigures> programs;
  for (auto stage : module.getOps<ModuleOp>())
    programs[*stage.getSymName()] = readStage(stage);
  return programs;
}

std::vector<StageFigures> readStages(ModuleOp module) { return inOrder(module, readPrograms(module)); }

//===----------------------------------------------------------------------===//
// StageProbe
//===----------------------------------------------------------------------===//

DialectRegistry StageProbe::registry() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

StageProbe::StageProbe(ModuleOp original, const std::string &model) : context(registry()), model(model) {
  std::string text;
  llvm::raw_string_ostream os(text);
  original.print(os, OpPrintingFlags().enableDebugInfo(true, false));
  graph = parseSourceString<ModuleOp>(text, ParserConfig(&context));
}

Result<std::vector<StageFigures>> StageProbe::measure(const CompileOptions &options, Rung last) {
  Result<std::shared_ptr<const Target>> target = resolveTarget(options.target, options.targetOptions);
  if (!target)
    return target.takeFailure();
  DiagnosticCollector diagnostics(context);
  OwningOpRef<ModuleOp> module(cast<ModuleOp>(graph.get()->clone()));
  PassManager local(&context);
  buildPhases(local, Rung::Step, Rung::Spmd, options);
  if (failed(local.run(*module)))
    return diagnostics.failure("cannot compile", model);
  std::map<StringRef, StageFigures> programs = readPrograms(*module);
  if (last > Rung::Spmd) {
    PassManager lower(&context);
    buildPhases(lower, Rung::Kernels, last, options);
    if (failed(lower.run(*module)))
      return diagnostics.failure("cannot compile", model);
    for (auto stage : module->getOps<ModuleOp>()) {
      ProgramMemory memory = programMemory(stage, **target);
      Figures &all = programs[*stage.getSymName()].all;
      all[size_t(Figure::Weights)] = double(memory.weights);
      int64_t slots = 0;
      for (size_t kind = 0; kind < memory.slots.size(); ++kind) {
        all[size_t(Figure::Slot) + kind] = double(memory.slots[kind]);
        slots += memory.slots[kind];
      }
      all[size_t(Figure::Arena)] = double(memory.arena - slots + memory.workspace);
    }
  }
  return inOrder(*module, programs);
}

//===----------------------------------------------------------------------===//
// StageCosts
//===----------------------------------------------------------------------===//

Result<StageCosts> StageCosts::probe(StageProbe &probe, const LayerLoop &loop, CompileOptions options,
                                     Rung last) {
  StageCosts costs;
  costs.loop = loop;
  // Two stages between the ends, of whole periods, and the ends with the layers that are left. A loop that
  // runs once, or not through a period, is another program than one that runs often: where there are enough
  // layers none does.
  const int64_t periods = loop.layers / loop.period;
  const int64_t few = periods > 6 ? 2 : 1, many = few + 1;
  if (periods < few + many) {
    costs.sizes = {0, loop.layers, 0};
    costs.few = costs.many = 1;
  } else {
    const int64_t left = loop.layers - (few + many) * loop.period,
                  behind = left >= 2 * loop.period ? loop.period : 0;
    costs.sizes = {left - behind, few * loop.period, many * loop.period, behind};
    costs.few = 1;
    costs.many = 2;
  }
  options.stageSizes.assign(costs.sizes.begin(), costs.sizes.end());
  options.stageCoordinates.resize(costs.sizes.size());
  std::iota(options.stageCoordinates.begin(), options.stageCoordinates.end(), 0);
  Result<std::vector<StageFigures>> stages = probe.measure(options, last);
  if (!stages)
    return stages.takeFailure();
  costs.stages = stages.take();
  return costs;
}

schedule::LayerCosts StageCosts::of(Figure figure) const {
  auto figureOf = [&](size_t stage) { return stages[stage].of(figure); };
  const double layers = few == many ? double(sizes[many]) : double(sizes[many] - sizes[few]);
  const double ofLayer = (figureOf(many) - (few == many ? 0 : figureOf(few))) / layers;
  schedule::LayerCosts costs;
  // Layers of a period differ by what their bodies take.
  const std::vector<Figures> &bodies = stages[many].bodies;
  const int64_t phase = std::accumulate(sizes.begin(), sizes.begin() + ptrdiff_t(many), int64_t(0));
  double inBodies = 0;
  for (const Figures &body : bodies)
    inBodies += body[size_t(figure)];
  for (int64_t layer = 0; layer < loop.layers; ++layer) {
    double besides = 0;
    if (int64_t(bodies.size()) == loop.period) {
      const int64_t body = (layer - phase % loop.period + loop.period) % loop.period;
      const int64_t times = (sizes[many] - body + loop.period - 1) / loop.period;
      besides = bodies[size_t(body)][size_t(figure)] / double(times) - inBodies / double(sizes[many]);
    }
    costs.layers.push_back(std::max(0., ofLayer + besides));
  }
  costs.stage = few == many ? 0 : std::max(0., figureOf(few) - ofLayer * double(sizes[few]));
  // What the ends have besides.
  auto besides = [&](size_t stage, int64_t first) {
    double rest = figureOf(stage) - (sizes[stage] > 0 ? costs.stage : 0);
    for (int64_t i = 0; i < sizes[stage]; ++i)
      rest -= costs.layers[size_t(first + i)];
    return std::max(0., rest);
  };
  costs.before = besides(0, 0);
  costs.after = besides(sizes.size() - 1, loop.layers - sizes.back());
  return costs;
}

double StageCosts::messageBytes() const {
  return double(std::max(stages.front().sent, stages.back().sentBack));
}

double StageCosts::sharedBytes() const { return double(stages.front().shared); }

double StageCosts::keptValueBytes() const {
  return stages[many].of(graph::Role::Train).keepsReceived ? double(stages.front().sent) : 0;
}

double StageCosts::keptGradientBytes() const {
  return stages[many].of(graph::Role::Train).keepsGradient ? double(stages.back().sentBack) : 0;
}

} // namespace tessera
