// The rows of a group, filled continuously: a row that is free takes the next prompt at once, whose chunks go
// beside the steps of the other rows. Rows know nothing of each other, so each answer is the one that its
// prompt gets alone, bit by bit.
#ifndef TESSERA_RUNTIME_APP_PLACES_H
#define TESSERA_RUNTIME_APP_PLACES_H

#include "Answers.h"
#include "TextSession.h"
#include "tessera/runtime/io/SafetensorsWriter.h"

#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace tessera::runtime {

// A prompt that a place takes.
struct Work {
  size_t number = 0; // of the prompt in the job
  int64_t from = 0;  // the first position that the caches do not hold
};

// The prompts of a run, for the groups of one rank; in the same order on all ranks.
class PromptQueue {
public:
  // `from`: of the first prompt.
  PromptQueue(size_t prompts, size_t groups, int64_t from = 0)
      : prompts_(prompts), groups_(groups), from_(from), unfinished_(prompts) {}

  bool isEmpty() const { return next_ == prompts_; }
  // The next one, for a group that has `held`: none has more than its share of those that are left, so that
  // all groups have work.
  std::optional<Work> take(size_t held);
  void finished() { --unfinished_; }

private:
  size_t prompts_, groups_;
  int64_t from_;
  size_t next_ = 0, unfinished_;
};

// All ranks make the same calls, so all have the same prompts in the same places.
class Places {
public:
  // `count` of the session's rows are places. `logits`: where those of the job's first prompt go, at the
  // root. `onPrompt` is told how many tokens of prompts were given.
  Places(TextSession &session, size_t count, const GenerateJob &job, Answers &answers, PromptQueue &queue,
         io::SafetensorsRowWriter *logits, std::function<void(int64_t)> onPrompt);

  // A piece of the prompts that have not been read, and a step of the rows that go on. False: no place has
  // anything to do.
  bool advance();
  // Nothing more is wanted of the rows: what is on its way is dropped.
  void stop();

  // Of the last advance(): seconds that went into prompts.
  double promptSeconds() const { return promptSeconds_; }

private:
  enum class State { Free, Reading, Answering };
  struct Place {
    State state = State::Free;
    Work work;
    uint64_t serial = 0; // of what it holds: tokens of another one are nobody's
    int64_t at = 0;      // the next position of its prompt
    int64_t asked = 0;   // tokens that were asked of the device
    int64_t taken = 0;   // and read
    int32_t current = 0; // the one read last
  };
  // What a call chose, on its way to the host.
  struct Sent {
    std::vector<std::pair<size_t, uint64_t>> rows; // that have a new token, and what they hold
  };

  const std::vector<int32_t> &promptOf(const Place &place) const { return job_.prompts[place.work.number]; }
  bool any(State state) const;
  std::vector<size_t> answering() const;
  bool wantsLogits(const Place &place) const { return !job_.logitsFile.empty() && place.work.number == 0; }

  void takeWork();
  bool readPrompts(); // true: first tokens were sent
  // A piece of the prompts in `rows`, of at most `size` positions.
  bool readPiece(const std::vector<size_t> &rows, int64_t size);
  int64_t pieceOf(const Place &place) const;
  void step();
  void stepByHost();
  void drawFor(const std::vector<size_t> &rows);
  void choose(const std::vector<size_t> &ready);
  void send(const std::vector<size_t> &rows);
  void takeOldest();
  void accept(size_t row, int32_t id);
  void free(size_t row);
  void promptLogits(size_t row, int64_t begin);
  void keepLogits(const float *logits);

  TextSession &session_;
  const GenerateJob &job_;
  Answers &answers_;
  PromptQueue &queue_;
  io::SafetensorsRowWriter *logits_;
  std::function<void(int64_t)> onPrompt_;
  std::vector<Place> places_;
  bool drawing_, ahead_; // tokens are drawn; steps go on by themselves, and the host reads some steps behind
  std::vector<int32_t> drawnPrompts_, drawnLengths_; // as the program has them
  std::deque<Sent> sent_;
  bool promptWritten_ = false; // its rows of the logits file
  std::vector<float> lateLogits_;
  double promptSeconds_ = 0;
};

} // namespace tessera::runtime
#endif
