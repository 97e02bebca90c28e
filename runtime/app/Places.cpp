#include "Places.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace tessera::runtime {

std::optional<Work> PromptQueue::take(size_t held) {
  if (isEmpty() || held * groups_ >= unfinished_)
    return std::nullopt;
  return Work{next_++, std::exchange(from_, 0)};
}

Places::Places(TextSession &session, size_t count, const GenerateJob &job, Answers &answers,
               PromptQueue &queue, io::SafetensorsRowWriter *logits, std::function<void(int64_t)> onPrompt)
    : session_(session), job_(job), answers_(answers), queue_(queue), logits_(logits),
      onPrompt_(std::move(onPrompt)), places_(count), drawing_(job.draws()),
      ahead_(session.goesOn() && job.logitsFile.empty()) {}

bool Places::any(State state) const {
  return std::any_of(places_.begin(), places_.end(),
                     [&](const Place &place) { return place.state == state; });
}

std::vector<size_t> Places::answering() const {
  std::vector<size_t> rows;
  for (size_t row = 0; row < places_.size(); ++row)
    if (places_[row].state == State::Answering)
      rows.push_back(row);
  return rows;
}

void Places::takeWork() {
  auto held = size_t(std::count_if(places_.begin(), places_.end(),
                                   [](const Place &place) { return place.state != State::Free; }));
  for (Place &place : places_) {
    if (place.state != State::Free)
      continue;
    const std::optional<Work> work = queue_.take(held);
    if (!work)
      return;
    place = {State::Reading, *work, place.serial + 1, work->from, 0, 0, 0};
    ++held;
  }
}

bool Places::advance() {
  takeWork();
  auto begin = std::chrono::steady_clock::now();
  auto mark = [&] {
    promptSeconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const bool sentFirst = readPrompts();
  mark();
  const bool isFirst = std::none_of(places_.begin(), places_.end(), [](const Place &place) {
    return place.state == State::Answering && place.taken > 0;
  });
  // A step waits for the tokens before it: where those are the first ones, sent just now, other groups have
  // their turn before.
  if (any(State::Answering) && !(sentFirst && isFirst))
    step();
  if (isFirst)
    mark();
  return any(State::Reading) || any(State::Answering) || !queue_.isEmpty();
}

//===- Prompts -===//

// Logits of all positions are there for the largest pieces alone.
int64_t Places::pieceOf(const Place &place) const {
  return wantsLogits(place) ? session_.chunk()
                            : session_.promptSize(int64_t(promptOf(place).size()) - place.at);
}

// Rows whose pieces have another size take another call.
bool Places::readPrompts() {
  std::map<int64_t, std::vector<size_t>> rows; // by size: small ones first
  for (size_t row = 0; row < places_.size(); ++row)
    if (places_[row].state == State::Reading)
      rows[pieceOf(places_[row])].push_back(row);
  bool sentFirst = false;
  for (const auto &[size, of] : rows)
    sentFirst |= readPiece(of, size);
  return sentFirst;
}

bool Places::readPiece(const std::vector<size_t> &rows, int64_t size) {
  const int64_t batch = session_.batch();
  std::vector<int32_t> tokens(size_t(batch * size), 0), positions(size_t(batch * size), -1),
      index(size_t(batch), 0);
  std::vector<size_t> ready, unread;
  std::optional<std::pair<size_t, int64_t>> withLogits; // the row, and where its chunk begins
  int64_t given = 0;
  for (size_t row : rows) {
    Place &place = places_[row];
    const std::vector<int32_t> &prompt = promptOf(place);
    const int64_t begin = place.at, end = std::min<int64_t>(int64_t(prompt.size()), begin + size);
    for (int64_t at = begin; at < end; ++at) {
      tokens[row * size_t(size) + size_t(at - begin)] = prompt[size_t(at)];
      positions[row * size_t(size) + size_t(at - begin)] = int32_t(at);
    }
    given += end - begin;
    place.at = end;
    if (wantsLogits(place))
      withLogits = {row, begin};
    if (end < int64_t(prompt.size())) {
      unread.push_back(row);
      continue;
    }
    index[row] = int32_t(end - 1 - begin);
    ready.push_back(row);
    place.state = State::Answering;
  }
  session_.prompt(tokens, positions, index);
  if (ahead_)
    session_.hold(unread); // the program has made them ready to go on: steps of other rows come before
  if (drawing_ && !ready.empty()) {
    std::vector<int32_t> drawn(size_t(batch), -1);
    for (size_t row : ready)
      drawn[row] = int32_t(promptOf(places_[row]).size());
    drawFor(ready);
    if (job_.penalizes())
      for (size_t row : ready)
        session_.setSeenTokens(row, promptOf(places_[row]));
    session_.draw(drawn);
  }
  choose(ready);
  if (withLogits)
    promptLogits(withLogits->first, withLogits->second);
  onPrompt_(given);
  return !ready.empty();
}

// From now on tokens are drawn for `rows` alone.
void Places::drawFor(const std::vector<size_t> &rows) {
  std::vector<int32_t> prompts(size_t(session_.batch()), 0), lengths(size_t(session_.batch()), -1);
  for (size_t row : rows) {
    prompts[row] = job_.firstNumber + int32_t(places_[row].work.number);
    lengths[row] = int32_t(promptOf(places_[row]).size());
  }
  if (prompts == drawnPrompts_ && lengths == drawnLengths_)
    return;
  session_.setDrawnRows(prompts, lengths);
  drawnPrompts_ = std::move(prompts);
  drawnLengths_ = std::move(lengths);
}

//===- Steps -===//

// One more step, or one of those given before is read.
void Places::step() {
  if (!ahead_) {
    while (!sent_.empty())
      takeOldest();
    if (any(State::Answering))
      stepByHost();
    return;
  }
  const std::vector<size_t> rows = answering();
  const bool isWanted = std::any_of(rows.begin(), rows.end(), [&](size_t row) {
    return places_[row].asked < job_.limits[places_[row].work.number];
  });
  if (!isWanted)
    return takeOldest();
  if (drawing_) {
    drawFor(rows);
    session_.advanceDrawing();
  } else {
    session_.advance();
  }
  send(rows);
}

// What the rows take is the host's to say.
void Places::stepByHost() {
  std::vector<int32_t> tokens(size_t(session_.batch()), 0), positions(size_t(session_.batch()), -1);
  const std::vector<size_t> rows = answering();
  for (size_t row : rows) {
    const Place &place = places_[row];
    tokens[row] = place.current;
    positions[row] = int32_t(int64_t(promptOf(place).size()) + place.taken - 1);
  }
  session_.advance(tokens, positions);
  if (drawing_) {
    for (int32_t &position : positions)
      position += position >= 0;
    drawFor(rows);
    session_.draw(positions);
  }
  choose(rows);
}

//===- Tokens -===//

// The last call's tokens go to the host, which reads those of an earlier one if more are on their way than
// the device is to be ahead.
void Places::send(const std::vector<size_t> &rows) {
  session_.sendNext();
  Sent sent;
  for (size_t row : rows) {
    ++places_[row].asked;
    sent.rows.emplace_back(row, places_[row].serial);
  }
  sent_.push_back(std::move(sent));
  if (int64_t(sent_.size()) > session_.stepsAhead())
    takeOldest();
}

// The tokens of answers that are over meanwhile are nobody's.
void Places::takeOldest() {
  Sent sent = std::move(sent_.front());
  sent_.pop_front();
  std::vector<int32_t> chosen = session_.takeNext();
  for (auto [row, serial] : sent.rows)
    if (places_[row].serial == serial && places_[row].state == State::Answering)
      accept(row, chosen[row]);
  if (!any(State::Answering))
    stop();
}

void Places::stop() {
  session_.dropNext();
  sent_.clear();
}

// Takes the next token of every row in `ready` from the last call. Answers that may have none are over.
void Places::choose(const std::vector<size_t> &ready) {
  std::vector<size_t> rows, over;
  for (size_t row : ready)
    (job_.limits[places_[row].work.number] > 0 ? rows : over).push_back(row);
  std::vector<int32_t> chosen;
  if (job_.logitsFile.empty()) {
    if (!rows.empty())
      send(rows);
  } else {
    if (!rows.empty())
      chosen = session_.next();
    for (size_t row : ready)
      if (wantsLogits(places_[row])) {
        const std::vector<float> &logits = session_.logits(); // all ranks have a part in it
        if (logits_)
          keepLogits(logits.data() + row * size_t(session_.vocab()));
      }
  }
  for (size_t row : over) {
    answers_.end(places_[row].work.number, Finish::Length);
    free(row);
  }
  if (!job_.logitsFile.empty())
    for (size_t row : rows)
      accept(row, chosen[row]);
}

void Places::accept(size_t row, int32_t id) {
  Place &place = places_[row];
  if (id < 0 || id >= session_.vocab())
    throw Error("cannot generate",
                "prompt " + std::to_string(place.work.number + 1) + ", new token " +
                    std::to_string(place.taken + 1),
                "the model's logits are not finite numbers",
                "check the weights, or, if it computes in float16, compile with --dtype=f32 or bf16");
  place.current = id;
  ++place.taken;
  if (answers_.add(place.work.number, id))
    free(row);
}

void Places::free(size_t row) {
  places_[row].state = State::Free;
  queue_.finished();
  if (ahead_)
    session_.hold({row});
}

//===- Logits of the first prompt -===//

// Those of its positions in this chunk, except the last of the prompt, which choose() keeps.
void Places::promptLogits(size_t row, int64_t begin) {
  const int64_t last = int64_t(job_.prompts.front().size()) - 1;
  for (int64_t at = begin; at < std::min(last, begin + session_.chunk()); ++at) {
    std::vector<int32_t> index(size_t(session_.batch()), 0);
    index[row] = int32_t(at - begin);
    session_.promptLogits(index);
    const std::vector<float> &logits = session_.logits();
    if (logits_)
      check(logits_->append(logits.data() + row * size_t(session_.vocab()), 1));
  }
  promptWritten_ = begin + session_.chunk() > last;
  if (promptWritten_ && !lateLogits_.empty())
    check(logits_->append(lateLogits_.data(), 1));
  if (promptWritten_)
    lateLogits_.clear();
}

void Places::keepLogits(const float *logits) {
  if (promptWritten_)
    check(logits_->append(logits, 1));
  else // the last chunk's own positions come first
    lateLogits_.assign(logits, logits + session_.vocab());
}

} // namespace tessera::runtime
