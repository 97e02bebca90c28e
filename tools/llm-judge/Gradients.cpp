//===- Gradients.cpp - A checkpoint against expected gradients ------------===//
#include "Gradients.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/Transforms/Differentiate.h"
#include "tessera/Execution/Weights.h"
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

namespace {
class GradientJudge {
public:
  GradientJudge(MLIRContext &context, const GradientJudgement &judgement)
      : context(context), judgement(judgement) {}

  Status run() {
    auto expected = io::ModelFile::open(judgement.expected);
    if (!expected)
      return expected.takeFailure();
    if (Status status = readTokens(**expected); !status)
      return status;
    auto model = io::ModelFile::open(judgement.model);
    if (!model)
      return model.takeFailure();
    if (Status status = import(**model); !status)
      return status;
    if (Status status = addGradients(); !status)
      return status;
    if (Status status = lower(); !status)
      return status;
    return compare(**expected);
  }

private:
  Status readTokens(const io::ModelFile &file) {
    const io::TensorInfo *ids = file.find("tokens"), *mean = file.find("loss");
    if (!ids || !mean || ids->dtype != io::DType::I32 || ids->shape.size() != 2 || ids->shape[1] < 2 ||
        mean->elements != 1)
      return Failure{"cannot read expected gradients", judgement.expected,
                     "it has no tokens i32 [batch, seq] with loss f32 [1]", "see docs/Judge.md"};
    tokens = ReferenceTensor(IntegerType::get(&context, 32), ids->shape);
    for (size_t i = 0; i < tokens.i.size(); ++i) {
      int32_t id;
      std::memcpy(&id, ids->data + 4 * i, 4);
      tokens.i[i] = id;
    }
    float number = 0;
    if (Status status = file.readRange(*mean, 0, 1, &number); !status)
      return status;
    loss = number;
    return {};
  }

  Status import(const io::ModelFile &file) {
    importer::ImportOptions options;
    options.batch = tokens.shape[0];
    options.maxSeqLen = tokens.shape[1];
    auto imported = importer::importModel(context, file, options);
    if (!imported)
      return imported.takeFailure();
    module = imported.take();
    for (auto parameter : module->getOps<graph::ParameterOp>()) {
      auto value = readParameter(file, parameter);
      if (!value)
        return value.takeFailure();
      values[parameter.getSymName()] = value.take();
    }
    return {};
  }

  func::FuncOp forward() { return module->lookupSymbol<func::FuncOp>("forward"); }

  /// @forward with labels, the mean of the loss in place of the logits, and gradients of parameters.
  Status addGradients() {
    func::FuncOp func = forward();
    Block &block = func.getBody().front();
    Operation *terminator = block.getTerminator();
    OpBuilder b(terminator);
    Location loc = func.getLoc();
    auto named = [&](graph::Kind kind, StringRef name, ArrayRef<StringRef> dims = {}) {
      NamedAttrList attrs;
      attrs.set(graph::kKindAttr, graph::KindAttr::get(&context, kind));
      attrs.set(graph::kNameAttr, b.getStringAttr(name));
      if (!dims.empty())
        attrs.set(graph::kDimsAttr, b.getStrArrayAttr(dims));
      return attrs.getDictionary(&context);
    };
    auto floats = [&](ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, b.getF32Type()); };
    unsigned number = func.getNumArguments();
    (void)func.insertArgument(number, RankedTensorType::get(tokens.shape, b.getI32Type()),
                              named(graph::Kind::Input, "labels", {"batch", "seq"}), loc);
    auto rows = graph::CrossEntropyOp::create(b, loc, floats(tokens.shape), floats(tokens.shape),
                                              terminator->getOperand(0), func.getArgument(number));
    Value sum = graph::ReduceOp::create(b, loc, floats({}), graph::ReduceKind::sum, rows.getLoss(),
                                        ArrayRef<int64_t>{0, 1});
    auto constant = [&](double value) -> Value {
      return graph::ConstantOp::create(b, loc, floats({}), DenseElementsAttr::get(floats({}), float(value)));
    };
    Value mean = graph::DivOp::create(b, loc, floats({}), sum,
                                      constant(double(tokens.shape[0] * (tokens.shape[1] - 1))));
    terminator->setOperands({mean});
    SmallVector<BlockArgument> wanted;
    for (BlockArgument argument : block.getArguments())
      if (graph::argumentKind(argument) == graph::Kind::Parameter)
        wanted.push_back(argument);
    FailureOr<SmallVector<Value>> gradients = graph::differentiate(block, {constant(1)}, wanted);
    if (failed(gradients))
      return Failure{"cannot differentiate the model", judgement.model, "an op has no derivative",
                     "its error is above"};
    SmallVector<Value> results = {mean};
    SmallVector<DictionaryAttr> attrs = {named(graph::Kind::Output, "loss")};
    for (auto [argument, gradient] : llvm::zip_equal(wanted, *gradients)) {
      auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kNameAttr);
      if (!gradient)
        return Failure{"cannot differentiate the model", judgement.model, name.str() + " has no gradient",
                       ""};
      results.push_back(gradient);
      attrs.push_back(named(graph::Kind::Output, ("grad." + name.getValue()).str()));
    }
    terminator->setOperands(results);
    func.setType(b.getFunctionType(func.getArgumentTypes(), ValueRange(results).getTypes()));
    func.setAllResultAttrs(attrs);
    return {};
  }

  Status lower() {
    if (judgement.rung == "graph")
      return {};
    CompileOptions options;
    options.model = judgement.model;
    options.mesh = judgement.mesh;
    options.shard = judgement.shard;
    PassManager manager(&context);
    buildPhases(manager, Rung::Sharded, judgement.rung == "sharded" ? Rung::Sharded : Rung::Spmd, options);
    if (failed(manager.run(*module)))
      return Failure{"cannot lower the model", judgement.model, "a pass failed", "its error is above"};
    return {};
  }

  /// The inputs of @forward in order; labels are the tokens one on, -1 where there is none.
  Result<std::vector<ReferenceTensor>> inputs() {
    ReferenceTensor labels = tokens, positions = tokens;
    int64_t seq = tokens.shape[1];
    for (int64_t i = 0; i < tokens.size(); ++i) {
      labels.i[i] = (i + 1) % seq ? tokens.i[i + 1] : -1;
      positions.i[i] = i % seq;
    }
    std::vector<ReferenceTensor> found;
    for (unsigned i = 0; i < forward().getNumArguments(); ++i) {
      std::string name = forward().getArgAttrOfType<StringAttr>(i, graph::kNameAttr).str();
      auto fill = forward().getArgAttrOfType<graph::FillAttr>(i, graph::kFillAttr);
      if (auto weight = values.find(name); weight != values.end())
        found.push_back(weight->second);
      else if (name == "labels")
        found.push_back(labels);
      else if (fill && fill.getSource() == graph::FillSource::TokenIds)
        found.push_back(tokens);
      else if (fill && fill.getSource() == graph::FillSource::Positions)
        found.push_back(positions);
      else
        return Failure{"cannot run the model", "@forward", "nothing is known of argument " + name, ""};
    }
    return found;
  }

  Status compare(const io::ModelFile &file) {
    auto arguments = inputs();
    if (!arguments)
      return arguments.takeFailure();
    auto results = interpretGlobally(forward(), arguments.take());
    if (failed(results))
      return Failure{"cannot run the model", "@forward", "the interpreter failed", "its error is above"};
    double off = std::fabs(results->front().f[0] - loss) / std::fabs(loss);
    llvm::outs() << "loss: relative error " << llvm::format("%.3g", off) << "\n";
    if (!(off <= judgement.tolerance))
      return Failure{"the loss differs", judgement.model, "its relative error is above the tolerance", ""};
    // As weights are read: the file's tensors through the parameters' sources.
    llvm::StringMap<ReferenceTensor> expected;
    double largest = 0;
    for (auto parameter : module->getOps<graph::ParameterOp>()) {
      auto value = readParameter(file, ofGradients(parameter));
      if (!value)
        return value.takeFailure();
      for (double x : value->f)
        largest = std::max(largest, std::fabs(x));
      expected[parameter.getSymName()] = value.take();
    }
    double worst = 0;
    std::string where;
    for (unsigned i = 1; i < results->size(); ++i) {
      StringRef name = forward().getResultAttrOfType<StringAttr>(i, graph::kNameAttr).getValue();
      name.consume_front("grad.");
      double error = relativeError(expected[name], (*results)[i], 1e-6 * largest);
      if (!(error <= worst)) {
        worst = error;
        where = name.str();
      }
    }
    llvm::outs() << "gradients: " << results->size() - 1 << ", largest error / largest element "
                 << llvm::format("%.3g", worst) << " in " << where << "\n";
    if (!(worst <= judgement.tolerance))
      return Failure{"gradients differ", judgement.model, "that of " + where + " does most",
                     "judge the rung before to find the phase that changed it"};
    return {};
  }

  /// `parameter` as if its sources were their gradients.
  graph::ParameterOp ofGradients(graph::ParameterOp parameter) {
    auto copy = cast<graph::ParameterOp>(parameter->clone());
    copies.push_back(copy.getOperation());
    SmallVector<Attribute> sources;
    for (auto source : parameter.getSources().getAsRange<graph::SourceAttr>())
      sources.push_back(graph::SourceAttr::get(&context, ("grad." + source.getName()).str(), source.getFile(),
                                               source.getReshape(), source.getSlice(), source.getPermute()));
    copy.setSourcesAttr(ArrayAttr::get(&context, sources));
    return copy;
  }

  MLIRContext &context;
  const GradientJudgement &judgement;
  OwningOpRef<ModuleOp> module;
  std::vector<OwningOpRef<Operation *>> copies;
  ReferenceTensor tokens;
  double loss = 0;
  llvm::StringMap<ReferenceTensor> values; ///< of parameters
};
} // namespace

int tessera::judgeGradients(MLIRContext &context, const GradientJudgement &judgement) {
  if (judgement.rung != "graph" && judgement.rung != "sharded" && judgement.rung != "spmd") {
    llvm::errs() << "error: rung (" << judgement.rung
                 << "): gradients are judged on graph, sharded and spmd\n";
    return 1;
  }
  Status status = GradientJudge(context, judgement).run();
  if (status)
    return 0;
  llvm::errs() << "error: " << status.failure().message() << "\n";
  return 1;
}
