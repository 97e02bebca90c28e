#include "Generate.h"
#include "Terminal.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/SafetensorsWriter.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <numeric>
#include <optional>

namespace tessera::runtime {

GenerateJob checkGenerate(const Manifest &manifest, const Options &options,
                          const std::vector<std::vector<int32_t>> &prompts) {
  const GenerateSpec &sizes = generateOf(manifest);
  GenerateJob job;
  job.prompts = prompts;
  for (size_t p = 0; p < prompts.size(); ++p) {
    std::string where = "prompt " + std::to_string(p + 1);
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
  job.topK = int32_t(options.topK);
  job.seed = options.seed;
  job.printTokens = options.printTokens;
  job.logitsFile = options.logitsFile;
  return job;
}

namespace {

// Prints prompts one after another in order, each as it comes once the ones before it are complete.
class Printer {
public:
  Printer(const GenerateJob &job, BoardEntry &entry) : job_(job), out_(&entry), rows_(job.prompts.size()) {
    if (job.tokenizer)
      for (Row &row : rows_)
        row.decoder.emplace(*job.tokenizer);
  }

  void token(size_t prompt, int32_t id) {
    Row &row = rows_[prompt];
    row.tokens.push_back(id);
    if (row.decoder)
      emit(prompt, row.decoder->push(id));
  }

  void end(size_t prompt) {
    Row &row = rows_[prompt];
    if (row.decoder)
      emit(prompt, row.decoder->flush());
    row.complete = true;
    while (current_ < rows_.size() && rows_[current_].complete) {
      close(rows_[current_]);
      if (++current_ < rows_.size())
        out_.write(rows_[current_].held);
    }
  }

  void finish() { out_.close(); }

private:
  struct Row {
    std::vector<int32_t> tokens;
    std::optional<text::StreamDecoder> decoder;
    std::string held; // text that waits for its turn
    bool complete = false;
  };

  void emit(size_t prompt, const std::string &text) {
    if (prompt == current_)
      out_.write(text);
    else
      rows_[prompt].held += text;
  }

  void close(const Row &row) {
    out_.freshLine();
    if (!job_.printTokens)
      return;
    std::string line = "tokens: ";
    for (size_t i = 0; i < row.tokens.size(); ++i)
      line += (i ? "," : "") + std::to_string(row.tokens[i]);
    out_.write(line + "\n");
  }

  const GenerateJob &job_;
  StandardOutput out_;
  std::vector<Row> rows_;
  size_t current_ = 0;
};

// One round: `count` prompts together, up to `batch`.
class Round {
public:
  Round(TextSession &session, const GenerateJob &job, size_t first, size_t count, Printer *printer,
        io::SafetensorsRowWriter *logits)
      : session_(session), job_(job), first_(first), count_(count), printer_(printer), logitsFile_(logits),
        wantLogits_(!job.logitsFile.empty() && first == 0), drawing_(job.temperature > 0),
        ahead_(session.goesOn() && !wantLogits_), made_(count_, 0), current_(session.batch(), 0),
        active_(session.batch(), 0) {
    for (size_t row = 0; row < count_; ++row)
      stepsLeft_ = std::max(stepsLeft_, job_.limits[first_ + row] - 1);
    for (size_t row = 0; row < count_; ++row)
      longest_ = std::max<int64_t>(longest_, prompt(row).size());
    session_.clear();
  }

  // The next chunk of the prompts; false: there is none.
  bool takeChunk() {
    const int64_t begin = begin_, chunk = session_.chunk();
    if (begin >= longest_)
      return false;
    begin_ += chunk;
    std::vector<int32_t> tokens(session_.batch() * chunk, 0), positions(session_.batch() * chunk, -1),
        index(session_.batch(), 0);
    std::vector<size_t> ready;
    for (size_t row = 0; row < count_; ++row) {
      int64_t length = prompt(row).size();
      for (int64_t i = begin; i < std::min(length, begin + chunk); ++i) {
        tokens[row * chunk + i - begin] = prompt(row)[i];
        positions[row * chunk + i - begin] = int32_t(i);
      }
      if (length > begin && length <= begin + chunk) {
        index[row] = int32_t(length - 1 - begin);
        ready.push_back(row);
      }
    }
    session_.prompt(tokens, positions, index);
    if (drawing_)
      drawFirst(ready);
    choose(ready, /*ofPrompts=*/true);
    if (wantLogits_)
      promptLogits(begin);
    if (drawing_ && begin_ >= longest_) {
      std::vector<size_t> all(count_);
      std::iota(all.begin(), all.end(), size_t(0));
      setDrawnRows(all);
    }
    return true;
  }

  // True while the first token of a prompt is on its way.
  bool awaitsPrompts() const {
    return std::any_of(sent_.begin(), sent_.end(), [](const Sent &sent) { return sent.ofPrompts; });
  }
  // True while a row wants more.
  bool running() const {
    return awaitsPrompts() || std::any_of(active_.begin(), active_.end(), [](char a) { return a != 0; });
  }

  // One more step, or one of those given before is read.
  void advance() {
    if (!ahead_) {
      while (!sent_.empty())
        takeOldest();
      if (running())
        advanceByHost();
      return;
    }
    if (stepsLeft_ > 0) {
      --stepsLeft_;
      drawing_ ? session_.advanceDrawing() : session_.advance();
      send({});
    } else {
      takeOldest();
    }
  }

  // What the rows take is the host's to say.
  void advanceByHost() {
    std::vector<int32_t> tokens(session_.batch(), 0), positions(session_.batch(), -1);
    std::vector<size_t> ready;
    for (size_t row = 0; row < count_; ++row)
      if (active_[row]) {
        tokens[row] = current_[row];
        positions[row] = int32_t(prompt(row).size() + made_[row] - 1);
        ready.push_back(row);
      }
    session_.advance(tokens, positions);
    if (drawing_) {
      for (int32_t &position : positions)
        position += position >= 0;
      session_.draw(positions);
    }
    choose(ready, /*ofPrompts=*/false);
  }

  int64_t made() const {
    int64_t total = 0;
    for (int64_t n : made_)
      total += n;
    return total;
  }
  // Between the prompts and the tokens after them: the row after the prompt's last token follows those of the
  // prompt.
  void flushLogits() {
    if (logitsFile_ && !lateLogits_.empty())
      check(logitsFile_->append(lateLogits_.data(), 1));
    lateLogits_.clear();
  }

private:
  const std::vector<int32_t> &prompt(size_t row) const { return job_.prompts[first_ + row]; }

  // From now on tokens are drawn for `rows` alone.
  void setDrawnRows(const std::vector<size_t> &rows) {
    std::vector<int32_t> prompts(session_.batch(), 0), lengths(session_.batch(), -1);
    for (size_t row : rows) {
      prompts[row] = int32_t(first_ + row);
      lengths[row] = int32_t(prompt(row).size());
    }
    session_.setDrawnRows(prompts, lengths);
  }
  // The first token of each of `rows`, whose prompts end in this chunk: the others keep theirs.
  void drawFirst(const std::vector<size_t> &rows) {
    std::vector<int32_t> positions(session_.batch(), -1);
    for (size_t row : rows)
      positions[row] = int32_t(prompt(row).size());
    setDrawnRows(rows);
    session_.draw(positions);
  }

  // What a step chose, on its way to the host.
  struct Sent {
    bool ofPrompts = false;
    std::vector<size_t> rows = {}; // that have a new token; empty, of steps that go on: those that are active
  };

  // The last step's tokens go to the host, which reads those of an earlier one if more are on their way than
  // the device is to be ahead.
  void send(Sent sent) {
    session_.sendNext();
    sent_.push_back(std::move(sent));
    if (int64_t(sent_.size()) > session_.stepsAhead())
      takeOldest();
  }

  // The tokens of rows that have ended meanwhile are nobody's.
  void takeOldest() {
    Sent sent = std::move(sent_.front());
    sent_.pop_front();
    if (sent.rows.empty())
      for (size_t row = 0; row < count_; ++row)
        if (active_[row])
          sent.rows.push_back(row);
    std::vector<int32_t> chosen = session_.takeNext();
    for (size_t row : sent.rows)
      accept(row, chosen[row]);
    if (running())
      return;
    session_.dropNext();
    sent_.clear();
  }

  // Takes the next token of every row in `ready` from the last step.
  void choose(const std::vector<size_t> &ready, bool ofPrompts) {
    std::vector<size_t> rows;
    for (size_t row : ready) {
      if (job_.limits[first_ + row] > 0)
        rows.push_back(row);
      else if (printer_)
        printer_->end(first_ + row);
    }
    if (rows.empty())
      return;
    if (!wantLogits_)
      return send({ofPrompts, std::move(rows)});
    std::vector<int32_t> chosen = session_.next();
    if (wantLogits_ && rows[0] == 0) {
      const std::vector<float> &logits = session_.logits();
      if (logitsFile_)
        keepLogits(logits.data());
    }
    for (size_t row : rows)
      accept(row, chosen[row]);
  }

  void accept(size_t row, int32_t id) {
    if (id < 0 || id >= session_.vocab())
      throw Error("cannot generate",
                  "prompt " + std::to_string(first_ + row + 1) + ", new token " +
                      std::to_string(made_[row] + 1),
                  "the model's logits are not finite numbers",
                  "check the weights, or, if it computes in float16, compile with --dtype=f32 or bf16");
    current_[row] = id;
    ++made_[row];
    if (printer_)
      printer_->token(first_ + row, id);
    bool ended = std::find(job_.endTokens.begin(), job_.endTokens.end(), id) != job_.endTokens.end();
    active_[row] = !ended && made_[row] < job_.limits[first_ + row];
    if (!active_[row] && printer_)
      printer_->end(first_ + row);
  }

  // Rows of the logits file for the prompt positions of this chunk, except the last of the prompt: choose()
  // keeps that.
  void promptLogits(int64_t begin) {
    int64_t last = int64_t(prompt(0).size()) - 1;
    for (int64_t at = begin; at < std::min(last, begin + session_.chunk()); ++at) {
      std::vector<int32_t> index(session_.batch(), 0);
      index[0] = int32_t(at - begin);
      session_.promptLogits(index);
      const std::vector<float> &logits = session_.logits();
      if (logitsFile_)
        check(logitsFile_->append(logits.data(), 1));
    }
    promptWritten_ = begin + session_.chunk() >= last;
  }

  void keepLogits(const float *logits) {
    if (promptWritten_)
      check(logitsFile_->append(logits, 1));
    else // the last chunk's own positions come first
      lateLogits_.assign(logits, logits + session_.vocab());
  }

  TextSession &session_;
  const GenerateJob &job_;
  size_t first_, count_;
  Printer *printer_;
  io::SafetensorsRowWriter *logitsFile_;
  bool wantLogits_, promptWritten_ = false;
  int64_t begin_ = 0, longest_ = 0; // of the prompts: where the next chunk begins, where the last one ends
  bool drawing_;                    // tokens are drawn; else the most likely
  bool ahead_;                      // steps go on by themselves, and the host reads some steps behind
  int64_t stepsLeft_ = 0;           // that may be given to the device, ahead_
  std::deque<Sent> sent_;
  std::vector<int64_t> made_;
  std::vector<int32_t> current_;
  std::vector<char> active_;
  std::vector<float> lateLogits_;
};

} // namespace

void generateOnRank(Rank &rank, const std::vector<TextSession *> &groups, int64_t rows,
                    const GenerateJob &job) {
  TextSession &any = *groups.front();
  bool root = any.isRoot();
  if (job.temperature > 0 && !any.draws())
    throw Error("cannot draw tokens", rank.manifest().model, "the program has no entry that draws",
                "compile it again with this version of llm-compile");
  if (!job.logitsFile.empty() && !any.hasPromptLogits())
    throw Error("cannot write logits", job.logitsFile, "the program has no entry for them",
                "compile it again with this version of llm-compile");
  for (TextSession *group : groups) {
    if (job.temperature > 0)
      group->setDrawing({job.temperature, job.topP, job.topK, job.seed});
    group->setEndTokens(job.endTokens, job.temperature > 0);
  }
  std::unique_ptr<io::SafetensorsRowWriter> logits;
  if (root && !job.logitsFile.empty())
    logits = take(io::SafetensorsRowWriter::create(job.logitsFile, "logits", any.vocab()));
  std::optional<Printer> printer;
  if (root)
    printer.emplace(job, rank.entry());

  using Clock = std::chrono::steady_clock;
  double prefillSeconds = 0, decodeSeconds = 0;
  int64_t promptTokens = 0, firstTokens = 0, newTokens = 0;
  const size_t prompts = job.prompts.size();
  for (size_t first = 0, end; first < prompts; first = end) {
    end = std::min(prompts, first + size_t(rows));
    auto start = Clock::now();
    std::deque<Round> rounds;
    for (size_t begin = first, group = 0, count = 0; begin < end; begin += count, ++group) {
      count = rowsOfGroup(end - first, groups.size(), group);
      rounds.emplace_back(*groups[group], job, begin, count, printer ? &*printer : nullptr,
                          begin == 0 ? logits.get() : nullptr);
    }
    // A chunk of each group, then the next ones.
    for (bool isMore = true; isMore;) {
      isMore = false;
      for (Round &round : rounds)
        isMore |= round.takeChunk();
    }
    for (Round &round : rounds)
      round.flushLogits();
    auto anyOf = [&](bool (Round::*is)() const) {
      return std::any_of(rounds.begin(), rounds.end(), [&](const Round &round) { return (round.*is)(); });
    };
    while (anyOf(&Round::awaitsPrompts))
      for (Round &round : rounds)
        if (round.awaitsPrompts())
          round.advance();
    auto middle = Clock::now();
    for (const Round &round : rounds)
      firstTokens += round.made();
    while (anyOf(&Round::running))
      for (Round &round : rounds)
        if (round.running())
          round.advance();
    for (const Round &round : rounds)
      newTokens += round.made();
    prefillSeconds += std::chrono::duration<double>(middle - start).count();
    decodeSeconds += std::chrono::duration<double>(Clock::now() - middle).count();
  }
  if (!root)
    return;
  if (logits)
    check(logits->finish());
  printer->finish();
  for (const auto &prompt : job.prompts)
    promptTokens += int64_t(prompt.size());
  char line[160];
  snprintf(line, sizeof(line),
           "prefill: %lld tokens in %.2f s; decode: %lld tokens in %.2f s (%.1f tokens/s)",
           (long long)promptTokens, prefillSeconds, (long long)(newTokens - firstTokens), decodeSeconds,
           decodeSeconds > 0 ? double(newTokens - firstTokens) / decodeSeconds : 0.0);
  logLine(line);
}

} // namespace tessera::runtime
