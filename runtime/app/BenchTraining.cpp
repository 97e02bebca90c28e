#include "BenchTraining.h"
#include "PeakFlops.h"
#include "Terminal.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

namespace tessera::runtime {

void checkBenchTraining(const Manifest &manifest, const Options &options) {
  checkPeakFlops("cannot measure", manifest, options.peakFlops);
  for (auto [flag, value] :
       {std::pair("--prompt-len=", options.promptLength), std::pair("--decode=", options.decodeSteps)})
    if (value)
      throw Error("cannot measure", flag + std::to_string(*value),
                  "this program trains, and takes no prompts", "leave it out");
}

// Whole rows of made-up ids.
static StepRows madeUpRows(const TrainSpec &spec) {
  StepRows rows;
  rows.countedTokens = [&spec] { return spec.batch * spec.seq; };
  rows.read = [&spec](int64_t microBatch, const data::BatchPiece &piece, data::MicroBatch &out) -> Status {
    const auto size = size_t(piece.localRows * piece.localColumns);
    out.tokens.assign(size, 0);
    out.positions.assign(size, -1);
    out.targets.assign(size, -1);
    auto id = [&](int64_t row, int64_t column) {
      return int32_t((column * 7919 + row * 104729 + 1) % spec.vocab);
    };
    for (int64_t r = piece.rows.begin; r < piece.rows.end; ++r)
      for (int64_t c = piece.columns.begin; c < piece.columns.end; ++c) {
        int64_t row = microBatch * spec.microRows() + r;
        if (row >= spec.batch)
          continue;
        auto at = size_t((r - piece.rows.begin) * piece.localColumns + c - piece.columns.begin);
        out.tokens[at] = id(row, c);
        out.positions[at] = int32_t(c);
        out.targets[at] = id(row, c + 1);
      }
    return {};
  };
  return rows;
}

// Of all threads of this process: of every rank, where ranks are threads.
static double processorSeconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return double(used.tv_sec) + double(used.tv_nsec) * 1e-9;
}

static double median(std::vector<double> &values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Of each kind of collective what the rank has sent that sent most; on rank 0.
static nlohmann::ordered_json mostSent(RankDevice &rank, const std::map<CollectiveKind, int64_t> &sent) {
  nlohmann::ordered_json most = nlohmann::ordered_json::object();
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
        CollectiveKind::AllToAll, CollectiveKind::CollectivePermute, CollectiveKind::GroupedSend}) {
    auto found = sent.find(kind);
    int64_t own = found == sent.end() ? 0 : found->second;
    std::vector<int64_t> all(size_t(rank.plane().ranks()));
    rank.plane().gather(&own, sizeof own, all.data(), 0);
    if (int64_t bytes = *std::max_element(all.begin(), all.end()); bytes > 0)
      most[collectiveName(kind)] = bytes;
  }
  return most;
}

// By all programs of the rank, since they were made.
static std::map<CollectiveKind, int64_t> sentBy(RankDevice &rank) {
  std::map<CollectiveKind, int64_t> sent;
  for (size_t program = 0; program < rank.programs(); ++program)
    for (auto [kind, bytes] : rank.collectives(program).sent())
      sent[kind] += bytes;
  return sent;
}

void benchTrainingOnRank(TrainStep &trainer, std::optional<double> peakFlops, bool json) {
  using Clock = std::chrono::steady_clock;
  RankDevice &rank = trainer.rank();
  const TrainSpec &spec = trainer.spec();
  const StepRows rows = madeUpRows(spec);
  Hyperparameters numbers;
  numbers.learningRate = 1e-5;
  std::vector<double> seconds, processor;
  std::map<CollectiveKind, int64_t> sent; // by this rank, in the last step
  for (int64_t update = 0; update < 7; ++update) {
    rank.plane().barrier();
    const auto start = Clock::now();
    const double used = processorSeconds();
    auto before = sentBy(rank);
    trainer.train(rows, update, numbers);
    for (auto [kind, bytes] : sentBy(rank))
      sent[kind] = bytes - before[kind];
    rank.plane().barrier();
    if (update >= 2) {
      seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
      processor.push_back(processorSeconds() - used);
    }
  }
  // After the steps, when the machine is as warm as it was for them.
  const bool counted = spec.flopsPerToken > 0;
  const double peak = peakFlops ? *peakFlops : counted ? measurePeakFlops(trainer.program(0)) : 0;
  const nlohmann::ordered_json most = mostSent(rank, sent);
  if (rank.id() != 0)
    return;
  const double step = median(seconds), rate = double(spec.batch * spec.seq) / step;
  StandardOutput out(&rank.entry());
  if (json) {
    nlohmann::ordered_json result = {{"step_s", step},
                                     {"cpu_s", median(processor)},
                                     {"tokens_per_s", rate},
                                     {"batch", spec.batch},
                                     {"seq", spec.seq},
                                     {"micro_batches", spec.microBatches},
                                     {"ranks", rank.plane().ranks()},
                                     {"threads_per_rank", rank.pool().size()},
                                     {"sent_bytes", most}};
    if (counted) {
      result["mfu"] = modelFlopsUtilization(spec, rate, peak);
      result["peak_flops"] = peak;
      result["flops_per_token"] = spec.flopsPerToken;
    }
    if (int64_t used = rank.device().usedBytes(); used >= 0)
      result["device_bytes_used"] = used;
    out.write(result.dump() + "\n");
  } else {
    char text[160];
    snprintf(text, sizeof text, "step    %8.4f s\ntrain   %8.1f tokens/s  (batch %lld, %lld tokens a row)\n",
             step, rate, (long long)spec.batch, (long long)spec.seq);
    out.write(text);
    if (counted) {
      snprintf(text, sizeof text, "MFU     %8.1f %%         (of %.4g FLOPs a second%s)\n",
               100 * modelFlopsUtilization(spec, rate, peak), peak, peakFlops ? "" : ", measured");
      out.write(text);
    }
  }
  out.close();
}

} // namespace tessera::runtime
