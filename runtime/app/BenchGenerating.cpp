#include "BenchGenerating.h"
#include "PeakFlops.h"
#include "Terminal.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

namespace tessera::runtime {

using Json = nlohmann::ordered_json;

BenchPlan checkBenchGenerating(const Manifest &m, const Options &options) {
  checkPeakFlops("cannot measure", m, options.peakFlops);
  if (!m.generate)
    throw Error("cannot measure", m.model, "this program does not generate text",
                "compile a language model with --task=generate");
  const int64_t longest = m.generate->maxSeqLen;
  if (longest < 2)
    throw Error("cannot measure", m.model,
                "a prompt and a token after it take a context of 2, and this program has 1",
                "compile with --max-seq-len=2 or more");
  // What is not given leaves room for what is.
  auto fitting = [&](int64_t usual, const std::optional<int64_t> &other) {
    return std::max<int64_t>(1, std::min(usual, longest - other.value_or(0)));
  };
  int64_t decode =
      options.decodeSteps.value_or(fitting(std::clamp<int64_t>(longest / 4, 1, 64), options.promptLength));
  int64_t prompt = options.promptLength.value_or(fitting(512, decode));
  if (prompt + decode > longest)
    throw Error("cannot measure",
                (options.promptLength ? "--prompt-len=" : "a prompt of ") + std::to_string(prompt) +
                    (options.decodeSteps ? " and --decode=" : " and decoding ") + std::to_string(decode),
                "together they exceed the longest context of " + std::to_string(longest),
                "use shorter ones, or compile with a larger --max-seq-len");
  return {prompt, decode, m.generate->batch};
}

namespace {
// Prefills that took so long in all need no further ones.
constexpr double kEnoughSeconds = 2;

class Bench {
public:
  Bench(const std::vector<TextSession *> &groups, const BenchPlan &plan)
      : groups_(groups), plan_(plan), next_(groups.size()) {}

  // Prompts in all rows, piece by piece as `generate` has them, until every row has its next token.
  void takePrompts() {
    for (TextSession *group : groups_)
      group->clear();
    for (int64_t begin = 0, size = 0; begin < plan_.promptLength; begin += size) {
      size = groups_[0]->promptSize(plan_.promptLength - begin);
      for (size_t g = 0; g < groups_.size(); ++g)
        takePiece(g, size, begin, std::min(plan_.promptLength, begin + size));
    }
    for (TextSession *group : groups_)
      group->sendNext();
    for (size_t g = 0; g < groups_.size(); ++g)
      next_[g] = groups_[g]->takeNext();
  }

  // So many tokens more in each row, the first one behind `position`.
  void decode(int64_t position, int64_t steps) {
    std::vector<int64_t> taken(groups_.size(), 0);
    for (int64_t i = 0; i < steps; ++i)
      for (size_t g = 0; g < groups_.size(); ++g) {
        TextSession &group = *groups_[g];
        for (const int64_t ahead = group.goesOn() ? group.stepsAhead() : 0; i - taken[g] > ahead; ++taken[g])
          next_[g] = group.takeNext();
        if (i > 0 && group.goesOn())
          group.advance();
        else
          advance(g, position + i);
        group.sendNext();
      }
    for (size_t g = 0; g < groups_.size(); ++g)
      for (; taken[g] < steps; ++taken[g])
        next_[g] = groups_[g]->takeNext();
  }

private:
  // Of all prompts that the program takes at once, those in a group's rows; the rows behind them are inert.
  int64_t rowsOf(size_t group) const {
    return int64_t(rowsOfGroup(size_t(plan_.prompts), groups_.size(), group));
  }

  // Positions [begin, end) of the prompts, in a piece of `size`.
  void takePiece(size_t g, int64_t size, int64_t begin, int64_t end) {
    TextSession &group = *groups_[g];
    const int64_t batch = group.batch();
    std::vector<int32_t> tokens(size_t(batch * size), 0), positions(size_t(batch * size), -1),
        index(size_t(batch), int32_t(end - begin - 1));
    for (int64_t row = 0; row < rowsOf(g); ++row)
      for (int64_t i = begin; i < end; ++i) {
        const size_t at = size_t(row * size + i - begin);
        tokens[at] = int32_t((i * 7919 + row * 104729 + 1) % group.vocab());
        positions[at] = int32_t(i);
      }
    group.prompt(tokens, positions, index);
  }

  void advance(size_t g, int64_t position) {
    TextSession &group = *groups_[g];
    for (int32_t &id : next_[g]) // made-up weights may give anything
      id = id < 0 || id >= group.vocab() ? 0 : id;
    std::vector<int32_t> positions(size_t(group.batch()), -1);
    std::fill_n(positions.begin(), rowsOf(g), int32_t(position));
    group.advance(next_[g], positions);
  }

  const std::vector<TextSession *> &groups_;
  const BenchPlan &plan_;
  std::vector<std::vector<int32_t>> next_; // of each group
};
} // namespace

void benchOnRank(Rank &rank, const std::vector<TextSession *> &groups, const BenchPlan &plan, bool json) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  Bench bench(groups, plan);
  // Three after the first, or as many as take long enough to tell; one rank's clock decides for all.
  std::vector<double> prefills;
  double measured = 0;
  for (int round = 0; round < 4; ++round) {
    uint8_t enough = measured >= kEnoughSeconds;
    rank.plane().broadcast(&enough, sizeof enough, 0);
    if (enough)
      break;
    rank.plane().barrier();
    auto start = Clock::now();
    bench.takePrompts();
    if (round == 0)
      continue;
    prefills.push_back(since(start));
    measured += prefills.back();
  }
  // Warm-up, also of a driver that records. The timed steps begin at the same place.
  for (int i = 0; i < 3; ++i)
    bench.decode(plan.promptLength, 1);
  auto start = Clock::now();
  bench.decode(plan.promptLength, plan.decodeSteps);
  const double decode = since(start);
  if (!groups[0]->isRoot())
    return;
  std::sort(prefills.begin(), prefills.end());
  const double prefillRate = double(plan.prompts * plan.promptLength) / prefills[prefills.size() / 2],
               decodeRate = double(plan.prompts * plan.decodeSteps) / decode;
  StandardOutput out(&rank.entry());
  if (json) {
    Json result = {{"prefill_tokens_per_s", prefillRate},
                   {"decode_tokens_per_s", decodeRate},
                   {"prompt_len", plan.promptLength},
                   {"decode", plan.decodeSteps},
                   {"batch", plan.prompts},
                   {"ranks", rank.plane().ranks()},
                   {"threads_per_rank", rank.pool().size()}};
    if (int64_t used = rank.device().usedBytes(); used >= 0)
      result["device_bytes_used"] = used;
    out.write(result.dump() + "\n");
  } else {
    char text[160];
    snprintf(text, sizeof(text),
             "prefill %8.1f tokens/s  (%lld tokens, batch %lld)\ndecode  %8.1f tokens/s  (%lld steps)\n",
             prefillRate, (long long)plan.promptLength, (long long)plan.prompts, decodeRate,
             (long long)plan.decodeSteps);
    out.write(text);
  }
  out.close();
}

} // namespace tessera::runtime
