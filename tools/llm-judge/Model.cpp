//===- Model.cpp - A checkpoint against expected logits -------------------===//
#include "Model.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
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
    if (Status status = judgement.rung == "graph" ? runForward() : runSteps(); !status)
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
    for (auto parameter : module->getOps<graph::ParameterOp>())
      if (Status status = load(**file, parameter); !status)
        return status;
    return {};
  }

  Status load(const io::ModelFile &file, graph::ParameterOp parameter) {
    auto type = cast<RankedTensorType>(parameter.getType());
    ReferenceTensor value(type);
    int64_t at = 0;
    for (int64_t layer = 0, layers = parameter.getStacked() ? type.getDimSize(0) : 1; layer < layers; ++layer)
      for (auto source : parameter.getSources().getAsRange<graph::SourceAttr>()) {
        auto [before, after] = source.getName().split("{}");
        std::string name =
            parameter.getStacked() ? (before + llvm::Twine(layer) + after).str() : source.getName().str();
        const io::TensorInfo *info = file.find(name);
        if (!info)
          return Failure{"cannot load weights", judgement.model, "there is no tensor " + name,
                         "use a complete checkpoint"};
        ReferenceTensor whole;
        if (Status status = readAll(file, *info, whole); !status)
          return status;
        at = append(whole, source, value, at);
      }
    values[parameter.getSymName()] = std::move(value);
    return {};
  }

  /// Writes reshape, slice and permutation of `whole` into `value` from place `at` on; gives the place
  /// behind.
  static int64_t append(ReferenceTensor &whole, graph::SourceAttr source, ReferenceTensor &value,
                        int64_t at) {
    if (!source.getReshape().empty())
      whole.shape.assign(source.getReshape().begin(), source.getReshape().end());
    SmallVector<int64_t> shape = whole.shape, strides = whole.strides();
    int64_t base = 0;
    for (size_t d = 0; d < shape.size() && !source.getSlice().empty(); ++d) {
      base += source.getSlice()[2 * d] * strides[d];
      shape[d] = source.getSlice()[2 * d + 1] - source.getSlice()[2 * d];
    }
    SmallVector<int64_t> order(source.getPermute());
    if (order.empty())
      order = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(shape.size())));
    SmallVector<int64_t> index(shape.size(), 0);
    while (true) {
      int64_t from = base;
      for (size_t d = 0; d < index.size(); ++d)
        from += index[d] * strides[order[d]];
      value.f[at++] = whole.f[from];
      size_t d = index.size();
      while (d-- > 0) {
        if (++index[d] < shape[order[d]])
          break;
        index[d] = 0;
      }
      if (d == size_t(-1))
        return at;
    }
  }

  //===--------------------------------------------------------------------===//
  // Program
  //===--------------------------------------------------------------------===//

  Status lower() {
    if (judgement.rung == "graph")
      return {};
    CompileOptions options;
    options.chunk = judgement.chunk;
    options.mesh = judgement.mesh;
    options.shard = judgement.shard;
    Rung last = judgement.rung == "step" ? Rung::Step : judgement.rung == "sharded" ? Rung::Sharded : Rung::Spmd;
    PassManager manager(&context);
    buildPhases(manager, Rung::Step, last, options);
    if (failed(manager.run(*module)))
      return Failure{"cannot lower the model", judgement.model, "a pass failed", "its error is above"};
    return {};
  }

  /// Runs `@name`: arguments from `values`, results into `values` (states under their argument's name).
  Status call(StringRef name) {
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

  /// Columns [begin, begin + count) of all rows of the tokens, -1 for `inert` more, and their positions.
  void setTokens(int64_t begin, int64_t count, int64_t inert) {
    int64_t batch = tokens.shape[0], seq = tokens.shape[1], width = count + inert;
    ReferenceTensor ids(tokens.elementType, {batch, width}), positions = ids;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < width; ++i) {
        ids.i[b * width + i] = i < count ? tokens.i[b * seq + begin + i] : 0;
        positions.i[b * width + i] = i < count ? begin + i : -1;
      }
    values["tokens"] = std::move(ids);
    values["positions"] = std::move(positions);
  }

  void setIndex(int64_t i) {
    ReferenceTensor index(tokens.elementType, {tokens.shape[0]});
    index.i.assign(index.i.size(), i);
    values["index"] = std::move(index);
  }

  /// Keeps the step's logits [batch, 1, vocab] as those of `position`; checks the token it chose.
  Status keepLogits(int64_t position) {
    const ReferenceTensor &row = values["logits"], &next = values["next"];
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

  Status runForward() {
    setTokens(0, tokens.shape[1], 0);
    if (Status status = call("forward"); !status)
      return status;
    logits = std::move(values["logits"]);
    if (logits.shape != expected.shape)
      return Failure{"wrong logits", judgement.model, "their shape is not the expected one", ""};
    return {};
  }

  Status runSteps() {
    int64_t seq = tokens.shape[1], prefilled = (2 * seq + 2) / 3;
    for (int64_t begin = 0; begin < prefilled; begin += judgement.chunk) {
      int64_t count = std::min(judgement.chunk, prefilled - begin);
      setTokens(begin, count, judgement.chunk - count);
      setIndex(count - 1);
      if (Status status = call("prefill"); !status)
        return status;
      if (Status status = keepLogits(begin + count - 1); !status)
        return status;
      for (int64_t i = 0; i + 1 < count; ++i) {
        setIndex(i);
        if (Status status = call("head"); !status)
          return status;
        if (Status status = keepLogits(begin + i); !status)
          return status;
      }
    }
    for (int64_t position = prefilled; position < seq; ++position) {
      setTokens(position, 1, 0);
      if (Status status = call("decode"); !status)
        return status;
      if (Status status = keepLogits(position); !status)
        return status;
    }
    return {};
  }

  MLIRContext &context;
  const ModelJudgement &judgement;
  OwningOpRef<ModuleOp> module;
  ReferenceTensor tokens, expected, logits;
  Values values;
};
} // namespace

int tessera::judgeModel(MLIRContext &context, const ModelJudgement &judgement) {
  Status status = ModelJudge(context, judgement).run();
  if (!status)
    llvm::errs() << "error: " << status.failure().message() << "\n";
  return status ? 0 : 1;
}
