#include "tessera/runtime/schedule/Simulate.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace tessera::schedule {

double Costs::duration(const Action &action) const {
  if (action.isPair() && !pair.empty())
    return of(pair, action.stage);
  double time = 0;
  for (const Action &part : partsOf(action)) {
    if (part.kind == Kind::Forward)
      time += of(forward, part.stage);
    if (givesInputGradient(part.kind))
      time += of(backwardInput, part.stage);
    if (givesWeightGradients(part.kind))
      time += of(backwardWeight, part.stage);
  }
  return time;
}

namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

// What is known of a message, or of a value that stays on its rank: the output of a stage's forward, or the
// gradient of its input. Times are kUnknown until they are known.
struct Message {
  // When it goes: the send stands here, or, without sends and receives, the maker has ended; and the wire is
  // free.
  double sent = kUnknown;
  double reached = kUnknown; // the receiver stands at the receive
  double done = kUnknown;    // it is there and received
};

// Runs actions as soon as it is known when they begin. Where send buffers are counted that is not enough: a
// buffer may get free earlier than is known. There the earliest action goes first, so that whatever is still
// unknown comes later.
class Walk {
public:
  Walk(const Schedule &schedule, const Costs &costs, const Transport &transport)
      : schedule_(schedule), costs_(costs), transport_(transport), next_(schedule.ranks.size(), 0),
        clock_(schedule.ranks.size(), 0), start_(schedule.ranks.size(), kUnknown),
        sent_(schedule.ranks.size()), wireFree_(schedule.ranks.size() * schedule.ranks.size(), 0),
        messages_(2 * size_t(schedule.numStages()) * size_t(schedule.microBatches)) {
    for (const ActionList &list : schedule.ranks) {
      result_.spans.emplace_back(list.size());
      result_.departures.emplace_back(list.size(), 0);
      for (const Action &action : list)
        sends_ |= sends(action.kind) || receives(action.kind);
    }
    result_.busy.assign(schedule.ranks.size(), 0);
  }

  Simulation run() {
    for (size_t rank = 0; rank < next_.size(); ++rank)
      arrive(rank);
    if (transport_.sendBuffers == kEndless)
      runAnyOrder();
    else
      runInOrder();
    for (size_t rank = 0; rank < next_.size(); ++rank)
      if (next_[rank] < schedule_.ranks[rank].size())
        result_.stalled.push_back({int32_t(rank), int32_t(next_[rank])});
    if (result_.ended())
      countSends();
    return std::move(result_);
  }

private:
  void runAnyOrder() {
    while (!ready_.empty()) {
      size_t rank = ready_.back();
      ready_.pop_back();
      while (start_[rank] != kUnknown)
        step(rank);
    }
  }
  void runInOrder() {
    while (true) {
      auto first = std::min_element(start_.begin(), start_.end());
      if (first == start_.end() || *first == kUnknown)
        return;
      step(size_t(first - start_.begin()));
    }
  }

  const Action &action(size_t rank) const { return schedule_.ranks[rank][next_[rank]]; }

  // The message that a send, a receive or a wait is about, or (for computing actions) that it makes: forward
  // or backward, by the stage that it comes from.
  Message &message(bool forward, int32_t stage, int32_t microBatch) {
    size_t at = size_t(stage) * size_t(schedule_.microBatches) + size_t(microBatch);
    return messages_[2 * at + (forward ? 0 : 1)];
  }
  Message &messageOf(const Action &action) {
    bool forward = action.kind == Kind::SendForward || action.kind == Kind::ReceiveForward ||
                   action.kind == Kind::WaitSendForward;
    return message(forward, receives(action.kind) ? otherEnd(action) : action.stage, action.microBatch);
  }
  double link(int32_t from, int32_t to) const {
    return schedule_.crosses(from, to) ? Costs::of(costs_.link, std::min(from, to)) : 0;
  }

  // When a message that is ready at `time` has the wire, which it keeps then. What a rank sends goes in the
  // order of its list.
  double onWire(int32_t from, int32_t to, double time) {
    if (!schedule_.crosses(from, to))
      return time;
    const size_t sender = size_t(schedule_.rankOfStage[size_t(from)]),
                 receiver = size_t(schedule_.rankOfStage[size_t(to)]);
    double &free = wireFree_[sender * schedule_.ranks.size() + receiver];
    const double begin = std::max(time, free);
    free = begin + Costs::of(costs_.wire, std::min(from, to));
    return begin;
  }

  // When what a computing action takes is there.
  double inputsOf(const Action &action) {
    double time = 0;
    for (const Action &part : partsOf(action)) {
      int32_t from = part.kind == Kind::Forward ? part.stage - 1 : part.stage + 1;
      if (schedule_.hasStage(from) && part.kind != Kind::BackwardWeight)
        time = std::max(time, message(part.kind == Kind::Forward, from, part.microBatch).done);
    }
    return time;
  }

  // When fewer than N of the sends of a rank are not done. What is not known to be done counts as never.
  double freeBuffer(size_t rank) {
    if (transport_.sendBuffers == kEndless)
      return 0;
    if (transport_.sendBuffers == 0)
      return kUnknown;
    std::vector<double> done;
    auto settled = [&](const Message *message) { return message->done <= clock_[rank]; };
    std::vector<const Message *> &open = sent_[rank];
    open.erase(std::remove_if(open.begin(), open.end(), settled), open.end());
    if (open.size() < size_t(transport_.sendBuffers))
      return 0;
    for (const Message *message : open)
      done.push_back(message->done);
    auto last = done.begin() + (transport_.sendBuffers - 1);
    std::nth_element(done.begin(), last, done.end(), std::greater<double>());
    return *last;
  }

  // When the rank's next action begins, as far as is known.
  double startOf(size_t rank) {
    const Action &next = action(rank);
    double time = clock_[rank];
    if (computes(next.kind))
      return std::max(time, inputsOf(next));
    if (sends(next.kind)) {
      time = std::max(time, freeBuffer(rank));
      return transport_.synchronousSends ? std::max(time, messageOf(next).reached) : time;
    }
    bool waits = waitsForSend(next.kind) || (receives(next.kind) && !transport_.postedReceives);
    return waits ? std::max(time, messageOf(next).done) : time;
  }

  void look(size_t rank) {
    bool knew = start_[rank] != kUnknown;
    start_[rank] = next_[rank] < schedule_.ranks[rank].size() ? startOf(rank) : kUnknown;
    if (!knew && start_[rank] != kUnknown && transport_.sendBuffers == kEndless)
      ready_.push_back(rank);
  }

  // A message is done when it is there and its receive is reached.
  void settle(Message &message, int32_t from, int32_t to) {
    if (message.sent == kUnknown || message.reached == kUnknown)
      return;
    message.done = std::max(message.reached, message.sent + link(from, to));
    look(size_t(schedule_.rankOfStage[size_t(to)]));
    look(size_t(schedule_.rankOfStage[size_t(from)]));
  }

  // A rank comes to its next action: a receive counts as reached, whether it waits or not.
  void arrive(size_t rank) {
    look(rank);
    if (next_[rank] == schedule_.ranks[rank].size() || !receives(action(rank).kind))
      return;
    const Action receive = action(rank);
    Message &message = messageOf(receive);
    message.reached = clock_[rank];
    settle(message, otherEnd(receive), receive.stage);
    look(size_t(schedule_.rankOfStage[size_t(otherEnd(receive))]));
  }

  // The results of a computing action are there: at once for who needs no message, or where the lists have
  // none.
  void give(const Action &action, double time) {
    for (const Action &part : partsOf(action)) {
      bool forward = part.kind == Kind::Forward;
      int32_t to = forward ? part.stage + 1 : part.stage - 1;
      if (part.kind == Kind::BackwardWeight || !schedule_.hasStage(to) ||
          (sends_ && schedule_.crosses(part.stage, to)))
        continue;
      Message &value = message(forward, part.stage, part.microBatch);
      value.reached = time;
      value.sent = onWire(part.stage, to, time);
      settle(value, part.stage, to);
    }
  }

  void step(size_t rank) {
    const Action done = action(rank);
    const size_t at = next_[rank];
    Span &span = result_.spans[rank][at];
    span.begin = start_[rank];
    span.end = span.begin + (computes(done.kind) ? costs_.duration(done) : 0);
    clock_[rank] = span.end;
    ++next_[rank];
    result_.makespan = std::max(result_.makespan, span.end);
    if (computes(done.kind)) {
      result_.busy[rank] += span.end - span.begin;
      give(done, span.end);
    }
    if (sends(done.kind)) {
      Message &message = messageOf(done);
      message.sent = result_.departures[rank][at] = onWire(done.stage, otherEnd(done), span.end);
      if (transport_.sendBuffers != kEndless)
        sent_[rank].push_back(&message);
      settle(message, done.stage, otherEnd(done));
    }
    arrive(rank);
  }

  void countSends() {
    for (size_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      std::vector<double> done; // of what was sent before
      size_t most = 0;
      for (size_t i = 0; i < schedule_.ranks[rank].size(); ++i) {
        const Action &action = schedule_.ranks[rank][i];
        if (!sends(action.kind))
          continue;
        double now = result_.spans[rank][i].end;
        done.erase(std::remove_if(done.begin(), done.end(), [&](double time) { return time <= now; }),
                   done.end());
        done.push_back(messageOf(action).done);
        most = std::max(most, done.size());
      }
      result_.sendsInFlight.push_back(int32_t(most));
    }
  }

  const Schedule &schedule_;
  const Costs &costs_;
  const Transport &transport_;
  Simulation result_;
  bool sends_ = false;                             // the lists have sends and receives
  std::vector<size_t> next_;                       // [ranks], the action that a rank stands at
  std::vector<double> clock_;                      // [ranks], when it came there
  std::vector<double> start_;                      // [ranks], when that action begins, as far as is known
  std::vector<size_t> ready_;                      // ranks that may have a start; may name one more than once
  std::vector<std::vector<const Message *>> sent_; // [ranks], those that may not be done
  std::vector<double> wireFree_;                   // [from][to], when the wire has no message any more
  std::vector<Message> messages_;                  // [stages][micro-batches][forward, backward]
};

} // namespace

Simulation simulate(const Schedule &schedule, const Costs &costs, const Transport &transport) {
  return Walk(schedule, costs, transport).run();
}

std::vector<Held> heldAtMost(const Schedule &schedule, const Costs &costs) {
  std::vector<Held> result;
  for (const ActionList &list : schedule.ranks) {
    Held most;
    int32_t activations = 0, messages = 0;
    double bytes = 0;
    for (const Action &action : list) {
      messages += receives(action.kind);
      most.receives = std::max(most.receives, messages);
      for (const Action &part : partsOf(action)) {
        double hold = Costs::of(costs.hold, part.stage), freed = Costs::of(costs.freed, part.stage),
               made = Costs::of(costs.made, part.stage);
        if (part.kind == Kind::Forward)
          ++activations, bytes += hold;
        if (givesInputGradient(part.kind))
          bytes += made;
        most.activations = std::max(most.activations, activations);
        most.bytes = std::max(most.bytes, bytes);
        if (givesInputGradient(part.kind))
          bytes -= freed;
        if (givesWeightGradients(part.kind))
          --activations, bytes -= hold - freed + made;
        messages -= computes(part.kind) && receiveFor(schedule, part);
      }
    }
    result.push_back(most);
  }
  return result;
}

namespace {
// Of one schedule: more buffers never hurt, so what is least is found by halving.
class BufferSearch {
public:
  BufferSearch(const Schedule &schedule, const Costs &costs, const Transport &transport)
      : schedule_(schedule), costs_(costs), transport_(transport) {
    Simulation endless = with(kEndless);
    ends_ = endless.ended();
    limit_ = endless.makespan * (1 + 1e-9);
    for (int32_t sends : endless.sendsInFlight)
      enough_ = std::max(enough_, sends);
  }

  bool ends() const { return ends_; }
  int32_t enough() const { return enough_; } // what an endless run has in flight
  bool endsWith(int32_t buffers) const { return with(buffers).ended(); }
  bool hasNoDelayWith(int32_t buffers) const {
    Simulation run = with(buffers);
    return run.ended() && run.makespan <= limit_;
  }
  // The least number in [low, high] of which `holds`; it does of `high`.
  template <typename Holds> static int32_t least(int32_t low, int32_t high, Holds holds) {
    while (low < high) {
      int32_t middle = low + (high - low) / 2;
      if (holds(middle))
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

private:
  Simulation with(int32_t buffers) const {
    Transport limited = transport_;
    limited.sendBuffers = buffers;
    return simulate(schedule_, costs_, limited);
  }

  const Schedule &schedule_;
  const Costs &costs_;
  const Transport &transport_;
  bool ends_ = false;
  double limit_ = 0;
  int32_t enough_ = 0;
};
} // namespace

LeastBuffers leastSendBuffers(const Schedule &schedule, const Costs &costs, const Transport &transport) {
  BufferSearch search(schedule, costs, transport);
  if (!search.ends())
    return {};
  LeastBuffers result;
  result.withoutDeadlock =
      BufferSearch::least(0, search.enough(), [&](int32_t buffers) { return search.endsWith(buffers); });
  result.withoutDelay = BufferSearch::least(result.withoutDeadlock, search.enough(),
                                            [&](int32_t buffers) { return search.hasNoDelayWith(buffers); });
  return result;
}

int32_t leastSendBuffersWithoutDelay(const Schedule &schedule, const Costs &costs, int32_t guess) {
  const Transport transport;
  BufferSearch search(schedule, costs, transport);
  if (!search.ends())
    return kEndless;
  auto holds = [&](int32_t buffers) { return search.hasNoDelayWith(buffers); };
  int32_t low = 0, high = search.enough();
  auto halveAt = [&](int32_t buffers) {
    if (buffers < low || buffers >= high)
      return;
    if (holds(buffers))
      high = buffers;
    else
      low = buffers + 1;
  };
  halveAt(guess);
  halveAt(high == guess ? guess - 1 : guess + 1);
  return BufferSearch::least(low, high, holds);
}

} // namespace tessera::schedule
