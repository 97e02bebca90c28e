#include "tessera/runtime/pipeline/BufferPlan.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera::runtime {

using schedule::Action;
using schedule::Kind;

namespace {
// A value by the stage that makes it. Forward values go to the next stage, gradients to the one before.
struct Value {
  bool forward;
  int32_t stage, microBatch;
  bool operator<(const Value &other) const {
    return std::tie(forward, stage, microBatch) < std::tie(other.forward, other.stage, other.microBatch);
  }
};

// Places that are taken and given back: the lowest of the free ones that is long enough.
class Places {
public:
  int64_t take(size_t bytes) {
    bytes = size_t(wholeLines(int64_t(bytes)));
    int64_t at = 0;
    for (const auto &[begin, end] : taken_) {
      if (begin - at >= int64_t(bytes))
        break;
      at = end;
    }
    taken_[at] = at + int64_t(bytes);
    most_ = std::max(most_, at + int64_t(bytes));
    return at;
  }
  void give(int64_t at) { taken_.erase(at); }
  size_t most() const { return size_t(most_); }

private:
  std::map<int64_t, int64_t> taken_;
  int64_t most_ = 0;
};
} // namespace

BufferPlan planBuffers(const schedule::Schedule &schedule, int32_t rank, const ValueSizes &sizes,
                       int32_t sendBuffers) {
  const schedule::ActionList &list = schedule.ranks[size_t(rank)];
  BufferPlan plan;
  plan.uses.resize(list.size());
  Places places;
  std::map<Value, int64_t> kept; // values that are there, or will come
  auto sizeOf = [&](const Value &value) {
    return value.forward ? sizes.forward[size_t(value.stage)] : sizes.backward[size_t(value.stage) - 1];
  };
  for (size_t i = 0; i < list.size(); ++i) {
    const Action &action = list[i];
    BufferPlan::Use &use = plan.uses[i];
    if (schedule::receives(action.kind)) {
      Value value{action.kind == Kind::ReceiveForward, schedule::otherEnd(action), action.microBatch};
      use.in[0] = kept[value] = places.take(sizeOf(value));
    } else if (schedule::sends(action.kind)) {
      // Free once it is copied into a buffer of sends.
      auto value = kept.find({action.kind == Kind::SendForward, action.stage, action.microBatch});
      use.out[0] = value->second;
      places.give(value->second);
      kept.erase(value);
    } else if (schedule::computes(action.kind)) {
      schedule::Parts parts = schedule::partsOf(action);
      // What is read is free only behind the action, all of it.
      std::vector<std::map<Value, int64_t>::iterator> read;
      for (int p = 0; p < parts.count; ++p) {
        const Action &part = parts.part[p];
        bool forward = part.kind == Kind::Forward;
        if (!forward && !schedule::givesInputGradient(part.kind))
          continue;
        int32_t before = part.stage + (forward ? -1 : 1), next = part.stage + (forward ? 1 : -1);
        if (schedule.hasStage(before)) {
          read.push_back(kept.find({forward, before, part.microBatch}));
          use.in[p] = read.back()->second;
        }
        if (schedule.hasStage(next)) {
          Value value{forward, part.stage, part.microBatch};
          use.out[p] = kept[value] = places.take(sizeOf(value));
        }
      }
      for (auto value : read) {
        places.give(value->second);
        kept.erase(value);
      }
    }
  }
  bool anySend =
      std::any_of(list.begin(), list.end(), [](const Action &a) { return schedule::sends(a.kind); });
  for (const Action &action : list)
    if (schedule::sends(action.kind))
      plan.sendBytes = std::max(plan.sendBytes,
                                sizeOf({action.kind == Kind::SendForward, action.stage, action.microBatch}));
  plan.sendBytes = size_t(wholeLines(int64_t(plan.sendBytes)));
  plan.bytes = places.most();
  for (int32_t slot = 0; anySend && slot < sendBuffers; ++slot, plan.bytes += plan.sendBytes)
    plan.sendSlots.push_back(int64_t(plan.bytes));
  return plan;
}

} // namespace tessera::runtime
