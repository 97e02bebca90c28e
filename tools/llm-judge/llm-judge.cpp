//===- llm-judge.cpp - Same numbers before and after a pipeline? ----------===//
//
// llm-judge FILE.mlir --pipeline="PASS,PASS..." runs a function of FILE on random inputs before and after the pipeline and compares the
// global results. llm-judge MODEL --expected=F.safetensors --rung=RUNG compares a checkpoint's logits with known ones. Exit status 1
// if something differs by more than the tolerance. See docs/Judge.md.
//
//===----------------------------------------------------------------------===//
#include "Model.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Pipelines/Register.h"
#include "tessera/Reference/Judge.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;

static llvm::cl::OptionCategory category("llm-judge options");
static llvm::cl::opt<std::string> inputFile(llvm::cl::Positional, llvm::cl::desc("FILE.mlir or MODEL"), llvm::cl::Required,
                                            llvm::cl::cat(category));
static llvm::cl::opt<std::string> pipeline("pipeline", llvm::cl::desc("Passes between the two runs, as llm-opt's --pass-pipeline "
                                                                      "inside builtin.module(...)"),
                                           llvm::cl::cat(category));
static llvm::cl::opt<std::string> entry("entry", llvm::cl::desc("Function to run (default: the first public one)"),
                                        llvm::cl::cat(category));
static llvm::cl::opt<uint64_t> seed("seed", llvm::cl::desc("Of the random inputs"), llvm::cl::init(1), llvm::cl::cat(category));
static llvm::cl::opt<unsigned> runs("runs", llvm::cl::desc("Inputs to try, with seeds from --seed on"), llvm::cl::init(1),
                                    llvm::cl::cat(category));
static llvm::cl::opt<double> tolerance("tolerance", llvm::cl::desc("Largest difference over largest element (programs: 1e-9, "
                                                                  "models: 1e-5)"),
                                       llvm::cl::init(0), llvm::cl::cat(category));
static llvm::cl::opt<bool> print("print", llvm::cl::desc("Print the program after the pipeline"), llvm::cl::cat(category));

static llvm::cl::opt<std::string> expectedFile("expected", llvm::cl::desc("Logits to compare a model's with"), llvm::cl::cat(category));
static llvm::cl::opt<std::string> rung("rung", llvm::cl::desc("Of a model: graph, step, sharded or spmd"), llvm::cl::init("graph"),
                                       llvm::cl::cat(category));
static llvm::cl::opt<std::string> meshText("mesh", llvm::cl::desc("Of a model on rungs sharded and spmd: tp=2,dp=2"),
                                           llvm::cl::cat(category));
static llvm::cl::opt<std::string> shardText("shard", llvm::cl::desc("Of a model: items [VALUE:]DIM=AXIS[+AXIS...]"),
                                            llvm::cl::cat(category));
static llvm::cl::opt<int64_t> chunk("chunk", llvm::cl::desc("Of a model: positions of one prefill"), llvm::cl::init(5),
                                    llvm::cl::cat(category));

static int fail(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
  return 1;
}

static func::FuncOp findEntry(ModuleOp module) {
  if (!entry.empty())
    return module.lookupSymbol<func::FuncOp>(entry);
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal())
      return func;
  return {};
}

static std::string resultName(func::FuncOp func, unsigned i) {
  auto name = func.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
  return "#" + std::to_string(i) + (name ? " " + name.getValue().str() : "");
}

/// Runs one seed; prints the worst error of every result. The number of results above the tolerance, or failure.
static FailureOr<unsigned> compare(func::FuncOp before, func::FuncOp after, uint64_t seed) {
  std::vector<ReferenceTensor> inputs = randomInputs(before, seed);
  auto expected = interpretGlobally(before, inputs);
  if (failed(expected))
    return failure();
  auto found = interpretGlobally(after, std::move(inputs));
  if (failed(found))
    return failure();
  if (expected->size() != found->size()) {
    fail("results (" + after.getName() + "): " + llvm::Twine(found->size()) + " after the pipeline, " +
         llvm::Twine(expected->size()) + " before; only pipelines that keep the signature can be judged");
    return failure();
  }
  unsigned bad = 0;
  for (auto [i, pair] : llvm::enumerate(llvm::zip(*expected, *found))) {
    double error = relativeError(std::get<0>(pair), std::get<1>(pair));
    bool ok = error <= tolerance;
    bad += !ok;
    llvm::outs() << "seed " << seed << " result " << resultName(before, unsigned(i)) << ": relative error "
                 << llvm::format("%.3g", error) << (ok ? "" : "  TOO LARGE") << "\n";
  }
  return bad;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerPasses();
  registerTransformsPasses();
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(argc, argv, "Runs a program before and after a pipeline and compares the results\n");
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  if (!expectedFile.empty()) {
    if (!llvm::is_contained({"graph", "step", "sharded", "spmd"}, llvm::StringRef(rung.getValue())))
      return fail("rung (" + rung + "): there is no such rung to interpret; use graph, step, sharded or spmd");
    if (chunk < 1)
      return fail("chunk (" + llvm::Twine(chunk) + "): must be 1 or more");
    return judgeModel(context, {inputFile, expectedFile, rung, meshText, shardText, chunk, tolerance ? tolerance : 1e-5});
  }
  if (!tolerance)
    tolerance = 1e-9;
  OwningOpRef<ModuleOp> before = parseSourceFile<ModuleOp>(inputFile, &context);
  if (!before)
    return 1;
  OwningOpRef<ModuleOp> after(before->clone());
  PassManager manager(&context);
  std::string pipelineError;
  llvm::raw_string_ostream pipelineErrors(pipelineError);
  if (failed(parsePassPipeline(pipeline, manager, pipelineErrors)))
    return fail("pipeline (" + pipeline + "): " + llvm::StringRef(pipelineError).rtrim());
  if (failed(manager.run(*after)))
    return 1;
  if (print)
    after->print(llvm::outs());
  func::FuncOp first = findEntry(*before);
  if (!first)
    return fail("entry (" + inputFile + "): " + (entry.empty() ? "no public function with a body" : "no function @" + entry));
  auto second = after->lookupSymbol<func::FuncOp>(first.getName());
  if (!second)
    return fail("entry (@" + first.getName() + "): the pipeline removed it; choose another with --entry");
  unsigned bad = 0;
  for (unsigned run = 0; run < runs; ++run) {
    auto worse = compare(first, second, seed + run);
    if (failed(worse))
      return 1;
    bad += *worse;
  }
  if (bad)
    return fail(llvm::Twine(bad) + " results (@" + first.getName() + "): relative error above the tolerance; print the program with --print");
  return 0;
}
