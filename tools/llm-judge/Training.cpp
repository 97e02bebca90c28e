//===- Training.cpp - A training run against expected numbers -------------===//
#include "Training.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Execution/Weights.h"
#include "tessera/Import/Import.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Reference/Judge.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace tessera;

namespace {
/// Of training in f16: nothing may depend on it.
constexpr double kLossScale = 4096;

/// The numbers of expected.json.
struct ExpectedRun {
  struct Step {
    double loss, gradNorm, rate;
  };
  std::string optimizer;
  std::map<graph::FillSource, double> numbers; ///< that are the same in every step
  int64_t batch = 0, seq = 0;
  std::vector<Step> steps;

  static Result<ExpectedRun> read(const std::string &path);
};

class TrainingJudge {
public:
  TrainingJudge(MLIRContext &context, const TrainingJudgement &judgement)
      : context(context), judgement(judgement) {}

  Status run();
  /// The steps alone, from the model's weights on; what they give takes the place of what was expected.
  Status runToExpect(ExpectedRun &of);
  const NamedValues &parameters() const { return values; }

private:
  Status prepare();
  std::string file(StringRef name) { return judgement.model + "/" + name.str(); }
  Status readTokens();
  Status build();
  Status runStep(int64_t step);
  Status compareWeights();
  ReferenceTensor rowsOf(graph::FillSource source, int64_t step, ArrayRef<int64_t> shape);
  int64_t targetsOf(int64_t step); ///< that have a loss
  double numberOf(graph::FillSource source, int64_t step);
  Status within(StringRef what, double error, double limit, const std::string &where);

  MLIRContext &context;
  const TrainingJudgement &judgement;
  ExpectedRun expected;
  int64_t columns = 0;
  std::vector<int32_t> tokens; ///< [rows, seq + 1]; -1 behind the end of a row
  OwningOpRef<ModuleOp> module;
  func::FuncOp train;
  NamedValues values;                   ///< of parameters
  const NamedValues *trained = nullptr; ///< what they are to be; null: those of a file
  bool compares = true;
  double worstLoss = 0, worstNorm = 0;
};
} // namespace

Result<ExpectedRun> ExpectedRun::read(const std::string &path) {
  auto damaged = [&](const std::string &why) {
    return Failure{"cannot read expected training", path, why, "see docs/Judge.md"};
  };
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return damaged(buffer.getError().message());
  auto json = llvm::json::parse((*buffer)->getBuffer());
  if (!json)
    return damaged(llvm::toString(json.takeError()));
  const llvm::json::Object *top = json->getAsObject(), *train = top ? top->getObject("train") : nullptr,
                           *hyper = train ? train->getObject("hyper") : nullptr;
  const llvm::json::Array *log = train ? train->getArray("log") : nullptr;
  if (!hyper || !log)
    return damaged("it has no train with hyper and log");
  ExpectedRun run;
  run.optimizer = hyper->getString("optimizer").value_or("").str();
  run.batch = hyper->getInteger("batch").value_or(0);
  run.seq = hyper->getInteger("seq_len").value_or(0);
  for (auto [source, name] : {std::pair(graph::FillSource::Beta1, "beta1"),
                              {graph::FillSource::Beta2, "beta2"},
                              {graph::FillSource::Epsilon, "eps"},
                              {graph::FillSource::Momentum, "momentum"},
                              {graph::FillSource::WeightDecay, "weight_decay"},
                              {graph::FillSource::Clip, "clip_grad_norm"}})
    if (auto number = hyper->getNumber(name))
      run.numbers[source] = *number;
  for (const llvm::json::Value &entry : *log) {
    const llvm::json::Object *step = entry.getAsObject();
    auto number = [&](StringRef name) { return step ? step->getNumber(name).value_or(NAN) : NAN; };
    run.steps.push_back({number("loss"), number("grad_norm"), number("lr")});
  }
  if (run.batch < 1 || run.seq < 1 || run.steps.empty())
    return damaged("it has no batch, no seq_len or no steps");
  return run;
}

Status TrainingJudge::readTokens() {
  auto data = io::ModelFile::open(file("train_tokens.safetensors"));
  if (!data)
    return data.takeFailure();
  const io::TensorInfo *ids = (*data)->find("tokens");
  if (!ids || ids->dtype != io::DType::I32 || ids->shape.size() != 2 || ids->shape[1] != expected.seq + 1 ||
      ids->shape[0] < expected.batch * int64_t(expected.steps.size()))
    return Failure{"cannot read tokens", file("train_tokens.safetensors"),
                   "it has no tokens i32 [rows, seq_len + 1] for all steps", "see docs/Judge.md"};
  columns = ids->shape[1];
  tokens.resize(size_t(ids->elements));
  std::memcpy(tokens.data(), ids->data, tokens.size() * sizeof(int32_t));
  return {};
}

Status TrainingJudge::build() {
  auto model = io::ModelFile::open(judgement.model);
  if (!model)
    return model.takeFailure();
  importer::ImportOptions importing;
  importing.batch = expected.batch;
  importing.maxSeqLen = expected.seq;
  auto imported = importer::importModel(context, **model, importing);
  if (!imported)
    return imported.takeFailure();
  module = imported.take();
  for (auto parameter : module->getOps<graph::ParameterOp>()) {
    auto value = readParameter(**model, parameter);
    if (!value)
      return value.takeFailure();
    values[parameter.getSymName().str()] = value.take();
  }
  CompileOptions options;
  options.model = judgement.model;
  options.task = Task::Train;
  options.batch = expected.batch;
  options.microBatches = judgement.microBatches;
  options.optimizer = expected.optimizer;
  options.dtype = judgement.dtype;
  options.lossScale = judgement.dtype == "f16" ? kLossScale : 0;
  options.recompute = judgement.recompute;
  options.lossChunks = judgement.lossChunks;
  options.mesh = judgement.mesh;
  options.shard = judgement.shard;
  Rung last = judgement.rung == "step"      ? Rung::Step
              : judgement.rung == "sharded" ? Rung::Sharded
                                            : Rung::Spmd;
  PassManager manager(&context);
  buildPhases(manager, Rung::Step, last, options);
  if (failed(manager.run(*module)))
    return Failure{"cannot lower the model", judgement.model, "a pass failed", "its error is above"};
  for (auto parameter : module->getOps<graph::ParameterOp>())
    if (parameter->hasAttr(graph::kStateOfAttr))
      values[parameter.getSymName().str()] = ReferenceTensor(cast<RankedTensorType>(parameter.getType()));
  // Up to rung spmd a family with dropout has one entry for both.
  auto find = [&](graph::Role wanted) {
    for (auto func : module->getOps<func::FuncOp>())
      if (auto role = func->getAttrOfType<graph::RoleAttr>(graph::kRoleAttr);
          role && role.getValue() == wanted)
        train = func;
  };
  find(graph::Role::TrainDropout);
  if (judgement.dropout > 0 && !train)
    return Failure{"cannot drop elements", judgement.model, "its family has no dropout",
                   "leave out --dropout"};
  if (judgement.dropout == 0)
    find(graph::Role::Train);
  return {};
}

/// Row r of step s is row batch * s + r of the file; rows beyond the batch, and what is behind the end of a
/// row, are inert.
ReferenceTensor TrainingJudge::rowsOf(graph::FillSource source, int64_t step, ArrayRef<int64_t> shape) {
  ReferenceTensor rows(IntegerType::get(&context, 32), shape);
  for (int64_t i = 0; i < rows.size(); ++i) {
    int64_t row = i / expected.seq, column = i % expected.seq;
    if (row >= expected.batch) {
      rows.i[size_t(i)] = source == graph::FillSource::TokenIds ? 0 : -1;
      continue;
    }
    int64_t at = (expected.batch * step + row) * columns + column, token = tokens[size_t(at)];
    rows.i[size_t(i)] = source == graph::FillSource::Positions  ? (token < 0 ? -1 : column)
                        : source == graph::FillSource::TokenIds ? std::max<int64_t>(token, 0)
                                                                : tokens[size_t(at + 1)];
  }
  return rows;
}

int64_t TrainingJudge::targetsOf(int64_t step) {
  int64_t targets = 0;
  for (int64_t row = expected.batch * step; row < expected.batch * (step + 1); ++row)
    for (int64_t column = 1; column < columns; ++column)
      targets += tokens[size_t(row * columns + column)] >= 0;
  return targets;
}

double TrainingJudge::numberOf(graph::FillSource source, int64_t step) {
  auto correction = [&](graph::FillSource beta) {
    return 1 / (1 - std::pow(expected.numbers[beta], double(step + 1)));
  };
  switch (source) {
  case graph::FillSource::TokenWeight:
    return 1 / double(targetsOf(step));
  case graph::FillSource::LearningRate:
    return expected.steps[size_t(step)].rate;
  case graph::FillSource::LossScale:
    return kLossScale;
  case graph::FillSource::Dropout:
    return judgement.dropout;
  case graph::FillSource::FirstCorrection:
    return correction(graph::FillSource::Beta1);
  case graph::FillSource::SecondCorrection:
    return correction(graph::FillSource::Beta2);
  default:
    return expected.numbers[source];
  }
}

Status TrainingJudge::runStep(int64_t step) {
  std::vector<ReferenceTensor> arguments;
  for (unsigned i = 0; i < train.getNumArguments(); ++i) {
    auto name = train.getArgAttrOfType<StringAttr>(i, graph::kNameAttr);
    auto fill = train.getArgAttrOfType<graph::FillAttr>(i, graph::kFillAttr);
    if (graph::argumentKind(train, i) == graph::Kind::Parameter) {
      arguments.push_back(values.at(name.str()));
    } else if (fill.getSource() == graph::FillSource::TokenIds ||
               fill.getSource() == graph::FillSource::Positions ||
               fill.getSource() == graph::FillSource::Targets) {
      int64_t rows = (expected.batch + judgement.microBatches - 1) / judgement.microBatches;
      arguments.push_back(rowsOf(fill.getSource(), step, {judgement.microBatches, rows, expected.seq}));
    } else if (fill.getSource() == graph::FillSource::DropoutKey) {
      arguments.emplace_back(IntegerType::get(&context, 64), ArrayRef<int64_t>());
      arguments.back().i[0] = int64_t(uint64_t(step + 1) * 0x9e3779b97f4a7c15u); // any
    } else {
      arguments.emplace_back(Float32Type::get(&context), ArrayRef<int64_t>());
      arguments.back().f[0] = numberOf(fill.getSource(), step);
    }
  }
  auto results = interpretGlobally(train, std::move(arguments));
  if (failed(results))
    return Failure{"cannot run the step", "@train", "the interpreter failed", "its error is above"};
  for (auto [i, result] : llvm::enumerate(*results)) {
    auto name = train.getResultAttrOfType<StringAttr>(unsigned(i), graph::kNameAttr);
    auto gives = train.getResultAttrOfType<graph::GivesAttr>(unsigned(i), graph::kGivesAttr);
    if (!gives) {
      values[name.str()] = std::move(result);
      continue;
    }
    bool isLoss = gives.getValue() == graph::Gives::Loss;
    ExpectedRun::Step &wanted = expected.steps[size_t(step)];
    if (!compares) {
      (isLoss ? wanted.loss : wanted.gradNorm) = result.f[0];
      continue;
    }
    double want = isLoss ? wanted.loss : wanted.gradNorm;
    double error = std::fabs(result.f[0] - want) / std::fabs(want);
    double &worst = isLoss ? worstLoss : worstNorm;
    worst = error <= worst ? worst : error;
    if (Status status =
            within(name.getValue(), error, judgement.tolerance, "step " + std::to_string(step + 1));
        !status)
      return status;
  }
  return {};
}

Status TrainingJudge::within(StringRef what, double error, double limit, const std::string &where) {
  if (error <= limit)
    return {};
  std::string text;
  llvm::raw_string_ostream(text) << "is off by " << llvm::format("%.3g", error) << " of what it should be";
  return Failure{what.str() + " differs", where, text,
                 "judge the rung before to find the phase that changed it"};
}

Status TrainingJudge::compareWeights() {
  Result<std::unique_ptr<io::ModelFile>> file = std::unique_ptr<io::ModelFile>();
  if (!trained)
    file = io::ModelFile::open(this->file("trained.safetensors"));
  if (!file)
    return file.takeFailure();
  double worst = 0;
  std::string where;
  for (auto parameter : module->getOps<graph::ParameterOp>()) {
    if (parameter->hasAttr(graph::kStateOfAttr))
      continue;
    Result<ReferenceTensor> want = ReferenceTensor();
    if (trained)
      want = trained->at(parameter.getSymName().str());
    else
      want = readParameter(**file, parameter);
    if (!want)
      return want.takeFailure();
    double error = relativeError(*want, values.at(parameter.getSymName().str()));
    if (!(error <= worst)) {
      worst = error;
      where = parameter.getSymName().str();
    }
  }
  llvm::outs() << "weights: largest error / largest element " << llvm::format("%.3g", worst) << " in "
               << where << "\n";
  return within("trained weights", worst, 2 * judgement.tolerance, where);
}

Status TrainingJudge::prepare() {
  auto read = ExpectedRun::read(file("expected.json"));
  if (!read)
    return read.takeFailure();
  expected = read.take();
  if (Status status = readTokens(); !status)
    return status;
  return build();
}

Status TrainingJudge::runToExpect(ExpectedRun &of) {
  compares = false;
  if (Status status = prepare(); !status)
    return status;
  for (int64_t step = 0; step < int64_t(expected.steps.size()); ++step)
    if (judgement.steps && step >= judgement.steps)
      break;
    else if (Status status = runStep(step); !status)
      return status;
  of = expected;
  return {};
}

Status TrainingJudge::run() {
  if (Status status = prepare(); !status)
    return status;
  TrainingJudgement whole = judgement;
  whole.rung = "step";
  whole.microBatches = 1;
  whole.mesh = whole.shard = whole.dtype = "";
  whole.recompute = "none";
  TrainingJudge one(context, whole);
  if (judgement.dropout > 0) {
    if (Status status = one.runToExpect(expected); !status)
      return status;
    trained = &one.parameters();
  }
  int64_t all = int64_t(expected.steps.size()),
          steps = judgement.steps ? std::min(judgement.steps, all) : all;
  for (int64_t step = 0; step < steps; ++step)
    if (Status status = runStep(step); !status)
      return status;
  llvm::outs() << steps << " steps: relative errors of loss " << llvm::format("%.3g", worstLoss)
               << ", of grad_norm " << llvm::format("%.3g", worstNorm) << "\n";
  return steps == all ? compareWeights() : Status();
}

int tessera::judgeTraining(MLIRContext &context, const TrainingJudgement &judgement) {
  if (judgement.rung != "step" && judgement.rung != "sharded" && judgement.rung != "spmd") {
    llvm::errs() << "error: rung (" << judgement.rung << "): training is judged on step, sharded and spmd\n";
    return 1;
  }
  Status status = TrainingJudge(context, judgement).run();
  if (status)
    return 0;
  llvm::errs() << "error: " << status.failure().message() << "\n";
  return 1;
}
