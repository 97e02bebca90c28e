// main of every executable that llm-compile makes.
#include "BenchGenerating.h"
#include "BenchMachine.h"
#include "BenchTraining.h"
#include "GenerateCommand.h"
#include "Interruption.h"
#include "Models.h"
#include "Options.h"
#include "PipelineReport.h"
#include "PipelineStep.h"
#include "PlotLogs.h"
#include "PredictedTrace.h"
#include "Report.h"
#include "Runs.h"
#include "Terminal.h"
#include "Train.h"
#include "Trainer.h"
#include "Versions.h"
#include "WrittenFile.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/Executable.h"
#include "tessera/runtime/launch/Launch.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

using namespace tessera;
using namespace tessera::runtime;

namespace {

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
    if (const std::string line = loadWithProgress(programs, origin); !line.empty())
      logLine(line);
  };
  watchForInterruption(launcher);
  runSteps(program, manifest, stages, launcher, launch, [&](TrainStep &step) { trainOnRank(step, *job); });
  return job->interrupted ? interruptedStatus : 0;
}

void bench(const ts_program &program, const Manifest &manifest, const Options &options,
           const Launcher &launcher) {
  if (!options.machineFile.empty())
    return benchMachine(program, manifest, options, launcher);
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
  if (tessera_program.abi_version != TESSERA_ABI_VERSION)
    throw Error("cannot run this program", "ABI version " + std::to_string(tessera_program.abi_version),
                "this runtime has version " + std::to_string(TESSERA_ABI_VERSION),
                "compile it again with this version of llm-compile");
  const ChosenProgram chosen = chooseProgram(tessera_program, [](const Manifest &manifest) {
    return driverFor(manifest.target).missing(manifest).empty();
  });
  const ts_program &program = *chosen.program;
  Manifest manifest = Manifest::parse({program.manifest, size_t(program.manifest_bytes)});
  if (manifest.entries.size() != program.num_entries)
    throw Error("cannot run this program", "manifest", "it names another number of steps than there are",
                "compile it again with this version of llm-compile");
  auto generates = [](Options::Command command) {
    return command == Options::Command::Generate || command == Options::Command::Chat;
  };
  auto has = [&](Options::Command command) {
    return command == Options::Command::Train ? manifest.train.has_value()
                                              : !generates(command) || manifest.generate.has_value();
  };
  Options options = parseOptions(argc, argv, has, [&](Options::Command command) {
    if (command == Options::Command::Train)
      trainOf(manifest);
    if (generates(command))
      generateOf(manifest);
  });
  checkFilesApart(manifest, options);
  if (options.command == Options::Command::Info || options.command == Options::Command::Text) {
    if (launcher.rank != 0)
      return 0;
    if (options.command == Options::Command::Info && !options.train.trace.empty()) {
      std::optional<StagePrograms> stages = stagesOf(program, manifest);
      writePrediction(stages ? &*stages : nullptr, options.train.trace);
    }
    StandardOutput out;
    if (options.command == Options::Command::Text)
      out.write(options.text);
    else
      out.write(withVersions(withBfloat16Unit(describe(program, manifest, options.json), manifest,
                                              driverFor(manifest.target).bfloat16Unit(), options.json),
                             chosen, options.json));
    out.close();
    return 0;
  }
  if (options.command == Options::Command::Plot) {
    if (launcher.rank != 0)
      return 0;
    plotLogs(options.logs, options.plotFile);
    return 0;
  }
  const Driver &driver = driverFor(manifest.target);
  driver.checkMachine(manifest);
  launcher.check(manifest, driver);
  if (options.command != Options::Command::Train)
    endAtSignals(launcher);
  switch (options.command) {
  case Options::Command::Generate:
    return generate(program, manifest, options, launcher);
  case Options::Command::Chat:
    return chat(program, manifest, options, launcher);
  case Options::Command::Train:
    return train(program, manifest, options, launcher);
  default:
    bench(program, manifest, options, launcher);
    return 0;
  }
}

} // namespace

// A file must not get the number of a standard stream that the caller closed: what is written to that would
// go into it. Writing to what stands there instead fails.
static void keepStandardStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      (void)open("/dev/null", O_RDONLY);
}

int main(int argc, char **argv) {
  keepStandardStreams();
  signal(SIGPIPE, SIG_IGN); // what StandardOutput makes of a closed pipe
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
