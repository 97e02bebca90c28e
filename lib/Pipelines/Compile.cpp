//===- Compile.cpp - From a model to an executable ------------------------===//
#include "tessera/Pipelines/Compile.h"

#include "Executable.h"
#include "FilesApart.h"
#include "FitMemory.h"
#include "Made.h"
#include "OutputFiles.h"
#include "PaddedWork.h"
#include "Progress.h"
#include "RepeatedWork.h"
#include "Report/Markup.h"
#include "Versions.h"

#include "tessera/Planner/PipelineExplain.h"
#include "tessera/Planner/PipelinePlan.h"
#include "tessera/Planner/PipelineTimes.h"

#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Pipelines/Explanation.h"
#include "tessera/Pipelines/Frontend.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Pipelines/Register.h"

#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Interfaces/Interfaces.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

using namespace mlir;

namespace tessera {

Installation findInstallation(const std::string &executable) {
  if (const char *chosen = std::getenv("TESSERA_RUNTIME_ARCHIVE"); chosen && *chosen)
    return {chosen};
  SmallString<128> beside(llvm::sys::path::parent_path(executable));
  llvm::sys::path::append(beside, "..", "lib", "libtessera_runtime.a");
  return {llvm::sys::fs::exists(beside) ? std::string(beside) : TESSERA_RUNTIME_ARCHIVE};
}

/// The grammar of --mesh and --shard, whatever rung they are for. What the names of --shard mean is the
/// model's to say.
static Status checkMesh(const CompileOptions &options) {
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  if (!mesh)
    return Failure{"cannot compile", "--mesh=" + options.mesh, error, ""};
  std::optional<std::vector<dist::ShardItem>> items = dist::parseShardSpec(options.shard, *mesh, error);
  if (!items)
    return Failure{"cannot compile", "--shard=" + options.shard, error, ""};
  if (error = dist::checkAxesUsed(*mesh, *items); !error.empty())
    return Failure{"cannot compile", "--mesh=" + options.mesh, error, ""};
  if (!options.machine.empty() && !dist::loadMachine(options.machine, *mesh, error))
    return Failure{"cannot compile", "--machine=" + options.machine, error, ""};
  return {};
}

/// Which ranks share a node the whole mesh says; programs of a pipeline's stages see a part of it.
static Status resolveMachine(CompileOptions &options) {
  if (options.machine.empty())
    return {};
  std::string error;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
  std::optional<Machine> machine = mesh ? dist::loadMachine(options.machine, *mesh, error) : std::nullopt;
  if (!machine)
    return Failure{"cannot compile", "--machine=" + options.machine, error, ""};
  options.machine = toJson(*machine);
  return {};
}

/// Mistakes that can be seen before any work.
static Status checkEnvironment(const CompileOptions &options) {
  if (Status s = checkFilesApart(options); !s)
    return s;
  if (Status s = checkVersions(options); !s)
    return s;
  if (options.embedWeights && isProgramText(options))
    return Failure{"cannot compile", "--embed-weights", options.model + " is a program and has no weights",
                   "name the model itself"};
  if (!options.dtype.empty() && isProgramText(options) && options.task != Task::Train)
    return Failure{"cannot compile", "--dtype=" + options.dtype,
                   options.model + " is a program and has types of its own",
                   "leave the flag out, or name the model itself"};
  if (!options.output.empty())
    if (Status s = checkOutput(options.output); !s)
      return s;
  if (!options.report.empty())
    if (Status s = checkOutput(options.report); !s)
      return s;
  if (!options.dumpRungs.empty()) {
    std::error_code error = llvm::sys::fs::create_directories(options.dumpRungs);
    if (!error && !llvm::sys::fs::is_directory(options.dumpRungs))
      error = std::make_error_code(std::errc::not_a_directory);
    if (error)
      return Failure{"cannot write rungs", options.dumpRungs, error.message(),
                     "name a folder that can be written to"};
  }
  if (Status s = checkMesh(options); !s)
    return s;
  return checkPipeline(options);
}

/// Blocks ask for rows that are made of them, and for kernels that read them.
static Status checkCacheBlocks(ModuleOp module, const CompileOptions &options) {
  if (options.cache != "q8_0")
    return {};
  std::string what = "--cache=" + options.cache, instead = "choose bf16 or f16";
  auto target = resolveTarget(options.target, options.targetOptions);
  if (!target)
    return target.takeFailure();
  if (!(*target)->holdsBlocks(io::DType::Q8_0))
    return Failure{"cannot compile", what, "target " + options.target + " reads no keys and values in blocks",
                   instead};
  int64_t width = 0;
  module.walk([&](PositionMixingOpInterface op) {
    for (unsigned operand : op.getContextOperands()) {
      int64_t last = cast<ShapedType>(op->getOperand(operand).getType()).getShape().back();
      width = last % io::blockElements(io::DType::Q8_0) ? last : width;
    }
  });
  if (width == 0)
    return {};
  return Failure{"cannot compile", what,
                 options.model + " has heads of " + std::to_string(width) +
                     " elements, which are no whole blocks of " +
                     std::to_string(io::blockElements(io::DType::Q8_0)),
                 instead};
}

/// A flag that would say nothing is a mistake. Of stages no single one can tell.
static Status checkCaches(ModuleOp module, const CompileOptions &options) {
  bool looksBack = false;
  module.walk([&](PositionMixingOpInterface) { looksBack = true; });
  if (options.cache.empty() || looksBack)
    return checkCacheBlocks(module, options);
  return Failure{"cannot compile", "--cache=" + options.cache,
                 options.model + " keeps no keys and values: no layer has attention", "leave the flag out"};
}

static Status dumpRung(ModuleOp module, Rung rung, const CompileOptions &options) {
  if (options.dumpRungs.empty())
    return {};
  return writeText(rungPath(options, rung), [&](llvm::raw_ostream &os) { os << module << "\n"; });
}

/// Writes --report. `programs` are on rung spmd; of a pipeline those of its stages, by what these are called.
static Status writeReport(ModuleOp module, const CompileOptions &options,
                          const std::vector<Explanation> &explanations) {
  if (options.report.empty())
    return {};
  std::optional<report::Pipeline> pipeline = report::describePipeline(module, options);
  std::vector<report::Program> programs;
  auto add = [&](ModuleOp program, const std::string &stages) {
    programs.push_back(report::describeProgram(program, dist::machineOf(program)));
    programs.back().hasCaches = options.task == Task::Generate;
    programs.back().stages = stages;
    report::addExplanation(programs.back(), explanations[programs.size() - 1]);
  };
  if (!pipeline)
    add(module, "");
  for (auto [i, stage] : llvm::enumerate(stagePrograms(module))) {
    add(*stage.module, stage.stages);
    programs.back().prefix = "p" + std::to_string(i) + "-";
  }
  return writeText(options.report, [&](llvm::raw_ostream &os) {
    report::writePage(os, programs, pipeline ? &*pipeline : nullptr);
  });
}

static ExplainOptions explainOptions(const CompileOptions &options, bool suggest) {
  ExplainOptions explain;
  explain.mesh = options.stageSizes.empty() ? options.mesh : options.stageMesh;
  explain.shard = options.shard;
  explain.machine = options.machine;
  explain.suggest = suggest;
  explain.savedBytes = options.savedBytes;
  explain.liveBytes = options.liveBytes;
  explain.isRecomputeGiven = options.isRecomputeGiven;
  return explain;
}

/// Explains `step`, and prints it if that was asked for; of a pipeline the programs of its stages. `spmd`:
/// what became of it, if it is there.
static Result<std::vector<Explanation>> explainPrograms(ModuleOp step, ModuleOp spmd,
                                                        const CompileOptions &options, bool suggest) {
  std::vector<StageProgram> stages = stagePrograms(step);
  std::vector<Explanation> explanations;
  auto add = [&](ModuleOp program, ModuleOp made) -> Status {
    Result<Explanation> explained = explainSharding(program, explainOptions(options, suggest), made);
    if (!explained)
      return explained.takeFailure();
    explanations.push_back(explained.take());
    return {};
  };
  if (stages.empty())
    if (Status s = add(step, spmd); !s)
      return s.takeFailure();
  // Of a stage the program that was made is cut into entries: what it was before says why.
  for (StageProgram &stage : stages)
    if (Status s = add(*stage.module, {}); !s)
      return s.takeFailure();
  for (size_t i = 0; options.explain && i < explanations.size(); ++i) {
    if (!stages.empty())
      llvm::errs() << stages[i].stages << ":\n";
    print(explanations[i], llvm::errs());
  }
  return explanations;
}

/// What `warn` says of the program, or of the first of its stages of which it says something.
static std::string warningOf(ModuleOp module, llvm::function_ref<std::string(ModuleOp)> warn) {
  for (StageProgram &stage : stagePrograms(module))
    if (std::string text = warn(*stage.module); !text.empty())
      return text;
  return warn(module);
}

/// Of ranks that work on padding, or all do the same. `idle`: axes of which that was said before.
static std::string wastedWork(ModuleOp module, const CompileOptions &options, ArrayRef<StringRef> idle) {
  std::vector<StageProgram> stages = stagePrograms(module);
  SmallVector<ModuleOp> programs; // one stage may have nothing to split that another one has
  for (StageProgram &stage : stages)
    programs.push_back(*stage.module);
  if (programs.empty())
    programs.push_back(module);
  return warningOf(module, [&](ModuleOp program) { return paddedWork(program, options); }) +
         repeatedWork(programs, options, idle);
}

Status printText(llvm::StringRef text) {
  return writeText("", [&](llvm::raw_ostream &out) { out << text; });
}

Status compile(const CompileOptions &asked, const Installation &installation,
               llvm::function_ref<std::unique_ptr<ExecutableCheck>()> makeCheck) {
  if (Status s = checkEnvironment(asked); !s)
    return s;
  // A pipeline is fitted where it is planned.
  bool isLimited = asked.memory > 0 && asked.compileTo > Rung::Graph && !hasPipeline(asked);
  std::vector<TargetVersion> versions;
  if (asked.compileTo > Rung::Spmd)
    versions = targetVersions(asked.target, asked.targetOptions);
  const Rung last = versions.empty() ? asked.compileTo : Rung::Spmd; // that all versions share
  Progress progress(int(last) + int(versions.size()) + (isLimited ? 2 : 1));
  CompileOptions options = asked;
  if (Status s = resolveMachine(options); !s)
    return s;
  if (isLimited) {
    progress.begin("fitting into " + std::to_string(asked.memory) + " bytes");
    Result<CompileOptions> fitted = fitMemory(options);
    if (!fitted)
      return fitted.takeFailure();
    options = fitted.take();
  }
  progress.begin("reading the model");
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  if (options.explain && failed(explainDecisions(context, llvm::errs())))
    return Failure{"cannot explain", "--explain", "remarks could not be switched on", "leave the flag out"};
  Result<OwningOpRef<ModuleOp>> loaded = loadModel(context, options);
  if (!loaded)
    return loaded.takeFailure();
  OwningOpRef<ModuleOp> module = loaded.take();
  if (Status s = checkCaches(*module, options); !s)
    return s;
  const std::string idle = idleAxes(*module, options);
  llvm::errs() << unusedInFiles(*module, options) << idle << idleFlags(*module, options);
  const std::string hint = fasterType(*module, options); // said before the last line

  std::vector<Explanation> explanations; // of the program, or of each that stages have
  OwningOpRef<ModuleOp> step;            // kept for the report's reasons
  std::unique_ptr<ExecutableCheck> check;
  if (options.check)
    check = makeCheck();
  for (int i = 0; i <= int(last); ++i) {
    Rung rung = Rung(i);
    if (rung == Rung::Sharded && options.explain) {
      Result<std::vector<Explanation>> explained = explainPrograms(*module, {}, options, /*suggest=*/true);
      if (!explained)
        return explained.takeFailure();
      explanations = explained.take();
    } else if (rung == Rung::Sharded && !options.report.empty()) {
      step = module->clone();
    }
    if (rung == Rung::Step) {
      if (Status s = planPipeline(*module, options); !s)
        return s;
      llvm::errs() << idleRanks(options);
      if (options.explain && !options.planText.empty())
        llvm::errs() << "remark: pipeline: " << options.planText << "\n";
    }
    if (rung != Rung::Graph)
      progress.begin(rungName(rung));
    DiagnosticCollector diagnostics(context, options.explain ? &llvm::errs() : nullptr, &llvm::errs());
    PassManager pm(&context);
    buildPhase(pm, rung, options);
    if (failed(pm.run(*module)))
      return diagnostics.failure("cannot compile to rung " + rungName(rung).str(), options.model);
    if (rung == Rung::Step)
      writeSchedule(*module, options);
    if (rung == Rung::Spmd) {
      llvm::errs() << wastedWork(*module, options,
                                 idle.empty() ? ArrayRef<StringRef>() : ArrayRef<StringRef>("ep"));
      writePipelineTimes(*module, options);
    }
    if (Status s = dumpRung(*module, rung, options); !s)
      return s;
    if (rung == Rung::Step && check)
      check->onStep(*module);
    if (rung == Rung::Spmd && check)
      check->onSpmd(*module);
    if (rung == Rung::Spmd && step) {
      // The report gives reasons; flags that remove collectives cost a search, which was not asked for.
      Result<std::vector<Explanation>> explained =
          explainPrograms(*step, *module, options, /*suggest=*/false);
      if (!explained)
        return explained.takeFailure();
      explanations = explained.take();
    }
    if (rung == Rung::Spmd && options.explain) {
      for (const ChannelExplanation &channel : explainChannels(*module, options))
        llvm::errs() << toString(channel) << "\n";
      if (std::string predicted = describePrediction(*module, options); !predicted.empty())
        llvm::errs() << "remark: pipeline: " << predicted << "\n";
    }
    if (rung == Rung::Spmd)
      if (Status s = writeReport(*module, options, explanations); !s)
        return s;
  }
  if (options.compileTo != Rung::Binary)
    return writeText(options.output, [&](llvm::raw_ostream &os) { os << *module << "\n"; });
  if (!versions.empty()) {
    Result<std::vector<VersionProgram>> lowered = lowerVersions(
        *module, options, versions, [&](const std::string &name) { progress.begin("code for " + name); });
    if (!lowered)
      return lowered.takeFailure();
    Result<runtime::Manifest> made = makeExecutable(*lowered, installation);
    if (!made)
      return made.takeFailure();
    progress.end();
    llvm::errs() << hint << describeMade(options, *made);
    return {};
  }
  auto made = makeExecutable(*module, options, installation, [&](const std::string &object) -> Status {
    if (!check)
      return {};
    progress.begin("checking");
    Result<std::string> line = check->check(object, options);
    if (!line)
      return line.takeFailure();
    return printText(*line + "\n");
  });
  if (!made)
    return made.takeFailure();
  progress.end();
  llvm::errs() << hint << describeMade(options, *made);
  return {};
}

} // namespace tessera
