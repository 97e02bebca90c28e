// A pipeline schedule as data: for each rank along the pipeline axis the list of what it does, in order. The
// compiler makes, checks and costs such lists, the runtime walks them. Plain data; docs/Schedules.md has the
// notation and the rules.
#ifndef TESSERA_RUNTIME_SCHEDULE_SCHEDULE_H
#define TESSERA_RUNTIME_SCHEDULE_SCHEDULE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::schedule {

// What an action does. Computing kinds come first.
enum class Kind : uint8_t {
  Forward,            // F: keeps what backward needs
  Backward,           // B: BackwardInput, then BackwardWeight
  BackwardInput,      // I: the gradient of the stage's input
  BackwardWeight,     // W: the gradients of the stage's weights
  SendForward,        // the stage's output goes to the rank of the next stage
  ReceiveForward,     // named by the stage that gets it
  SendBackward,       // the gradient of the stage's input goes to the rank of the stage before
  ReceiveBackward,    // named by the stage that gets it
  WaitSendForward,    // the buffer of the send is free again
  WaitSendBackward,   // likewise
  Unshard,            // gathers the stage's sharded weights
  Reshard,            // frees them
  ReduceGradients,    // begins the reduction of the stage's gradients over the data axes
  WaitReduceGradients // ends it
};
constexpr int kKinds = int(Kind::WaitReduceGradients) + 1;

constexpr bool computes(Kind kind) { return kind <= Kind::BackwardWeight; }
constexpr bool sends(Kind kind) { return kind == Kind::SendForward || kind == Kind::SendBackward; }
constexpr bool receives(Kind kind) { return kind == Kind::ReceiveForward || kind == Kind::ReceiveBackward; }
constexpr bool waitsForSend(Kind kind) {
  return kind == Kind::WaitSendForward || kind == Kind::WaitSendBackward;
}
// Kinds that are done for a stage, not for one of its micro-batches.
constexpr bool ofWholeStage(Kind kind) { return kind >= Kind::Unshard; }
// Gives the gradient of the stage's input.
constexpr bool givesInputGradient(Kind kind) { return kind == Kind::Backward || kind == Kind::BackwardInput; }
// Gives the gradients of the stage's weights.
constexpr bool givesWeightGradients(Kind kind) {
  return kind == Kind::Backward || kind == Kind::BackwardWeight;
}

constexpr int32_t kNone = -1;

// One action: a kind, a stage and a micro-batch (kNone where the kind is of the whole stage). A pair is a
// Forward with a Backward of `pairedStage` and `pairedMicroBatch` beside it: it begins when the inputs of
// both are there, and both results are there at its end.
struct Action {
  Kind kind = Kind::Forward;
  int32_t stage = 0;
  int32_t microBatch = kNone;
  int32_t pairedStage = kNone;
  int32_t pairedMicroBatch = kNone;

  bool isPair() const { return pairedStage != kNone; }
  bool operator==(const Action &other) const {
    return kind == other.kind && stage == other.stage && microBatch == other.microBatch &&
           pairedStage == other.pairedStage && pairedMicroBatch == other.pairedMicroBatch;
  }
  bool operator!=(const Action &other) const { return !(*this == other); }
};

// The actions that one is made of: the two of a pair, forward first, otherwise the action itself.
struct Parts {
  Action part[2];
  int count = 1;
  const Action *begin() const { return part; }
  const Action *end() const { return part + count; }
};
inline Parts partsOf(const Action &action) {
  if (!action.isPair())
    return {{action, {}}, 1};
  return {{{Kind::Forward, action.stage, action.microBatch},
           {Kind::Backward, action.pairedStage, action.pairedMicroBatch}},
          2};
}

using ActionList = std::vector<Action>;

// Lists of all ranks, and on which rank each stage lives.
struct Schedule {
  int32_t microBatches = 0;
  std::vector<int32_t> rankOfStage; // [stages]
  std::vector<ActionList> ranks;    // [ranks]

  int32_t numRanks() const { return int32_t(ranks.size()); }
  int32_t numStages() const { return int32_t(rankOfStage.size()); }
  bool hasStage(int32_t stage) const { return stage >= 0 && stage < numStages(); }
  // Whether a value between two neighbouring stages has to be sent. False where there is no such neighbour.
  bool crosses(int32_t stage, int32_t neighbour) const {
    return hasStage(stage) && hasStage(neighbour) && rankOfStage[stage] != rankOfStage[neighbour];
  }
  bool operator==(const Schedule &other) const {
    return microBatches == other.microBatches && rankOfStage == other.rankOfStage && ranks == other.ranks;
  }
};

// Where an action stands; `index` may be one behind the last, for what is missing.
struct Place {
  int32_t rank = 0;
  int32_t index = 0;
  bool operator==(const Place &other) const { return rank == other.rank && index == other.index; }
};

// The stage at the other end of a message.
constexpr int32_t otherEnd(const Action &action) {
  return action.stage + (action.kind == Kind::SendForward || action.kind == Kind::ReceiveBackward ? 1 : -1);
}
// The receive of a send, and the send of a receive.
inline Action matching(const Action &action) {
  Kind kind = action.kind == Kind::SendForward      ? Kind::ReceiveForward
              : action.kind == Kind::ReceiveForward ? Kind::SendForward
              : action.kind == Kind::SendBackward   ? Kind::ReceiveBackward
                                                    : Kind::SendBackward;
  return {kind, otherEnd(action), action.microBatch};
}
// The message that a computing action needs, or gives, where the stages lie on two ranks.
std::optional<Action> receiveFor(const Schedule &schedule, const Action &part);
std::optional<Action> sendAfter(const Schedule &schedule, const Action &part);

// A schedule from lists alone: every stage lies on the rank that computes it most often (the lowest of
// several). `microBatches`, `stages`: kNone takes as many as the lists have from 0 on without a gap.
Schedule scheduleOf(std::vector<ActionList> ranks, int32_t microBatches = kNone, int32_t stages = kNone);

// Its forwards alone, in the order in which they stand: what evaluating runs. They end as soon as they can
// where the order of all does: a rank goes on with another micro-batch while one is under way elsewhere.
Schedule forwardsOf(const Schedule &schedule);

} // namespace tessera::schedule
#endif
