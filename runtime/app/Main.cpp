// main of every executable that llm-compile makes.
#include "BenchGenerating.h"
#include "BenchTraining.h"
#include "Generate.h"
#include "Interruption.h"
#include "Models.h"
#include "Options.h"
#include "PipelineReport.h"
#include "PipelineStep.h"
#include "PlotLogs.h"
#include "PredictedTrace.h"
#include "Report.h"
#include "Session.h"
#include "StageSession.h"
#include "Terminal.h"
#include "Train.h"
#include "Trainer.h"
#include "WrittenFile.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/Executable.h"
#include "tessera/runtime/io/ModelFile.h"
#include "tessera/runtime/launch/Launch.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

using namespace tessera;
using namespace tessera::runtime;

namespace {

std::string megabytes(double bytes) {
  char text[32];
  snprintf(text, sizeof(text), "%.1f MB", bytes / 1e6);
  return text;
}

// Loads with a progress bar at the rank that talks.
void loadWithProgress(RankPrograms &programs, const WeightOrigin &origin) {
  RankDevice &rank = programs[0]->shared();
  if (rank.id() != 0) {
    for (const std::unique_ptr<Rank> &one : programs)
      one->loadWeights(origin);
    rank.plane().barrier();
    return;
  }
  int64_t all = 0;
  for (const std::unique_ptr<Rank> &one : programs)
    all += one->plan().bytes(origin);
  auto start = std::chrono::steady_clock::now();
  {
    ProgressBar bar("loading weights", all);
    std::mutex mutex;
    for (const std::unique_ptr<Rank> &one : programs)
      one->loadWeights(origin, [&](int64_t bytes) {
        std::lock_guard<std::mutex> lock(mutex);
        bar.advance(bytes);
      });
  }
  rank.plane().barrier(); // or else it says so behind the error of another rank
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  char text[64];
  snprintf(text, sizeof(text), " of weights a rank in %.2f s", seconds);
  logLine((origin.model ? "loaded " : "made up ") + megabytes(double(all)) + text);
}

LaunchOptions launchOptions(const Options &options, Models &models) {
  LaunchOptions launch;
  launch.threads = options.threads;
  launch.terms = whatIsComputed(options);
  launch.load = loadWithProgress;
  if (options.initSeed)
    launch.origin.seed = *options.initSeed;
  else
    launch.origin.model = &models.weights();
  return launch;
}

// A pipeline's; none of a program that is no pipeline.
std::optional<StagePrograms> stagesOf(const ts_program &program, const Manifest &manifest) {
  return manifest.pipeline ? std::make_optional<StagePrograms>(program, manifest) : std::nullopt;
}

// Has each rank run `body` with the rows that it fills: those of the program, or those of a pipeline's
// groups.
void runTexts(const ts_program &program, const Manifest &manifest, const Launcher &launcher,
              const LaunchOptions &launch,
              const std::function<void(Rank &, const std::vector<TextSession *> &)> &body) {
  const std::optional<StagePrograms> stages = stagesOf(program, manifest);
  if (!stages)
    return runRanks(program, manifest, launcher, launch, [&](Rank &rank) {
      Session session(rank);
      body(rank, {&session});
    });
  PipelineRun run(*stages, program, driverFor(manifest.target));
  runRanks(run.plan(), launcher, launch, [&](RankPrograms &programs) {
    GeneratingStage stage(run, programs);
    std::deque<StageSession> sessions;
    std::vector<TextSession *> groups;
    for (int64_t group = 0; group < stages->groups(); ++group)
      groups.push_back(&sessions.emplace_back(stage, group));
    body(stage.rank(), groups);
  });
}

void generate(const ts_program &program, const Manifest &manifest, const Options &options,
              const Launcher &launcher) {
  Models models(manifest, options);
  bool textNeeded = false;
  for (const Prompt &prompt : options.prompts)
    textNeeded |= prompt.isText;
  std::string noText; // why not
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::vector<int32_t> endTokens;
  if (manifest.generate)
    endTokens.assign(manifest.generate->eos.begin(), manifest.generate->eos.end());
  const io::ModelFile *texts = nullptr;
  try {
    texts = &models.texts();
  } catch (const Error &e) { // beside bare weights or made-up ones there may be nothing
    if (textNeeded)
      throw;
    noText = e.what();
  }
  // Without a tokenizer too: ids end where the model says.
  if (texts && endTokens.empty())
    endTokens = take(text::endTokens(*texts));
  try {
    if (texts)
      tokenizer = take(text::Tokenizer::load(*texts));
  } catch (const Error &e) {
    if (textNeeded)
      throw;
    noText = e.what();
  }
  std::vector<std::vector<int32_t>> prompts;
  for (size_t p = 0; p < options.prompts.size(); ++p) {
    const Prompt &prompt = options.prompts[p];
    prompts.push_back(prompt.isText ? take(tokenizer->encode(prompt.text)) : prompt.tokens);
  }
  GenerateJob job = checkGenerate(manifest, options, prompts);
  job.tokenizer = tokenizer.get();
  job.endTokens = endTokens;
  LaunchOptions launch = launchOptions(options, models);
  if (!job.logitsFile.empty())
    checkApart({"cannot write logits", "--logits", job.logitsFile}, launch.origin);
  if (!noText.empty() && launcher.rank == 0)
    logLine("no text will be printed: " + noText);
  runTexts(program, manifest, launcher, launch, [&](Rank &rank, const std::vector<TextSession *> &groups) {
    generateOnRank(rank, groups, manifest.generate->batch, job);
  });
}

// Has each rank run `body` with its step of training.
void runSteps(const ts_program &program, const Manifest &manifest, const std::optional<StagePrograms> &stages,
              const Launcher &launcher, const LaunchOptions &launch,
              const std::function<void(TrainStep &)> &body) {
  if (!stages)
    return runRanks(program, manifest, launcher, launch, [&](Rank &rank) {
      Trainer step(rank);
      body(step);
    });
  PipelineRun run(*stages, program, driverFor(manifest.target));
  runRanks(run.plan(), launcher, launch, [&](RankPrograms &programs) {
    PipelineStep step(run, programs);
    body(step);
  });
}

// The status to exit with.
int train(const ts_program &program, const Manifest &manifest, const Options &options,
          const Launcher &launcher) {
  Models models(manifest, options);
  const std::optional<StagePrograms> stages = stagesOf(program, manifest);
  TrainedProgram trained{manifest, {&manifest}};
  if (stages) {
    trained.parts.clear();
    for (const Manifest &stage : stages->manifests())
      trained.parts.push_back(&stage);
  }
  std::unique_ptr<TrainJob> job = prepareTrain(trained, options, models, launcher.rank == 0);
  LaunchOptions launch;
  launch.threads = options.threads;
  launch.terms = whatIsComputed(options);
  launch.inputs = whatIsRead(*job);
  launch.origin = job->origin;
  launch.load = [&](RankPrograms &programs, const WeightOrigin &origin) {
    checkResumed(programs[0]->shared(), *job);
    loadWithProgress(programs, origin);
  };
  watchForInterruption(launcher);
  runSteps(program, manifest, stages, launcher, launch, [&](TrainStep &step) { trainOnRank(step, *job); });
  return job->interrupted ? interruptedStatus : 0;
}

void bench(const ts_program &program, const Manifest &manifest, const Options &options,
           const Launcher &launcher) {
  if (manifest.train) {
    checkBenchTraining(manifest, options);
    Models models(manifest, options);
    return runSteps(program, manifest, stagesOf(program, manifest), launcher, launchOptions(options, models),
                    [&](TrainStep &step) { benchTrainingOnRank(step, options.peakFlops, options.json); });
  }
  BenchPlan plan = checkBenchGenerating(manifest, options);
  Models models(manifest, options);
  runTexts(program, manifest, launcher, launchOptions(options, models),
           [&](Rank &rank, const std::vector<TextSession *> &groups) {
             benchOnRank(rank, groups, plan, options.json);
           });
}

std::string describe(const ts_program &program, const Manifest &manifest, bool json) {
  return manifest.pipeline
             ? describePipeline(StagePrograms(program, manifest), driverFor(manifest.target), json)
             : describeProgram(program, manifest, json);
}

// The status to exit with.
int run(int argc, char **argv, Launcher &launcher) {
  check(io::checkExecutableIsWhole());
  launcher = Launcher::detect();
  const ts_program &program = tessera_program;
  if (program.abi_version != TESSERA_ABI_VERSION)
    throw Error("cannot run this program", "ABI version " + std::to_string(program.abi_version),
                "this runtime has version " + std::to_string(TESSERA_ABI_VERSION),
                "compile it again with this version of llm-compile");
  Manifest manifest = Manifest::parse({program.manifest, size_t(program.manifest_bytes)});
  if (manifest.entries.size() != program.num_entries)
    throw Error("cannot run this program", "manifest", "it names another number of steps than there are",
                "compile it again with this version of llm-compile");
  Options options = parseOptions(argc, argv, [&](Options::Command command) {
    if (command == Options::Command::Train)
      trainOf(manifest);
    if (command == Options::Command::Generate)
      generateOf(manifest);
  });
  if (options.command == Options::Command::Info || options.command == Options::Command::Help) {
    if (launcher.rank != 0)
      return 0;
    if (!options.train.trace.empty()) {
      std::optional<StagePrograms> stages = stagesOf(program, manifest);
      writePrediction(stages ? &*stages : nullptr, options.train.trace);
    }
    StandardOutput out;
    out.write(options.command == Options::Command::Help ? options.help
                                                        : describe(program, manifest, options.json));
    out.close();
    return 0;
  }
  if (options.command == Options::Command::Plot) {
    if (launcher.rank == 0)
      plotLogs(options.logs, options.plotFile);
    return 0;
  }
  const Driver &driver = driverFor(manifest.target);
  driver.checkMachine(manifest);
  launcher.check(manifest, driver);
  if (options.command == Options::Command::Generate)
    generate(program, manifest, options, launcher);
  else if (options.command == Options::Command::Train)
    return train(program, manifest, options, launcher);
  else
    bench(program, manifest, options, launcher);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN); // a closed pipe is an error of write
  signal(SIGXFSZ, SIG_IGN); // and so is a file as large as files may be
  installCrashHandlers();
  Launcher launcher;
  try {
    return run(argc, argv, launcher);
  } catch (const std::exception &e) {
    // All ranks of a launcher meet the same mistake: rank 0 reports it, and its end ends them. They speak
    // only if it did not.
    if (launcher.rank != 0)
      std::this_thread::sleep_for(std::chrono::seconds(2));
    endRun(e);
  }
}
