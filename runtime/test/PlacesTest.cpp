// Prompts that come and go beside others: each answer is the one that the prompt gets alone.
#include "Places.h"

#include <deque>
#include <gtest/gtest.h>
#include <numeric>
#include <utility>

namespace tessera::runtime {
namespace {

// A token follows from all that its row's caches hold up to it, so what is written to a wrong place or in a
// wrong order changes it. Calls may be given before earlier ones are read.
class HashedRows final : public TextSession {
public:
  // `shortSize`: positions of small pieces; 0: there are none.
  HashedRows(size_t rows, int64_t chunk, int64_t ahead, bool goesOn, int64_t shortSize = 0)
      : chunk_(chunk), short_(shortSize), ahead_(ahead), goesOn_(goesOn), rows_(rows), next_(rows),
        drawnPrompts_(rows), drawnLengths_(rows, -1) {}

  bool isRoot() const override { return true; }
  int64_t batch() const override { return int64_t(rows_.size()); }
  int64_t chunk() const override { return chunk_; }
  std::vector<int64_t> promptSizes() const override {
    return short_ ? std::vector<int64_t>{short_, chunk_} : std::vector<int64_t>{chunk_};
  }
  int64_t vocab() const override { return 17; }
  bool hasPromptLogits() const override { return false; }
  void clear() override {}
  void prompt(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions,
              const std::vector<int32_t> &index) override {
    const size_t size = tokens.size() / rows_.size();
    sizes.push_back(int64_t(size));
    for (size_t row = 0; row < rows_.size(); ++row) {
      const size_t begin = row * size;
      int64_t read = 0;
      for (size_t i = begin; i < begin + size; ++i)
        if (positions[i] >= 0) {
          write(row, positions[i], tokens[i]);
          ++read;
        }
      promptTokens += read;
      const int32_t last = positions[begin + size_t(index[row])];
      if (last >= 0)
        leave(row, last);
    }
    ++prompts;
  }
  void advance(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions) override {
    for (size_t row = 0; row < rows_.size(); ++row) {
      rows_[row].token = tokens[row];
      rows_[row].position = positions[row];
    }
    advance();
  }
  void advance() override {
    ++steps;
    for (size_t row = 0; row < rows_.size(); ++row)
      if (rows_[row].position >= 0) {
        write(row, rows_[row].position, rows_[row].token);
        leave(row, rows_[row].position);
      }
  }
  bool goesOn() const override { return goesOn_; }
  int64_t stepsAhead() const override { return ahead_; }
  bool draws() const override { return true; }
  void setDrawing(const Drawing &) override {}
  void setDrawnRows(const std::vector<int32_t> &prompts, const std::vector<int32_t> &lengths) override {
    drawnPrompts_ = prompts;
    drawnLengths_ = lengths;
  }
  void setSeenTokens(size_t row, const std::vector<int32_t> &tokens) override { rows_[row].seen = tokens; }
  void draw(const std::vector<int32_t> &) override {
    for (size_t row = 0; row < rows_.size(); ++row)
      if (drawnLengths_[row] >= 0) {
        std::vector<int32_t> &seen = rows_[row].seen;
        const int32_t ofText = std::accumulate(seen.begin(), seen.end(), int32_t(seen.size()));
        rows_[row].token = next_[row] = (next_[row] * 5 + drawnPrompts_[row] + ofText + 3) % 17;
        if (!seen.empty()) // somebody asks for it
          seen.push_back(next_[row]);
      }
  }
  void advanceDrawing() override {
    advance();
    draw({});
  }
  void setEndTokens(const std::vector<int32_t> &, bool) override {}
  void hold(const std::vector<size_t> &rows) override {
    for (size_t row : rows)
      rows_[row].position = -1;
  }
  void promptLogits(const std::vector<int32_t> &) override {}
  void sendNext() override { sent_.push_back(next_); }
  std::vector<int32_t> takeNext() override {
    std::vector<int32_t> tokens = sent_.front();
    sent_.pop_front();
    return tokens;
  }
  void dropNext() override { sent_.clear(); }
  const std::vector<float> &logits() override { return none_; }

  int32_t position(size_t row) const { return rows_[row].position; }

  int64_t prompts = 0, steps = 0, promptTokens = 0;
  std::vector<int64_t> sizes; // of the pieces of prompts

private:
  struct Row {
    std::vector<int32_t> cache, seen;
    int32_t token = 0, position = -1;
  };

  void write(size_t row, int32_t position, int32_t token) {
    std::vector<int32_t> &cache = rows_[row].cache;
    cache.resize(std::max(cache.size(), size_t(position) + 1), -2);
    cache[size_t(position)] = token;
  }
  void leave(size_t row, int32_t position) {
    uint32_t hash = 7;
    for (int32_t at = 0; at <= position; ++at)
      hash = hash * 31 + uint32_t(rows_[row].cache[size_t(at)] + 5);
    next_[row] = int32_t(hash % 17);
    rows_[row].token = next_[row];
    rows_[row].position = position + 1;
  }

  int64_t chunk_, short_, ahead_;
  bool goesOn_;
  std::vector<Row> rows_;
  std::vector<int32_t> next_, drawnPrompts_, drawnLengths_;
  std::deque<std::vector<int32_t>> sent_;
  const std::vector<float> none_;
};

GenerateJob someJob(size_t prompts) {
  GenerateJob job;
  const int64_t limits[] = {3, 9, 1, 0, 20, 5, 7, 2};
  for (size_t p = 0; p < prompts; ++p) {
    std::vector<int32_t> tokens;
    for (size_t i = 0; i < 1 + p * 5 % 8; ++i)
      tokens.push_back(int32_t((p * 3 + i) % 17));
    job.prompts.push_back(tokens);
    job.limits.push_back(limits[p % 8]);
  }
  job.endTokens = {4};
  return job;
}

using AllTokens = std::vector<std::vector<int32_t>>;

// Of a program with so many rows; `steps`: how many it took.
AllTokens answersOf(const GenerateJob &job, HashedRows &rows) {
  Answers answers(job, nullptr);
  PromptQueue queue(job.prompts.size(), 1);
  Places places(rows, size_t(rows.batch()), job, answers, queue, nullptr, [](int64_t) {});
  for (int calls = 0; places.advance(); ++calls)
    if (calls > 10000) {
      ADD_FAILURE() << "it does not end";
      break;
    }
  AllTokens all;
  for (size_t p = 0; p < job.prompts.size(); ++p) {
    EXPECT_NE(answers.finish(p), Finish::None) << p;
    all.push_back(answers.tokens(p));
  }
  return all;
}

} // namespace

TEST(Places, EachAnswerIsTheOneThatItsPromptGetsAlone) {
  for (auto [temperature, penalty] : {std::pair(0., 1.), {1., 1.}, {0., 1.5}, {1., 1.5}}) {
    GenerateJob job = someJob(12);
    job.temperature = temperature;
    job.repeatPenalty = penalty;
    AllTokens alone;
    for (size_t p = 0; p < job.prompts.size(); ++p) {
      GenerateJob one = job;
      one.prompts = {job.prompts[p]};
      one.limits = {job.limits[p]};
      one.firstNumber = int32_t(p);
      HashedRows rows(1, 100, 0, true);
      alone.push_back(answersOf(one, rows).front());
    }
    for (bool goesOn : {true, false})
      for (int64_t ahead : {0, 1, 4})
        for (size_t count : {1, 2, 3, 5})
          for (int64_t chunk : {1, 2, 3, 8})
            for (int64_t shortSize : {0, 1, 2}) {
              if (shortSize >= chunk)
                continue;
              HashedRows rows(count, chunk, ahead, goesOn, shortSize);
              EXPECT_EQ(answersOf(job, rows), alone)
                  << temperature << ", penalty " << penalty << ", " << goesOn << ", " << ahead << " ahead, "
                  << count << " rows, chunks of " << chunk << " and " << shortSize;
            }
  }
}

// Few tokens take small pieces, one or two; so do those that are left of a long prompt. What a prompt takes
// is its own affair: beside others it is the same.
TEST(Places, FewTokensTakeSmallPieces) {
  const std::vector<std::pair<size_t, std::vector<int64_t>>> wanted = {
      {1, {3}},   {3, {3}},      {4, {3, 3}},      {6, {3, 3}},   {7, {24}},
      {24, {24}}, {25, {24, 3}}, {29, {24, 3, 3}}, {31, {24, 24}}};
  GenerateJob job;
  for (const auto &[length, sizes] : wanted) {
    GenerateJob one;
    one.prompts = {std::vector<int32_t>(length, 5)};
    one.limits = {2};
    HashedRows rows(1, 24, 0, true, 3);
    answersOf(one, rows);
    EXPECT_EQ(rows.sizes, sizes) << length;
    job.prompts.push_back(one.prompts[0]);
    job.limits.push_back(2);
  }
  HashedRows together(wanted.size(), 24, 0, true, 3);
  answersOf(job, together);
  EXPECT_EQ(together.promptTokens, 130);
  // The pieces of one size go together: three rounds at most.
  EXPECT_LE(together.sizes.size(), 5u);
}

// A place that is free takes the next prompt while others go on: a long answer beside seven short ones costs
// no more steps than it has tokens.
TEST(Places, NobodyWaitsForTheOthers) {
  GenerateJob job;
  job.prompts.assign(8, {1, 2});
  job.limits = {60, 5, 5, 5, 5, 5, 5, 5};
  HashedRows rows(2, 8, 0, true);
  answersOf(job, rows);
  EXPECT_LE(rows.steps, 60);
}

// Turns until the first prompt has its answer.
static int64_t turnsOfTheFirst(const GenerateJob &job, HashedRows &rows) {
  Answers answers(job, nullptr);
  PromptQueue queue(job.prompts.size(), 1);
  Places places(rows, size_t(rows.batch()), job, answers, queue, nullptr, [](int64_t) {});
  int64_t turns = 0;
  while (answers.finish(0) == Finish::None && places.advance())
    ++turns;
  return turns;
}

// A short prompt is answered while a long one beside it is read, also where the host reads behind.
TEST(Places, AShortPromptDoesNotWaitForALongOne) {
  GenerateJob job;
  job.prompts = {{1, 2}, std::vector<int32_t>(80, 3)};
  job.limits = {6, 6};
  for (bool goesOn : {true, false})
    for (int64_t ahead : {0, 1, 4}) {
      HashedRows rows(2, 2, ahead, goesOn);
      turnsOfTheFirst(job, rows);
      EXPECT_LE(rows.prompts, 1 + 6 + ahead) << goesOn << ", " << ahead << " ahead";
    }
}

// Nor does a long answer beside short ones that begin and end in every turn.
TEST(Places, AnAnswerGoesOnWhilePromptsEnd) {
  GenerateJob job;
  job.prompts.assign(60, {1, 2});
  job.limits.assign(60, 1);
  job.limits[0] = 20;
  for (bool goesOn : {true, false})
    for (int64_t ahead : {0, 1, 4}) {
      HashedRows rows(3, 2, ahead, goesOn);
      const int64_t turns = turnsOfTheFirst(job, rows);
      EXPECT_LE(turns, 20 + 3 + ahead) << goesOn << ", " << ahead << " ahead";
    }
}

// A row that nobody answers in stands still.
TEST(Places, FreeRowsAreHeld) {
  GenerateJob job;
  job.prompts = {{1, 2}, {3}};
  job.limits = {2, 30};
  HashedRows rows(2, 2, 4, true);
  answersOf(job, rows);
  EXPECT_EQ(rows.position(0), -1);
}

TEST(Places, NoGroupTakesMoreThanItsShare) {
  PromptQueue three(3, 2), two(2, 2);
  EXPECT_TRUE(three.take(0) && three.take(1));
  EXPECT_FALSE(three.take(2));
  EXPECT_TRUE(three.take(0));
  EXPECT_TRUE(three.isEmpty());
  EXPECT_TRUE(two.take(0));
  EXPECT_FALSE(two.take(1));
  two.finished();
  EXPECT_FALSE(two.take(1)); // the other group's
  EXPECT_TRUE(two.take(0));
}

// Of a conversation only what is new is read.
TEST(Places, WhatTheCachesHoldIsNotReadAgain) {
  GenerateJob job;
  job.prompts = {{1, 2, 3, 4, 5}};
  job.limits = {6};
  HashedRows rows(2, 2, 0, true);
  Answers first(job, nullptr);
  PromptQueue queue(1, 1);
  Places places(rows, 1, job, first, queue, nullptr, [](int64_t) {});
  while (places.advance())
    ;
  GenerateJob next = job;
  next.prompts[0].insert(next.prompts[0].end(), first.tokens(0).begin(), first.tokens(0).end());
  next.prompts[0].push_back(9);
  HashedRows fresh(2, 2, 0, true);
  const AllTokens wanted = answersOf(next, fresh);
  const auto held = int64_t(next.prompts[0].size()) - 2; // not the last token, nor what is new
  rows.promptTokens = 0;
  Answers second(next, nullptr);
  PromptQueue again(1, 1, held);
  Places going(rows, 1, next, second, again, nullptr, [](int64_t) {});
  while (going.advance())
    ;
  EXPECT_EQ(second.tokens(0), wanted[0]);
  EXPECT_EQ(rows.promptTokens, 2);
}

} // namespace tessera::runtime
