#include "Train.h"
#include "FirstNotFinite.h"
#include "Gradients.h"
#include "Interruption.h"
#include "Outside.h"
#include "PeakFlops.h"
#include "TraceFile.h"
#include "TrainProgress.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Memory.h"
#include "tessera/runtime/train/LossScale.h"

#include <cmath>
#include <optional>

namespace tessera::runtime {

namespace {

// Whether any rank says yes; the same on all.
bool anyRank(HostPlane &plane, bool mine) {
  auto said = char(mine);
  if (plane.ranks() == 1)
    return mine;
  std::string all(plane.rank() == 0 ? size_t(plane.ranks()) : 0, '\0');
  plane.gather(&said, 1, all.data(), 0);
  if (plane.rank() == 0)
    said = char(all.find('\1') != std::string::npos);
  plane.broadcast(&said, 1, 0);
  return said != 0;
}

// What is said of the trace of steps `first` to `last`, of which so many ranks have not all.
std::string traceNote(int64_t first, int64_t last, size_t cut) {
  if (last < first)
    return "the run ended before step " + std::to_string(first) + ": there is nothing in the trace ";
  std::string steps = std::to_string(first) + (first < last ? " to " + std::to_string(last) : "");
  return std::string("wrote a trace of step") + (first < last ? "s " : " ") + steps +
         (cut == 0 ? ""
                   : " (of " + std::to_string(cut) + " ranks the first " +
                         std::to_string(StepTrace::kMostSlices) + " calls only)") +
         " to ";
}

class Run {
public:
  Run(TrainStep &step, TrainJob &job)
      : step_(step), rank_(step.rank()), job_(job), place_(job.place),
        store_(job.options.save, job.options.keep.value_or(2)) {
    // A save of a run in another precision has no scale, or one that this program has no use for.
    const std::optional<double> &first = step.spec().lossScale;
    if (!first)
      place_.lossScale = place_.goodSteps = 0;
    else if (place_.lossScale == 0)
      place_.lossScale = *first;
    place_.passRows = job.data->passRows();
    place_.shuffle = job.options.shuffle;
    place_.fingerprint = job.fingerprint;
    place_.documents = job.options.documents;
    if (rank_.id() != 0)
      return;
    if (!job.options.log.empty())
      log_.emplace(take(train::TrainingLog::open(job.options.log, place_.step)));
    progress_.emplace(place_.step, job.options.rate.steps);
    if (const train::LearningRate &rate = job.options.rate; rate.warmup > rate.steps)
      progress_->note("--warmup=" + std::to_string(rate.warmup) + " is longer than --steps=" +
                      std::to_string(rate.steps) + ": the learning rate does not reach --lr");
  }

  void run() {
    const int64_t steps = job_.options.rate.steps;
    const auto every = [](const std::optional<int64_t> &n, int64_t step) { return n && step % *n == 0; };
    // Where MFU is a share of something.
    if (step_.spec().flopsPerToken > 0)
      peakFlops_ = job_.peakFlops ? *job_.peakFlops : measurePeakFlops(step_.program(0));
    if (!job_.options.trace.empty())
      startTrace();
    if (!job_.options.grads.empty())
      writeGradients(step_, job_, place_.lossScale);
    bool stop = anyRank(rank_.plane(), isInterrupted()), saved = true;
    while (!stop && place_.step < steps) {
      if (job_.data->countedTokens(place_.step) > 0)
        train();
      else
        passOver();
      saved = false;
      stop = anyRank(rank_.plane(), isInterrupted());
      if (!job_.options.save.empty() &&
          (stop || place_.step == steps || every(job_.options.saveEvery, place_.step))) {
        save();
        saved = true;
      }
    }
    endTrace();
    if (!saved)
      checkFinite(readers(), "cannot finish training", "");
    if (progress_ && overflowed_ && place_.updates == job_.place.updates)
      progress_->note("nothing was updated: all gradients overflowed; go on from a save, whose loss scale is "
                      "smaller now, or compile with a smaller --loss-scale");
    if (!stop)
      return;
    job_.interrupted = true;
    if (progress_)
      progress_->note("stopped by a signal after step " + std::to_string(place_.step) +
                      (saved ? "" : "; nothing was saved: there is no --save"));
  }

private:
  void train() {
    using Clock = std::chrono::steady_clock;
    auto start = Clock::now();
    Hyperparameters numbers = job_.numbers;
    numbers.learningRate = job_.options.rate.at(place_.updates);
    numbers.lossScale = place_.lossScale;
    numbers.dropoutKey = dropoutKeyOf(job_.options.seed.value_or(0), place_.step);
    TrainStep::Loss loss = step(trace_ && place_.step + 1 >= traced_.first, numbers);
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    takeRows();
    train::LogLine line{place_.step, loss.loss, loss.gradNorm, numbers.learningRate,
                        double(loss.targets) / seconds};
    line.mfu = modelFlopsUtilization(step_.spec(), line.tokensPerSecond, peakFlops_);
    if (int64_t bytes = residentBytes(); bytes >= 0)
      line.memoryBytes = double(bytes);
    const bool skipped = adaptScale(loss, line);
    if (!skipped)
      ++place_.updates;
    overflowed_ |= skipped;
    if (std::isfinite(loss.loss) && (skipped || std::isfinite(loss.gradNorm)))
      evaluate(line);
    if (log_)
      check(log_->write(line));
    if (progress_)
      progress_->step(line);
    if (place_.step >= traced_.second)
      endTrace();
    if (!std::isfinite(loss.loss))
      refuse("loss", loss.loss, numbers);
    if (!skipped && !std::isfinite(loss.gradNorm))
      refuse("norm of the gradient", loss.gradNorm, numbers);
  }

  void takeRows() {
    ++place_.step;
    place_.rows += step_.spec().batch;
  }

  // Rows without a token to predict: they are taken, on all ranks alike, and nothing changes.
  void passOver() {
    takeRows();
    train::LogLine line;
    line.step = place_.step;
    line.learningRate = job_.options.rate.at(place_.updates);
    line.tokensPerSecond = 0;
    evaluate(line);
    if (log_)
      check(log_->write(line));
    if (progress_)
      progress_->note("step " + std::to_string(place_.step) +
                      " has changed nothing: none of its rows has a token to predict");
    if (place_.step >= traced_.second)
      endTrace();
  }

  void startTrace() {
    traced_ = job_.options.traceSteps.value_or(std::pair(place_.step + 1, place_.step + 3));
    if (rank_.id() == 0) {
      traceFile_.emplace(job_.options.trace, "cannot write trace");
      check(traceFile_->open()); // known before the steps
    }
    clock_.emplace(rank_.plane());
    trace_.emplace();
  }

  // A step, which is traced or not.
  TrainStep::Loss step(bool isTraced, const Hyperparameters &numbers) {
    if (!isTraced)
      return step_.train(rowsOf(*job_.data, place_.step), place_.updates, numbers);
    trace_->beginStep(place_.step + 1);
    step_.observe(&*trace_);
    rank_.comm().observe(&*trace_);
    TrainStep::Loss loss = step_.train(rowsOf(*job_.data, place_.step), place_.updates, numbers);
    trace_->endStep();
    step_.observe(nullptr);
    rank_.comm().observe(nullptr);
    return loss;
  }

  // All that is traced has been; the file is there while the run goes on.
  void endTrace() {
    if (!trace_)
      return;
    std::vector<int64_t> cut;
    {
      Outside files(rank_.entry());
      cut = writeTrace(rank_.plane(), *trace_, *clock_, traceFile_ ? &*traceFile_ : nullptr,
                       [&](TraceEvents &events) { step_.drawPrediction(rank_.plane().ranks(), events); });
    }
    trace_.reset();
    traceFile_.reset();
    if (progress_)
      progress_->note(traceNote(traced_.first, place_.step, cut.size()) + job_.options.trace);
  }

  // Whether the step has changed nothing: gradients overflowed, which the norm showed all ranks.
  bool adaptScale(const TrainStep::Loss &loss, train::LogLine &line) {
    if (place_.lossScale == 0)
      return false;
    line.lossScale = place_.lossScale;
    train::LossScale scale{place_.lossScale, place_.goodSteps};
    const bool overflow = !std::isfinite(loss.gradNorm);
    // The loss itself is not scaled: what is wrong with it no scale mends.
    if (!std::isfinite(loss.loss) || !scale.next(overflow))
      return false;
    place_.lossScale = scale.scale;
    place_.goodSteps = scale.goodSteps;
    return overflow;
  }

  void evaluate(train::LogLine &line) {
    const TrainOptions &options = job_.options;
    if (!job_.evaluation ||
        (line.step != options.rate.steps && (!options.evalEvery || line.step % *options.evalEvery != 0)))
      return;
    line.evalLoss = step_.evaluate(*job_.evaluation);
  }

  // The numbers are the same on all ranks, the log has its line, and the step has changed nothing: run again,
  // it gives the same, and every call of it is looked at.
  [[noreturn]] void refuse(const std::string &what, double value, const Hyperparameters &numbers) {
    endTrace();
    FirstNotFinite search;
    step_.observe(&search);
    step_.train(rowsOf(*job_.data, place_.step - 1), place_.updates - 1, numbers);
    step_.observe(nullptr);
    const std::string first = firstOfAllRanks(rank_.plane(), search.number(), search.text());
    rank_.plane().barrier();
    // Nothing has been updated yet in the first step of a run.
    const bool isFirst = place_.step == job_.place.step + 1;
    throw Error("cannot go on training", "step " + std::to_string(place_.step),
                "the " + what + " is " + (std::isnan(value) ? "not a number" : "infinite") +
                    (first.empty() ? "" : "; first on " + first),
                std::string(isFirst ? "look at the weights that the run began with, and at the data"
                                    : "use a smaller --lr or a longer --warmup, and look at the data") +
                    "; no save was touched");
  }

  std::vector<PieceReader> readers() {
    std::vector<PieceReader> readers;
    for (const SavedFile &file : job_.files)
      readers.emplace_back(step_, job_.origin, file);
    return readers;
  }

  // The last update may have broken what no loss has shown yet.
  void checkFinite(std::vector<PieceReader> readers, const std::string &what, const std::string &hint) {
    for (PieceReader &reader : readers)
      if (std::string name = reader.notFinite(); !name.empty())
        throw Error(what, name,
                    "after step " + std::to_string(place_.step) + " it holds numbers that are not finite",
                    "use a smaller --lr or a longer --warmup" + hint);
    rank_.plane().barrier();
  }

  void save() {
    Outside files(rank_.entry());
    checkFinite(readers(), "cannot save", "; no save was touched");
    std::vector<PieceReader> readers = this->readers();
    checkpoint::SaveRequest request;
    request.place = place_;
    request.begun = job_.place.step;
    for (size_t i = 0; i < readers.size(); ++i)
      request.files.push_back(
          {job_.files[i].name, &job_.files[i].params,
           [&reader = readers[i]](int64_t param, int64_t layer) { return reader.piece(param, layer); },
           job_.files[i].state});
    if (rank_.id() == 0)
      request.texts = job_.texts;
    check(store_.save(request, step_.mesh(), rank_.plane()));
    if (progress_)
      progress_->note("saved step " + std::to_string(place_.step) + " in " + job_.options.save);
  }

  TrainStep &step_;
  RankDevice &rank_;
  TrainJob &job_;
  checkpoint::TrainingPlace place_; // steps done
  double peakFlops_ = 0;            // of all ranks
  bool overflowed_ = false;         // in any step
  checkpoint::Store store_;
  std::optional<train::TrainingLog> log_;
  std::optional<TrainProgress> progress_; // both at rank 0
  // While steps are traced, or will be: from the first to the second one.
  std::pair<int64_t, int64_t> traced_{0, 0};
  std::optional<StepTrace> trace_;
  std::optional<TraceClock> clock_;
  std::optional<io::OutputFile> traceFile_; // at rank 0
};

} // namespace

void trainOnRank(TrainStep &step, TrainJob &job) { Run(step, job).run(); }

} // namespace tessera::runtime
