#include "Generate.h"
#include "Answers.h"
#include "Places.h"
#include "Terminal.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/SafetensorsWriter.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <optional>

namespace tessera::runtime {

GenerateJob checkGenerate(const Manifest &manifest, const Options &options,
                          const std::vector<std::vector<int32_t>> &prompts) {
  const GenerateSpec &sizes = generateOf(manifest);
  GenerateJob job;
  job.prompts = prompts;
  for (size_t p = 0; p < prompts.size(); ++p) {
    const std::string where = p < options.prompts.size() ? options.prompts[p].name(p) : Prompt().name(p);
    int64_t length = int64_t(prompts[p].size()), room = sizes.maxSeqLen - length;
    if (length == 0)
      throw Error("cannot generate", where, "it has no tokens", "give it some text");
    for (int32_t id : prompts[p])
      if (id < 0 || id >= sizes.vocab)
        throw Error("cannot generate", where, "token id " + std::to_string(id) + " is out of range",
                    "use ids from 0 to " + std::to_string(sizes.vocab - 1));
    int64_t limit = options.maxNewTokens.value_or(room);
    if (room < limit || (room <= 0 && !options.maxNewTokens))
      throw Error("cannot generate", where,
                  std::to_string(length) + " prompt tokens" +
                      (options.maxNewTokens ? " and " + std::to_string(limit) + " new ones" : "") +
                      " do not fit the longest context of " + std::to_string(sizes.maxSeqLen),
                  room > 0 ? "use --max-new-tokens=" + std::to_string(room) +
                                 " or less, or compile with a larger --max-seq-len"
                           : "shorten the prompt, or compile with a larger --max-seq-len");
    job.limits.push_back(limit);
  }
  job.temperature = options.temperature;
  job.topP = options.topP;
  job.minP = options.minP;
  job.repeatPenalty = options.repeatPenalty;
  job.topK = int32_t(options.topK);
  job.seed = options.seed;
  job.printTokens = options.printTokens;
  job.json = options.json;
  job.quiet = options.quiet;
  job.stops = options.stops;
  job.logitsFile = options.logitsFile;
  return job;
}

GenerateTimes &GenerateTimes::operator+=(const GenerateTimes &other) {
  promptSeconds += other.promptSeconds;
  stepSeconds += other.stepSeconds;
  promptTokens += other.promptTokens;
  stepTokens += other.stepTokens;
  return *this;
}

std::string GenerateTimes::line(std::string line) const {
  auto add = [&](const char *what, int64_t tokens, double seconds) {
    char text[80];
    snprintf(text, sizeof(text), "; %s: %lld token%s in %.2f s", what, (long long)tokens,
             tokens == 1 ? "" : "s", seconds);
    line += text;
  };
  if (promptTokens > 0)
    add("prefill", promptTokens, promptSeconds);
  if (stepTokens == 0)
    return line;
  add("decode", stepTokens, stepSeconds);
  char rate[40];
  snprintf(rate, sizeof(rate), " (%.1f tokens/s)", stepSeconds > 0 ? double(stepTokens) / stepSeconds : 0.0);
  return line + rate;
}

void prepareGroups(Rank &rank, const std::vector<TextSession *> &groups, const GenerateJob &job) {
  TextSession &any = *groups.front();
  if (job.draws() && !any.draws())
    throw Error("cannot draw tokens", rank.manifest().model, "the program has no entry that draws",
                "compile it again with this version of llm-compile");
  if (!job.logitsFile.empty() && !any.hasPromptLogits())
    throw Error("cannot write logits", job.logitsFile, "the program has no entry for them",
                "compile it again with this version of llm-compile");
  for (TextSession *group : groups) {
    if (job.draws())
      group->setDrawing(job.drawing());
    group->setEndTokens(job.endTokens, job.draws());
  }
}

// What the root says, on all ranks.
static bool fromRoot(HostPlane &plane, bool value) {
  auto said = char(value);
  if (plane.ranks() > 1)
    plane.broadcast(&said, 1, 0);
  return said != 0;
}

bool answer(Rank &rank, const std::vector<TextSession *> &groups, int64_t rows, const GenerateJob &job,
            Answers &answers, int64_t from, const std::function<bool()> &isAsked, GenerateTimes &times) {
  const bool root = groups.front()->isRoot();
  std::unique_ptr<io::SafetensorsRowWriter> logits;
  if (root && !job.logitsFile.empty())
    logits = take(io::SafetensorsRowWriter::create(job.logitsFile, "logits", groups.front()->vocab()));

  // Only at the beginning: behind it text comes, and other prompts go beside it.
  std::optional<ProgressBar> bar;
  const size_t first = std::min(job.prompts.size(), size_t(rows));
  int64_t toRead = -from;
  for (size_t p = 0; p < first; ++p)
    toRead += int64_t(job.prompts[p].size());
  if (root && !job.quiet && toRead > int64_t(first) * groups.front()->chunk())
    bar.emplace("reading the prompt", toRead);
  int64_t tokensRead = 0;
  auto onPrompt = [&](int64_t tokens) {
    tokensRead += tokens;
    if (bar)
      bar->advance(tokens);
  };
  answers.onText([&] { bar.reset(); });

  PromptQueue queue(job.prompts.size(), groups.size(), from);
  std::deque<Places> places;
  for (size_t g = 0; g < groups.size(); ++g)
    if (const size_t count = rowsOfGroup(size_t(rows), groups.size(), g))
      places.emplace_back(*groups[g], count, job, answers, queue, logits.get(), onPrompt);
  auto start = std::chrono::steady_clock::now();
  double promptSeconds = 0;
  bool isStopped = false;
  for (bool isMore = true; isMore;) {
    isStopped = isAsked && fromRoot(rank.plane(), root && isAsked());
    if (isStopped)
      break;
    isMore = false;
    // A chunk or a step of each group, then the next one of each.
    for (Places &group : places) {
      isMore |= group.advance();
      promptSeconds += group.promptSeconds();
    }
  }
  if (isStopped)
    for (Places &group : places)
      group.stop();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  GenerateTimes taken{promptSeconds, seconds - promptSeconds, tokensRead, 0};
  for (size_t p = 0; p < job.prompts.size(); ++p)
    taken.stepTokens += std::max<int64_t>(0, int64_t(answers.tokens(p).size()) - 1);
  times += taken;
  answers.onText(nullptr);
  if (logits)
    check(logits->finish());
  return isStopped;
}

GenerateEnd generateOnRank(Rank &rank, const std::vector<TextSession *> &groups, int64_t rows,
                           const GenerateJob &job, const std::function<bool()> &isAsked) {
  const bool root = groups.front()->isRoot();
  prepareGroups(rank, groups, job);
  for (TextSession *group : groups)
    group->clear();
  StandardOutput out(&rank.entry());
  Answers answers(job, root ? &out : nullptr);
  GenerateEnd end;
  end.isInterrupted = answer(rank, groups, rows, job, answers, 0,
                             isAsked ? [&] { return isAsked() || out.isGone(); } : isAsked, end.times);
  if (!root)
    return end;
  if (end.isInterrupted)
    answers.interrupt();
  out.close();
  return end;
}

} // namespace tessera::runtime
