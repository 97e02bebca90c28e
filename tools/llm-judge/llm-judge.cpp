//===- llm-judge.cpp - Same numbers before and after a pipeline? ----------===//
//
// llm-judge FILE.mlir --pipeline="PASS,PASS..." runs a function of FILE on random inputs before and after the
// pipeline and compares the global results. llm-judge MODEL --expected=F.safetensors --rung=RUNG compares a
// checkpoint's logits with known ones. Exit status 1 if something differs by more than the tolerance. See
// docs/Judge.md.
//
//===----------------------------------------------------------------------===//
#include "Model.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Pipelines/Register.h"
#include "tessera/Reference/Judge.h"
#include "tessera/Reference/RandomProgram.h"

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
static llvm::cl::opt<std::string> inputFile(llvm::cl::Positional, llvm::cl::desc("FILE.mlir or MODEL"),
                                            llvm::cl::init(""), llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    pipeline("pipeline",
             llvm::cl::desc("Passes between the two runs, as llm-opt's --pass-pipeline "
                            "inside builtin.module(...)"),
             llvm::cl::cat(category));
static llvm::cl::opt<std::string> entry("entry",
                                        llvm::cl::desc("Function to run (default: the first public one)"),
                                        llvm::cl::cat(category));
static llvm::cl::opt<uint64_t> seed("seed", llvm::cl::desc("Of the random inputs"), llvm::cl::init(1),
                                    llvm::cl::cat(category));
static llvm::cl::opt<unsigned> runs("runs", llvm::cl::desc("Inputs to try, with seeds from --seed on"),
                                    llvm::cl::init(1), llvm::cl::cat(category));
static llvm::cl::opt<double>
    tolerance("tolerance",
              llvm::cl::desc("Largest difference over largest element (programs: 1e-9, "
                             "models: 1e-5)"),
              llvm::cl::init(0), llvm::cl::cat(category));
static llvm::cl::opt<bool> print("print", llvm::cl::desc("Print the program after the pipeline"),
                                 llvm::cl::cat(category));

static llvm::cl::opt<std::string> expectedFile("expected", llvm::cl::desc("Logits to compare a model's with"),
                                               llvm::cl::cat(category));
static llvm::cl::opt<std::string> rung("rung", llvm::cl::desc("Of a model: graph, step, sharded or spmd"),
                                       llvm::cl::init("graph"), llvm::cl::cat(category));
static llvm::cl::opt<std::string> meshText("mesh",
                                           llvm::cl::desc("Of a model on rungs sharded and spmd: tp=2,dp=2"),
                                           llvm::cl::cat(category));
static llvm::cl::opt<std::string> shardText("shard",
                                            llvm::cl::desc("Of a model: items [VALUE:]DIM=AXIS[+AXIS...]"),
                                            llvm::cl::cat(category));
static llvm::cl::opt<int64_t> chunk("chunk", llvm::cl::desc("Of a model: positions of one prefill"),
                                    llvm::cl::init(5), llvm::cl::cat(category));

static llvm::cl::opt<unsigned>
    randomPrograms("random", llvm::cl::desc("Judge this many random programs instead of a file"),
                   llvm::cl::init(0), llvm::cl::cat(category));

/// The pipeline from rung step to rung spmd, for programs that say themselves how they are sharded.
static constexpr llvm::StringLiteral kToSpmd =
    "dist-propagate,dist-insert-reshards,verify-rung{rung=sharded},dist-partition,dist-optimize-collectives,"
    "verify-rung{rung=spmd}";

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

/// Runs one seed; prints the worst error of every result. The number of results above the tolerance, or
/// failure.
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
    if (!ok || !randomPrograms)
      llvm::outs() << "seed " << seed << " result " << resultName(before, unsigned(i)) << ": relative error "
                   << llvm::format("%.3g", error) << (ok ? "" : "  TOO LARGE") << "\n";
  }
  return bad;
}

/// Runs `before` before and after the pipeline. The number of results above the tolerance, or failure.
static FailureOr<unsigned> judge(ModuleOp before, llvm::StringRef passes) {
  OwningOpRef<ModuleOp> after(before.clone());
  PassManager manager(before.getContext());
  std::string pipelineError;
  llvm::raw_string_ostream pipelineErrors(pipelineError);
  if (failed(parsePassPipeline(passes, manager, pipelineErrors))) {
    fail("pipeline (" + passes + "): " + llvm::StringRef(pipelineError).rtrim());
    return failure();
  }
  if (failed(manager.run(*after)))
    return failure();
  if (print)
    after->print(llvm::outs());
  func::FuncOp first = findEntry(before);
  if (!first) {
    fail("entry (" + inputFile +
         "): " + (entry.empty() ? "no public function with a body" : "no function @" + entry));
    return failure();
  }
  auto second = after->lookupSymbol<func::FuncOp>(first.getName());
  if (!second) {
    fail("entry (@" + first.getName() + "): the pipeline removed it; choose another with --entry");
    return failure();
  }
  unsigned bad = 0;
  for (unsigned run = 0; run < runs; ++run) {
    auto worse = compare(first, second, seed + run);
    if (failed(worse))
      return failure();
    bad += *worse;
  }
  return bad;
}

/// Programs with seeds from --seed on; every one that fails is printed.
static int judgeRandomPrograms(MLIRContext &context) {
  unsigned failures = 0;
  for (uint64_t program = seed, end = seed + randomPrograms; program < end; ++program) {
    OwningOpRef<ModuleOp> module = randomProgram(context, program);
    if (!module)
      return fail("random program (seed " + llvm::Twine(program) + "): the generator made an invalid one");
    auto bad = judge(*module, pipeline.empty() ? llvm::StringRef(kToSpmd) : llvm::StringRef(pipeline));
    if (succeeded(bad) && *bad == 0)
      continue;
    ++failures;
    llvm::outs() << "// FAILED: llm-judge --random=1 --seed=" << program
                 << (failed(bad) ? "" : ": other numbers") << "\n";
    module->print(llvm::outs());
    llvm::outs() << "\n";
  }
  llvm::outs() << randomPrograms - failures << " of " << randomPrograms
               << " random programs kept their numbers\n";
  return failures ? fail(llvm::Twine(failures) + " random programs (--seed=" + llvm::Twine(uint64_t(seed)) +
                         "): the pipeline failed or changed results; they are printed above")
                  : 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerPasses();
  registerTransformsPasses();
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(argc, argv,
                                    "Runs a program before and after a pipeline and compares the results\n");
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  if (!expectedFile.empty()) {
    if (!llvm::is_contained({"graph", "step", "sharded", "spmd"}, llvm::StringRef(rung.getValue())))
      return fail("rung (" + rung +
                  "): there is no such rung to interpret; use graph, step, sharded or spmd");
    if (chunk < 1)
      return fail("chunk (" + llvm::Twine(chunk) + "): must be 1 or more");
    return judgeModel(
        context, {inputFile, expectedFile, rung, meshText, shardText, chunk, tolerance ? tolerance : 1e-5});
  }
  if (!tolerance)
    tolerance = 1e-9;
  if (randomPrograms)
    return judgeRandomPrograms(context);
  if (inputFile.empty())
    return fail("input: no file is given; name a .mlir file, or a model with --expected");
  OwningOpRef<ModuleOp> before = parseSourceFile<ModuleOp>(inputFile, &context);
  if (!before)
    return 1;
  auto bad = judge(*before, pipeline);
  if (failed(bad))
    return 1;
  if (*bad)
    return fail(llvm::Twine(*bad) + " results (" + inputFile +
                "): relative error above the tolerance; print the program with --print");
  return 0;
}
