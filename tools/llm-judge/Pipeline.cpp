//===- Pipeline.cpp - The stages of a pipeline against one device ---------===//
#include "Pipeline.h"

#include "StagesInParts.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Execution/Weights.h"
#include "tessera/Import/Import.h"
#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Reference/Judge.h"
#include "tessera/runtime/schedule/Choose.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using graph::FillSource;
using graph::Gives;

namespace {
/// Sizes of a model's step: enough rows that micro-batches have several, and not all the same number.
constexpr int64_t kRows = 5, kPositions = 12;

class PipelineJudge {
public:
  PipelineJudge(MLIRContext &context, const PipelineJudgement &judgement)
      : context(context), judgement(judgement) {}
  Status run();

private:
  Result<OwningOpRef<ModuleOp>> read();
  Status lower();
  Result<SmallVector<func::FuncOp>> find(ModuleOp module, bool trains);
  Status start(bool trains);
  void drawInputs(uint64_t seed, bool isFirst);
  ReferenceTensor rowsOf(FillSource source, ArrayRef<int64_t> shape, int64_t microBatch);
  ReferenceTensor argumentOf(const Stage &stage, func::FuncOp function, unsigned argument,
                             std::optional<int64_t> microBatch);
  ReferenceTensor slice(const ReferenceTensor &whole, const Stage &stage, StringRef parameter);
  Status runStage(Stage &stage);
  Status runWhole(bool trains);
  Status runPipeline(bool trains);
  Status runParts(bool trains);
  void exchangeShared();
  void addUp(StringRef name);
  void addUpAll(bool trains);
  /// `least`: what the largest element counts as at least.
  Status compare(const ReferenceTensor &want, const ReferenceTensor &got, const std::string &what,
                 double least = 0);
  Status compareNumber(StringRef name);
  Status compareParameters();

  MLIRContext &context;
  const PipelineJudgement &judgement;
  OwningOpRef<ModuleOp> whole, cut;
  func::FuncOp step; ///< of the whole model
  std::vector<Stage> stages;
  schedule::Schedule lists;              ///< of rung parts
  NamedValues inputs, outputs;           ///< of the whole model's function
  NamedValues parameters;                ///< of the whole model
  std::vector<NamedValues> ofStages;     ///< each one's parameters
  std::map<FillSource, std::string> row; ///< which input of the whole model is filled with it
  double worst = 0;
  std::string where;
};
} // namespace

static bool isRows(FillSource source) {
  return source == FillSource::TokenIds || source == FillSource::Positions || source == FillSource::Targets;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

Result<OwningOpRef<ModuleOp>> PipelineJudge::read() {
  const std::string &path = judgement.options.model;
  if (!StringRef(path).ends_with(".mlir")) {
    importer::ImportOptions importing;
    importing.batch = kRows;
    importing.maxSeqLen = kPositions;
    return importer::importModel(context, path, importing);
  }
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return Failure{"cannot read program", path, "it is no program of rung graph", "its error is above"};
  return module;
}

Status PipelineJudge::lower() {
  auto read = this->read();
  if (!read)
    return read.takeFailure();
  whole = read.take();
  cut = whole->clone();
  Rung last = judgement.rung == "step"      ? Rung::Step
              : judgement.rung == "sharded" ? Rung::Sharded
                                            : Rung::Spmd;
  CompileOptions options = judgement.options;
  options.task = Task::Train;
  PassManager stagesOf(&context);
  if (judgement.rung == "parts") {
    auto lists =
        listsFor(judgement.pipeline, int32_t(judgement.layers.size()), int32_t(options.microBatches));
    if (!lists)
      return lists.takeFailure();
    this->lists = lists.take();
    options.splitsBackward = schedule::splitsBackward(this->lists);
  }
  buildStagePhases(stagesOf, last, options, judgement.layers, judgement.rung == "parts");
  options.microBatches = 1;
  options.recompute = "none";
  options.lossChunks = 0;
  options.dtype = options.mesh = options.shard = "";
  options.lossScale = 0;
  PassManager wholeOf(&context);
  buildPhases(wholeOf, Rung::Step, Rung::Step, options);
  DiagnosticCollector errors(context);
  if (failed(wholeOf.run(*whole)) || failed(stagesOf.run(*cut)))
    return errors.failure("cannot lower the model", judgement.options.model);
  auto table = *cut->getOps<dist::PipelineOp>().begin();
  for (auto stage : table.getStages().getAsRange<dist::StageAttr>()) {
    Stage next;
    next.module = cut->lookupSymbol<ModuleOp>(stage.getProgram());
    next.first = stage.getFirst();
    next.layers = stage.getLayers();
    stages.push_back(std::move(next));
  }
  return {};
}

/// The functions of a step: one, or its parts. Up to the end of rung spmd a family with dropout has one entry
/// for both.
Result<SmallVector<func::FuncOp>> PipelineJudge::find(ModuleOp module, bool trains) {
  std::map<graph::Role, SmallVector<func::FuncOp>> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (auto role = function->getAttrOfType<graph::RoleAttr>(graph::kRoleAttr))
      functions[role.getValue()].push_back(function);
  // A stage may have no site.
  bool drops = functions.count(graph::Role::TrainDropout) &&
               (judgement.dropout > 0 || !functions.count(graph::Role::Train));
  auto found = functions[!trains ? graph::Role::Evaluate
                         : drops ? graph::Role::TrainDropout
                                 : graph::Role::Train];
  if (found.empty())
    return cannot("cannot run a step", judgement.options.model, "a module has no function for it");
  return found;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// The whole model's inputs of a step; parameters of the first one.
void PipelineJudge::drawInputs(uint64_t seed, bool isFirst) {
  inputs.clear();
  std::vector<ReferenceTensor> drawn = randomInputs(step, seed);
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    std::string name = argumentName(step, i).str();
    if (graph::argumentKind(step, i) == graph::Kind::Parameter) {
      auto symbol = whole->lookupSymbol<graph::ParameterOp>(name);
      if (isFirst) {
        if (symbol->hasAttr(graph::kStateOfAttr)) // states begin as zeros
          std::fill(drawn[i].f.begin(), drawn[i].f.end(), 0);
        parameters[name] = std::move(drawn[i]);
      }
      continue;
    }
    FillSource source = *fillOf(step, i);
    if (isRows(source))
      row[source] = name;
    if (source == FillSource::LearningRate)
      drawn[i].f[0] *= 0.01;
    if (source == FillSource::Dropout)
      drawn[i].f[0] = judgement.dropout;
    inputs[name] = std::move(drawn[i]);
  }
}

/// Rows of the whole step in micro-batches, those of the first one, or of `microBatch`, first; those beyond
/// the batch are inert.
ReferenceTensor PipelineJudge::rowsOf(FillSource source, ArrayRef<int64_t> shape, int64_t microBatch) {
  const ReferenceTensor &all = inputs.at(row.at(source));
  ReferenceTensor rows(all.elementType, shape);
  for (int64_t i = 0; i < rows.size(); ++i) {
    int64_t at = microBatch * rows.size() + i;
    rows.i[size_t(i)] = at < all.size() ? all.i[size_t(at)] : source == FillSource::TokenIds ? 0 : -1;
  }
  return rows;
}

/// A parameter of the whole model as the stage has it.
ReferenceTensor PipelineJudge::slice(const ReferenceTensor &all, const Stage &stage, StringRef parameter) {
  auto symbol = whole->lookupSymbol<graph::ParameterOp>(parameter);
  if (!symbol || !symbol.getStacked())
    return all;
  SmallVector<int64_t> shape(all.shape);
  size_t layer = size_t(all.size() / shape.front());
  shape.front() = stage.layers;
  ReferenceTensor part(all.elementType, shape);
  std::copy_n(all.f.begin() + int64_t(size_t(stage.first) * layer), part.f.size(), part.f.begin());
  return part;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static Status callFunction(func::FuncOp function, std::vector<ReferenceTensor> arguments,
                           NamedValues &results) {
  auto values = interpretGlobally(function, std::move(arguments));
  if (failed(values))
    return Failure{"cannot run the step", ("@" + function.getName()).str(), "the interpreter failed",
                   "its error is above"};
  // Results of several kinds may have one name: those that go to other stages come first.
  for (auto [i, value] : llvm::enumerate(*values))
    results[resultName(function, unsigned(i)).str()] = std::move(value);
  return {};
}

Status PipelineJudge::runWhole(bool trains) {
  auto found = find(*whole, trains);
  if (!found)
    return found.takeFailure();
  func::FuncOp function = found->front();
  std::vector<ReferenceTensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::string name = argumentName(function, i).str();
    bool isParameter = graph::argumentKind(function, i) == graph::Kind::Parameter;
    arguments.push_back(isParameter ? parameters.at(name) : inputs.at(name));
  }
  outputs.clear();
  return callFunction(function, std::move(arguments), outputs);
}

/// With zeros for what is not known yet.
ReferenceTensor PipelineJudge::argumentOf(const Stage &stage, func::FuncOp function, unsigned argument,
                                          std::optional<int64_t> microBatch) {
  std::string name = argumentName(function, argument).str();
  if (graph::argumentKind(function, argument) == graph::Kind::Parameter)
    return ofStages[size_t(&stage - stages.data())].at(name);
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  ReferenceTensor value(type.getElementType(), dist::globalShape(type));
  FillSource source = *fillOf(function, argument);
  if (isRows(source))
    return rowsOf(source, value.shape, microBatch.value_or(0));
  if (source == FillSource::FirstLayer)
    value.i[0] = stage.first;
  else if (source == FillSource::MicroBatch)
    value.i[0] = *microBatch;
  else if (auto known = stage.inputs.find(name); known != stage.inputs.end())
    return known->second;
  else if (auto number = inputs.find(name); number != inputs.end())
    return number->second;
  else if (source == FillSource::LossScale)
    value.f[0] = 4096;
  return value;
}

Status PipelineJudge::runStage(Stage &stage) {
  std::vector<ReferenceTensor> arguments;
  for (unsigned i = 0; i < stage.function.getNumArguments(); ++i)
    arguments.push_back(argumentOf(stage, stage.function, i, std::nullopt));
  stage.outputs.clear();
  return callFunction(stage.function, std::move(arguments), stage.outputs);
}

/// Gives every stage the sum of what stages give under `name`.
void PipelineJudge::addUp(StringRef name) {
  double sum = 0;
  for (Stage &stage : stages)
    if (auto part = stage.outputs.find(name.str()); part != stage.outputs.end())
      sum += part->second.f[0];
  ReferenceTensor total(Float32Type::get(&context), ArrayRef<int64_t>());
  total.f[0] = sum;
  for (Stage &stage : stages)
    stage.inputs[name.str()] = total;
}

void PipelineJudge::addUpAll(bool trains) {
  addUp(graph::kLossSum);
  if (trains)
    addUp(graph::kNormSum);
}

/// Gives every stage the gradients that others found of what it shares with them.
void PipelineJudge::exchangeShared() {
  for (Stage &stage : stages)
    for (func::FuncOp function : functionsOf(stage))
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (fillOf(function, i) == FillSource::SharedGradient)
          for (const Stage &other : stages)
            if (auto found = other.outputs.find(argumentName(function, i).str());
                &other != &stage && found != other.outputs.end())
              stage.inputs[found->first] = found->second;
}

Status PipelineJudge::start(bool trains) {
  for (Stage &stage : stages) {
    auto functions = find(stage.module, trains);
    if (!functions)
      return functions.takeFailure();
    stage.function = functions->front();
    stage.parts.clear();
    for (func::FuncOp function : *functions)
      if (auto part = function->getAttrOfType<graph::StagePartAttr>(graph::kStagePartAttr))
        stage.parts[part.getValue()] = function;
    stage.inputs.clear();
  }
  return {};
}

Status PipelineJudge::runPipeline(bool trains) {
  if (Status status = start(trains); !status)
    return status;
  for (size_t s = 0; s < stages.size(); ++s) {
    if (Status status = runStage(stages[s]); !status)
      return status;
    if (s + 1 < stages.size())
      hand(stages[s], Gives::Sent, stages[s + 1]);
  }
  for (size_t s = stages.size() - 1; trains && s > 0; --s) {
    hand(stages[s], Gives::SentGradient, stages[s - 1]);
    if (Status status = runStage(stages[s - 1]); !status)
      return status;
  }
  exchangeShared();
  for (Stage &stage : stages)
    if (Status status = givesShared(stage) ? runStage(stage) : Status(); !status)
      return status;
  addUpAll(trains);
  for (Stage &stage : stages)
    if (Status status = runStage(stage); !status)
      return status;
  return {};
}

Status PipelineJudge::runParts(bool trains) {
  if (Status status = start(trains); !status)
    return status;
  for (Stage &stage : stages)
    stage.outputs.clear();
  StagesInParts run(
      stages, lists,
      [&](const Stage &stage, func::FuncOp part, unsigned argument, std::optional<int64_t> microBatch) {
        return argumentOf(stage, part, argument, microBatch);
      });
  if (Status status = run.callAll(graph::StagePart::Begin); !status)
    return status;
  if (Status status = trains ? run.train() : run.evaluate(); !status)
    return status;
  if (Status status = run.expectNothingHeld(); !status)
    return status;
  if (Status status = run.callAll(graph::StagePart::Share); !status)
    return status;
  exchangeShared();
  if (Status status = run.callAll(graph::StagePart::Sum); !status)
    return status;
  addUpAll(trains);
  return run.callAll(graph::StagePart::Update);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

Status PipelineJudge::compare(const ReferenceTensor &want, const ReferenceTensor &got,
                              const std::string &what, double least) {
  if (!llvm::all_of(want.f, [](double x) { return std::isfinite(x); }))
    return cannot("cannot judge", what, "on one device it has numbers that are not finite");
  double error = relativeError(want, got, least);
  if (!(error <= worst)) {
    worst = error;
    where = what;
  }
  if (error <= judgement.tolerance)
    return {};
  std::string text;
  llvm::raw_string_ostream(text) << "is off by " << llvm::format("%.3g", error) << " of what one device has";
  return Failure{"a pipeline differs", what, text, "judge rung step to see whether a later phase did it"};
}

Status PipelineJudge::compareNumber(StringRef name) {
  for (auto [s, stage] : llvm::enumerate(stages))
    if (Status status = compare(outputs.at(name.str()), stage.outputs.at(name.str()),
                                name.str() + " of stage " + std::to_string(s));
        !status)
      return status;
  return {};
}

/// Copies that two stages have are the same bits; what no stage has was lost.
Status PipelineJudge::compareParameters() {
  std::map<std::string, int64_t> layers;
  NamedValues copies;
  auto kind = [&](StringRef name) {
    auto state = whole->lookupSymbol(name)->getAttrOfType<graph::StateOfAttr>(graph::kStateOfAttr);
    return state ? state.getState().str() : "";
  };
  // A gradient that is zero but for rounding has no size of its own.
  std::map<std::string, double> least;
  for (auto &[name, value] : parameters)
    for (double x : value.f)
      least[kind(name)] = std::max(least[kind(name)], 1e-6 * std::fabs(x));
  for (auto [s, stage] : llvm::enumerate(stages))
    for (auto &[name, value] : ofStages[s]) {
      auto symbol = whole->lookupSymbol<graph::ParameterOp>(name);
      if (!symbol.getStacked()) {
        auto [copy, isNew] = copies.insert({name, value});
        if (!isNew && relativeError(copy->second, value) != 0)
          return cannot("copies differ", name, "two stages have other numbers for it");
      }
      layers[name] += symbol.getStacked() ? stage.layers : 1;
      if (Status status = compare(slice(parameters.at(name), stage, name), value,
                                  name + " of stage " + std::to_string(s), least[kind(name)]);
          !status)
        return status;
    }
  for (auto &[name, value] : parameters) {
    auto symbol = whole->lookupSymbol<graph::ParameterOp>(name);
    if (layers[name] < (symbol.getStacked() ? value.shape.front() : 1))
      return cannot("a pipeline differs", name, "not all of it is in some stage");
  }
  return {};
}

Status PipelineJudge::run() {
  if (Status status = lower(); !status)
    return status;
  auto found = find(*whole, /*trains=*/true);
  if (!found)
    return found.takeFailure();
  step = found->front();
  for (int64_t i = 0; i < judgement.steps; ++i) {
    drawInputs(judgement.seed + uint64_t(i), i == 0);
    if (i == 0)
      for (Stage &stage : stages) {
        NamedValues held;
        for (auto parameter : stage.module.getOps<graph::ParameterOp>()) {
          std::string name = parameter.getSymName().str();
          held[name] = slice(parameters.at(name), stage, name);
        }
        ofStages.push_back(std::move(held));
      }
    for (bool trains : {false, true}) {
      if (Status status = runWhole(trains); !status)
        return status;
      if (Status status = judgement.rung == "parts" ? runParts(trains) : runPipeline(trains); !status)
        return status;
      if (Status status = compareNumber("loss"); !status)
        return status;
      if (trains)
        if (Status status = compareNumber("grad_norm"); !status)
          return status;
    }
    for (auto &[name, value] : parameters)
      if (auto next = outputs.find(name); next != outputs.end())
        value = next->second;
    for (auto [stage, held] : llvm::zip_equal(stages, ofStages))
      for (auto &[name, value] : held)
        if (auto next = stage.outputs.find(name); next != stage.outputs.end())
          value = next->second;
  }
  if (Status status = compareParameters(); !status)
    return status;
  llvm::SmallPtrSet<Operation *, 4> distinct;
  for (Stage &stage : stages)
    distinct.insert(stage.module);
  llvm::outs() << judgement.steps << " steps of " << stages.size() << " stages in " << distinct.size()
               << " programs" << (lists.ranks.empty() ? "" : " in parts") << ": largest error "
               << llvm::format("%.3g", worst) << (where.empty() ? "" : " in ") << where << "\n";
  return {};
}

int tessera::judgePipeline(MLIRContext &context, const PipelineJudgement &judgement) {
  Status status = PipelineJudge(context, judgement).run();
  if (status)
    return 0;
  llvm::errs() << "error: " << status.failure().message() << "\n";
  return 1;
}
