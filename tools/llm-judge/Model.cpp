//===- Model.cpp - A checkpoint against expected logits -------------------===//
#include "Model.h"
#include "Entries.h"

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
    if (Status status = planCalls(); !status)
      return status;
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
  /// What to take of a call.
  struct PlannedCall {
    std::string logits, next; ///< names of outputs
    int64_t position;         ///< that it gives the logits of; -1: all
    std::vector<std::pair<graph::FillSource, std::string>> rows = {}; ///< states: what the next step takes
    std::vector<int64_t> ends = {};                                   ///< ids behind which it takes none
    std::vector<std::pair<std::string, int64_t>> caches = {}; ///< and elements of a row; only of a step that
                                                              ///< goes on from what the one before left
  };

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
    options.shortChunk = judgement.shortChunk;
    options.mesh = judgement.mesh;
    options.shard = judgement.shard;
    options.target = judgement.target;
    options.targetOptions = parseTargetOptions(judgement.targetOptions);
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

  /// The name of the output of `entry` that gives `what`; @forward gives logits alone.
  static std::string outputOf(func::FuncOp entry, graph::Gives what) {
    for (unsigned i = 0; i < entry.getNumResults(); ++i) {
      auto gives = entry.getResultAttrOfType<graph::GivesAttr>(i, graph::kGivesAttr);
      auto name = entry.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
      if (name && (gives ? gives.getValue() == what : entry.getNumResults() == 1))
        return name.str();
    }
    return "";
  }

  /// The likeliest tokens of every second one of the first row's last positions: some steps end rows.
  ReferenceTensor endTokens(Type type) const {
    auto list = cast<RankedTensorType>(type);
    ReferenceTensor ends(list.getElementType(), dist::globalShape(list));
    int64_t seq = expected.shape[1], vocab = expected.shape[2];
    for (auto [i, end] : llvm::enumerate(ends.i)) {
      int64_t position = seq - 2 - 2 * int64_t(i);
      auto begin = expected.f.begin() + position * vocab;
      end = position < 0 ? -1 : std::max_element(begin, begin + vocab) - begin;
    }
    return ends;
  }

  static bool isPages(func::FuncOp entry, unsigned i) {
    auto fill = entry.getArgAttrOfType<graph::FillAttr>(i, graph::kFillAttr);
    return fill && fill.getSource() == graph::FillSource::Pages;
  }

  /// Adds a call for columns [begin, begin + count) of all rows of the tokens and `inert` more of -1; its
  /// logits are those of `position`.
  Status plan(std::optional<graph::Role> role, int64_t begin, int64_t count, int64_t inert, int64_t index,
              int64_t position) {
    func::FuncOp entry = entryFor(*module, role, count + inert);
    if (!entry)
      return Failure{
          "cannot run the model", judgement.model,
          ("it has no entry for the role " + (role ? graph::stringifyRole(*role) : "of forward")).str(), ""};
    int64_t batch = tokens.shape[0], seq = tokens.shape[1], width = count + inert;
    ReferenceTensor ids(tokens.elementType, {batch, width}), positions = ids,
                                                             last(tokens.elementType, {batch});
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < width; ++i) {
        ids.i[b * width + i] = i < count ? tokens.i[b * seq + begin + i] : 0;
        positions.i[b * width + i] = i < count ? begin + i : -1;
      }
    last.i.assign(last.i.size(), index);
    PlannedCall planned{outputOf(entry, graph::Gives::Logits), outputOf(entry, graph::Gives::NextTokens),
                        position};
    GlobalCall call{entry.getSymName().str(), {}, {}, {}};
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (auto fill = entry.getArgAttrOfType<graph::FillAttr>(i, graph::kFillAttr);
          fill && fill.getSource() != graph::FillSource::Output &&
          // Rows of the next step: they are the tokens of the text, not those that the step before chose.
          (role == graph::Role::Next || graph::argumentKind(entry, i) != graph::Kind::State ||
           fill.getSource() == graph::FillSource::EndTokens))
        call.inputs[entry.getArgAttrOfType<StringAttr>(i, graph::kNameAttr).str()] =
            fill.getSource() == graph::FillSource::TokenIds    ? ids
            : fill.getSource() == graph::FillSource::Positions ? positions
            : fill.getSource() == graph::FillSource::EndTokens ? endTokens(entry.getArgumentTypes()[i])
                                                               : last;
    // One table for all calls: where pages stand changes nothing of what they give.
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (isPages(entry, i))
        call.inputs[entry.getArgAttrOfType<StringAttr>(i, graph::kNameAttr).str()] =
            randomPages(cast<RankedTensorType>(entry.getArgumentTypes()[i]), /*seed=*/2);
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (auto fill = entry.getArgAttrOfType<graph::FillAttr>(i, graph::kFillAttr);
          fill && graph::argumentKind(entry, i) == graph::Kind::State &&
          fill.getSource() != graph::FillSource::EndTokens && !isPages(entry, i))
        planned.rows.push_back(
            {fill.getSource(), entry.getArgAttrOfType<StringAttr>(i, graph::kNameAttr).str()});
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (auto fill = entry.getArgAttrOfType<graph::FillAttr>(i, graph::kFillAttr);
          fill && fill.getSource() == graph::FillSource::EndTokens)
        planned.ends = endTokens(entry.getArgumentTypes()[i]).i;
    calls.push_back(std::move(call));
    plans.push_back(std::move(planned));
    return {};
  }

  /// Checks the rows that the step leaves for the next one: the tokens it chose, one position on.
  Status checkRows(const PlannedCall &plan, const ReferenceTensor &next,
                   llvm::function_ref<const ReferenceTensor &(const std::string &)> state) {
    for (const auto &[source, name] : plan.rows) {
      const ReferenceTensor &rows = state(name);
      for (auto [row, chosen] : llvm::zip_equal(rows.i, next.i)) {
        bool ends = llvm::is_contained(plan.ends, chosen);
        int64_t follows = plan.position + 1 < tokens.shape[1] && !ends ? plan.position + 1 : -1,
                wanted = source == graph::FillSource::TokenIds ? chosen : follows;
        if (row != wanted)
          return Failure{"wrong row of the next step", judgement.model,
                         "position " + std::to_string(plan.position) + " left " + std::to_string(row) +
                             " in state " + name + ", expected is " + std::to_string(wanted),
                         ""};
      }
    }
    return {};
  }

  /// Adds a step for the rows that the last one left: those that it ended write nothing.
  void planContinued() {
    PlannedCall planned = plans.back();
    if (planned.rows.empty())
      return;
    func::FuncOp entry = entryFor(*module, graph::Role::Next);
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      auto dims = entry.getArgAttrOfType<ArrayAttr>(i, graph::kDimsAttr);
      if (graph::argumentKind(entry, i) != graph::Kind::State || entry.getArgAttr(i, graph::kFillAttr) ||
          !dims)
        continue;
      auto batch = llvm::find(dims, StringAttr::get(&context, "batch"));
      SmallVector<int64_t> shape(dist::globalShape(cast<RankedTensorType>(entry.getArgumentTypes()[i])));
      int64_t row = 1;
      for (int64_t size : ArrayRef(shape).drop_front(size_t(batch - dims.begin()) + 1))
        row *= size;
      planned.caches.push_back({entry.getArgAttrOfType<StringAttr>(i, graph::kNameAttr).str(), row});
    }
    if (planned.caches.empty())
      return;
    calls.push_back({entry.getSymName().str(), {}, {}, {}});
    plans.push_back(std::move(planned));
  }

  using State = llvm::function_ref<const ReferenceTensor &(const std::string &)>;

  Status checkContinued(const PlannedCall &plan, State before, State after) {
    auto positions =
        llvm::find_if(plan.rows, [](const auto &row) { return row.first == graph::FillSource::Positions; });
    const std::vector<int64_t> &rows = before(positions->second).i;
    bool ended = false;
    for (const auto &[name, elements] : plan.caches) {
      const ReferenceTensor &was = before(name), &is = after(name);
      std::vector<bool> written(rows.size());
      for (size_t i = 0; i < is.f.size(); ++i)
        if (was.f[i] != is.f[i])
          written[i / size_t(elements) % rows.size()] = true;
      for (auto [row, position] : llvm::enumerate(rows)) {
        ended |= position < 0;
        if (written[row] != (position >= 0))
          return Failure{"wrong rows of a cache", judgement.model,
                         "row " + std::to_string(row) + " at position " + std::to_string(position) +
                             (written[row] ? " wrote to " : " wrote nothing to ") + name,
                         ""};
      }
    }
    return ended ? Status()
                 : Failure{"wrong rows of the next step", judgement.model, "an end token ended none", ""};
  }

  Status planCalls() {
    int64_t seq = tokens.shape[1], prefilled = (2 * seq + 2) / 3;
    if (judgement.rung == "graph")
      return plan(std::nullopt, 0, seq, 0, 0, -1);
    // The first and the last positions go through the entry for short prompts, where there is one. It has
    // logits of the last position alone: there are as many calls as positions.
    const int64_t few = shortPromptWidth(*module, judgement.chunk);
    for (int64_t begin = 0, count = 0; begin < prefilled; begin += count) {
      const int64_t left = prefilled - begin;
      if (few > 0 && (begin == 0 || left <= few)) {
        count = std::min(few, left);
        for (int64_t i = 0; i < count; ++i)
          if (Status s = plan(graph::Role::Prompt, begin, i + 1, few - i - 1, i, begin + i); !s)
            return s;
        continue;
      }
      count = std::min(judgement.chunk, left);
      const int64_t inert = judgement.chunk - count;
      if (Status s = plan(graph::Role::Prompt, begin, count, inert, count - 1, begin + count - 1); !s)
        return s;
      for (int64_t i = 0; i + 1 < count; ++i)
        if (Status s = plan(graph::Role::Logits, begin, count, inert, i, begin + i); !s)
          return s;
    }
    for (int64_t position = prefilled; position < seq; ++position) {
      if (Status s = plan(graph::Role::Next, position, 1, 0, 0, position); !s)
        return s;
      if (position == seq - 2)
        planContinued();
    }
    return {};
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
    for (auto [call, plan] : llvm::zip_equal(calls, plans)) {
      for (auto &[name, value] : call.inputs)
        values[name] = value;
      Values before = plan.caches.empty() ? Values() : values;
      if (Status status = run(call.entry); !status)
        return status;
      if (!plan.caches.empty()) {
        auto in = [](Values &all) {
          return [&](const std::string &name) -> const ReferenceTensor & { return all[name]; };
        };
        if (Status status = checkContinued(plan, in(before), in(values)); !status)
          return status;
      } else if (plan.position < 0)
        logits = std::move(values[plan.logits]);
      else if (Status status = keepLogits(values[plan.logits], values[plan.next], plan.position); !status)
        return status;
      else if (Status rows = checkRows(plan, values[plan.next],
                                       [&](const std::string &name) -> auto & { return values[name]; });
               !rows)
        return rows;
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
    auto in = [](GlobalCall &call) {
      return [&](const std::string &name) -> const ReferenceTensor & { return call.states.at(name); };
    };
    for (size_t i = 0; i < calls.size(); ++i) {
      GlobalCall &call = calls[i];
      const PlannedCall &plan = plans[i];
      if (!plan.caches.empty()) {
        if (Status status = checkContinued(plan, in(calls[i - 1]), in(call)); !status)
          return status;
        continue;
      }
      const ReferenceTensor &next = call.outputs.at(plan.next);
      if (Status status = keepLogits(call.outputs.at(plan.logits), next, plan.position); !status)
        return status;
      if (Status rows = checkRows(plan, next, in(call)); !rows)
        return rows;
    }
    return {};
  }

  MLIRContext &context;
  const ModelJudgement &judgement;
  OwningOpRef<ModuleOp> module;
  ReferenceTensor tokens, expected, logits;
  Values values;
  std::vector<GlobalCall> calls;
  std::vector<PlannedCall> plans; ///< of each of `calls`
};
} // namespace

int tessera::judgeModel(MLIRContext &context, const ModelJudgement &judgement) {
  Status status = ModelJudge(context, judgement).run();
  if (!status)
    llvm::errs() << "error: " << status.failure().message() << "\n";
  return status ? 0 : 1;
}
