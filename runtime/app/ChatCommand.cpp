// OUT chat: a conversation, turn by turn, on caches that keep what it was.
#include "Answers.h"
#include "Conversation.h"
#include "GenerateCommand.h"
#include "InputLines.h"
#include "Interruption.h"
#include "LineEditor.h"
#include "Outside.h"
#include "Runs.h"
#include "Terminal.h"
#include "WrittenPositions.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <iostream>
#include <unistd.h>

namespace tessera::runtime {

namespace {

// What the user says: first what --prompt gives, then lines of a terminal or of standard input.
class Messages {
public:
  explicit Messages(const Options &options) {
    for (const Prompt &prompt : options.prompts)
      if (!isBlank(prompt.text))
        first_.push_back(prompt.text);
  }

  bool isTerminal() const { return terminal_; }

  // None: the conversation is over.
  std::optional<std::string> next(BoardEntry &entry) {
    Outside outside(entry);
    if (given_ < first_.size()) {
      if (terminal_)
        logLine(mark + first_[given_]);
      return first_[given_++];
    }
    for (;;) {
      std::optional<std::string> text = terminal_ ? editor_.read(mark) : line();
      if (!text || !isBlank(*text))
        return text;
    }
  }

private:
  static constexpr size_t mostBytes = size_t(16) << 20;

  static bool isBlank(const std::string &text) {
    return text.find_first_not_of(" \t\r\n") == std::string::npos;
  }

  std::optional<std::string> line() {
    std::string text;
    if (!lines_.next(text))
      return std::nullopt;
    if (text.size() > mostBytes)
      throw Error("cannot read a message", "standard input", "its line takes more than 16 MiB",
                  "give each line one message");
    return text;
  }

  const std::string mark = "> ";
  const bool terminal_ = isatty(STDIN_FILENO) && movesCursor(STDOUT_FILENO);
  std::vector<std::string> first_;
  size_t given_ = 0;
  LineEditor editor_;
  InputLines lines_{std::cin, mostBytes};
};

// What all ranks do in a turn.
struct Turn {
  bool isLast = true; // there is none: the conversation is over
  int64_t from = 0;   // tokens that the caches hold
  int64_t limit = 0;  // of new ones
  std::vector<int32_t> tokens;
};

void shareTurn(Turn &turn, HostPlane &plane) {
  if (plane.ranks() == 1)
    return;
  int64_t head[] = {turn.isLast, turn.from, turn.limit, int64_t(turn.tokens.size())};
  plane.broadcast(head, sizeof(head), 0);
  turn.isLast = head[0] != 0;
  turn.from = head[1];
  turn.limit = head[2];
  turn.tokens.resize(size_t(head[3]));
  plane.broadcast(turn.tokens.data(), turn.tokens.size() * sizeof(int32_t), 0);
}

// The conversation as the root has it.
class Chat {
public:
  // Steps of which `stepsAhead` are given before the first is read.
  Chat(Conversation &conversation, const Options &options, const GenerateSpec &sizes, int64_t stepsAhead)
      : conversation_(conversation), messages_(options), most_(options.maxNewTokens), sizes_(sizes),
        written_(sizes.rewind, stepsAhead) {}

  // Asks for messages until one can be answered.
  Turn next(BoardEntry &entry, bool mayGoOn) {
    Turn turn;
    while (mayGoOn && turn.isLast) {
      const std::optional<std::string> text = messages_.next(entry);
      if (!text)
        break;
      const Conversation::Said before = conversation_.said();
      conversation_.say(*text);
      ++said_;
      try {
        fit(turn);
        turn.isLast = false;
      } catch (const Error &e) {
        if (!messages_.isTerminal())
          throw;
        logLine(std::string("error: ") + e.what());
        conversation_.putBack(before); // with the turns that left for its sake
      }
    }
    return turn;
  }

  // What came of it, the last token of which the caches do not hold.
  void answered(const Turn &turn, const Answers &answers, bool isStopped) {
    held_ = turn.tokens;
    const std::vector<int32_t> &made = answers.tokens(0);
    if (!made.empty())
      held_.insert(held_.end(), made.begin(), made.end() - 1);
    written_.add(turn.from, int64_t(held_.size()));
    conversation_.answer(answers.text(0));
    const bool isFull = int64_t(turn.tokens.size() + made.size()) >= sizes_.maxSeqLen;
    if (!isStopped && answers.finish(0) == Finish::Length && isFull)
      logLine("the context of " + std::to_string(sizes_.maxSeqLen) + " tokens is full: the answer ends here");
  }

  bool isTerminal() const { return messages_.isTerminal(); }

private:
  // Whole old turns leave until there is room for an answer.
  void fit(Turn &turn) {
    // An answer that is not told how long it may be has a quarter of the context at least.
    const int64_t context = sizes_.maxSeqLen, least = std::max<int64_t>(1, context / 4),
                  room = std::min(most_.value_or(least), least);
    const size_t turns = conversation_.turns();
    const std::string whose = isTerminal() ? "the message" : "message " + std::to_string(said_);
    turn.tokens = conversation_.tokens(whose);
    while (int64_t(turn.tokens.size()) + room > context && conversation_.dropOldest())
      turn.tokens = conversation_.tokens(whose);
    const auto length = int64_t(turn.tokens.size());
    if (length + (most_ == 0 ? 0 : 1) > context)
      throw Error("cannot answer", whose + ", " + std::to_string(length) + " tokens",
                  "the longest context has " + std::to_string(context),
                  "say it shorter, or compile with a larger --max-seq-len");
    for (int32_t id : turn.tokens)
      if (id >= sizes_.vocab)
        throw Error("cannot answer", "token id " + std::to_string(id), "it is out of range",
                    "is the tokenizer that of the model?");
    if (const size_t left = turns - conversation_.turns())
      logLine("the context of " + std::to_string(context) + " tokens is full: " +
              (left == 1 ? "the oldest turn leaves" : "the oldest " + std::to_string(left) + " turns leave") +
              " the conversation");
    // Of the last token the logits are wanted: it is given again in any case.
    const size_t most = std::min(held_.size(), turn.tokens.size() - 1);
    turn.from = written_.reachable(
        std::mismatch(held_.begin(), held_.begin() + int64_t(most), turn.tokens.begin()).first -
        held_.begin());
    turn.limit = std::min(most_.value_or(context), context - length);
  }

  Conversation &conversation_;
  Messages messages_;
  int64_t said_ = 0; // messages
  std::optional<int64_t> most_;
  const GenerateSpec &sizes_;
  std::vector<int32_t> held_; // whose keys and values the caches have
  WrittenPositions written_;
};

} // namespace

int chat(const ts_program &program, const Manifest &manifest, const Options &options,
         const Launcher &launcher) {
  Models models(manifest, options);
  const ModelTexts texts = readTexts(models, manifest, TextUse::Conversation);
  Conversation conversation(*texts.file, *texts.tokenizer, options);
  GenerateJob job = checkGenerate(manifest, options, {});
  job.tokenizer = texts.tokenizer.get();
  job.endTokens = texts.endTokens;
  addTokens(job.endTokens, conversation.endTokens());
  job.stopTokens = stopTokens(*texts.tokenizer, options.stops);
  std::string loaded;
  const LaunchOptions launch = launchOptions(options, models, &loaded);
  int status = 0;
  runTexts(program, manifest, launcher, launch, [&](Rank &rank, const std::vector<TextSession *> &groups) {
    const bool root = rank.id() == 0;
    const std::vector<TextSession *> one = {groups.front()};
    StandardOutput out(&rank.entry());
    std::optional<Chat> chat;
    if (root)
      chat.emplace(conversation, options, *manifest.generate, one.front()->stepsAhead());
    prepareGroups(rank, one, job);
    one.front()->clear();
    GenerateTimes times;
    GenerateJob turnJob = job;
    for (bool isStopped = false;; ++turnJob.firstNumber) {
      Turn turn;
      if (root)
        endAtSignals(launcher); // nothing is going on
      if (root)                 // who cannot press Ctrl-C in a terminal ends the run with it
        turn = chat->next(rank.entry(), !out.isGone() && (!isStopped || chat->isTerminal()));
      shareTurn(turn, rank.plane());
      if (turn.isLast)
        break;
      turnJob.prompts = {turn.tokens};
      turnJob.limits = {turn.limit};
      Answers answers(turnJob, root ? &out : nullptr);
      if (root)
        watchForCtrlC(launcher);
      isStopped = answer(
          rank, one, 1, turnJob, answers, turn.from, [&] { return isInterrupted() || out.isGone(); }, times);
      if (!root)
        continue;
      if (isStopped)
        answers.interrupt();
      chat->answered(turn, answers, isStopped);
      status = isStopped && isInterrupted() && !chat->isTerminal() ? interruptionStatus() : 0;
    }
    if (!root)
      return;
    if (!job.quiet)
      logLine(times.line(loaded));
    out.close();
  });
  return status;
}

} // namespace tessera::runtime
