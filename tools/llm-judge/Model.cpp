//===- Model.cpp - A checkpoint against expected logits -------------------===//
#include "Model.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Execution/CompiledProgram.h"
#include "tessera/Import/Import.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Reference/Judge.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace tessera;

static std::string shortText(double x) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g", x);
  return text;
}

namespace {
/// What a function takes and gives, by `graph.name`.
using Values = llvm::StringMap<ReferenceTensor>;

class ModelJudge {
public:
  ModelJudge(MLIRContext &context, const ModelJudgement &judgement)
      : context(context), judgement(judgement) {}

  Status run() {
    if (Status status = readExpected(); !status)
      return status;
    if (Status status = readModel(); !status)
      return status;
    if (Status status = lower(); !status)
      return status;
    logits = ReferenceTensor(expected.elementType, expected.shape);
    planCalls();
    if (Status status = machine() ? execute() : interpret(); !status)
      return status;
    double largest = 0, difference = 0;
    for (size_t i = 0; i < expected.f.size(); ++i) {
      largest = std::max(largest, std::fabs(expected.f[i]));
      double d = std::fabs(expected.f[i] - logits.f[i]);
      difference = std::isnan(d) ? INFINITY : std::max(difference, d);
    }
    llvm::outs() << "logits: largest error / largest logit " << llvm::format("%.3g", difference / largest)
                 << "\n";
    if (!(difference <= judgement.tolerance * largest))
      return Failure{"logits differ", judgement.model,
                     "the largest error is " + shortText(difference / largest) +
                         " of the largest logit, allowed is " + shortText(judgement.tolerance),
                     "judge the rung before to find the phase that changed them"};
    return {};
  }

private:
  //===--------------------------------------------------------------------===//
  // Files
  //===--------------------------------------------------------------------===//

  Status readExpected() {
    auto file = io::ModelFile::open(judgement.expected);
    if (!file)
      return file.takeFailure();
    const io::TensorInfo *ids = (*file)->find("tokens"), *values = (*file)->find("logits");
    if (!ids || !values || ids->dtype != io::DType::I32 || ids->shape.size() != 2 ||
        values->shape.size() != 3 || values->shape[0] != ids->shape[0] || values->shape[1] != ids->shape[1])
      return Failure{"cannot read expected logits", judgement.expected,
                     "it has no tokens i32 [batch, seq] with logits [batch, seq, vocab]",
                     "see docs/Judge.md"};
    tokens = ReferenceTensor(IntegerType::get(&context, 32), ids->shape);
    for (size_t i = 0; i < tokens.i.size(); ++i) {
      int32_t id;
      std::memcpy(&id, ids->data + 4 * i, 4);
      tokens.i[i] = id;
    }
    return readAll(**file, *values, expected);
  }

  Status readAll(const io::ModelFile &file, const io::TensorInfo &info, ReferenceTensor &tensor) {
    std::vector<float> numbers(size_t(info.elements));
    if (Status status = file.readRange(info, 0, info.elements, numbers.data()); !status)
      return status;
    tensor = ReferenceTensor(Float32Type::get(&context), info.shape);
    tensor.f.assign(numbers.begin(), numbers.end());
    return {};
  }

  /// Imports the program and loads its weights.
  Status readModel() {
    auto file = io::ModelFile::open(judgement.model);
    if (!file)
      return file.takeFailure();
    importer::ImportOptions options;
    options.batch = tokens.shape[0];
    options.maxSeqLen = tokens.shape[1];
    auto imported = importer::importModel(context, **file, options);
    if (!imported)
      return imported.takeFailure();
    module = imported.take();
    if (machine()) // loads them itself
      return {};
    for (auto parameter : module->getOps<graph::ParameterOp>()) {
      auto value = readParameter(**file, parameter);
      if (!value)
        return value.takeFailure();
      values[parameter.getSymName()] = value.take();
    }
    return {};
  }

  //===--------------------------------------------------------------------===//
  // Program
  //===--------------------------------------------------------------------===//

  /// Rungs below spmd run on the machine.
  bool machine() const {
    return llvm::is_contained({"kernels", "exec", "binary"}, StringRef(judgement.rung));
  }

  CompileOptions options() const {
    CompileOptions options;
    options.model = judgement.model;
    options.chunk = judgement.chunk;
    options.mesh = judgement.mesh;
    options.shard = judgement.shard;
    return options;
  }

  Status lower() {
    if (judgement.rung == "graph")
      return {};
    Rung last = judgement.rung == "step" || machine() ? Rung::Step
                : judgement.rung == "sharded"         ? Rung::Sharded
                                                      : Rung::Spmd;
    PassManager manager(&context);
    buildPhases(manager, Rung::Step, last, options());
    if (failed(manager.run(*module)))
      return Failure{"cannot lower the model", judgement.model, "a pass failed", "its error is above"};
    return {};
  }

  /// Runs `@name`: arguments from `values`, results into `values` (states under their argument's name).
  Status run(StringRef name) {
    auto func = module->lookupSymbol<func::FuncOp>(name);
    if (!func)
      return Failure{"cannot run the model", judgement.model, ("there is no function @" + name).str(), ""};
    std::vector<ReferenceTensor> arguments;
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      auto attr = func.getArgAttrOfType<StringAttr>(i, graph::kNameAttr);
      auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[i]);
      std::optional<graph::Kind> kind = graph::argumentKind(func, i);
      if (!attr || !type || !kind)
        return Failure{"cannot run the model", ("@" + name).str(),
                       "argument #" + std::to_string(i) + " has no name or kind", ""};
      auto known = values.find(attr.getValue());
      if (known == values.end() && kind == graph::Kind::State) // caches begin empty
        known =
            values.insert({attr.getValue(), ReferenceTensor(type.getElementType(), dist::globalShape(type))})
                .first;
      if (known == values.end())
        return Failure{"cannot run the model", ("@" + name).str(),
                       "nothing is known of argument " + attr.getValue().str(), ""};
      arguments.push_back(known->second);
    }
    auto results = interpretGlobally(func, std::move(arguments));
    if (failed(results))
      return Failure{"cannot run the model", ("@" + name).str(), "the interpreter failed",
                     "its error is above"};
    for (auto [i, result] : llvm::enumerate(*results))
      if (auto attr = func.getResultAttrOfType<StringAttr>(unsigned(i), graph::kNameAttr))
        values[attr.getValue()] = std::move(result);
    return {};
  }

  //===--------------------------------------------------------------------===//
  // Calls
  //===--------------------------------------------------------------------===//

  /// Adds a call for columns [begin, begin + count) of all rows of the tokens and `inert` more of -1; its
  /// logits are those of `position`.
  void plan(const char *entry, int64_t begin, int64_t count, int64_t inert, int64_t index, int64_t position) {
    int64_t batch = tokens.shape[0], seq = tokens.shape[1], width = count + inert;
    ReferenceTensor ids(tokens.elementType, {batch, width}), positions = ids,
                                                             last(tokens.elementType, {batch});
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < width; ++i) {
        ids.i[b * width + i] = i < count ? tokens.i[b * seq + begin + i] : 0;
        positions.i[b * width + i] = i < count ? begin + i : -1;
      }
    last.i.assign(last.i.size(), index);
    calls.push_back(
        {entry,
         {{"tokens", std::move(ids)}, {"positions", std::move(positions)}, {"index", std::move(last)}},
         {},
         {}});
    places.push_back(position);
  }

  void planCalls() {
    int64_t seq = tokens.shape[1], prefilled = (2 * seq + 2) / 3;
    if (judgement.rung == "graph")
      return plan("forward", 0, seq, 0, 0, -1);
    for (int64_t begin = 0; begin < prefilled; begin += judgement.chunk) {
      int64_t count = std::min(judgement.chunk, prefilled - begin);
      plan("prefill", begin, count, judgement.chunk - count, count - 1, begin + count - 1);
      for (int64_t i = 0; i + 1 < count; ++i)
        plan("head", begin, count, judgement.chunk - count, i, begin + i);
    }
    for (int64_t position = prefilled; position < seq; ++position)
      plan("decode", position, 1, 0, 0, position);
  }

  /// Keeps the step's logits [batch, 1, vocab] as those of `position`; checks the token it chose.
  Status keepLogits(const ReferenceTensor &row, const ReferenceTensor &next, int64_t position) {
    int64_t batch = logits.shape[0], seq = logits.shape[1], vocab = logits.shape[2];
    for (int64_t b = 0; b < batch; ++b) {
      auto begin = row.f.begin() + b * vocab;
      std::copy_n(begin, vocab, logits.f.begin() + (b * seq + position) * vocab);
      // Keys hold float32: of two that are one there, the lower index.
      int64_t largest =
          std::max_element(begin, begin + vocab, [](double x, double y) { return float(x) < float(y); }) -
          begin;
      if (next.i[b] != largest)
        return Failure{"wrong token", judgement.model,
                       "position " + std::to_string(position) + " of row " + std::to_string(b) + " chose " +
                           std::to_string(next.i[b]) + ", the largest logit is " + std::to_string(largest),
                       ""};
    }
    return {};
  }

  /// Interprets one call after another; what a later one takes of an earlier one is in `values`.
  Status interpret() {
    for (auto [call, place] : llvm::zip_equal(calls, places)) {
      for (auto &[name, value] : call.inputs)
        values[name] = value;
      if (Status status = run(call.entry); !status)
        return status;
      if (place < 0)
        logits = std::move(values["logits"]);
      else if (Status status = keepLogits(values["logits"], values["next"], place); !status)
        return status;
    }
    if (logits.shape != expected.shape)
      return Failure{"wrong logits", judgement.model, "their shape is not the expected one", ""};
    return {};
  }

  Status execute() {
    ExecutionOptions execution;
    execution.compile = options();
    execution.through = judgement.rung == "kernels" ? Rung::Kernels
                        : judgement.rung == "exec"  ? Rung::Exec
                                                    : Rung::Binary;
    auto program = CompiledProgram::compile(*module, execution);
    if (!program)
      return program.takeFailure();
    runtime::RunOptions run;
    run.weights = judgement.model;
    if (Status status = program->run(calls, run, judgement.tolerance * 10); !status)
      return status;
    for (auto [call, place] : llvm::zip_equal(calls, places))
      if (Status status = keepLogits(call.outputs.at("logits"), call.outputs.at("next"), place); !status)
        return status;
    return {};
  }

  MLIRContext &context;
  const ModelJudgement &judgement;
  OwningOpRef<ModuleOp> module;
  ReferenceTensor tokens, expected, logits;
  Values values;
  std::vector<GlobalCall> calls;
  std::vector<int64_t> places; ///< the position that each call gives the logits of; -1: all
};
} // namespace

int tessera::judgeModel(MLIRContext &context, const ModelJudgement &judgement) {
  Status status = ModelJudge(context, judgement).run();
  if (!status)
    llvm::errs() << "error: " << status.failure().message() << "\n";
  return status ? 0 : 1;
}
