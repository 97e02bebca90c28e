// Messages: along channels, each with a communicator and a stream of its own, or, where a pair has none and
// within calls of entries, in groups on the stream of the collectives.
#include "Matchings.h"
#include "NcclCommunicator.h"

namespace tessera::runtime {

using namespace cuda;
using namespace nccl;

// Every rank takes part in every split, most of them with nothing to win. NCCL connects the ends of a channel
// by its first message, and the host waits there: so one goes here, where both ends come.
void NcclCommunicator::openChannels(NativeStream &owner, int priority) {
  if (channels_.empty())
    return;
  const CUdeviceptr word =
      owner.allocate(sizeof(uint32_t), "the first messages of rank " + std::to_string(rank_));
  check(cuda_->cuMemsetD32Async(word, 0, 1, stream_));
  check(cuda_->cuStreamSynchronize(stream_));
  for (const std::vector<Channel> &part : matchings(channels_)) {
    int color = kNoColor, key = 0;
    Channel own;
    for (const Channel &channel : part)
      if (channel.from == rank_ || channel.to == rank_) {
        own = channel;
        color = int(channel.from);
        key = channel.to == rank_;
      }
    ncclComm_t comm = nullptr;
    check(nccl_->ncclCommSplit(world_, color, key, &comm, nullptr));
    if (color == kNoColor)
      continue;
    ChannelEnd &end = ends_[own];
    check(cuda_->cuStreamCreateWithPriority(&end.stream, CU_STREAM_NON_BLOCKING, priority));
    end.comm = comm;
    {
      std::lock_guard<std::mutex> lock(watched_);
      comms_.push_back(comm);
    }
    give(end, own.from == rank_, reinterpret_cast<char *>(word), sizeof(uint32_t));
    check(cuda_->cuStreamSynchronize(end.stream));
  }
  owner.free(word);
}

void NcclCommunicator::give(const ChannelEnd &end, bool sends, char *data, size_t bytes) {
  check(sends ? nccl_->ncclSend(data, bytes, ncclInt8, /*peer=*/1, end.comm, end.stream)
              : nccl_->ncclRecv(data, bytes, ncclInt8, /*peer=*/0, end.comm, end.stream));
}

CommToken NcclCommunicator::send(int64_t peer, int64_t tag, const void *src, size_t bytes, Stream &stream,
                                 int32_t where) {
  return message(true, peer, tag, src, bytes, stream, where);
}

CommToken NcclCommunicator::receive(int64_t peer, int64_t tag, void *dst, size_t bytes, Stream &stream,
                                    int32_t where) {
  return message(false, peer, tag, dst, bytes, stream, where);
}

CommToken NcclCommunicator::message(bool sends, int64_t peer, int64_t tag, const void *data, size_t bytes,
                                    Stream &stream, int32_t where) {
  checkMessage(peer, tag);
  Flight &flight = acquire(where);
  flight.isMessage = true;
  auto *content = static_cast<char *>(const_cast<void *>(data));
  auto channel = ends_.find(sends ? Channel{rank_, peer} : Channel{peer, rank_});
  // What a call gives may be recorded, and run again with the call.
  if (channel == ends_.end() || inCall_) {
    begin(flight, stream);
    messages_.push_back({&flight, sends, peer, content, bytes});
    return tokenOf(flight);
  }
  const ChannelEnd &end = channel->second;
  check(cuda_->cuEventRecord(flight.begun, native(stream)));
  check(cuda_->cuStreamWaitEvent(end.stream, flight.begun, CU_EVENT_WAIT_DEFAULT));
  if (bytes > 0) // both sides know
    give(end, sends, content, bytes);
  check(cuda_->cuEventRecord(flight.done, end.stream));
  return tokenOf(flight);
}

void NcclCommunicator::flushMessages() {
  if (messages_.empty())
    return;
  int32_t before = now_;
  now_ = MessageCollective;
  // Of others the watch hears from wait().
  if (inCall_)
    marks_->begin(stream_, MessageCollective);
  check(nccl_->ncclGroupStart());
  for (const Message &message : messages_) {
    if (message.bytes == 0)
      continue;
    check(message.sends
              ? nccl_->ncclSend(message.data, message.bytes, ncclInt8, int(message.peer), world_, stream_)
              : nccl_->ncclRecv(message.data, message.bytes, ncclInt8, int(message.peer), world_, stream_));
  }
  check(nccl_->ncclGroupEnd());
  if (inCall_)
    marks_->end(stream_);
  for (const Message &message : messages_)
    end(*message.flight);
  messages_.clear();
  now_ = before;
}

} // namespace tessera::runtime
