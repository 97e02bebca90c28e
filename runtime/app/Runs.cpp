#include "Runs.h"
#include "PipelineRun.h"
#include "Session.h"
#include "StageSession.h"
#include "Terminal.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>

namespace tessera::runtime {

static std::string megabytes(double bytes) {
  char text[32];
  snprintf(text, sizeof(text), "%.1f MB", bytes / 1e6);
  return text;
}

std::string loadWithProgress(RankPrograms &programs, const WeightOrigin &origin, bool quiet) {
  RankDevice &rank = programs[0]->shared();
  if (rank.id() != 0) {
    for (const std::unique_ptr<Rank> &one : programs)
      one->loadWeights(origin);
    rank.plane().barrier();
    return {};
  }
  int64_t all = 0;
  for (const std::unique_ptr<Rank> &one : programs)
    all += one->plan().bytes(origin);
  auto start = std::chrono::steady_clock::now();
  {
    std::optional<ProgressBar> bar;
    if (!quiet)
      bar.emplace("loading weights", all);
    std::mutex mutex;
    for (const std::unique_ptr<Rank> &one : programs)
      one->loadWeights(origin, [&](int64_t bytes) {
        std::lock_guard<std::mutex> lock(mutex);
        if (bar)
          bar->advance(bytes);
      });
  }
  rank.plane().barrier(); // or else it says so behind the error of another rank
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  char text[64];
  snprintf(text, sizeof(text), " of weights a rank in %.2f s", seconds);
  return (origin.model ? "loaded " : "made up ") + megabytes(double(all)) + text;
}

LaunchOptions launchOptions(const Options &options, Models &models, std::string *said) {
  LaunchOptions launch;
  launch.threads = options.threads;
  launch.terms = whatIsComputed(options);
  launch.load = [said, quiet = options.quiet](RankPrograms &programs, const WeightOrigin &origin) {
    const std::string line = loadWithProgress(programs, origin, quiet);
    if (line.empty())
      return;
    if (said)
      *said = line;
    else
      logLine(line);
  };
  if (options.initSeed)
    launch.origin.seed = *options.initSeed;
  else
    launch.origin.model = &models.weights();
  return launch;
}

std::optional<StagePrograms> stagesOf(const ts_program &program, const Manifest &manifest) {
  return manifest.pipeline ? std::make_optional<StagePrograms>(program, manifest) : std::nullopt;
}

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

// `failure`, with something to try that this run can do.
static Failure withHintFor(TextUse use, const io::ModelFile &file, Failure failure) {
  // A GGUF file has its tokenizer inside.
  const std::string place =
      file.format() == io::ModelFormat::Gguf
          ? "name the model's Hugging Face folder, with a tokenizer that can be used, with --model="
          : "put one that can be used into the model's folder, or name a folder that has one, "
            "beside its weights, with --model=";
  if (failure.hint == text::giveTokens && use != TextUse::Prompts)
    failure.hint = use == TextUse::Answers ? ""
                   : use == TextUse::Stops ? "leave --stop out, or " + place
                                           : place;
  return failure;
}

ModelTexts readTexts(Models &models, const Manifest &manifest, TextUse use) {
  const bool isNeeded = use != TextUse::Answers;
  ModelTexts texts;
  if (manifest.generate)
    texts.endTokens.assign(manifest.generate->eos.begin(), manifest.generate->eos.end());
  try {
    texts.file = &models.texts();
  } catch (const Error &e) { // beside bare weights or made-up ones there may be nothing
    if (isNeeded)
      throw;
    texts.missing = e.what();
    return texts;
  }
  // Without a tokenizer too: ids end where the model says.
  if (texts.endTokens.empty())
    texts.endTokens =
        take(text::endTokens(*texts.file, manifest.generate ? manifest.generate->vocab : INT64_MAX));
  Result<std::unique_ptr<text::Tokenizer>> tokenizer = text::Tokenizer::load(*texts.file);
  if (tokenizer)
    texts.tokenizer = tokenizer.take();
  else if (const Failure failure = withHintFor(use, *texts.file, tokenizer.takeFailure()); isNeeded)
    throw Error(failure);
  else
    texts.missing = failure.message();
  return texts;
}

void addTokens(std::vector<int32_t> &all, const std::vector<int32_t> &ids) {
  for (int32_t id : ids)
    if (std::find(all.begin(), all.end(), id) == all.end())
      all.push_back(id);
}

std::vector<int32_t> stopTokens(const text::Tokenizer &tokenizer, const std::vector<std::string> &stops) {
  std::vector<int32_t> ids;
  for (const std::string &stop : stops) {
    const Result<std::vector<int32_t>> encoded = tokenizer.encode(stop, /*addsAround=*/false);
    if (encoded && encoded->size() == 1 && tokenizer.isSpecial(encoded->front()))
      ids.push_back(encoded->front());
  }
  return ids;
}

} // namespace tessera::runtime
