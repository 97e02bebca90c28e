// What is opened and checked before a training run.
#include "Gradients.h"
#include "PeakFlops.h"
#include "Train.h"
#include "WrittenFile.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/data/TokenText.h"
#include "tessera/runtime/text/Tokenizer.h"
#include "tessera/runtime/train/TrainingLog.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>

namespace tessera::runtime {

// The program's defaults, and what the command line says in their place.
static Hyperparameters hyperparameters(const TrainedProgram &program, const TrainOptions &options) {
  Hyperparameters numbers;
  const Manifest &manifest = program.whole;
  struct {
    const char *flag;
    const std::optional<double> &given;
    Fill fill;
    double &number;
  } flags[] = {{"--weight-decay", options.weightDecay, Fill::WeightDecay, numbers.weightDecay},
               {"--beta1", options.beta1, Fill::Beta1, numbers.beta1},
               {"--beta2", options.beta2, Fill::Beta2, numbers.beta2},
               {"--momentum", options.momentum, Fill::Momentum, numbers.momentum},
               {"--eps", options.epsilon, Fill::Epsilon, numbers.epsilon},
               {"--clip", options.clip, Fill::Clip, numbers.clip}};
  for (auto &[flag, given, fill, number] : flags) {
    if (!given)
      continue;
    if (!program.takes(fill))
      throw Error("cannot train", flag,
                  "the optimizer that this program was compiled with has no such number",
                  "leave it out, or compile with another --optimizer");
    number = *given;
  }
  if (options.dropout > 0 && !program.has(Role::TrainDropout))
    throw Error("cannot train", "--dropout",
                "the authors of " + (manifest.architecture.empty() ? "this model" : manifest.architecture) +
                    " train without dropout, and so does this program",
                "leave it out; GPT-2 has dropout");
  numbers.dropout = options.dropout;
  return numbers;
}

static std::unique_ptr<data::TokenRows> openRows(const std::string &path, const TrainSpec &spec,
                                                 Models &models) {
  if (!data::isText(path))
    return take(data::TokenRows::open(path, spec.seq, spec.vocab));
  return take(data::openTokens(path, spec.seq, spec.vocab, models.texts()));
}

// The ids that end a document, as the model's files name them.
static std::vector<int32_t> documentEnds(Models &models, int64_t vocabulary) {
  const io::ModelFile &texts = models.texts();
  const std::vector<int32_t> ends = take(text::endTokens(texts, vocabulary)),
                             named = take(text::endTokens(texts));
  if (ends.empty() && !named.empty())
    throw Error("cannot train", "--documents",
                "the files of " + texts.path() + " name the end token " + std::to_string(named.front()) +
                    ", and the vocabulary has " + std::to_string(vocabulary) + " ids",
                "mend eos_token_id there, or leave it out");
  if (ends.empty())
    throw Error("cannot train", "--documents",
                "the files of " + texts.path() + " name no end token (eos_token_id)",
                "name a model with one by --model=, or leave it out");
  return ends;
}

static void openData(TrainJob &job, const TrainedProgram &program, Models &models) {
  const TrainSpec &spec = *program.whole.train;
  const TrainOptions &options = job.options;
  data::DataOptions rows{spec.batch, spec.microBatches, options.epochs, options.shuffle, options.documents};
  if (options.documents)
    rows.endTokens = documentEnds(models, spec.vocab);
  job.data = take(data::TrainingData::make(openRows(options.data, spec, models), rows));
  job.fingerprint = take(job.data->fingerprint());
  check(job.data->checkSteps(options.rate.steps));
  if (options.eval.empty())
    return;
  if (!program.has(Role::Evaluate))
    throw Error("cannot evaluate", options.eval, "the program has no entry that does",
                "compile it again with this version of llm-compile");
  rows.epochs = 1;
  rows.shuffle = std::nullopt;
  job.evaluation = take(data::TrainingData::make(openRows(options.eval, spec, models), rows));
  job.evaluationFingerprint = take(job.evaluation->fingerprint());
}

static void openResumed(TrainJob &job, const TrainSpec &spec) {
  const std::string &path = job.options.resume;
  job.resumed = take(checkpoint::Checkpoint::open(path));
  const checkpoint::TrainingPlace &place = job.place = job.resumed->place();
  auto refuse = [&](const std::string &why, const std::string &hint) {
    throw Error("cannot resume", job.resumed->path(), why, hint);
  };
  check(checkSave(*job.resumed, job.files));
  const int64_t steps = job.options.rate.steps;
  if (place.step >= steps)
    refuse(std::to_string(place.step) + (place.step == 1 ? " step is" : " steps are") +
               " done, and --steps=" + std::to_string(steps) + " is the number of all",
           "use a larger --steps, or name an earlier save");
  if (place.rows != place.step * spec.batch)
    refuse("its " + std::to_string(place.step) + " steps took " + std::to_string(place.rows) +
               " rows, and a step of this program takes " + std::to_string(spec.batch),
           "resume with the --batch that it was saved with");
  for (const SavedFile &file : job.files)
    if (!file.state.empty())
      job.origin.states[file.state] = job.resumed->file(file.name);
  job.origin.model = job.resumed->file(checkpoint::weightsName);
}

// A number of rows is a place in the same data in the same order alone.
static void checkOrder(const TrainJob &job) {
  if (!job.resumed || job.place.passRows == 0)
    return;
  auto refuse = [&](const std::string &why, const std::string &hint) {
    throw Error("cannot resume", job.resumed->path(), why,
                hint + "; to begin anew from its weights, name it with --model= in place of --resume=");
  };
  auto order = [](const std::optional<uint64_t> &seed) {
    return seed ? "in the order of --shuffle=" + std::to_string(*seed) : std::string("as they lie");
  };
  if (job.place.passRows != job.data->passRows())
    refuse("its data had " + std::to_string(job.place.passRows) + " rows, and " + job.options.data + " has " +
               std::to_string(job.data->passRows()),
           "resume with the data that it was saved with");
  if (job.place.shuffle != job.options.shuffle)
    refuse("it took rows " + order(job.place.shuffle) + ", and this run takes them " +
               order(job.options.shuffle),
           job.place.shuffle ? "resume with --shuffle=" + std::to_string(*job.place.shuffle)
                             : "leave out --shuffle");
  if (job.place.fingerprint == 0)
    return;
  if (job.place.fingerprint != job.fingerprint)
    refuse("its data had other tokens than " + job.options.data,
           "resume with the data that it was saved with");
  if (job.place.documents != job.options.documents)
    refuse(job.place.documents ? "its rows were documents kept apart (--documents)"
                               : "its rows were one document each",
           job.place.documents ? "add --documents" : "leave out --documents");
}

static bool namesCalls(const Manifest *manifest) {
  return std::any_of(manifest->entries.begin(), manifest->entries.end(),
                     [](const EntrySpec &entry) { return !entry.calls.empty(); });
}

static void checkTrace(const TrainJob &job, const TrainedProgram &program) {
  const TrainOptions &options = job.options;
  if (options.trace.empty())
    return;
  auto refuse = [&](const std::string &where, const std::string &why, const std::string &hint) {
    throw Error("cannot trace", where, why, hint);
  };
  if (!std::all_of(program.parts.begin(), program.parts.end(), namesCalls))
    refuse(options.trace, "this program does not name its calls",
           "compile it again with this version of llm-compile");
  if (options.traceSteps && options.traceSteps->first <= job.place.step)
    refuse("--trace-steps=" + std::to_string(options.traceSteps->first) + ":" +
               std::to_string(options.traceSteps->second),
           std::to_string(job.place.step) + " steps are done", "name later steps");
}

// Whether `file` lies in a folder that is not there yet, and that the first save makes: that of the saves, or
// one that it lies in.
static bool needsSaveFolder(const std::string &file, const std::string &save) {
  if (file.empty() || save.empty())
    return false;
  std::error_code none;
  auto whole = [&](const std::filesystem::path &path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, none), none);
  };
  const std::filesystem::path folder = whole(save + "/").parent_path(), parent = whole(file).parent_path();
  return !std::filesystem::exists(parent, none) &&
         std::mismatch(parent.begin(), parent.end(), folder.begin(), folder.end()).first == parent.end();
}

// What the run writes can be written; known before anything is loaded.
static void checkWrittenFiles(const TrainJob &job, const TrainSpec &spec, bool writes) {
  const TrainOptions &options = job.options;
  if (!options.grads.empty()) {
    gradientsFile(job, spec);
    if (job.data->countedTokens(0) == 0)
      throw Error("cannot write tensors", "--grads=" + options.grads,
                  "none of the rows of step 1 has a token to predict", "leave it out");
    std::error_code none;
    if (std::filesystem::exists(options.grads, none) &&
        !std::filesystem::is_regular_file(options.grads, none))
      throw Error("cannot write tensors", options.grads, "it is no regular file",
                  "name a file with --grads=");
  }
  if (!writes)
    return;
  struct {
    const std::string &path;
    std::function<void()> check;
  } files[] = {
      {options.grads, [&] { checkCanBeWritten({"cannot write tensors", "--grads=", options.grads}); }},
      {options.trace, [&] { checkCanBeWritten({"cannot write trace", "--trace=", options.trace}); }},
      {options.log, [&] { check(train::TrainingLog::check(options.log)); }}};
  std::vector<std::function<void()>> later;
  for (const auto &file : files)
    if (needsSaveFolder(file.path, options.save))
      later.push_back(file.check);
    else if (!file.path.empty())
      file.check();
  // Only now: a run that is refused leaves no folder.
  if (!later.empty())
    check(checkpoint::Store(options.save, 1).makeFolders());
  for (const std::function<void()> &check : later)
    check();
}

// DIR is this run's, or nobody's.
static void checkSaveFolder(const TrainJob &job, const Models &models) {
  const std::string &folder = job.options.save;
  checkpoint::Store store(folder, 1);
  check(store.checkFolder(job.texts));
  check(store.checkWritable());
  const std::vector<int64_t> saves = store.saves();
  std::error_code none;
  // One with weights was refused above. What is trained from config.json alone would be that model from then
  // on.
  if (saves.empty() && std::filesystem::equivalent(models.folder(), folder, none))
    throw Error("cannot save checkpoint", folder, "it is the model's own folder", "name another folder");
  if (saves.empty() || job.options.overwrite)
    return;
  if (job.resumed && std::filesystem::equivalent(job.resumed->path() + "/..", folder, none))
    return;
  throw Error("cannot save checkpoint", folder,
              "it holds saves of an earlier run, up to step " + std::to_string(saves.back()),
              "go on from them with --resume=" + folder + ", name another folder, or add --overwrite");
}

static void openOrigin(TrainJob &job, const Options &options, Models &models) {
  if (options.initSeed) {
    job.origin.seed = *options.initSeed;
    return;
  }
  const io::ModelFile &weights = models.weights();
  if (weights.format() == io::ModelFormat::Gguf)
    throw Error("cannot train", weights.path(),
                "saves are not GGUF, and most GGUF files hold quantized weights",
                "name a Hugging Face directory or a .safetensors file with --model=");
  job.origin.model = &weights;
}

std::unique_ptr<TrainJob> prepareTrain(const TrainedProgram &program, const Options &options, Models &models,
                                       bool saves) {
  const Manifest &manifest = program.whole;
  const TrainSpec &spec = trainOf(manifest);
  checkPeakFlops("cannot train", manifest, options.peakFlops);
  auto job = std::make_unique<TrainJob>();
  job->options = options.train;
  job->peakFlops = options.peakFlops;
  job->numbers = hyperparameters(program, options.train);
  job->files = savedFiles(program);
  if (options.train.resume.empty())
    openOrigin(*job, options, models);
  else {
    openResumed(*job, spec);
    models.takeTextsFrom(job->resumed->path());
  }
  openData(*job, program, models);
  checkOrder(*job);
  checkTrace(*job, program);
  if (!options.train.save.empty() && saves) {
    job->texts = job->resumed ? take(checkpoint::textsBeside(job->resumed->path())) : models.textsBeside();
    checkSaveFolder(*job, models);
  }
  checkWrittenFiles(*job, spec, saves);
  return job;
}

std::string whatIsRead(const TrainJob &job) {
  std::ostringstream text;
  text << "data " << job.data->passRows() << " " << job.fingerprint;
  if (job.evaluation)
    text << " eval " << job.evaluation->passRows() << " " << job.evaluationFingerprint;
  if (job.resumed)
    text << " save " << job.place.step << " " << job.resumed->sum();
  return text.str();
}

void checkResumed(RankDevice &rank, const TrainJob &job) {
  if (job.resumed)
    check(job.resumed->verify(rank.id(), rank.plane().ranks()));
}

} // namespace tessera::runtime
