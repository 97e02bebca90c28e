#include "tessera/runtime/schedule/Validate.h"

#include "tessera/runtime/schedule/Text.h"

#include <algorithm>
#include <array>
#include <set>

namespace tessera::schedule {

namespace {

// Where each action stands, and the checks that look at one rank at a time.
class Check {
public:
  explicit Check(const Schedule &schedule)
      : schedule_(schedule), at_(size_t(kKinds) * size_t(schedule.numStages()) * perStage(), kNone) {}

  std::optional<Problem> run() {
    for (int32_t rank = 0; rank < schedule_.numRanks() && !problem_; ++rank)
      recordRank(rank);
    for (int32_t rank = 0; rank < schedule_.numRanks() && !problem_; ++rank)
      for (int32_t index = 0; index < length(rank) && !problem_; ++index)
        for (const Action &part : partsOf(action(rank, index)))
          checkOrder({rank, index}, part);
    for (int32_t stage = 0; stage < schedule_.numStages() && !problem_; ++stage)
      checkComplete(stage);
    for (int32_t rank = 0; rank < schedule_.numRanks() && !problem_; ++rank)
      checkWeightsAreHeld(rank);
    return problem_;
  }

private:
  size_t perStage() const { return size_t(schedule_.microBatches) + 1; } // one for what is of the whole stage
  int32_t length(int32_t rank) const { return int32_t(schedule_.ranks[size_t(rank)].size()); }
  const Action &action(int32_t rank, int32_t index) const {
    return schedule_.ranks[size_t(rank)][size_t(index)];
  }
  // Where on its rank such an action stands; kNone if nowhere.
  int32_t &at(Kind kind, int32_t stage, int32_t microBatch) {
    return at_[(size_t(kind) * size_t(schedule_.numStages()) + size_t(stage)) * perStage() +
               size_t(microBatch + 1)];
  }

  void refuse(Place place, const Action &named, const std::string &why) {
    if (!problem_)
      problem_ = Problem{{place}, "r" + std::to_string(place.rank) + " at " + toString(named) + ": " + why};
  }

  void recordRank(int32_t rank) {
    for (int32_t index = 0; index < length(rank) && !problem_; ++index)
      for (const Action &part : partsOf(action(rank, index)))
        record({rank, index}, part);
  }

  void record(Place place, const Action &part) {
    const Action &whole = action(place.rank, place.index);
    if (!schedule_.hasStage(part.stage))
      return refuse(place, whole,
                    "there is no stage " + std::to_string(part.stage) + ", stages are 0 to " +
                        std::to_string(schedule_.numStages() - 1));
    if (!ofWholeStage(part.kind) && (part.microBatch < 0 || part.microBatch >= schedule_.microBatches))
      return refuse(place, whole,
                    "there is no micro-batch " + std::to_string(part.microBatch) + ", they are 0 to " +
                        std::to_string(schedule_.microBatches - 1));
    int32_t owner = schedule_.rankOfStage[size_t(part.stage)];
    if (owner != place.rank)
      return refuse(place, whole, "stage " + std::to_string(part.stage) + " is on r" + std::to_string(owner));
    if (part.kind == Kind::Unshard || part.kind == Kind::Reshard) {
      gathers_ = true; // as often as it likes: checkWeightsAreHeld
      return;
    }
    messages_ |= sends(part.kind) || receives(part.kind);
    reduces_ |= part.kind == Kind::ReduceGradients || part.kind == Kind::WaitReduceGradients;
    int32_t &stands = at(part.kind, part.stage, ofWholeStage(part.kind) ? kNone : part.microBatch);
    if (stands != kNone)
      return refuse(place, whole, toString(part) + " stands in the list twice");
    stands = place.index;
  }

  // `first` has to stand before `part` on the same rank.
  void needs(Place place, const Action &part, const char *what, const Action &first) {
    int32_t stands = at(first.kind, first.stage, ofWholeStage(first.kind) ? kNone : first.microBatch);
    if (stands == kNone)
      refuse(place, part, std::string(what) + " " + toString(first) + " is missing");
    else if (stands >= place.index)
      refuse(place, part,
             std::string(what) + " " + toString(first) +
                 (stands == place.index ? " is in the same pair" : " comes later"));
  }

  // What gives the gradient of a stage's input: I where there is one, else B.
  Action inputGradient(int32_t stage, int32_t microBatch) {
    bool split = at(Kind::BackwardInput, stage, microBatch) != kNone;
    return {split ? Kind::BackwardInput : Kind::Backward, stage, microBatch};
  }

  // What gives a message, on its own rank, stands before its send.
  void needsMaker(Place place, const Action &send) {
    needs(place, send, "what it sends,",
          send.kind == Kind::SendForward ? Action{Kind::Forward, send.stage, send.microBatch}
                                         : inputGradient(send.stage, send.microBatch));
  }

  // A value from a stage that lies on the same rank has to be made before.
  void needsNeighbour(Place place, const Action &part) {
    bool forward = part.kind == Kind::Forward;
    int32_t from = forward ? part.stage - 1 : part.stage + 1;
    if (!schedule_.hasStage(from) || schedule_.crosses(part.stage, from))
      return;
    needs(place, part, "what it takes,",
          forward ? Action{Kind::Forward, from, part.microBatch} : inputGradient(from, part.microBatch));
  }

  void checkOrder(Place place, const Action &part) {
    const int32_t stage = part.stage, microBatch = part.microBatch;
    switch (part.kind) {
    case Kind::Backward:
      for (Kind half : {Kind::BackwardInput, Kind::BackwardWeight})
        if (at(half, stage, microBatch) != kNone)
          return refuse(place, part,
                        toString(Action{half, stage, microBatch}) + " stands in the list as well");
      [[fallthrough]];
    case Kind::BackwardInput:
      needs(place, part, "its forward", {Kind::Forward, stage, microBatch});
      [[fallthrough]];
    case Kind::Forward:
      needsNeighbour(place, part);
      if (messages_)
        if (auto receive = receiveFor(schedule_, part))
          needs(place, part, "its message", *receive);
      return;
    case Kind::BackwardWeight:
      return needs(place, part, "its input gradient", {Kind::BackwardInput, stage, microBatch});
    case Kind::SendForward:
    case Kind::SendBackward:
    case Kind::ReceiveForward:
    case Kind::ReceiveBackward:
      if (!schedule_.hasStage(otherEnd(part)))
        return refuse(place, part, "there is no stage at its other end");
      if (!schedule_.crosses(stage, otherEnd(part)))
        return refuse(place, part,
                      "stage " + std::to_string(otherEnd(part)) + " is on the same rank, nothing is sent");
      return sends(part.kind) ? needsMaker(place, part) : void();
    case Kind::WaitSendForward:
      return needs(place, part, "its send", {Kind::SendForward, stage, microBatch});
    case Kind::WaitSendBackward:
      return needs(place, part, "its send", {Kind::SendBackward, stage, microBatch});
    case Kind::ReduceGradients:
      for (int32_t i = 0; i < schedule_.microBatches; ++i)
        if (std::max(at(Kind::Backward, stage, i), at(Kind::BackwardWeight, stage, i)) > place.index)
          return refuse(place, part, "gradients of micro-batch " + std::to_string(i) + " come later");
      return;
    case Kind::WaitReduceGradients:
      return needs(place, part, "its begin", {Kind::ReduceGradients, stage, kNone});
    case Kind::Unshard:
    case Kind::Reshard:
      return;
    }
  }

  // Missing actions are looked for at the end of the list where they should be.
  void mustStand(const Action &wanted, bool stands, const char *why) {
    int32_t rank = schedule_.rankOfStage[size_t(wanted.stage)];
    if (!stands)
      refuse({rank, length(rank)}, wanted, why);
  }

  void checkComplete(int32_t stage) {
    const char *missing = "it is missing";
    for (int32_t i = 0; i < schedule_.microBatches && !problem_; ++i) {
      mustStand({Kind::Forward, stage, i}, at(Kind::Forward, stage, i) != kNone, missing);
      mustStand({Kind::Backward, stage, i}, at(inputGradient(stage, i).kind, stage, i) != kNone,
                "it, or an I with its W, is missing");
      if (at(Kind::Backward, stage, i) == kNone)
        mustStand({Kind::BackwardWeight, stage, i}, at(Kind::BackwardWeight, stage, i) != kNone, missing);
      // Receives are asked for by those who read them, so only sends are left, and receives that nobody
      // reads.
      for (Kind kind : {Kind::SendForward, Kind::SendBackward}) {
        Action send{kind, stage, i};
        if (messages_ && schedule_.crosses(stage, otherEnd(send)))
          mustStand(send, at(kind, stage, i) != kNone, missing);
      }
    }
    if (!reduces_)
      return;
    for (Kind kind : {Kind::ReduceGradients, Kind::WaitReduceGradients})
      mustStand({kind, stage, kNone}, at(kind, stage, kNone) != kNone, missing);
  }

  // Where weights are gathered at all, a stage computes between its Unshard and its Reshard.
  void checkWeightsAreHeld(int32_t rank) {
    if (!gathers_)
      return;
    std::vector<bool> held(size_t(schedule_.numStages()), false);
    for (int32_t index = 0; index < length(rank) && !problem_; ++index)
      for (const Action &part : partsOf(action(rank, index))) {
        auto is = held[size_t(part.stage)];
        if (computes(part.kind) && !is)
          refuse({rank, index}, part, "the stage's weights are not gathered");
        if (part.kind == Kind::Unshard && is)
          refuse({rank, index}, part, "the stage's weights are gathered already");
        if (part.kind == Kind::Reshard && !is)
          refuse({rank, index}, part, "the stage's weights are not gathered");
        if (part.kind == Kind::Unshard || part.kind == Kind::Reshard)
          is = part.kind == Kind::Unshard;
      }
    for (int32_t stage = 0; stage < schedule_.numStages(); ++stage)
      if (held[size_t(stage)])
        refuse({rank, length(rank)}, {Kind::Reshard, stage, kNone}, "it is missing");
  }

  const Schedule &schedule_;
  std::vector<int32_t> at_; // [kinds][stages][1 + micro-batches], index in its rank's list
  bool messages_ = false, gathers_ = false, reduces_ = false;
  std::optional<Problem> problem_;
};

} // namespace

static std::optional<Problem> deadlock(const Schedule &schedule, const Transport &transport) {
  Costs nothing;
  nothing.forward = nothing.backwardInput = nothing.backwardWeight = {0};
  Simulation run = simulate(schedule, nothing, transport);
  if (run.ended())
    return std::nullopt;
  Problem problem{run.stalled, "deadlock: "};
  for (const Place &place : run.stalled)
    problem.why += (&place == &run.stalled[0] ? "r" : ", r") + std::to_string(place.rank) + " at " +
                   toString(schedule.ranks[size_t(place.rank)][size_t(place.index)]);
  return problem;
}

// The table of a check has a row for each micro-batch of each stage. Where the lists have far fewer actions
// than that, as `r0 0F0 0F1 ... 0F99999 1B0 2B0 ... 99999B0`, a forward is missing, and no table is made.
static std::optional<Problem> farTooFewForwards(const Schedule &schedule) {
  constexpr size_t kAlwaysChecked = 1 << 16; // rows
  size_t parts = 0;
  for (const ActionList &list : schedule.ranks)
    parts += 2 * list.size();
  size_t wanted = schedule.rankOfStage.size() * size_t(schedule.microBatches);
  if (wanted <= std::max(parts, kAlwaysChecked))
    return std::nullopt;
  std::set<std::pair<int32_t, int32_t>> forwards;
  for (const ActionList &list : schedule.ranks)
    for (const Action &action : list)
      for (const Action &part : partsOf(action))
        if (part.kind == Kind::Forward)
          forwards.insert({part.stage, part.microBatch});
  for (int32_t stage = 0;; ++stage) // ends: there are more of them than the lists name
    for (int32_t i = 0; i < schedule.microBatches; ++i)
      if (!forwards.count({stage, i})) {
        int32_t rank = schedule.rankOfStage[size_t(stage)];
        return Problem{{{rank, int32_t(schedule.ranks[size_t(rank)].size())}},
                       "r" + std::to_string(rank) + " at " + toString(Action{Kind::Forward, stage, i}) +
                           ": it is missing"};
      }
}

std::optional<Problem> validate(const Schedule &schedule, const Transport &transport) {
  if (schedule.ranks.empty() || schedule.rankOfStage.empty() || schedule.microBatches < 1)
    return Problem{{}, "there are no ranks, no stages or no micro-batches"};
  for (int32_t rank : schedule.rankOfStage)
    if (rank < 0 || rank >= schedule.numRanks())
      return Problem{{}, "a stage lies on r" + std::to_string(rank) + ", which there is not"};
  if (auto problem = farTooFewForwards(schedule))
    return problem;
  if (auto problem = Check(schedule).run())
    return problem;
  return deadlock(schedule, transport);
}

std::optional<Problem> checkFirstInFirstOut(const Schedule &schedule) {
  size_t ranks = schedule.ranks.size();
  std::vector<ActionList> sent(ranks * ranks); // [from][to], the receives in the order of the sends
  for (size_t rank = 0; rank < ranks; ++rank)
    for (const Action &action : schedule.ranks[rank])
      if (sends(action.kind))
        sent[rank * ranks + size_t(schedule.rankOfStage[size_t(otherEnd(action))])].push_back(
            matching(action));
  std::vector<size_t> taken(ranks * ranks, 0);
  for (size_t rank = 0; rank < ranks; ++rank)
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action &action = schedule.ranks[rank][i];
      if (!receives(action.kind))
        continue;
      size_t from = size_t(schedule.rankOfStage[size_t(otherEnd(action))]), pair = from * ranks + rank;
      const Action &next = sent[pair][taken[pair]++];
      if (next != action)
        return Problem{{{int32_t(rank), int32_t(i)}},
                       "r" + std::to_string(rank) + " at " + toString(action) + ": r" + std::to_string(from) +
                           " sends " + toString(matching(next)) + " first"};
    }
  return std::nullopt;
}

std::string grid(const Schedule &schedule, const Problem &problem) {
  constexpr int32_t before = 6, after = 3; // columns of a list
  constexpr int32_t around = 1, all = 16;  // ranks beside those that are named; so many are shown in any case
  std::vector<int32_t> named(schedule.ranks.size(), kNone);
  for (const Place &place : problem.places)
    named[size_t(place.rank)] = place.index;
  int32_t middle = problem.places.empty() ? 0 : problem.places[0].index;
  size_t width = 0;
  for (const ActionList &list : schedule.ranks)
    for (const Action &action : list)
      width = std::max(width, toString(action).size());
  std::string text;
  for (int32_t rank = 0; rank < schedule.numRanks(); ++rank) {
    bool near = schedule.numRanks() <= all;
    for (const Place &place : problem.places)
      near |= std::abs(place.rank - rank) <= around;
    if (!near)
      continue;
    const ActionList &list = schedule.ranks[size_t(rank)];
    int32_t here = named[size_t(rank)];
    int32_t centre = here == kNone ? std::min(middle, int32_t(list.size())) : here;
    int32_t first = std::max(0, centre - before);
    int32_t last = std::min(here == kNone ? centre + after : here, int32_t(list.size()) - 1);
    std::string line = "r" + std::to_string(rank) + (first ? " ..." : "");
    line.resize(std::max<size_t>(line.size(), 9), ' ');
    for (int32_t i = first; i <= last; ++i) {
      std::string cell = toString(list[size_t(i)]);
      line += " " + cell + std::string(width - cell.size(), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + (here != kNone ? " <-- here" : last + 1 < int32_t(list.size()) ? " ..." : "") + "\n";
  }
  return text;
}

} // namespace tessera::schedule
