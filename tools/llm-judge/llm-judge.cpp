//===- llm-judge.cpp - Same numbers before and after a pipeline? ----------===//
//
// llm-judge FILE.mlir --pipeline="PASS,PASS..." runs a function of FILE on random inputs before and after the
// pipeline and compares the global results. llm-judge MODEL --expected=F.safetensors --rung=RUNG compares a
// checkpoint's logits with known ones. Exit status 1 if something differs by more than the tolerance. See
// docs/Judge.md.
//
//===----------------------------------------------------------------------===//
#include "Draw.h"
#include "Gradients.h"
#include "Model.h"
#include "Pipeline.h"
#include "Program.h"
#include "Training.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Experts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Execution/CompiledProgram.h"
#include "tessera/Pipelines/Register.h"
#include "tessera/Support/CommandLine.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace tessera;

static llvm::cl::OptionCategory category("llm-judge options");
static llvm::cl::opt<std::string> inputFile(llvm::cl::Positional, llvm::cl::desc("FILE.mlir or MODEL"),
                                            llvm::cl::init(""), llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    pipeline("pipeline",
             llvm::cl::desc("Passes between the two runs, as llm-opt's --pass-pipeline "
                            "inside builtin.module(...). Of --stages with --rung=parts: the schedule, "
                            "NAME[:V] or FILE (default: 1f1b)"),
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
static llvm::cl::opt<std::string> rung(
    "rung",
    llvm::cl::desc(
        "graph (of a model; the default), step, sharded, spmd: interpreted; kernels, exec, binary: compiled "
        "through the text of that rung, and run. Of --stages also parts: spmd, with steps as the entries "
        "that ship"),
    llvm::cl::init(""), llvm::cl::cat(category));
static llvm::cl::opt<std::string> meshText("mesh",
                                           llvm::cl::desc("Of a model on rungs sharded and spmd: tp=2,dp=2"),
                                           llvm::cl::cat(category));
static llvm::cl::opt<std::string> shardText("shard",
                                            llvm::cl::desc("Of a model: items [VALUE:]DIM=AXIS[+AXIS...]"),
                                            llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    target("target", llvm::cl::desc("Of rungs kernels, exec and binary: what to compile for"),
           llvm::cl::init("cpu"), llvm::cl::cat(category));
static llvm::cl::opt<std::string> targetOptions(
    "target-options",
    llvm::cl::desc("Of rungs kernels, exec and binary: NAME=VALUE,... of the target: cpu=x86-64-v3"),
    llvm::cl::init(""), llvm::cl::cat(category));
static llvm::cl::opt<std::string> runner(
    "runner",
    llvm::cl::desc("Of rungs kernels, exec and binary: run it by this command too, which must give the same "
                   "bits: [LAUNCHER -np {ranks}] run-program"),
    llvm::cl::init(""), llvm::cl::cat(category));
static llvm::cl::opt<int64_t> chunk("chunk", llvm::cl::desc("Of a model: positions of one prefill"),
                                    llvm::cl::init(5), llvm::cl::cat(category));
static llvm::cl::opt<int64_t>
    shortChunk("short-chunk",
               llvm::cl::desc("Of a model: positions of one prefill of a short prompt; 0: as compiled"),
               llvm::cl::init(0), llvm::cl::cat(category));

static llvm::cl::opt<unsigned>
    randomPrograms("random", llvm::cl::desc("Judge this many random programs instead of a file"),
                   llvm::cl::init(0), llvm::cl::cat(category));

static llvm::cl::opt<bool> gradients(
    "gradients",
    llvm::cl::desc("Of a model: compare `loss` and `grad.NAME` too. With --random: programs with their "
                   "gradients"),
    llvm::cl::cat(category));

static llvm::cl::opt<bool> training(
    "training",
    llvm::cl::desc("Of a model's directory: run its training on rung step, sharded or spmd and compare "
                   "with expected.json and trained.safetensors"),
    llvm::cl::cat(category));
static llvm::cl::list<int64_t>
    stages("stages", llvm::cl::CommaSeparated,
           llvm::cl::desc("Layers of each stage of a pipeline: run steps of training of the stages, on rung "
                          "step, sharded, spmd or parts, and compare with one device"),
           llvm::cl::cat(category));
static llvm::cl::opt<std::string> optimizer("optimizer", llvm::cl::desc("Of --stages: adamw or sgd"),
                                            llvm::cl::init("adamw"), llvm::cl::cat(category));
static llvm::cl::opt<int64_t> microBatches("micro-batches",
                                           llvm::cl::desc("Of --training and --stages, as "
                                                          "the rest up to --dropout"),
                                           llvm::cl::init(1), llvm::cl::cat(category));
static llvm::cl::opt<std::string> trainingType("dtype",
                                               llvm::cl::desc("Of --training: f32 (default), bf16 or f16"),
                                               llvm::cl::init("f32"), llvm::cl::cat(category));
static llvm::cl::opt<int64_t> trainingSteps("steps",
                                            llvm::cl::desc("Of --training: the first so many (default: all)"),
                                            llvm::cl::init(0), llvm::cl::cat(category));

static llvm::cl::opt<int64_t> lossChunks("loss-chunks", llvm::cl::desc("Of --training: as of llm-compile"));
static llvm::cl::opt<std::string> recompute("recompute", llvm::cl::desc("Of --training: as of llm-compile"),
                                            llvm::cl::init("none"), llvm::cl::cat(category));

static llvm::cl::opt<double>
    dropout("dropout",
            llvm::cl::desc("Of --training: drop a share of elements; compare with one "
                           "device that drops the same"),
            llvm::cl::init(0), llvm::cl::cat(category));

static llvm::cl::opt<std::string>
    coverageFile("coverage", llvm::cl::desc("Of programs: write what they covered, as JSON"),
                 llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    shrinkFile("shrink",
               llvm::cl::desc("Shrink a failing program into this file (of random "
                              "programs: FILE.SEED.mlir)"),
               llvm::cl::cat(category));
static llvm::cl::opt<unsigned> timeLimit("time-limit",
                                         llvm::cl::desc("Seconds for one program with --random or --shrink"),
                                         llvm::cl::init(300), llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    breakOp("break",
            llvm::cl::desc("Test the judge: FAULT:OP puts a fault at every op OP after "
                           "the pipeline; neg, crash, hang or late"),
            llvm::cl::cat(category));
static llvm::cl::opt<unsigned> maxFailures("max-failures",
                                           llvm::cl::desc("With --random: stop after this many (0: never)"),
                                           llvm::cl::init(0), llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    types("types",
          llvm::cl::desc(
              "Of random programs: f32, bf16, f16, one for each seed in turn (default: all on the machine, "
              "else f32)"),
          llvm::cl::init(""), llvm::cl::cat(category));
/// Of one run: who breaks everything needs no thousand files.
static constexpr unsigned maxShrunk = 5;

static int fail(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
  return 1;
}

/// --rung as a rung that runs on the machine; none of the interpreter's.
static std::optional<Rung> machine;

/// Whether what is judged has forms of ops by expert, which a target may lack.
static bool takesExperts() {
  static const bool takes = !machine || hasLibraryForm(target, graph::DispatchOp::getOperationName());
  return takes;
}

/// Draws the program of a seed; counts what was drawn in vain, if asked to.
static OwningOpRef<ModuleOp> draw(MLIRContext &context, uint64_t seed, Coverage *counted = nullptr) {
  DrawnProgram drawn = drawProgram(context, seed, {types, gradients, machine, takesExperts()});
  if (counted)
    counted->countRedrawn(drawn.redrawn);
  return std::move(drawn.module);
}

static ProgramJudgement judgementOf(uint64_t inputSeed) {
  ProgramJudgement judgement;
  judgement.pipeline = randomPrograms && pipeline.empty() ? "tessera-shard" : pipeline.getValue();
  judgement.entry = randomPrograms && entry.empty() ? "*" : entry.getValue();
  judgement.where = inputFile;
  judgement.breakOp = breakOp;
  judgement.seed = inputSeed;
  judgement.runs = runs;
  judgement.tolerance = tolerance;
  judgement.print = print;
  judgement.everyResult = !randomPrograms;
  judgement.floor = gradients ? 1e-6 : 0;
  if (machine) {
    judgement.machine = machine;
    judgement.mesh = meshText;
    judgement.shard = shardText;
    judgement.runner = runner;
    judgement.target = target;
    judgement.targetOptions = targetOptions;
    judgement.entry = "*";
  }
  return judgement;
}

/// Shrinks a failing program into --shrink=FILE (of random programs: FILE.SEED.mlir), with the command that
/// shows it.
static int shrinkTo(ModuleOp module, const ProgramJudgement &judgement, const Outcome &outcome,
                    std::string path) {
  OwningOpRef<ModuleOp> small = shrinkProgram(module, judgement, outcome, timeLimit);
  unsigned ops = 0;
  small->walk([&](Operation *op) {
    ops += isa<graph::GraphDialect, dist::DistDialect>(op->getDialect()) &&
           !isa<dist::MeshOp, graph::YieldOp>(op);
  });
  std::string name = llvm::sys::path::filename(path).str();
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error)
    file << "// llm-judge " << name << " --entry='*' --seed=" << judgement.seed << " " << judgement.flags()
         << (judgement.breakOp.empty() ? "" : " --break=" + judgement.breakOp) << "\n"
         << *small << "\n";
  file.flush();
  if (error || file.has_error()) {
    file.clear_error();
    return fail("shrink (" + path + "): cannot write; choose another file");
  }
  llvm::outs() << "shrunk to " << ops << " ops: " << path << "\n";
  return 0;
}

static llvm::StringRef word(Outcome::Kind kind) {
  static constexpr llvm::StringLiteral words[] = {"good", "other numbers", "refused", "crash", "timeout"};
  return words[kind];
}

/// Programs with seeds from --seed on, in child processes; every one that fails is printed.
static int judgeRandomPrograms(MLIRContext &context) {
  unsigned failures = 0;
  Coverage covered;
  // A process costs as much as ten programs: many share one, and have their own only where not all are good.
  const uint64_t batch = !runner.empty() ? 5 : machine ? 20 : 100;
  uint64_t goodUntil = seed;
  for (uint64_t program = seed, end = seed + randomPrograms; program < end; ++program) {
    if (program < goodUntil)
      continue;
    if ((program - seed) % batch == 0) {
      uint64_t until = std::min(end, program + batch);
      Outcome all = isolated(unsigned(timeLimit), [&](Coverage &counted) -> llvm::FailureOr<unsigned> {
        unsigned bad = 0;
        for (uint64_t member = program; member < until && !bad; ++member) {
          OwningOpRef<ModuleOp> module = draw(context, member, &counted);
          llvm::FailureOr<unsigned> worse = failure();
          if (module)
            worse = judgeProgram(*module, judgementOf(member), &counted);
          if (failed(worse))
            return failure();
          bad += *worse;
        }
        return bad;
      });
      if (all.kind == Outcome::Good) {
        covered.add(all.coverage);
        goodUntil = until;
        continue;
      }
    }
    OwningOpRef<ModuleOp> module = draw(context, program, &covered);
    if (!module)
      return fail("random program (seed " + llvm::Twine(program) + "): the generator made an invalid one");
    ProgramJudgement judgement = judgementOf(program);
    Outcome outcome =
        isolated(timeLimit, [&](Coverage &counted) { return judgeProgram(*module, judgement, &counted); });
    covered.add(outcome.coverage);
    if (outcome.kind == Outcome::Good)
      continue;
    ++failures;
    llvm::outs() << "// FAILED: llm-judge --random=1 --seed=" << program << (gradients ? " --gradients" : "")
                 << (machine ? " --rung=" + rung + " --types=" + types +
                                   (target == "cpu" ? "" : " --target=" + target) +
                                   (targetOptions.empty() ? "" : " --target-options=" + targetOptions) +
                                   (runner.empty() ? "" : " --runner='" + runner + "'")
                             : "")
                 << ": " << word(outcome.kind) << "\n"
                 << outcome.text << "\n";
    if (shrinkFile.empty()) {
      module->print(llvm::outs());
      llvm::outs() << "\n";
    } else if (failures <= maxShrunk &&
               shrinkTo(*module, judgement, outcome, shrinkFile + "." + std::to_string(program) + ".mlir")) {
      return 1;
    }
    llvm::outs().flush();
    if (failures == maxFailures)
      return fail(llvm::Twine(failures) + " random programs (--max-failures=" + llvm::Twine(failures) +
                  "): the pipeline failed or changed results; they are printed above");
  }
  if (covered.redrawn())
    llvm::outs() << covered.redrawn() << " programs drawn again: rounding alone spoils their numbers\n";
  llvm::outs() << randomPrograms - failures << " of " << randomPrograms
               << " random programs kept their numbers\n";
  if (!coverageFile.empty() && !covered.write(coverageFile, context))
    return fail("coverage (" + coverageFile + "): cannot write; choose another file");
  return failures ? fail(llvm::Twine(failures) + " random programs (--seed=" + llvm::Twine(uint64_t(seed)) +
                         "): the pipeline failed or changed results; they are printed above")
                  : 0;
}

/// Shrinks the program of a file that fails.
static int shrinkInput(ModuleOp module) {
  ProgramJudgement judgement = judgementOf(seed);
  Outcome outcome = judgeIsolated(module, judgement, timeLimit);
  if (outcome.kind == Outcome::Good)
    return fail("shrink (" + inputFile + "): the program keeps its numbers; give one that fails");
  llvm::outs() << word(outcome.kind) << "\n" << outcome.text;
  return shrinkTo(module, judgement, outcome, shrinkFile);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerPasses();
  registerTransformsPasses();
  if (!parseCommandLine(argc, argv, category,
                        "Runs a program before and after a pipeline and compares the results\n"))
    return 1;
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  if (randomPrograms || !shrinkFile.empty())
    context.disableMultithreading(); // a child process has the calling thread only
  if (!breakOp.empty() &&
      !llvm::is_contained({"neg", "crash", "hang", "late"}, llvm::StringRef(breakOp).split(':').first))
    return fail("break (" + breakOp + "): there is no such fault; use neg:OP, crash:OP, hang:OP or late:OP");
  if (llvm::is_contained({"kernels", "exec", "binary"}, llvm::StringRef(rung.getValue())))
    machine = rung == "kernels" ? Rung::Kernels : rung == "exec" ? Rung::Exec : Rung::Binary;
  else if (!llvm::is_contained({"", "graph", "step", "sharded", "spmd"}, llvm::StringRef(rung.getValue())) &&
           (rung != "parts" || stages.empty()))
    return fail("rung (" + rung +
                "): there is no such rung; use graph, step, sharded, spmd, kernels, exec or binary, or parts "
                "with --stages");
  if (!machine && target.getNumOccurrences())
    return fail("target (" + target + "): only what is compiled has one; give --rung=binary");
  if (!machine && !targetOptions.empty())
    return fail("target-options (" + targetOptions + "): only what is compiled has them; give --rung=binary");
  if (machine && !pipeline.empty())
    return fail("pipeline (" + pipeline + "): on the machine llm-compile's own phases run; leave it out");
  if (!types.empty() && !randomPrograms)
    return fail("types (" + types + "): of random programs; a file says its own");
  if (machine && !entry.empty() && entry != "*")
    return fail("entry (" + entry + "): on the machine all entries of a program run; leave it out");
  if (!machine && !runner.empty())
    return fail("runner (" + runner + "): only what is compiled is run; give --rung=binary");
  if (runner.getNumOccurrences() && runner.empty())
    return fail("runner: no command is given; write --runner='COMMAND', or leave it out");
  if (runs < 1)
    return fail("runs (0): nothing would be judged; must be 1 or more");
  if (!(tolerance >= 0) || !std::isfinite(tolerance))
    return fail("tolerance: must be a number of 0 or more");
  if (randomPrograms && !(meshText + shardText).empty())
    return fail("mesh, shard (" + meshText + shardText +
                "): random programs draw their own; leave them out, or name a file");
  if (types.empty())
    types = machine ? "f32,bf16,f16" : "f32";
  for (llvm::StringRef name : llvm::split(types, ","))
    if (!llvm::is_contained({"f32", "bf16", "f16"}, name))
      return fail("types (" + types + "): " + name + " is none of f32, bf16, f16");
  if (gradients && expectedFile.empty() && !randomPrograms)
    return fail("gradients (" + inputFile +
                "): of a model with --expected, or of --random; a program's own are made "
                "by graph-differentiate in its pipeline");
  if (!training && stages.empty() &&
      (microBatches.getNumOccurrences() || trainingSteps.getNumOccurrences() ||
       trainingType.getNumOccurrences() || recompute.getNumOccurrences() || lossChunks.getNumOccurrences() ||
       dropout.getNumOccurrences()))
    return fail("micro-batches, steps, dtype, recompute, loss-chunks, dropout: of --training or --stages; "
                "leave them out");
  if (!stages.empty()) {
    if (!pipeline.empty() && rung != "parts")
      return fail("pipeline (" + pipeline +
                  "): of the parts of --stages; give --rung=parts, or leave it out");
    if (machine || randomPrograms || training || !expectedFile.empty() || inputFile.empty() ||
        rung == "graph" || microBatches < 1 || trainingSteps < 0 || lossChunks < 0 ||
        !(dropout >= 0 && dropout < 1))
      return fail(
          "stages (" + inputFile +
          "): of a model or a .mlir file with --rung=step, sharded, spmd or parts, --pipeline=NAME of parts, "
          "--mesh, --shard, --micro-batches "
          "of 1 or more, --steps, --dtype, --optimizer, --recompute, --loss-chunks and --dropout below 1");
    PipelineJudgement judgement;
    judgement.layers.assign(stages.begin(), stages.end());
    judgement.rung = rung.empty() ? "step" : rung.getValue();
    judgement.pipeline = pipeline.empty() ? "1f1b" : pipeline.getValue();
    judgement.options.model = inputFile;
    judgement.options.mesh = meshText;
    judgement.options.shard = shardText;
    judgement.options.dtype = trainingType;
    judgement.options.lossScale = trainingType == "f16" ? 4096 : 0;
    judgement.options.microBatches = microBatches;
    judgement.options.recompute = recompute;
    judgement.options.lossChunks = lossChunks;
    judgement.options.optimizer = optimizer;
    judgement.dropout = dropout;
    judgement.seed = seed;
    if (trainingSteps)
      judgement.steps = trainingSteps;
    if (tolerance)
      judgement.tolerance = tolerance;
    return judgePipeline(context, judgement);
  }
  if (training) {
    if (machine || randomPrograms || !expectedFile.empty() || microBatches < 1 || trainingSteps < 0 ||
        lossChunks < 0 || !(dropout >= 0 && dropout < 1) ||
        !llvm::is_contained({"f32", "bf16", "f16"}, trainingType.getValue()))
      return fail(
          "training (" + inputFile +
          "): of a model's directory with --rung=step, sharded or spmd, --mesh, --shard, --micro-batches of "
          "1 or more, --steps, --dtype, --recompute, --loss-chunks and --dropout below 1");
    return judgeTraining(context, {inputFile, rung.empty() ? std::string("step") : rung.getValue(), meshText,
                                   shardText, trainingType, microBatches, trainingSteps,
                                   tolerance ? tolerance : 1e-4, recompute, lossChunks, dropout});
  }
  if (!expectedFile.empty() && gradients)
    return judgeGradients(context,
                          {inputFile, expectedFile, rung.empty() ? std::string("graph") : rung.getValue(),
                           meshText, shardText, tolerance ? tolerance : 1e-5});
  if (!expectedFile.empty()) {
    if (!coverageFile.empty())
      return fail("coverage (" + coverageFile + "): of programs; leave it out for a model");
    if (chunk < 1)
      return fail("chunk (" + llvm::Twine(chunk) + "): must be 1 or more");
    if (shortChunk < 0)
      return fail("short-chunk (" + llvm::Twine(shortChunk) + "): must be 0 or more");
    return judgeModel(context, {inputFile, expectedFile,
                                rung.empty() ? std::string("graph") : rung.getValue(), meshText, shardText,
                                target, targetOptions, chunk, shortChunk, tolerance ? tolerance : 1e-5});
  }
  if (!tolerance)
    tolerance = machine ? 1e-5 : 1e-9;
  if (randomPrograms)
    return judgeRandomPrograms(context);
  if (inputFile.empty())
    return fail("input: no file is given; name a .mlir file, or a model with --expected");
  OwningOpRef<ModuleOp> before = parseSourceFile<ModuleOp>(inputFile, &context);
  if (!before)
    return 1;
  if (!shrinkFile.empty())
    return shrinkInput(*before);
  Coverage covered;
  auto bad = judgeProgram(*before, judgementOf(seed), coverageFile.empty() ? nullptr : &covered);
  if (failed(bad))
    return 1;
  if (!coverageFile.empty() && !covered.write(coverageFile, context))
    return fail("coverage (" + coverageFile + "): cannot write; choose another file");
  if (*bad)
    return fail(llvm::Twine(*bad) + " results (" + inputFile +
                "): relative error above the tolerance; print the program with --print");
  return 0;
}
