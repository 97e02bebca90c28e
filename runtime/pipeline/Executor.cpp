#include "tessera/runtime/pipeline/Executor.h"

#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/schedule/Text.h"
#include "tessera/runtime/schedule/Validate.h"

#include <algorithm>

namespace tessera::runtime {

using schedule::Action;
using schedule::Kind;

ValueSizes stampedSizes(ValueSizes sizes) {
  for (std::vector<size_t> *bytes : {&sizes.forward, &sizes.backward})
    for (size_t &one : *bytes)
      one = stampedBytes(one);
  return sizes;
}

PipelineExecutor::PipelineExecutor(const schedule::Schedule &schedule, int32_t rank,
                                   std::vector<int64_t> ranks, const ValueSizes &sizes, int32_t sendBuffers,
                                   Communicator &communicator, Device &device, int32_t where,
                                   std::optional<schedule::Costs> delays, char *memory)
    : schedule_(schedule), rank_(rank), ranks_(std::move(ranks)),
      sizes_(delays ? stampedSizes(sizes) : sizes), communicator_(communicator), where_(where),
      delays_(std::move(delays)), memory_(memory) {
  if (!communicator.messagesHaveNames())
    if (std::optional<schedule::Problem> problem = schedule::checkFirstInFirstOut(schedule))
      throw Error("cannot run the pipeline", problem->why,
                  "messages of these ranks arrive in the order of their sends",
                  "compile with a list whose receives stand in that order");
  plan_ = planBuffers(schedule, rank, sizes_, sendBuffers);
  int64_t messages = 2 * int64_t(schedule.numStages()) * schedule.microBatches;
  if (messages > kLargestMessageTag + 1)
    throw Error("cannot run the pipeline",
                std::to_string(schedule.numStages()) + " stages, " + std::to_string(schedule.microBatches) +
                    " micro-batches",
                "ranks can tell " + std::to_string(kLargestMessageTag + 1) + " messages apart",
                "compile for fewer stages or micro-batches");
  if (memory_ || !plan_.bytes)
    return;
  own_ = device.allocate(plan_.bytes, "values between stages", MemoryUse::Arena);
  memory_ = own_.address();
}

// By direction, the stage that makes it, and micro-batch: messages between two ranks may overtake each other.
int64_t PipelineExecutor::tagOf(const Action &message) const {
  const Action &send = schedule::sends(message.kind) ? message : schedule::matching(message);
  return (int64_t(send.stage) * schedule_.microBatches + send.microBatch) * 2 +
         (send.kind == Kind::SendForward);
}

int64_t PipelineExecutor::peerOf(const Action &message) const {
  return ranks_[size_t(schedule_.rankOfStage[size_t(schedule::otherEnd(message))])];
}

size_t PipelineExecutor::bytesOf(const Action &message) const {
  size_t lower = size_t(std::min(message.stage, schedule::otherEnd(message)));
  bool forward = message.kind == Kind::SendForward || message.kind == Kind::ReceiveForward;
  return forward ? sizes_.forward[lower] : sizes_.backward[lower];
}

void PipelineExecutor::travels(const Action &message, CommToken token) {
  if (observer_)
    observer_->travels(message, token);
}

void PipelineExecutor::wait(CommToken token, Stream &stream) {
  communicator_.wait(token, stream);
  if (observer_)
    observer_->arrived(token);
}

size_t PipelineExecutor::freeSendSlot(Stream &stream, int32_t where) {
  if (sent_.size() < plan_.sendSlots.size()) {
    for (size_t slot = 0;; ++slot)
      if (std::none_of(sent_.begin(), sent_.end(), [&](const Flight &flight) { return flight.slot == slot; }))
        return slot;
  }
  std::vector<CommToken> tokens;
  for (const Flight &flight : sent_)
    tokens.push_back(flight.token);
  size_t number = communicator_.waitForAny(tokens, stream, where);
  if (observer_)
    observer_->arrived(tokens[number]);
  size_t slot = sent_[number].slot;
  sent_.erase(sent_.begin() + std::ptrdiff_t(number));
  return slot;
}

void PipelineExecutor::runAction(size_t index, StageWork &work, Stream &stream) {
  const Action &action = schedule_.ranks[size_t(rank_)][index];
  const BufferPlan::Use &use = plan_.uses[index];
  int32_t where = where_ + int32_t(index);
  auto find = [&](std::vector<Flight> &flights, const Action &message) {
    return std::find_if(flights.begin(), flights.end(),
                        [&](const Flight &flight) { return flight.message == message; });
  };
  if (schedule::receives(action.kind)) {
    posted_.push_back({action, communicator_.receive(peerOf(action), tagOf(action), at(use.in[0]),
                                                     bytesOf(action), stream, where)});
    travels(action, posted_.back().token);
  } else if (schedule::sends(action.kind)) {
    size_t slot = freeSendSlot(stream, where);
    char *buffer = at(plan_.sendSlots[slot]);
    stream.copy(buffer, at(use.out[0]), bytesOf(action));
    if (delays_)
      stampMessage(buffer, bytesOf(action), stream);
    sent_.push_back(
        {action, communicator_.send(peerOf(action), tagOf(action), buffer, bytesOf(action), stream, where),
         slot});
    travels(action, sent_.back().token);
  } else if (schedule::waitsForSend(action.kind)) {
    Kind sends = action.kind == Kind::WaitSendForward ? Kind::SendForward : Kind::SendBackward;
    // Who needed its buffer may have waited for it already.
    if (auto flight = find(sent_, {sends, action.stage, action.microBatch}); flight != sent_.end()) {
      wait(flight->token, stream);
      sent_.erase(flight);
    }
  } else {
    schedule::Parts parts = schedule::partsOf(action);
    for (int p = 0; p < parts.count; ++p)
      if (std::optional<Action> receive = schedule::receiveFor(schedule_, parts.part[p])) {
        auto flight = find(posted_, *receive);
        wait(flight->token, stream);
        posted_.erase(flight);
        if (delays_)
          waitForLink(
              at(use.in[p]), bytesOf(*receive),
              schedule::Costs::of(delays_->link, std::min(receive->stage, schedule::otherEnd(*receive))),
              stream);
      }
    if (observer_)
      observer_->computes(action);
    int64_t begin = delays_ ? delayClock() : 0;
    for (int p = 0; p < parts.count; ++p)
      work.compute(parts.part[p], at(use.in[p]), at(use.out[p]), stream);
    if (delays_) {
      stream.synchronize();
      sleepUntil(begin + inNanoseconds(delays_->duration(action)));
    }
  }
}

void PipelineExecutor::run(StageWork &work, Stream &stream) {
  const schedule::ActionList &list = schedule_.ranks[size_t(rank_)];
  for (size_t index = 0; index < list.size(); ++index) {
    if (observer_)
      observer_->begins(list[index]);
    runAction(index, work, stream);
    if (observer_)
      observer_->ends(list[index]);
  }
  for (const Flight &flight : sent_)
    wait(flight.token, stream);
  sent_.clear();
}

} // namespace tessera::runtime
