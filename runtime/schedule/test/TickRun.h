// A second opinion on messages: ranks that look at each other once a unit of time. Durations and links are
// whole numbers, durations at least 1.
#ifndef TESSERA_SCHEDULE_TEST_TICKRUN_H
#define TESSERA_SCHEDULE_TEST_TICKRUN_H

#include "tessera/runtime/schedule/Simulate.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera::schedule {

class TickRun {
public:
  TickRun(const Schedule &schedule, const Costs &costs, const Transport &transport)
      : schedule_(schedule), costs_(costs), transport_(transport), next_(schedule.ranks.size(), 0),
        until_(schedule.ranks.size(), 0), outstanding_(schedule.ranks.size()) {}

  // When the last action ends, or nothing if the ranks stand still.
  std::optional<double> run() {
    double last = 0;
    int idle = 0;
    for (double now = 0; idle < 100; ++now) { // longer than any action or link takes
      bool moved = false;
      for (bool again = true; again || news_; moved |= again) {
        again = news_ = false;
        for (size_t rank = 0; rank < next_.size(); ++rank)
          while (until_[rank] <= now && next_[rank] < schedule_.ranks[rank].size() && tryNext(rank, now)) {
            again = true;
            last = std::max(last, until_[rank]);
          }
      }
      bool ended = true;
      for (size_t rank = 0; rank < next_.size(); ++rank)
        ended &= next_[rank] == schedule_.ranks[rank].size();
      if (ended)
        return last;
      idle = moved ? 0 : idle + 1;
    }
    return std::nullopt;
  }

private:
  using Key = std::tuple<bool, int32_t, int32_t>; // forward, stage that makes it, micro-batch
  struct Flight {
    double sent = -1, reached = -1;
    double link = 0;
    bool done(double now) const { return sent >= 0 && reached >= 0 && reached <= now && sent + link <= now; }
  };
  Flight &flight(const Action &action) {
    bool forward = action.kind == Kind::SendForward || action.kind == Kind::ReceiveForward ||
                   action.kind == Kind::WaitSendForward;
    return flights_[{forward, receives(action.kind) ? otherEnd(action) : action.stage, action.microBatch}];
  }
  bool have(bool forward, int32_t stage, int32_t other, int32_t microBatch, double now) {
    if (!schedule_.hasStage(other))
      return true;
    if (schedule_.crosses(stage, other))
      return flights_[{forward, other, microBatch}].done(now);
    auto made = ends_.find({forward, other, microBatch});
    return made != ends_.end() && made->second <= now;
  }

  bool tryNext(size_t rank, double now) {
    const Action &action = schedule_.ranks[rank][next_[rank]];
    double end = now;
    if (computes(action.kind)) {
      for (const Action &part : partsOf(action))
        if ((part.kind == Kind::Forward && !have(true, part.stage, part.stage - 1, part.microBatch, now)) ||
            (givesInputGradient(part.kind) && !have(false, part.stage, part.stage + 1, part.microBatch, now)))
          return false;
      end += costs_.duration(action);
      for (const Action &part : partsOf(action))
        if (part.kind != Kind::BackwardWeight)
          ends_[{part.kind == Kind::Forward, part.stage, part.microBatch}] = end;
    } else if (receives(action.kind)) {
      Flight &message = flight(action);
      news_ |= message.reached < 0; // for a synchronous sender
      message.reached = message.reached < 0 ? now : message.reached;
      if (!transport_.postedReceives && !message.done(now))
        return false;
    } else if (sends(action.kind)) {
      Flight &message = flight(action);
      message.link = Costs::of(costs_.link, std::min(action.stage, otherEnd(action)));
      auto undone = std::count_if(outstanding_[rank].begin(), outstanding_[rank].end(),
                                  [&](Flight *other) { return !other->done(now); });
      if ((transport_.sendBuffers != kEndless && undone >= transport_.sendBuffers) ||
          (transport_.synchronousSends && message.reached < 0))
        return false;
      double &free = free_[{rank, schedule_.rankOfStage[size_t(otherEnd(action))]}];
      message.sent = std::max(now, free);
      free = message.sent + Costs::of(costs_.wire, std::min(action.stage, otherEnd(action)));
      outstanding_[rank].push_back(&message);
    } else if (waitsForSend(action.kind) && !flight(action).done(now)) {
      return false;
    }
    until_[rank] = end;
    ++next_[rank];
    return true;
  }

  const Schedule &schedule_;
  const Costs &costs_;
  const Transport &transport_;
  std::vector<size_t> next_;
  std::vector<double> until_;
  std::map<Key, Flight> flights_;
  std::map<Key, double> ends_;
  std::map<std::pair<size_t, int32_t>, double> free_; // from a rank to another, when the wire is free
  std::vector<std::vector<Flight *>> outstanding_;
  bool news_ = false;
};

} // namespace tessera::schedule
#endif
