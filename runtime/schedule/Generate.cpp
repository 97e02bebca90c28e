#include "tessera/runtime/schedule/Generate.h"

#include <algorithm>
#include <array>
#include <deque>

namespace tessera::schedule {

static constexpr std::array<std::string_view, kNamedSchedules> kScheduleNames = {
    "gpipe", "1f1b", "looped-bfs", "interleaved", "zb1p", "zbv", "dualpipev"};

std::string_view scheduleName(Name name) { return kScheduleNames[size_t(name)]; }

std::optional<Name> scheduleFromName(std::string_view text) {
  auto found = std::find(kScheduleNames.begin(), kScheduleNames.end(), text);
  return found == kScheduleNames.end() ? std::nullopt : std::optional(Name(found - kScheduleNames.begin()));
}

std::string scheduleNames() {
  std::string text;
  for (std::string_view name : kScheduleNames)
    text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

namespace {

// The list of one rank as it grows. F, I, B and W take the lowest micro-batch of a stage that is not yet
// taken.
class ListBuilder {
public:
  explicit ListBuilder(int32_t stages)
      : forwards_(size_t(stages), 0), backwards_(size_t(stages), 0), pending_(size_t(stages)) {}

  void add(Kind kind, int32_t stage, int32_t microBatch) {
    list_.push_back({kind, stage, microBatch});
    if (kind == Kind::BackwardInput)
      order_.push_back(stage), pending_[size_t(stage)].push_back(microBatch);
  }
  void forward(int32_t stage) { add(Kind::Forward, stage, forwards_[size_t(stage)]++); }
  void backward(int32_t stage) { add(Kind::Backward, stage, backwards_[size_t(stage)]++); }
  void input(int32_t stage) { add(Kind::BackwardInput, stage, backwards_[size_t(stage)]++); }
  void pair(int32_t stage, int32_t backwardStage) {
    list_.push_back({Kind::Forward, stage, forwards_[size_t(stage)]++, backwardStage,
                     backwards_[size_t(backwardStage)]++});
  }
  // W of the stage's oldest I that has none.
  void weight(int32_t stage) {
    std::deque<int32_t> &waiting = pending_[size_t(stage)];
    list_.push_back({Kind::BackwardWeight, stage, waiting.front()});
    waiting.pop_front();
    order_.erase(std::find(order_.begin(), order_.end(), stage));
  }
  // W of the oldest I that has none, whichever stage. False if there is none.
  bool oldestWeight() {
    if (order_.empty())
      return false;
    weight(int32_t(order_.front()));
    return true;
  }
  void allWeights(int32_t stage) {
    while (!pending_[size_t(stage)].empty())
      weight(stage);
  }
  void allWeights() {
    while (oldestWeight()) {
    }
  }
  int32_t forwards(int32_t stage) const { return forwards_[size_t(stage)]; }
  ActionList take() { return std::move(list_); }

private:
  ActionList list_;
  std::vector<int32_t> forwards_, backwards_; // [stages], the next micro-batch
  std::vector<std::deque<int32_t>> pending_;  // [stages], micro-batches of I without W
  std::deque<int32_t> order_;                 // their stages, oldest first
};

struct StageAndMicroBatch {
  int32_t stage, microBatch;
};
using Sequence = std::vector<StageAndMicroBatch>;

struct Sizes {
  int32_t p, m, v;
};

} // namespace

static ActionList gpipe(const Sizes &sizes, int32_t rank) {
  ListBuilder list(sizes.p);
  for (int32_t i = 0; i < sizes.m; ++i)
    list.forward(rank);
  for (int32_t i = 0; i < sizes.m; ++i)
    list.backward(rank);
  return list.take();
}

static ActionList loopedBfs(const Sizes &sizes, int32_t rank) {
  ListBuilder list(sizes.p * sizes.v);
  for (int32_t k = 0; k < sizes.v; ++k)
    for (int32_t i = 0; i < sizes.m; ++i)
      list.add(Kind::Forward, rank + k * sizes.p, i);
  for (int32_t k = sizes.v - 1; k >= 0; --k)
    for (int32_t i = sizes.m - 1; i >= 0; --i)
      list.add(Kind::Backward, rank + k * sizes.p, i);
  return list.take();
}

// `warmup` forwards, then a forward and a backward by turns, then the backwards that are left. With
// `split` a backward is I, and after the I number j (from 0) with j >= rank comes the oldest W.
static ActionList byTurns(const Sizes &sizes, int32_t rank, int32_t warmup, const Sequence &forwards,
                          const Sequence &backwards, bool split) {
  ListBuilder list(sizes.p * sizes.v);
  size_t f = 0, b = 0;
  auto forward = [&] {
    list.add(Kind::Forward, forwards[f].stage, forwards[f].microBatch);
    ++f;
  };
  while (f < size_t(warmup))
    forward();
  for (; b < backwards.size(); ++b) {
    if (f < forwards.size())
      forward();
    list.add(split ? Kind::BackwardInput : Kind::Backward, backwards[b].stage, backwards[b].microBatch);
    if (split && b >= size_t(rank))
      list.oldestWeight();
  }
  list.allWeights();
  return list.take();
}

// The micro-batches of each round: m div p rounds, at least one. Where they do not divide, sizes differ by
// one and the larger rounds come first: smaller ones first would deadlock.
static std::vector<int32_t> rounds(const Sizes &sizes) {
  int32_t count = std::max(1, sizes.m / sizes.p);
  std::vector<int32_t> result;
  for (int32_t i = 0; i < count; ++i)
    result.push_back(sizes.m / count + (i < sizes.m % count));
  return result;
}

// Round by round; in a round through the rank's stages, upwards or downwards; in a stage through the round's
// micro-batches.
static Sequence inRounds(const Sizes &sizes, int32_t rank, bool upwards) {
  Sequence sequence;
  int32_t first = 0;
  for (int32_t round : rounds(sizes)) {
    for (int32_t k = 0; k < sizes.v; ++k)
      for (int32_t i = 0; i < round; ++i)
        sequence.push_back({rank + (upwards ? k : sizes.v - 1 - k) * sizes.p, first + i});
    first += round;
  }
  return sequence;
}

static ActionList interleaved(const Sizes &sizes, int32_t rank, bool split) {
  int32_t distance = (split ? 1 : 2) * (sizes.p - 1 - rank);
  int32_t warmup = std::min(sizes.v * sizes.m, (sizes.v - 1) * rounds(sizes).front() + distance);
  return byTurns(sizes, rank, warmup, inRounds(sizes, rank, true), inRounds(sizes, rank, false), split);
}

static ActionList oneForwardOneBackward(const Sizes &sizes, int32_t rank) {
  int32_t warmup = std::min(sizes.m, sizes.p - 1 - rank);
  return byTurns(sizes, rank, warmup, inRounds(sizes, rank, true), inRounds(sizes, rank, false), false);
}

static ActionList zeroBubbleV(const Sizes &sizes, int32_t rank) {
  const int32_t p = sizes.p, a = rank, b = 2 * p - 1 - rank;
  const int32_t count = std::max(sizes.m, 2 * p - 1); // the pattern needs so many: those from m on go again
  ListBuilder list(2 * p);
  for (int32_t i = 0; i < 2 * (p - rank) - 1; ++i)
    list.forward(a);
  for (int32_t i = 0; i < rank; ++i)
    list.forward(b), list.forward(a);
  for (int32_t i = 0; i < p - rank; ++i)
    list.forward(b), list.input(b), list.weight(b);
  while (list.forwards(b) < list.forwards(a) || list.forwards(a) < count) {
    if (list.forwards(a) < count)
      list.forward(a);
    list.input(a), list.weight(a);
    list.forward(b), list.input(b), list.weight(b);
  }
  for (int32_t i = 0; i < rank; ++i)
    list.input(a), list.input(b);
  for (int32_t i = 0; i < p - rank; ++i)
    list.input(a), list.weight(a);
  list.allWeights(b);
  list.allWeights(a);
  ActionList actions = list.take();
  auto dropped = std::remove_if(actions.begin(), actions.end(),
                                [&](const Action &action) { return action.microBatch >= sizes.m; });
  actions.erase(dropped, actions.end());
  return actions;
}

static ActionList dualPipeV(const Sizes &sizes, int32_t rank) {
  const int32_t p = sizes.p, a = rank, b = 2 * p - 1 - rank, before = p - 1 - rank;
  ListBuilder list(2 * p);
  for (int32_t i = 0; i < 2 * before; ++i)
    list.forward(a);
  for (int32_t i = 0; i < rank + 1; ++i)
    list.forward(a), list.forward(b);
  for (int32_t i = 0; i < before; ++i)
    list.input(b), list.oldestWeight(), list.forward(b);
  for (int32_t i = 0; i < sizes.m - 2 * p + rank + 1; ++i) {
    if (i == 0 && rank == p - 1) // has nothing yet to put beside the very first forward
      list.forward(a), list.backward(b);
    else
      list.pair(a, b);
    list.pair(b, a);
  }
  for (int32_t i = 0; i < before; ++i)
    list.backward(b), list.pair(b, a);
  bool split = false; // from the turn in the middle on, so that W are left to fill the end
  auto backward = [&](int32_t stage) { split ? list.input(stage) : list.backward(stage); };
  for (int32_t turn = 0; turn < rank + 1; ++turn) {
    bool middle = turn == (rank + 1) / 2;
    split |= middle && rank % 2 == 1;
    backward(b);
    split |= middle;
    backward(a);
  }
  for (int32_t i = 0; i < before; ++i) {
    list.oldestWeight();
    backward(a);
  }
  list.allWeights();
  return list.take();
}

static ActionList listOf(Name name, const Sizes &sizes, int32_t rank) {
  switch (name) {
  case Name::GPipe:
    return gpipe(sizes, rank);
  case Name::OneForwardOneBackward:
    return oneForwardOneBackward(sizes, rank);
  case Name::LoopedBfs:
    return loopedBfs(sizes, rank);
  case Name::Interleaved:
  case Name::ZeroBubble:
    return interleaved(sizes, rank, name == Name::ZeroBubble);
  case Name::ZeroBubbleV:
    return zeroBubbleV(sizes, rank);
  case Name::DualPipeV:
    return dualPipeV(sizes, rank);
  }
  return {};
}

// Why there is no such schedule, and what to try.
static Status checkSizes(Name name, int32_t ranks, int32_t microBatches, int32_t stagesPerRank) {
  const std::string text(scheduleName(name));
  auto refuse = [&](std::string why, std::string hint) {
    return Failure{"no such schedule",
                   text + ", " + std::to_string(ranks) + " ranks, " + std::to_string(microBatches) +
                       " micro-batches",
                   std::move(why), std::move(hint)};
  };
  if (ranks < 1 || microBatches < 1 || stagesPerRank < 1)
    return refuse("ranks, micro-batches and stages a rank are at least 1", "larger numbers");
  int32_t only = isVShaped(name) ? 2 : 1;
  if (!takesStagesPerRank(name) && stagesPerRank != only)
    return refuse(text + " has " + std::to_string(only) + (only == 1 ? " stage" : " stages") +
                      " a rank, not " + std::to_string(stagesPerRank),
                  only == 1 ? "looped-bfs, interleaved or zb1p, which have any number"
                            : "no number of stages");
  if (name == Name::DualPipeV && microBatches < 2 * int64_t(ranks))
    return refuse("dualpipev on " + std::to_string(ranks) + " ranks needs at least " +
                      std::to_string(2 * int64_t(ranks)) + " micro-batches, not " +
                      std::to_string(microBatches),
                  std::to_string(2 * int64_t(ranks)) + " micro-batches, or zbv, which takes any number");
  // Of zbv what goes beyond m is made first.
  double made =
      3.0 * ranks * stagesPerRank *
      (name == Name::ZeroBubbleV ? std::max<double>(microBatches, 2.0 * ranks) : double(microBatches));
  if (made > double(kMostActions))
    return refuse("it would have more than " + std::to_string(kMostActions) + " actions",
                  "fewer ranks, stages or micro-batches");
  return {};
}

Result<Schedule> generate(Name name, int32_t ranks, int32_t microBatches, int32_t stagesPerRank) {
  if (stagesPerRank == 0)
    stagesPerRank = isVShaped(name) ? 2 : 1;
  if (Status status = checkSizes(name, ranks, microBatches, stagesPerRank); !status)
    return status.takeFailure();
  Schedule schedule;
  schedule.microBatches = microBatches;
  for (int32_t stage = 0; stage < ranks * stagesPerRank; ++stage)
    schedule.rankOfStage.push_back(isVShaped(name) && stage >= ranks ? 2 * ranks - 1 - stage : stage % ranks);
  for (int32_t rank = 0; rank < ranks; ++rank)
    schedule.ranks.push_back(listOf(name, {ranks, microBatches, stagesPerRank}, rank));
  return schedule;
}

Result<PipelineChoice> parsePipelineChoice(std::string_view text) {
  PipelineChoice choice;
  if (text == "auto")
    return choice;
  size_t colon = text.find(':');
  choice.name = scheduleFromName(text.substr(0, colon));
  auto refuse = [&](std::string why, std::string hint) {
    return Failure{"cannot read the flag", "--pipeline=" + std::string(text), std::move(why),
                   std::move(hint)};
  };
  if (text.substr(0, colon) == "auto")
    return refuse("auto chooses the stages of a rank, too",
                  "--pipeline=auto, or interleaved" + std::string(text.substr(colon)));
  if (!choice.name) {
    if (text.find_first_of("/.") == text.npos)
      return refuse("no schedule is called \"" + std::string(text.substr(0, colon)) + "\"",
                    "auto, " + scheduleNames() + ", or a file as ./NAME");
    choice.file = text;
    return choice;
  }
  if (colon == text.npos)
    return choice;
  std::string_view digits = text.substr(colon + 1);
  for (char c : digits)
    choice.stagesPerRank = c >= '0' && c <= '9' && choice.stagesPerRank < 100000
                               ? choice.stagesPerRank * 10 + (c - '0')
                               : 1000000;
  const std::string name(scheduleName(*choice.name));
  if (choice.stagesPerRank < 1 || choice.stagesPerRank > kMostStagesPerRank)
    return refuse("\"" + std::string(digits) + "\" is no number of stages a rank from 1 to " +
                      std::to_string(kMostStagesPerRank),
                  "--pipeline=" + name + (takesStagesPerRank(*choice.name) ? ":2" : ""));
  if (const int32_t own = isVShaped(*choice.name) ? 2 : 1;
      !takesStagesPerRank(*choice.name) && choice.stagesPerRank != own)
    return refuse(name + (own == 1 ? " has one stage a rank" : " has two stages a rank"),
                  "--pipeline=" + name + ", or interleaved:" + std::string(digits));
  return choice;
}

} // namespace tessera::schedule
