#include "tessera/runtime/schedule/Lower.h"

#include <algorithm>
#include <map>
#include <set>

namespace tessera::schedule {

std::optional<Lowering> loweringFromName(std::string_view text) {
  if (text == "late")
    return Lowering::Late;
  if (text == "eager")
    return Lowering::Eager;
  if (text == "full")
    return Lowering::Full;
  return std::nullopt;
}

static Schedule late(const Schedule &schedule) {
  Schedule result = schedule;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    ActionList list;
    for (const Action &action : schedule.ranks[rank]) {
      for (const Action &part : partsOf(action))
        if (auto receive = receiveFor(schedule, part))
          list.push_back(*receive);
      list.push_back(action);
      for (const Action &part : partsOf(action))
        if (auto send = sendAfter(schedule, part))
          list.push_back(*send);
    }
    result.ranks[rank] = std::move(list);
  }
  return result;
}

namespace {

// What stands in the lists so far: receives, and computing actions.
class Standing {
public:
  explicit Standing(const Schedule &schedule)
      : schedule_(schedule),
        stands_(size_t(kKinds) * size_t(schedule.numStages()) * size_t(schedule.microBatches), false) {}

  void add(const Action &action) {
    for (const Action &part : partsOf(action))
      if (!ofWholeStage(part.kind))
        stands_[at(part)] = true;
  }
  bool has(const Action &action) const { return stands_[at(action)]; }

  // Whether what a computing action needs from other stages has a receive, or was made on the same rank.
  bool ready(const Action &part) const {
    if (auto receive = receiveFor(schedule_, part))
      return has(*receive);
    if (part.kind == Kind::Forward)
      return part.stage == 0 || has({Kind::Forward, part.stage - 1, part.microBatch});
    return !givesInputGradient(part.kind) || part.stage + 1 == schedule_.numStages() ||
           has({Kind::Backward, part.stage + 1, part.microBatch}) ||
           has({Kind::BackwardInput, part.stage + 1, part.microBatch});
  }

private:
  size_t at(const Action &action) const {
    return (size_t(action.kind) * size_t(schedule_.numStages()) + size_t(action.stage)) *
               size_t(schedule_.microBatches) +
           size_t(action.microBatch);
  }
  const Schedule &schedule_;
  std::vector<bool> stands_;
};

} // namespace

// Rank after rank, again and again, appends one action that is ready, then its sends, and each send's receive
// to the list of the other rank.
static Schedule eager(const Schedule &schedule) {
  Schedule result = schedule;
  for (ActionList &list : result.ranks)
    list.clear();
  Standing standing(schedule);
  std::vector<size_t> next(schedule.ranks.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rank = 0; rank < next.size(); ++rank) {
      if (next[rank] == schedule.ranks[rank].size())
        continue;
      const Action &action = schedule.ranks[rank][next[rank]];
      Parts parts = partsOf(action);
      if (!std::all_of(parts.begin(), parts.end(),
                       [&](const Action &part) { return !computes(part.kind) || standing.ready(part); }))
        continue;
      moved = true;
      ++next[rank];
      standing.add(action);
      result.ranks[rank].push_back(action);
      for (const Action &part : parts)
        if (auto send = sendAfter(schedule, part)) {
          result.ranks[rank].push_back(*send);
          Action receive = matching(*send);
          standing.add(receive);
          result.ranks[size_t(schedule.rankOfStage[size_t(receive.stage)])].push_back(receive);
        }
    }
  }
  return result;
}

// Before each action the weights of the next `active` distinct stages are gathered, those of others freed.
static ActionList withWeights(const ActionList &actions, int32_t active) {
  std::map<int32_t, std::vector<size_t>>
      uses; // of a stage, latest first: twice the index, and which of a pair
  for (size_t i = actions.size(); i-- > 0;) {
    Parts parts = partsOf(actions[i]);
    for (int k = parts.count; k-- > 0;)
      uses[parts.part[k].stage].push_back(2 * i + size_t(k));
  }
  ActionList list;
  std::vector<int32_t> held; // in the order in which they came
  auto contains = [](const std::vector<int32_t> &stages, int32_t stage) {
    return std::find(stages.begin(), stages.end(), stage) != stages.end();
  };
  for (size_t i = 0; i < actions.size(); ++i) {
    std::vector<std::pair<size_t, int32_t>> next; // use and stage
    for (auto &[stage, of] : uses) {
      while (!of.empty() && of.back() < 2 * i)
        of.pop_back();
      if (!of.empty())
        next.push_back({of.back(), stage});
    }
    std::sort(next.begin(), next.end());
    next.resize(std::min(next.size(), size_t(active)));
    std::vector<int32_t> wanted, kept;
    for (auto [use, stage] : next)
      wanted.push_back(stage);
    for (int32_t stage : held)
      if (contains(wanted, stage))
        kept.push_back(stage);
      else
        list.push_back({Kind::Reshard, stage, kNone});
    held = std::move(kept);
    for (int32_t stage : wanted)
      if (!contains(held, stage)) {
        list.push_back({Kind::Unshard, stage, kNone});
        held.push_back(stage);
      }
    list.push_back(actions[i]);
  }
  for (int32_t stage : held)
    list.push_back({Kind::Reshard, stage, kNone});
  return list;
}

// After the last gradients of a stage's weights their reduction begins and ends.
static ActionList withReductions(const ActionList &actions, const Schedule &schedule) {
  ActionList list;
  std::vector<int32_t> left(size_t(schedule.numStages()), schedule.microBatches);
  for (const Action &action : actions) {
    list.push_back(action);
    for (const Action &part : partsOf(action))
      if (givesWeightGradients(part.kind) && --left[size_t(part.stage)] == 0) {
        list.push_back({Kind::ReduceGradients, part.stage, kNone});
        list.push_back({Kind::WaitReduceGradients, part.stage, kNone});
      }
  }
  return list;
}

// The wait for a forward's send follows the own backward, whose gradient says that it has arrived; that for
// a gradient's comes at the end.
static ActionList withWaits(const ActionList &actions) {
  ActionList list, last;
  std::set<std::pair<int32_t, int32_t>> sent;
  for (const Action &action : actions) {
    list.push_back(action);
    if (action.kind == Kind::SendForward)
      sent.insert({action.stage, action.microBatch});
    if (action.kind == Kind::SendBackward)
      last.push_back({Kind::WaitSendBackward, action.stage, action.microBatch});
    for (const Action &part : partsOf(action))
      if (givesInputGradient(part.kind) && sent.erase({part.stage, part.microBatch}))
        list.push_back({Kind::WaitSendForward, part.stage, part.microBatch});
  }
  list.insert(list.end(), last.begin(), last.end());
  return list;
}

Schedule lower(const Schedule &schedule, Lowering lowering, int32_t active) {
  if (lowering == Lowering::Late)
    return late(schedule);
  if (lowering == Lowering::Eager)
    return eager(schedule);
  Schedule whole = schedule;
  for (ActionList &list : whole.ranks)
    list = withReductions(withWeights(list, active), schedule);
  whole = eager(whole);
  for (ActionList &list : whole.ranks)
    list = withWaits(list);
  return whole;
}

} // namespace tessera::schedule
